"""The note of what we wrote beside a log: a file is ours exactly as long as it holds what we wrote."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from amplifier_module_context_persistent.log.whole_file_lock import try_lock
from amplifier_module_context_persistent.toolbox.maintenance.leftovers import files_left, place_left
from amplifier_module_context_persistent.toolbox.maintenance.written_files import PURGING, WrittenFiles, content_of


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
    for name in (f"{log.name}.0123abcd.part", "transcript.jsonl.0123abcd.part", f"{log.name}.purging-0123abcd"):
        log.with_name(name).write_bytes(b"x")
    log.with_name("notes.0123abcd.part").write_bytes(b"somebody's")
    others = ("transcript.jsonl",)
    assert len(files_left(str(log), others)) == 3
    assert len(files_left(str(log))) == 2
    fd = os.open(log.with_name(f"{log.name}.0123abcd.part"), os.O_RDWR)
    assert try_lock(fd, exclusive=True)
    assert len(files_left(str(log), others)) == 2
    os.close(fd)
    assert place_left(str(log), others) == []
    log.unlink()
    assert len(place_left(str(log), others)) == 3
