"""The reading commands on input that is damaged, hostile, or no log at all."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from itertools import product
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from amplifier_module_context_persistent.log.record_line import encode_control, encode_message
from tests.support.commands import PLAIN, is_harmless, run
from tests.support.logs import sealed
from tests.support.places import FIXTURES
from tests.support.sessions_of_a_home import TERMINAL
from tests.support.sweeps import proof, some

LOGS = [(FIXTURES / name).read_bytes() for name in ("every-kind.jsonl", "damaged.jsonl", "older-module.jsonl")]
COMMANDS: dict[str, Callable[[Path], list[object]]] = {
    "list": lambda path: ["list", path.parent],
    "list --json": lambda path: ["list", path.parent, "--json"],
    "show": lambda path: ["show", path],
    "replay": lambda path: ["replay", path, "--views", "--policy", "default", "--tokenizer", "estimate"],
    "replay --views": lambda path: ["replay", path, "--views", "--tokenizer", "estimate"],
    "replay --json": lambda path: ["replay", path, "--views", "--json", "--tokenizer", "estimate"],
    "compare": lambda path: ["compare", path, "--policy", "default", "--budget", "4000", "--tokenizer", "estimate"],
    "show --full": lambda path: ["show", path, "--full", "--turn", "-1"],
    "show --json": lambda path: ["show", path, "--json"],
    "show --tool": lambda path: ["show", path, "--tool", "count"],
    "tail": lambda path: ["tail", path],
    "search": lambda path: ["search", "e", path],
    "search -C": lambda path: ["search", "-F", "o", path, "-C", "1"],
    "search --json": lambda path: ["search", "[^ ]", path, "--json"],
    "stats": lambda path: ["stats", path],
    "views": lambda path: ["views", path],
    "view": lambda path: ["view", path, "--request", "1"],
    "export": lambda path: ["export", path],
    "export --format": lambda path: ["export", path, "--format", "transcript", "--no-redact"],
    "import": lambda path: ["import", path, "-o", f"{path}.new", "--dry-run"],
    "fork": lambda path: ["fork", path, "--at", "1", "--dry-run"],
    "rewind": lambda path: ["rewind", path, "--to", "1", "--dry-run"],
    "repair": lambda path: ["repair", path, "--dry-run"],
    "purge": lambda path: ["purge", path, "--cleared", "--dry-run"],
    "verify": lambda path: ["verify", path],
}
WITHOUT_CONTENT = {"compare", "purge", "repair", "verify"}
UNKNOWN_TOOL = "show --tool"  # names a tool that no message calls, which is said, with exit code 2
NAMES = {"hostile name": "missing\x1b[31m\udcff", "long name": "x" * 5_000, "NUL": "a\0b"}
HOSTILE = "é• \x1b]0;title\x07\x1b[2J\x9b31m\u202e\ud800[bold]\r\n\x00\x85\u2028&#27;"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where a log is put, alone in its directory."""
    (tmp_path / "store").mkdir()
    return tmp_path / "store" / "context-messages.jsonl"


def check(name: str, path: Path, codes: set[int], env: dict[str, str] = TERMINAL, charset: str = "utf-8") -> str:
    """Run a command: it ends in one of these ways, and nothing raw is printed; what was."""
    done = run(*COMMANDS[name](path), env=env, code=None, charset=charset)
    assert done.exit_code in codes, done.output
    assert is_harmless(done.output)
    return done.output


@proof(quick=1)
@pytest.mark.parametrize("kind", ["device", *NAMES])
def test_what_is_no_file_is_refused(path: Path, kind: str) -> None:
    """It says so at once and exits with 2; a list goes on."""
    if kind == "device":
        path.symlink_to("/dev/zero")
    path = path.with_name(NAMES.get(kind, path.name))
    # Of `import`, click looks at the file itself, and no argument of a process holds a NUL.
    for name in (name for name in COMMANDS if (name, kind) != ("import", "NUL")):
        output = check(name, path, {0} if name.startswith("list") else {2}, PLAIN)
        assert name.startswith(("list", "verify")) or (output[:7], output.count("\n")) == ("Error: ", 1), output


