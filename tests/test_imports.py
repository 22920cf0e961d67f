"""The direction of the package's imports, read with `ast`, and the length of its files."""

import ast
from pathlib import Path

import pytest

import amplifier_module_context_persistent

PACKAGE = Path(amplifier_module_context_persistent.__file__).parent
NAME = PACKAGE.name
MOST_LINES = 320

PURE = {
    "budget",
    "compaction",
    "elide",
    "entry",
    "evidence",
    "estimate",
    "estimate_tables",
    "choice",
    "draft",
    "ladder",
    "terms",
    "markdown",
    "media",
    "offload",
    "original",
    "pattern",
    "plan",
    "protection",
    "recall",
    "receipts",
    "reminder",
    "rules",
    "seen",
    "shape",
    "span",
    "strategies",
    "tokens",
    "view",
}
"""What the model sees: no file, no event loop, no log."""

POLICY = {"config", "errors", "record", "vocabulary"}
"""What the pure half may know besides itself: the policy, the errors, the record's limits, vocabularies on disk."""

DURABLE = {
    "batch",
    "commit",
    "directories",
    "fetch",
    "files",
    "index",
    "lock",
    "log",
    "memory_log",
    "opening",
    "reader",
    "record",
    "repair",
    "salvage",
    "scan",
}
"""Bytes, offsets and disks: no tokens, no policy."""

EVENT_LOOP = {"commit", "demo", "demo_session", "manager", "memory_files", "replay", "summary", "tools"}
"""What may import asyncio or aiofiles."""

HOST = {"__init__", "checker", "demo", "demo_session", "host", "manager", "policies", "summary", "tools"}
"""What may import amplifier_core."""

FILES_AND_LOOPS = {
    "aiofiles",
    "amplifier_core",
    "asyncio",
    "filelock",
    "io",
    "os",
    "pathlib",
    "shutil",
    "socket",
    "threading",
}


def imports(path: Path) -> tuple[set[str], set[str]]:
    """The modules of this package that a file imports, and the other ones, by their first names."""
    own: set[str] = set()
    others: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level:
            own |= {node.module.partition(".")[0]} if node.module else {alias.name for alias in node.names}
            continue
        elif isinstance(node, ast.ImportFrom):
            names = [str(node.module)]
        else:
            continue
        for name in names:
            first, _, rest = name.partition(".")
            if first == NAME:
                own.add(rest.partition(".")[0] or "__init__")
            else:
                others.add(first)
    return {name if (PACKAGE / f"{name}.py").exists() else "__init__" for name in own}, others


MODULES = {path.stem: imports(path) for path in sorted(PACKAGE.glob("*.py"))}


def test_the_halves_are_there() -> None:
    """A module that was renamed must be renamed here."""
    assert MODULES.keys() >= PURE | POLICY | DURABLE


@pytest.mark.parametrize("name", sorted(PURE))
def test_the_pure_half_knows_no_file_and_no_event_loop(name: str) -> None:
    """It imports itself, the policy and the errors."""
    own, others = MODULES[name]
    assert own <= PURE | POLICY
    assert not others & FILES_AND_LOOPS


@pytest.mark.parametrize("name", sorted(DURABLE))
def test_the_durable_half_knows_no_tokens_and_no_policy(name: str) -> None:
    """It imports itself and the errors."""
    own, others = MODULES[name]
    assert own <= DURABLE | {"errors"}
    assert not others & {"tiktoken", "amplifier_core"}


@pytest.mark.parametrize("name", sorted(MODULES))
def test_the_edge_alone_knows_loops_and_hosts(name: str) -> None:
    """What needs neither does not import them."""
    _, others = MODULES[name]
    assert name in EVENT_LOOP or not others & {"asyncio", "aiofiles"}
    assert name in HOST or "amplifier_core" not in others


@pytest.mark.parametrize("name", ["checker", "errors"])
def test_what_imports_nothing_of_the_package(name: str) -> None:
    """The errors, since all others may import them; the checker, since it must not share the engine's mistakes."""
    assert MODULES[name][0] == set()


def test_no_imports_go_round() -> None:
    """Taking away what imports nothing that is left, nothing is left."""
    left = {name: own - {name} for name, (own, _) in MODULES.items()}
    while free := {name for name, own in left.items() if not own & left.keys()}:
        left = {name: own for name, own in left.items() if name not in free}
    assert not left, f"among {sorted(left)} imports go round"


@pytest.mark.parametrize("name", sorted(MODULES))
def test_files_are_short(name: str) -> None:
    """About 300 lines; what is longer is more than one thing."""
    lines = (PACKAGE / f"{name}.py").read_text(encoding="utf-8").count("\n")
    assert lines <= MOST_LINES
