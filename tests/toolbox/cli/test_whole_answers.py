"""Whole answers of commands that change something, with paths and new ids left out: each line says what happened."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from tests.support.commands import run
from tests.support.sessions_of_a_home import log_of, write

pytestmark = pytest.mark.usefixtures("project")

BARE = [
    {"role": "user", "content": "one"},
    {"role": "assistant", "content": "two", "metadata": {"message_id": "a"}},
    {"role": "user", "content": "three", "metadata": {"message_id": "a"}},
]


def said(*arguments: Any, code: int = 0) -> list[str]:
    """The lines of an answer, with `LOG` for a log, `HERE` for the working directory and `ID` for an id."""
    text = run(*arguments, code=code).stdout
    text = re.sub(r"\S+/context-messages\.jsonl", "LOG", text).replace(os.getcwd(), "HERE")
    return re.sub(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", "ID", text).splitlines()


def bare(path: str, strange_lines: int = 0) -> Path:
    """A file of messages without times; of some the ids are missing or used twice, and lines at its end are no JSON."""
    file = Path(path)
    file.parent.mkdir(exist_ok=True)
    file.write_text("".join(json.dumps(message) + "\n" for message in BARE) + "strange\n" * strange_lines)
    return file


@pytest.mark.parametrize("strange_lines", [0, 1, 50, 53])
def test_an_import_accounts_for_every_line(strange_lines: int) -> None:
    """What it added to messages, what it made of each line, and the first fifty that it could not read."""
    lost = []
    if strange_lines:
        lines = "1 line" if strange_lines == 1 else f"{strange_lines} lines"
        why = "7 bytes that are no JSON object: Expecting value: line 1 column 1 (char 0)"
        shown = min(strange_lines, 50)
        lost = [f"  {lines} not imported:"]
        lost += [f"  - line {4 + number}, byte {178 + 8 * number}: {why}" for number in range(shown)]
        lost += ["  ... and 3 more; --json names up to a thousand"] * (strange_lines > 50)
    assert said("import", bare("list.jsonl", strange_lines), code=min(strange_lines, 1)) == [
        "HERE/list.jsonl: JSON Lines of messages",
        "  3 messages imported (assistant 1, user 2)",
        "  1 without an id; each has one now",
        "  1 with another one's id; each has one of its own now",
        "  3 without a timestamp; they stay so",
        f"  {3 + strange_lines} lines in all:",
        "    mapped                     3  user 2, assistant 1",
        *[f"    lost                {strange_lines:>8}"] * bool(strange_lines),
        *lost,
        "Session ID: LOG",
        "Go on with it:",
        "  amplifier session resume ID",
    ]


@pytest.mark.parametrize("strangers", [0, 1, 5, 7])
def test_an_import_of_a_directory_names_what_is_no_session(strangers: int) -> None:
    """The first five of them."""
    bare("d/good.jsonl")
    for number in range(strangers):
        Path(f"d/{number}.jsonl").write_text("no\n")
    files = "1 file" if strangers == 0 else f"{1 + strangers} files"
    of_them = {0: "", 1: "; 1 is no session"}.get(strangers, f"; {strangers} are no sessions")
    why = "this is no JSON; a chat as plain text or Markdown is not read"
    assert said("import", "d") == [
        f"d: {files}{of_them}",
        "  ID: 3 messages added",
        *[f"  no session: d/{number}.jsonl: {why}" for number in range(min(strangers, 5))],
        *["  ... and 2 more that are no sessions; --json names them all"] * (strangers > 5),
        "  3 lines in all:",
        "    mapped                     3  user 2, assistant 1",
        "  each is in the project of its directory; `context-persistent list --all` shows them",
        "1 session, 3 messages added",
    ]


def test_a_rewind_says_how_to_get_back_and_what_a_purge_then_takes() -> None:
    """Each of them a second time finds nothing to do."""
    write(log_of("one"))
    rewound = said("rewind", "one", "1", "--yes")
    assert rewound[1:] == [
        "Done. What is hidden stays in the log; this command makes a session with all of it:",
        "  context-persistent fork LOG --at msg-7",
    ]
    assert said("rewind", "one", "1", "--yes")[1:] == ["Nothing to do: the history ends there already."]
    assert said("purge", "one", "--cleared", "--yes")[1:] == [
        "  2 messages removed",
        "  2 control records removed (plans, receipts and resets that go with them)",
        "  5 messages kept",
        "1 session, 2.5kB in all",
        "Done.",
    ]
    assert said("purge", "one", "--cleared", "--yes") == ["LOG: nothing to purge."]


def test_a_copy_says_how_much_it_is_and_where() -> None:
    """A dry run copies nothing."""
    size = f"7 messages, {write(log_of('one')).stat().st_size:,} bytes"
    assert said("copy", "one", "c.jsonl", "--dry-run") == [
        f"{size} would be copied to",
        "c.jsonl",
        "Nothing was done (--dry-run).",
    ]
    assert not Path("c.jsonl").exists()
    assert said("copy", "one", "c.jsonl") == [f"Copied {size}; read back and the same.", "HERE/c.jsonl"]


def test_a_fork_says_how_to_go_on_with_it() -> None:
    """Or that nothing was done."""
    write(log_of("one"))
    assert said("fork", "one", "--at", "1", "--dry-run") == [
        "Session ID: 5 messages of one, up to turn 1 (msg-5).",
        "Nothing was done (--dry-run).",
    ]
    assert said("fork", "one", "--at", "1") == [
        "Session ID: 5 messages of one, up to turn 1 (msg-5).",
        "Files for the host were written beside the log: metadata.json, transcript.jsonl.",
        "LOG",
        "Go on with it:",
        "  amplifier session resume ID",
    ]


def test_what_is_deleted_is_said_before_and_after() -> None:
    """With its size and its first words; a dry run deletes nothing."""
    log = write(log_of("one"))
    size = f"{log.stat().st_size / 1000:.1f}kB"
    listed = said("prune", "--everything", "--dry-run")
    assert re.fullmatch(rf"one: 7 messages, {size}, \d+d old", listed[0])
    assert listed[1] == '  "Why is the total wrong?"'
    assert listed[2].startswith("  goes: ")
    assert listed[3].startswith(f"1 session, {size} in all")
    assert listed[4:] == ["Nothing was done (--dry-run)."]
    assert log.exists()
    assert said("prune", "--everything", "--yes") == [*listed[:4], f"Deleted 1 session, {size}."]
    assert not log.exists()
