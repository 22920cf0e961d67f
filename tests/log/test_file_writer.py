"""Bytes at the end of a log's file: all or none, and synced with the directories that lead there."""

import errno
import os
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from amplifier_module_context_persistent.errors import AppendError, LogFailedError
from amplifier_module_context_persistent.log.file_writer import FileWriter
from amplifier_module_context_persistent.log.filesystem import FileSystem
from amplifier_module_context_persistent.log.reader import LogReader
from tests.support.fakefs import FakeFiles
from tests.support.logs import append_to, content_of, saved_tails


@pytest.fixture
def files() -> FakeFiles:
    return FakeFiles()


@pytest.fixture
def reader(tmp_path: Path, files: FakeFiles) -> Iterator[LogReader]:
    path = str(tmp_path / "log.jsonl")
    append_to(path, 0)
    reader = LogReader(path, files=files, writable=True)
    reader.follow()
    yield reader
    reader.close()


@pytest.mark.parametrize("short", [0, 3, None])
def test_what_is_refused_is_cut_back(reader: LogReader, files: FakeFiles, short: int | None) -> None:
    """Whatever the system took of it; the writer goes on."""
    before, writer = content_of(reader.path), FileWriter(reader)
    files.fail("write", code=errno.EDQUOT, short=short)
    with pytest.raises(AppendError, match="nothing was stored"):
        writer.write(b"some bytes\n")
    assert content_of(reader.path) == before
    assert writer.failure is None
    writer.write(b"others\n")
    assert content_of(reader.path) == before + b"others\n"


def test_what_cannot_be_cut_back_is_unknown(reader: LogReader, files: FakeFiles) -> None:
    writer = FileWriter(reader)
    files.fail("write", short=3)
    files.fail("truncate", code=errno.EIO)
    with pytest.raises(LogFailedError, match="could not be cut back"):
        writer.write(b"some bytes\n")
    assert writer.failure is not None


def test_directories_are_synced_once(reader: LogReader, files: FakeFiles) -> None:
    """With the first sync, from the log's own upwards; those that failed again with the next."""
    writer = FileWriter(reader)
    writer.write(b"one\n")
    files.fail("sync_directory", nth=2, code=errno.EIO)
    with pytest.raises(LogFailedError, match="the sync failed"):
        writer.sync()
    left = writer.unsynced_directories
    assert left
    assert os.path.dirname(reader.path) not in left
    writer.sync()
    assert writer.unsynced_directories == []
    synced = files.count("sync_directory")
    writer.sync()
    assert files.count("sync_directory") == synced


@pytest.mark.parametrize("op", ["create_new", "truncate"])
def test_a_torn_tail_is_cut_only_once_it_is_saved(reader: LogReader, files: FakeFiles, op: str) -> None:
    sound = content_of(reader.path)
    with open(reader.path, "ab") as file:
        file.write(b'{"role":"us')
    reader.follow()
    torn, writer = reader.torn, FileWriter(reader)
    assert torn is not None
    files.fail(op, code=errno.EACCES, forever=True)
    with pytest.raises((AppendError, LogFailedError)):
        writer.repair(torn)
    assert content_of(reader.path) == sound + b'{"role":"us'
    assert (writer.failure is None) == (op == "create_new")
    files.faults.clear()
    writer.repair(torn)
    assert content_of(reader.path) == sound
    assert len(saved_tails(reader.path)) >= 1


@pytest.mark.parametrize(
    ("flags", "told"),
    [(0, "may only read it; change its mode or owner"), (os.ST_RDONLY, "it lies on a read-only file system")],
)
def test_a_file_that_may_only_be_read_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, flags: int, told: str
) -> None:
    """In words of what to do, not of descriptors."""
    monkeypatch.setattr(os, "statvfs", lambda _: SimpleNamespace(f_flag=flags))

    class ReadOnly(FileSystem):
        def open_log(self, path: str, *, create: bool) -> int:
            raise PermissionError(errno.EACCES, "not yours", path)

    path = str(tmp_path / "log.jsonl")
    append_to(path, 0)
    reader = LogReader(path, files=ReadOnly(), writable=True)
    reader.follow()
    with pytest.raises(AppendError, match=told):
        FileWriter(reader).write(b"some bytes\n")
    reader.close()