@proof(quick=2)
@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\n\n\n",
        bytes(5_000),
        random.Random(1).randbytes(5_000),
        b"[1, 2]\n" * 3,
        b'{"role":"user"}\n{"role":"assistant","content":null}\n{"role":"tool"}\n',
        b'{"role":"user","content":' + b"[" * 5_000 + b"]" * 5_000 + b"}\n",
        b'{"role":"user","content":"' + b"x" * 400_000 + b'"}\n',
        b'{"role":"user","content":"' + b"\\u001b[2J" * 5_000 + b'"}\n',
        b'{"role":"user","content":{"a":[1,null]},"metadata":[],"tool_calls":{},"name":7,"timestamp":{}}\n',
        b'{"role":"assistant","tool_calls":[1,{"id":[]},{"id":"c","tool":{},"arguments":[[]]}],"content":[7,[],{}]}\n',
        b'{"role":"tool","tool_call_id":{"a":1},"name":["x"],"content":[{"type":"image","source":{"data":"x"}}]}\n',
    ],
    ids=lambda content: f"{len(content)} bytes {content[:12]!r}",
)
def test_any_file_can_be_looked_at(path: Path, content: bytes) -> None:
    """Whatever is in it: an answer, and no traceback."""
    for name in (name for name in COMMANDS if " " not in name):
        path.write_bytes(content)
        check(name, path, {0, 1, 2})


@proof(quick=2)
@pytest.mark.parametrize("name", COMMANDS)
def test_hostile_fields_never_reach_the_terminal_raw(path: Path, name: str) -> None:
    """Roles, names, ids, times, arguments, thinking, sources, unknown blocks: all are text, in ASCII too."""
    metadata = {"source": HOSTILE, "timestamp": HOSTILE}
    call = {"id": HOSTILE, "tool": HOSTILE, "arguments": {HOSTILE: HOSTILE, "x": [HOSTILE]}}
    messages = [
        {"role": "user", "content": HOSTILE},
        {"role": "assistant", "content": HOSTILE, "tool_calls": [call], "thinking_block": {"thinking": HOSTILE}},
        {"role": "tool", "tool_call_id": HOSTILE, "name": HOSTILE, "content": HOSTILE * 50, "metadata": metadata},
        {"role": "tool", "tool_call_id": HOSTILE, "content": [{"type": HOSTILE, HOSTILE: HOSTILE}]},
        {"role": "assistant", "content": [{"type": "tool_use", "name": HOSTILE, "id": HOSTILE, "input": HOSTILE}]},
    ]
    bodies = [encode_message(one, message_id=HOSTILE + str(n), timestamp="t") for n, one in enumerate(messages)]
    controls = [
        encode_control(HOSTILE, id=HOSTILE),
        encode_control("view", id=HOSTILE, hash="\x1b[2J[bold]", provider=HOSTILE),
    ]
    path.write_bytes(b"".join(sealed([*bodies, *controls])))
    for env, charset in product((TERMINAL, PLAIN), ("utf-8", "ascii")):
        output = check(name, path, {0, 1, 2} if name == UNKNOWN_TOOL else {0, 1}, env, charset)
        assert ("[bold]" in output) == (name not in WITHOUT_CONTENT)


@proof
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=some(50), deadline=None)
@given(
    log=st.sampled_from(LOGS),
    name=st.sampled_from(sorted(COMMANDS)),
    cuts=st.lists(st.tuples(st.integers(0, 4_000), st.integers(0, 40), st.binary(max_size=12)), max_size=4),
)
def test_damaged_logs_can_be_looked_at(path: Path, log: bytes, name: str, cuts: list[tuple[int, int, bytes]]) -> None:
    """Wherever bytes were lost, altered or put in."""
    for at, lost, brought in cuts:
        log = log[:at] + brought + log[at + lost :]
    path.write_bytes(log)
    check(name, path, {0, 1, 2})


@proof(quick=1)
@pytest.mark.parametrize("name", COMMANDS)
def test_looking_changes_nothing(path: Path, name: str) -> None:
    """Neither the log, one with a torn tail too, nor what lies beside it."""
    path.write_bytes(LOGS[0] + b'{"role":"user","con')
    before = path.read_bytes(), path.stat().st_mtime_ns, sorted(os.listdir(path.parent))
    check(name, path, {2} if name == "view" else {0, 1})  # these logs have no receipts
    assert (path.read_bytes(), path.stat().st_mtime_ns, sorted(os.listdir(path.parent))) == before
