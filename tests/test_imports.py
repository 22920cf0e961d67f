"""The direction of the package's imports, read from their lines and held against the table in docs/architecture.md."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

import amplifier_module_context_persistent
from tests.support.import_map import import_statements
from tests.support.places import DOCS, ROOT
from tests.support.sweeps import proof

PACKAGE = Path(amplifier_module_context_persistent.__file__).parent
NAME = PACKAGE.name

ROW = re.compile(r"^\| (?P<rooms>`[^|]+`) \| (?P<purpose>[^|]+) \|$", re.MULTILINE)
FLOORS = [
    re.findall(r"`([\w/]+)`", row["rooms"]) for row in ROW.finditer((DOCS / "architecture.md").read_text("utf-8"))
]
"""The table's rows from the top to the bottom; a room imports only from rows below its own."""

FLOOR = {room: number for number, rooms in enumerate(FLOORS) for room in rooms}

PURE = {"messages", "forms", "view", "compaction", "search"}
"""No file, no event loop, no log but its record limits."""

EVENT_LOOP = {
    "session",
    "toolbox.demo",
    "toolbox.mcp",
    "__init__",
    "adapters.sessions_by_key",
    "log.append_queue",
    "toolbox.replay.api",
    "toolbox.replay.policies",
    "toolbox.cli.tail",
    "sessions.follow_session",
    "sessions.log_watch",
}
"""Rooms and modules that may import asyncio."""

HOST = {
    "session.host",
    "session.model_tools",
    "session.provider_call",
    "session.view_errors",
    "toolbox.demo",
    "__init__",
    "toolbox.replay.policies",
    "messages.secrets.redact",
}
"""Rooms and modules that may import amplifier_core."""

FILES_AND_LOOPS = {"asyncio", "filelock", "io", "os", "pathlib", "shutil", "socket", "threading"}


@dataclass(frozen=True)
class Module:
    """One file of the package: its dotted name below the package, and what it imports."""

    name: str
    path: Path
    own: frozenset[str]
    """Modules of the package, dotted, below the package."""
    others: frozenset[str]
    """Other packages, by their first names."""
    private: frozenset[str]
    """Private names that it takes from other modules."""

    @property
    def room(self) -> str:
        return room_of(self.name)


def room_of(dotted: str) -> str:
    """The room of a module, as the table in docs/architecture.md names it."""
    first, _, rest = dotted.partition(".")
    return f"toolbox/{rest.partition('.')[0]}" if first == "toolbox" and rest else first


def _names_of(path: Path) -> str:
    parts = list(path.relative_to(PACKAGE).with_suffix("").parts)
    if parts[-1] == "__init__" and len(parts) > 1:
        parts.pop()
    return ".".join(parts)


def _absolute(path: Path, node: ast.ImportFrom) -> str:
    """The module that a `from` import names, dotted; empty parts for the package itself."""
    if not node.level:
        return str(node.module)
    above = path.parent.relative_to(PACKAGE.parent).parts
    above = above[: len(above) - (node.level - 1)]
    return ".".join([*above, *([node.module] if node.module else [])])


@cache
def _is_module(dotted: str) -> bool:
    place = PACKAGE.parent.joinpath(*dotted.split("."))
    return place.with_suffix(".py").exists() or (place / "__init__.py").exists()


def _imports(source: bytes) -> Iterator[ast.stmt]:
    """The imports of a module; all of it is parsed, which takes long, only if a docstring has such a line, too."""
    docstrings = source.split(b'"""')[1::2]
    if any(True for text in docstrings for _ in import_statements(text)):
        return (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Import | ast.ImportFrom))
    return import_statements(source)


