"""A purge goes on with the scan of its plan, and believes nothing that has changed since."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from amplifier_module_context_persistent.errors import PurgeError
from amplifier_module_context_persistent.log.filesystem import FileSystem
from amplifier_module_context_persistent.maintenance.known_scan import KnownScan
from amplifier_module_context_persistent.maintenance.purge import plan_purge, purge_log
from tests.support.logs import STAMP, append_to, assert_sound, body, content_of, stored_numbers, write_file
from tests.support.purges import before, messages, purged, redact, write_log

PURGE = redact("secret")


class CountingFiles(FileSystem):
    """The real file system; it counts the bytes that are read."""

    bytes_read = 0

    def read(self, fd: int, size: int, offset: int) -> bytes:
        """Read, and count."""
        block = super().read(fd, size, offset)
        self.bytes_read += len(block)
        return block


@pytest.fixture
def path(tmp_path: Path) -> str:
    """A log of four messages, one of which holds a secret."""
    path = str(tmp_path / "log.jsonl")
    write_log(path, body(0), body(1), body(2, text=" secret"), body(3))
    return path


def planned(path: str) -> KnownScan:
    known = plan_purge(path, PURGE).known
    assert known is not None
    return known


def finish(path: str, known: KnownScan | None, files: FileSystem | None = None) -> int:
    return purge_log(path, PURGE, now=lambda: STAMP, known=known, files=files).messages_redacted


def test_the_purge_reads_the_log_once_less_than_without_a_plan(path: str, tmp_path: Path) -> None:
    """Its plan has scanned the log, so the purge reads it once: to write it anew."""
    other = str(tmp_path / "other.jsonl")
    write_file(other, content_of(path))
    counts = []
    for place, known in ((path, planned(path)), (other, None)):
        files = CountingFiles()
        assert finish(place, known, files) == 1
        counts.append(files.bytes_read)
    assert content_of(path) == content_of(other)
    assert counts[1] - counts[0] > os.path.getsize(path) / 2


def test_what_was_appended_after_the_plan_is_purged_too(path: str) -> None:
    """The purge takes it in where the scan of the plan ended."""
    known = planned(path)
    append_to(path, 4)
    write_more = messages(path)
    assert finish(path, known) == 1
    assert len(messages(path)) == len(write_more) == 5
    assert_sound(path)


@pytest.mark.parametrize("other", [b"massage 1", b"MESSAGE 1"])
def test_a_log_that_was_changed_in_its_middle_after_the_plan_is_left_alone(path: str, other: bytes) -> None:
    """Its last bytes are what they were; the purge finds the changed line while it writes, and changes nothing."""
    known = planned(path)
    changed = content_of(path).replace(b"message 1", other)
    write_file(path, changed)
    with pytest.raises(PurgeError, match="try again"):
        finish(path, known)
    assert content_of(path) == changed
    assert os.listdir(os.path.dirname(path)) == ["log.jsonl"]
    assert finish(path, planned(path)) == 1


def test_a_log_that_another_purge_replaced_after_the_plan_is_read_anew(path: str) -> None:
    """The path names another file then."""
    known = planned(path)
    purged(path, before(2))
    assert finish(path, known) == 1
    assert stored_numbers(path) == [2, 3]
    assert_sound(path)
