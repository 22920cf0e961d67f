"""The note of what we wrote beside a log: a file is ours exactly as long as it holds what we wrote."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from amplifier_module_context_persistent.log.os_file_lock import try_lock
from amplifier_module_context_persistent.log.record_line import encode_control
from amplifier_module_context_persistent.toolbox.maintenance.leftovers import (
    doubtful_parts,
    files_left,
    parts_of,
    place_left,
)
from amplifier_module_context_persistent.toolbox.maintenance.note_beside_log import PURGING, WrittenFiles, content_of
from tests.support.logs import sealed

SOUND = b"".join(sealed([encode_control("header", version=1, log_id="x"), encode_control("usage", actual_tokens=1)]))


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """A log with a file of the host's kind beside it."""
    (tmp_path / "transcript.jsonl").write_bytes(b"ours")
    path = tmp_path / "context-messages.jsonl"
    path.write_bytes(b"")
    return path


def test_a_file_is_ours_as_long_as_it_holds_what_we_wrote(log: Path) -> None:
    """While one content replaces another, with both."""
    transcript = log.with_name("transcript.jsonl")
    note = WrittenFiles.beside(log)
    assert not note.owns(transcript.name)
    old = content_of(transcript)
    note.settle(transcript.name, old)
    transcript.write_bytes(b"new!")
    new = content_of(transcript)
    assert not WrittenFiles.beside(log).owns(transcript.name)
    assert WrittenFiles.beside(log).is_noted(transcript.name)
    note.expect(transcript.name, new)
    assert WrittenFiles.beside(log).owns(transcript.name)
    transcript.write_bytes(b"ours")
    assert WrittenFiles.beside(log).owns(transcript.name)
    note.settle(transcript.name, new)
    assert not WrittenFiles.beside(log).owns(transcript.name)
    transcript.unlink()
    assert not WrittenFiles.beside(log).owns(transcript.name)


@pytest.mark.parametrize("version", [2, "1", None])
def test_a_note_of_another_version_is_believed_in_nothing(log: Path, version: object) -> None:
    """A later version may mean something else: no file is ours by it, and nothing is gone on with."""
    note = WrittenFiles.beside(log)
    note.settle("transcript.jsonl", content_of(log.with_name("transcript.jsonl")))
    note.begin(PURGING, "2026-01-05T09:00:00Z")
    written = json.loads(Path(note.path).read_bytes())
    Path(note.path).write_text(json.dumps(written | {"version": version}))
    found = WrittenFiles.beside(log)
    assert (found.begun, found.time, found.contents) == ("", "", {})
    assert not found.owns("transcript.jsonl")


def test_a_note_with_nothing_in_it_goes(log: Path) -> None:
    """What was begun is noted until it has finished."""
    note = WrittenFiles.beside(log)
    note.begin(PURGING, "2026-01-05T09:00:00Z")
    found = WrittenFiles.beside(log)
    assert (found.begun, found.time) == (PURGING, "2026-01-05T09:00:00Z")
    note.finish()
    assert not os.path.exists(note.path)


@pytest.mark.parametrize(
    "content",
    [
        b"[" * 100_000,
        b"",
        b"[]",
        b"{",
        b'{"version":2,"files":{"transcript.jsonl":[[4,"x"]]}}',
        b'{"version":1,"files":[]}',
        b'{"version":1,"files":{"../x":[[4,"x"]],"y":4,"transcript.jsonl":[4,[4],["4","x"],[4,"x"]]}}',
        b"\xff" * 100,
    ],
)
def test_a_note_that_somebody_altered_claims_nothing(log: Path, content: bytes) -> None:
    """What cannot be read as a note is none, and no path leads out of the directory."""
    Path(WrittenFiles.beside(log).path).write_bytes(content)
    found = WrittenFiles.beside(log)
    assert found.contents.keys() <= {"transcript.jsonl"}
    assert not found.owns("transcript.jsonl")


def test_a_fifo_in_the_place_of_a_note_is_not_waited_for(log: Path) -> None:
    """It is no note."""
    os.mkfifo(WrittenFiles.beside(log).path)
    assert WrittenFiles.beside(log).contents == {}


def test_what_is_being_written_was_not_left(log: Path) -> None:
    """Only what nobody has locked counts, and only names that we give."""
    part = "context-persistent-0123abcd.part"
    for name in (f"{log.name}.{part}", f"transcript.jsonl.{part}", f"{log.name}.purging-0123abcd"):
        log.with_name(name).write_bytes(SOUND)
    log.with_name(f"notes.{part}").write_bytes(b"somebody's")
    others = ("transcript.jsonl",)
    assert len(files_left(str(log), others)) == 3
    assert len(files_left(str(log))) == 2
    fd = os.open(log.with_name(f"{log.name}.{part}"), os.O_RDWR)
    assert try_lock(fd, exclusive=True)
    assert len(files_left(str(log), others)) == 2
    os.close(fd)
    assert place_left(str(log), others) == []
    log.unlink()
    assert len(place_left(str(log), others)) == 3


@pytest.mark.parametrize("damage", ["no mark", "another header", "cut", "no header", "a link"])
def test_what_may_be_another_programs_stays_and_is_named(log: Path, damage: str) -> None:
    """A browser that downloads a log names its file alike, and what it has of it begins with a sound header."""
    mark = "" if damage == "no mark" else "context-persistent-"
    part = log.with_name(f"{log.name}.{mark}0123abcd.part")
    content = SOUND
    head = content.splitlines(keepends=True)[0]
    contents = {
        "another header": content.replace(b'"_crc":"', b'"_crc":"0', 1),
        "cut": head[:40],
        "no header": content.removeprefix(head),
    }
    if damage == "a link":
        part.symlink_to(log)
    else:
        part.write_bytes(contents.get(damage, content))
    assert files_left(str(log)) == []
    assert doubtful_parts(str(log)) == ([] if damage == "a link" else [str(part)])
    log.with_name("metadata.json.89abcdef.part").write_bytes(b"{}")
    assert len(doubtful_parts(str(log), ("metadata.json",))) == 1 + (damage != "a link")
    part.unlink()


def test_what_was_left_elsewhere_is_named(tmp_path: Path) -> None:
    """An export of a person's: nothing removes it."""
    for name in ("s.md.context-persistent-0123abcd.part", "s.md.0123abcd.part"):
        (tmp_path / name).write_bytes(b"half")
    assert parts_of(str(tmp_path / "s.md")) == [str(tmp_path / "s.md.context-persistent-0123abcd.part")]
    assert parts_of(str(tmp_path / "no" / "s.md")) == []