def read(path: Path) -> Module:
    own: set[str] = set()
    others: set[str] = set()
    private: set[str] = set()
    for node in _imports(path.read_bytes()):
        targets: list[tuple[str, str]] = []
        if isinstance(node, ast.Import):
            targets = [(alias.name, "") for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            targets = [(_absolute(path, node), alias.name) for alias in node.names]
        for module, name in targets:
            first, _, below = module.partition(".")
            if first != NAME:
                others.add(first)
                continue
            if name and _is_module(f"{module}.{name}"):
                below, name = f"{below}.{name}".strip("."), ""
            own.add(below or "__init__")
            if name.startswith("_") and not name.startswith("__"):
                private.add(f"{below}.{name}")
    return Module(_names_of(path), path, frozenset(own), frozenset(others), frozenset(private))


@pytest.fixture(scope="module")
def modules() -> dict[str, Module]:
    """All of the package, by their names."""
    return {module.name: module for module in map(read, sorted(PACKAGE.rglob("*.py")))}


def is_among(module: Module, names: set[str]) -> bool:
    return {module.room.replace("/", "."), module.name} & names != set()


@proof
def test_the_table_names_each_room_once(modules: dict[str, Module]) -> None:
    """A package or module that is added, moved or removed is so in docs/architecture.md, too."""
    rooms = [room for floor in FLOORS for room in floor]
    assert sorted(rooms) == sorted({module.room for module in modules.values()})


@proof
def test_a_room_imports_from_itself_and_from_the_rows_below(modules: dict[str, Module]) -> None:
    """The rows of the table in docs/architecture.md."""
    wrong = [
        f"{name} imports {own}"
        for name, module in modules.items()
        for own in module.own
        if (room := room_of(own)) != module.room and FLOOR[room] <= FLOOR[module.room]
    ]
    assert not wrong


PERSONS_LIBRARIES = {"click", "rich", "jinja2", "markdown_it"}
ZSTD = {"backports", "compression"}


@proof
def test_nothing_outside_of_the_toolbox_imports_it(modules: dict[str, Module]) -> None:
    """Nor a library that only a person's tools need: the base install has none of them."""
    for name, module in modules.items():
        if module.room.partition("/")[0] != "toolbox":
            assert not [own for own in module.own if own.partition(".")[0] == "toolbox"], name
            assert not module.others & PERSONS_LIBRARIES, name
            assert name == "log.archive_format" or not module.others & ZSTD, name
            assert name == "sessions.prices" or "genai_prices" not in module.others, name


def test_a_mounted_session_imports_no_zstd(modules: dict[str, Module]) -> None:
    """Only a function does, once an archived log is met."""
    body = ast.parse(modules["log.archive_format"].path.read_text(encoding="utf-8")).body
    named = [alias.name for node in body if isinstance(node, ast.Import) for alias in node.names]
    named += [str(node.module) for node in body if isinstance(node, ast.ImportFrom)]
    assert not {name.partition(".")[0] for name in named} & ZSTD


KITS = {"agent_framework", "agents", "claude_agent_sdk", "pydantic_ai"}


def test_a_kit_is_imported_by_its_adapter_alone(modules: dict[str, Module]) -> None:
    """And the adapters by nobody: a mounted session loads neither."""
    adapters = {"agents": "adapters.openai_agents"} | {kit: f"adapters.{kit}" for kit in KITS - {"agents"}}
    for name, module in modules.items():
        assert {adapters[kit] for kit in module.others & KITS} <= {name}, name
        assert module.room == "adapters" or not [own for own in module.own if own.startswith("adapters")], name


def test_no_imports_go_round(modules: dict[str, Module]) -> None:
    """Taking away what imports nothing that is left, nothing is left: among all modules, those of one room included."""
    left = {name: set(module.own) - {name} for name, module in modules.items()}
    while free := {name for name, own in left.items() if not own & left.keys()}:
        left = {name: own for name, own in left.items() if name not in free}
    assert not left, f"among {sorted(left)} imports go round"


def test_no_module_takes_a_private_name_of_another(modules: dict[str, Module]) -> None:
    """What two modules need has a public name; tables of `tokens` are a module, not a name."""
    assert not {name: module.private for name, module in modules.items() if module.private}


def test_the_pure_half_knows_no_file_and_no_event_loop(modules: dict[str, Module]) -> None:
    """Of the log it knows what a record may hold; of tokens, how to count."""
    for name, module in modules.items():
        if module.room in PURE:
            assert not module.others & FILES_AND_LOOPS, name
            assert {own for own in module.own if own.startswith("log")} <= {
                "log.checksum",
                "log.record_line",
                "log.record_limits",
                "log.index",
            }, name


def test_the_durable_half_knows_no_tokens_and_no_policy(modules: dict[str, Module]) -> None:
    """It imports itself, the errors, what to say of a missing driver, and nothing that counts or decides."""
    for name, module in modules.items():
        if module.room == "log":
            assert {own.partition(".")[0] for own in module.own} <= {"log", "errors", "installation"}, name
            assert not module.others & {"tiktoken", "amplifier_core"}, name


LOGS = {"FileLog", "LogReader", "MemoryLog", "TemporaryLog", "PostgresLog", "PostgresReader"}
ABILITIES = {"ChecksFrames", "FindsBytes", "KeepsCheckpoint"}


def test_nothing_outside_asks_of_which_kind_a_log_is(modules: dict[str, Module]) -> None:
    """`log/open_log.py` and `log/open_reader.py` know them all; a function says what only some logs can do."""
    names = re.compile("|".join(LOGS | ABILITIES | {"is_postgres"}))
    for module in (module for module in modules.values() if module.room != "log"):
        text = module.path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text)) if names.search(text) else ():
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "isinstance":
                asked = {inner.id for inner in ast.walk(node.args[1]) if isinstance(inner, ast.Name)}
                assert not asked & (LOGS | ABILITIES), module.name
            assert not (isinstance(node, ast.Name) and node.id == "is_postgres"), module.name


