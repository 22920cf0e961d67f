"""A text that is purged goes from damaged lines and is named in torn tails, however it is written there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from amplifier_module_context_persistent.toolbox.maintenance.redact_raw_bytes import holds_match, redact_bytes
from tests.support.commands import run
from tests.support.sessions_of_a_home import log_of, write
from tests.support.sweeps import proof

SECRET = "hunter2secret"
ESCAPED = "".join([f"\\u{ord(char):04x}" for char in SECRET])
WRITTEN = {
    "as it is": SECRET,
    "escaped": ESCAPED,
    "escaped twice": ESCAPED.replace("\\", "\\\\"),
    "one letter escaped": f"\\u0068{SECRET[1:]}",
    "in a URL": "hunter%32secret",
    "with a colour": f"hunter\\u001b[1m{SECRET[6:]}",
}


def without_secret(text: str) -> str:
    return text.replace(SECRET, "[redacted]")


def files_with(text: str) -> list[Path]:
    return [path for path in Path.home().rglob("*") if path.is_file() and text.encode() in path.read_bytes()]


@pytest.mark.parametrize("written", WRITTEN)
def test_a_match_is_seen_however_it_is_written(written: str) -> None:
    """In bytes that are no text too. As it is, it alone goes."""
    content = b"\xff" + WRITTEN[written].encode() + b" \x00rest"
    assert holds_match(content, without_secret)
    expected = b"\xff[redacted] \x00rest" if written == "as it is" else None
    assert redact_bytes(content, without_secret) == expected
    assert not holds_match(b'\xff \\u0073ome "other %32 text', without_secret)


@pytest.mark.parametrize("line", [{"content": "CORP\\ada"}, {"content": json.dumps({"user": "CORP\\ada"})}])
def test_a_backslash_is_seen_where_json_doubles_it(line: dict[str, str]) -> None:
    damaged = json.dumps(line).encode()[:-1]
    assert redact_bytes(damaged, lambda text: text.replace("CORP\\ada", "[redacted]")) is None


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize("written", WRITTEN)
@pytest.mark.parametrize("after", ["\n", '{"role":"user","content":"x"}\n'], ids=["alone", "glued"])
def test_a_damaged_line_holds_no_purged_text(written: str, after: str) -> None:
    """The damage is reported as before."""
    log = write(log_of("one"))
    with log.open("ab") as file:
        file.write(f'{{"role":"user","content":"a {WRITTEN[written]} b{after}'.encode())
    assert "1 unreadable piece removed or redacted" in run("purge", "one", "--redact", SECRET, "--yes").stdout
    assert files_with(WRITTEN[written]) == []
    assert "damaged" in run("verify", "one", code=1).stdout


@proof(quick=1)
@pytest.mark.usefixtures("project")
@pytest.mark.parametrize("written", WRITTEN)
@pytest.mark.parametrize("is_elsewhere", [False, True], ids=["alone", "in a message too"])
def test_a_torn_tail_with_a_purged_text_is_named(written: str, *, is_elsewhere: bool) -> None:
    """It stays until `--torn` removes it, and the exit code says so."""
    log = write(log_of("one"), [{"role": "user", "content": f"it is {SECRET if is_elsewhere else 'nothing'}"}])
    with log.open("ab") as file:
        file.write(f'{{"role":"user","content":"a {WRITTEN[written]} b'.encode())
    for arguments in (["--dry-run"], ["--yes"], ["--yes"]):
        done = run("purge", "one", "--redact", SECRET, *arguments, code=None)
        assert "1 torn tail kept although it matches" in done.stdout
        assert done.exit_code == (0 if is_elsewhere and arguments == ["--dry-run"] else 1)
    run("purge", "one", "--redact", SECRET, "--torn", "--yes")
    assert files_with(WRITTEN[written]) == []


NAMED = {
    "name": {"role": "user", "name": SECRET, "content": "x"},
    "tool": {"role": "assistant", "content": "", "tool_calls": [{"id": "c", "tool": SECRET, "arguments": {}}]},
    "id": {"role": "assistant", "content": "", "tool_calls": [{"id": SECRET, "tool": "t", "arguments": {}}]},
    "time": {"role": "user", "content": "x", "metadata": {"timestamp": SECRET}},
    "type": {"role": "user", "content": [{"type": SECRET, "text": "a"}]},
    "key": {"role": "user", "content": "x", SECRET: 1},
}


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize("place", NAMED)
def test_a_text_in_a_name_stays_and_is_told(place: str) -> None:
    """Other records refer to names, so nothing replaces them; the exit code says that the text is still there."""
    log = write(log_of("one"), [NAMED[place], {"role": "user", "content": f"it is {SECRET}"}])
    for _ in range(2):
        done = run("purge", "one", "--redact", SECRET, "--yes", code=1)
        assert "1 record with it in an id, a name or a key, which stay" in done.stdout
    assert log.read_text().count(SECRET) == 1
    assert "nothing to purge" in run("purge", "one", "--redact", "elsewhere", "--yes").stdout
