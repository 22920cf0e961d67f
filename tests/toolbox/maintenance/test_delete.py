"""Deleting a log: whole or not at all, after what belongs to it, and never one that changed."""

from __future__ import annotations

import errno
import os
import threading
from contextlib import closing
from pathlib import Path

import pytest

from amplifier_module_context_persistent.errors import DeleteError, LockTimeoutError, LogFailedError, LogUnreadableError
from amplifier_module_context_persistent.log.append_lock import AppendLock
from amplifier_module_context_persistent.log.file_log import FileLog
from amplifier_module_context_persistent.log.filesystem import FileSystem
from amplifier_module_context_persistent.log.reader import LogReader
from amplifier_module_context_persistent.sessions.delete_log import delete_log, files_of
from tests.support.logs import append_bodies, body


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """A log of three messages with a saved torn tail and a file of an earlier version beside it, and another file."""
    path = tmp_path / "log.jsonl"
    with closing(FileLog(path)) as log:
        append_bodies(log, *map(body, range(3)))
    path.with_name("log.jsonl.checkpoint").write_bytes(b"of an earlier version")
    path.with_name("log.jsonl.torn-1-0123abcd").write_bytes(b"torn")
    path.with_name("log.jsonl.old").write_bytes(b"somebody's copy")
    return path


class Refusing(FileSystem):
    """Refuses the n-th removal."""

    def __init__(self, number: int) -> None:
        self._left = number

    def remove(self, path: str) -> None:
        self._left -= 1
        if not self._left:
            raise OSError(errno.EIO, "an error of the disk", path)
        super().remove(path)


def test_what_belongs_to_a_log_goes_with_it(log: Path) -> None:
    """Saved tails, what purges left, and nothing else; the log itself goes last."""
    (log.parent / "log.jsonl.purging-0123abcd").touch()
    names = [os.path.basename(name) for name in files_of(str(log))]
    assert names == ["log.jsonl.torn-1-0123abcd", "log.jsonl.purging-0123abcd", "log.jsonl"]
    assert [os.path.basename(name) for name in delete_log(str(log), log.stat().st_size)] == names
    assert os.listdir(log.parent) == ["log.jsonl.old"]
    with pytest.raises(LogUnreadableError, match="no such file"):
        delete_log(str(log), 0)


@pytest.mark.parametrize(
    ("number", "error", "told"), [(1, DeleteError, "nothing was deleted"), (2, LogFailedError, "delete it again")]
)
def test_a_failed_deletion_leaves_the_log_whole_and_can_be_repeated(
    log: Path, number: int, error: type[Exception], told: str
) -> None:
    """Whichever removal the system refuses; after the first one nothing is gone, and the error says so."""
    before = log.read_bytes()
    with pytest.raises(error, match=told):
        delete_log(str(log), len(before), files=Refusing(number))
    assert log.read_bytes() == before
    delete_log(str(log), len(before))
    assert os.listdir(log.parent) == ["log.jsonl.old"]


def test_a_log_is_not_deleted_while_another_one_writes_to_it(log: Path) -> None:
    """It waits for the lock, and gives up with an error that says so."""
    reader = LogReader(str(log), writable=True)
    reader.follow()
    held, done = threading.Event(), threading.Event()

    def hold() -> None:
        with AppendLock(reader, timeout_s=1):
            held.set()
            done.wait(30)

    holder = threading.Thread(target=hold)
    holder.start()
    held.wait(30)
    try:
        with pytest.raises(LockTimeoutError):
            delete_log(str(log), log.stat().st_size, lock_timeout_s=0.05)
    finally:
        done.set()
        holder.join()
        reader.close()
    assert log.exists()