def test_the_edge_alone_knows_loops_and_hosts(modules: dict[str, Module]) -> None:
    """What needs neither does not import them."""
    for name, module in modules.items():
        assert is_among(module, EVENT_LOOP) or not module.others & {"asyncio"}, name
        assert is_among(module, HOST) or "amplifier_core" not in module.others, name


def test_the_errors_import_nothing_of_the_package(modules: dict[str, Module]) -> None:
    """All others may import them."""
    assert not modules["errors"].own


@pytest.mark.parametrize("name", ["checker", "request_checker", "view_checker"])
def test_the_checkers_share_no_mistake_with_the_engine(name: str) -> None:
    """They import nothing of the package."""
    assert PACKAGE.name not in (ROOT / "tests" / "support" / f"{name}.py").read_text(encoding="utf-8")


def test_help_names_the_public_names() -> None:
    """`help(package)` and `dir` are for users: what `__all__` names is there, documented."""
    for name in amplifier_module_context_persistent.__all__:
        assert (getattr(amplifier_module_context_persistent, name).__doc__ or "").strip(), f"{name} has no docstring"


@proof
def test_what_is_let_pass_by_lint_or_types_says_why() -> None:
    """In the same line."""
    silent = re.compile(r".*(?:# noqa|# type: ignore)(?!: [A-Z0-9]+ - |\[[\w-]+\]  # ).*")
    assert not [found for path in PACKAGE.rglob("*.py") for found in silent.findall(path.read_text(encoding="utf-8"))]


def test_no_test_file_imports_another() -> None:
    """What two of them need is in tests/support."""
    taken = re.compile(r"^ *(?:from|import) +([\w.]*\b(?:test_\w+|conftest)\b[\w.]*)", re.MULTILINE)
    found = {
        str(path.relative_to(ROOT)): modules
        for path in sorted((ROOT / "tests").rglob("*.py"))
        if (modules := taken.findall(path.read_text(encoding="utf-8")))
    }
    assert not found
