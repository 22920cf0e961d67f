"""Saving a torn tail aside, before a byte of it is cut."""

import errno
import os
from pathlib import Path
from zlib import crc32

import pytest

from amplifier_module_context_persistent.log.index import TornTail
from amplifier_module_context_persistent.log.save_torn_tail import save_torn_tail
from tests.support.fakefs import FakeFiles
from tests.support.logs import content_of, saved_tails, write_file

pytestmark = pytest.mark.usefixtures("without_and_with_snapshots")

TAIL = b'{"role":"user","content":"half'
TORN = TornTail(3, len(TAIL))


@pytest.fixture
def path(tmp_path: Path) -> str:
    path = str(tmp_path / "log.jsonl")
    write_file(path, b"{}\n" + TAIL)
    return path


def save(path: str, files: FakeFiles, torn: TornTail = TORN) -> str:
    fd = files.open_log(path, create=False)
    try:
        return save_torn_tail(files, fd, path, torn)
    finally:
        files.close(fd)


def test_a_copy_that_a_crash_left_is_found_again_and_synced(path: str, files: FakeFiles) -> None:
    """A second try does not make a second copy, nor trusts that the first was synced."""
    save(path, FakeFiles())
    name = save(path, files)
    assert saved_tails(path) == [name]
    assert files.count("sync", "sync_directory") == 2


@pytest.mark.parametrize("other", [b"", TAIL[:-1], TAIL + b"x", bytes(len(TAIL))])
def test_a_copy_with_other_bytes_is_left_alone(path: str, other: bytes) -> None:
    """What stands under the name and is not the tail is neither taken for it nor written over."""
    first = f"{path}.torn-3-{crc32(TAIL):08x}"
    write_file(first, other)
    name = save(path, FakeFiles())
    assert name == f"{first}.1"
    assert content_of(first) == other
    assert content_of(name) == TAIL


def test_a_large_tail_is_copied_in_pieces(path: str, files: FakeFiles) -> None:
    """A tail of any size is copied without being held in memory."""
    tail = os.urandom((5 << 20) + 17)
    write_file(path, b"{}\n" + tail)
    name = save(path, files, TornTail(3, len(tail)))
    assert content_of(name) == tail
    assert files.count("write") == 6


@pytest.mark.parametrize("op", ["read", "create_new", "write", "sync", "sync_directory"])
def test_a_failure_leaves_the_log_and_no_half_copy(path: str, op: str, files: FakeFiles) -> None:
    """When the copy cannot be made the error is raised, and no part of a copy stays to fill the disk."""
    files.fail(op, code=errno.ENOSPC)
    with pytest.raises(OSError, match="space"):
        save(path, files)
    assert content_of(path) == b"{}\n" + TAIL
    assert all(content_of(name) == TAIL for name in saved_tails(path))
    assert len(saved_tails(path)) == (op == "sync_directory")


def test_a_short_write_is_a_failure(path: str, files: FakeFiles) -> None:
    """A copy that took only some bytes does not count as one."""
    files.fail("write", short=3)
    with pytest.raises(OSError, match="short"):
        save(path, files)
    assert saved_tails(path) == []


def test_a_tail_that_is_no_longer_there_is_a_failure(path: str) -> None:
    """A file that became shorter meanwhile is not saved as something else."""
    with pytest.raises(OSError, match="before its torn tail"):
        save(path, FakeFiles(), TornTail(3, len(TAIL) + 1))
    assert saved_tails(path) == []
