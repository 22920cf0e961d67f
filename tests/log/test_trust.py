"""Which logs a session trusts: its user's own, that nobody else may write and no later version wrote."""

import logging
import os
from collections.abc import Callable

import pytest

from amplifier_module_context_persistent.errors import (
    AppendError,
    LogCreateError,
    LogUnreadableError,
    LogVersionError,
    PurgeError,
)
from amplifier_module_context_persistent.log.file_log import FileLog
from amplifier_module_context_persistent.log.filesystem import FileSystem
from amplifier_module_context_persistent.log.reader import LogReader
from amplifier_module_context_persistent.log.record_line import encode_control
from amplifier_module_context_persistent.toolbox.maintenance.purge_log import purge_log
from amplifier_module_context_persistent.toolbox.maintenance.purge_options import Purge
from tests.support.logs import STAMP, append, append_to, body, content_of, numbers, saved_tails, sealed, write_file

pytestmark = pytest.mark.skipif(os.name != "posix", reason="files have no owners and modes here")

STRANGER = 54_321


class OwnedBy(FileSystem):
    """The real files, of which those with this name belong to somebody."""

    def __init__(self, owner: int, name: str = "log.jsonl") -> None:
        self.owner, self.name = owner, name
        self.inodes: set[int] = set()

    def open_log(self, path: str, *, create: bool) -> int:
        return self._noted(super().open_log(path, create=create), path)

    def open_readonly(self, path: str) -> int:
        return self._noted(super().open_readonly(path), path)

    def _noted(self, fd: int, path: str) -> int:
        if os.path.basename(path) == self.name:
            self.inodes.add(os.fstat(fd).st_ino)
        return fd

    def fstat(self, fd: int) -> os.stat_result:
        status = super().fstat(fd)
        if status.st_ino not in self.inodes:
            return status
        return os.stat_result([*status[:4], self.owner, *status[5:]])


def own(_: str) -> FileSystem | None:
    return None


def of_a_stranger(_: str) -> FileSystem | None:
    return OwnedBy(STRANGER)


def for_all(path: str) -> FileSystem | None:
    os.chmod(path, 0o666)
    return None


UNTRUSTED = [(of_a_stranger, f"belongs to the user with the id {STRANGER}"), (for_all, "every user may write")]


@pytest.mark.parametrize(("make", "reason"), UNTRUSTED)
def test_a_log_that_somebody_else_may_have_made_up_is_refused(
    path: str, make: Callable[[str], FileSystem | None], reason: str
) -> None:
    """A session neither reads it nor appends to it, however often it tries; nothing is changed."""
    append_to(path, 0)
    files, before = make(path), content_of(path)
    for use in (FileLog.follow, lambda log: append(log, 1)):
        log = FileLog(path, files=files)
        for _ in range(2):
            with pytest.raises(LogUnreadableError, match=reason):
                use(log)
        assert len(log.index) == 0
    assert content_of(path) == before


@pytest.mark.parametrize(("make", "reason"), UNTRUSTED)
def test_commands_that_only_read_warn_and_read(
    path: str, make: Callable[[str], FileSystem | None], reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    """What such a log holds can be looked at."""
    append_to(path, 0)
    reader = LogReader(path, files=make(path))
    reader.follow()
    assert [message["content"] for message in reader.read(reader.index.live)] == ["message 0"]
    assert reason in caplog.text
    reader.close()


def test_a_log_of_root_is_trusted(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Root could do anything anyway."""
    append_to(path, 0)
    monkeypatch.setattr(os, "geteuid", lambda: STRANGER)
    log = FileLog(path, files=OwnedBy(0))
    append(log, 1)
    assert numbers(log) == [0, 1]
    log.close()


def test_a_log_that_its_group_may_write_is_a_warning(path: str, log: FileLog, caplog: pytest.LogCaptureFixture) -> None:
    """Some people share a group on purpose. It is told once for each file."""
    append_to(path, 0)
    os.chmod(path, 0o660)
    append(log, 1)
    append(log, 2)
    assert [record.levelno for record in caplog.records] == [logging.WARNING]
    assert "its group may write it" in caplog.text


def test_a_stranger_s_log_in_the_place_of_an_open_one_is_refused(path: str) -> None:
    """The file that is there once the lock is held is looked at too."""
    append_to(path, 0)
    files = OwnedBy(STRANGER, "none")
    log = FileLog(path, files=files)
    append(log, 1)
    write_file(path + ".new", b"".join(sealed([body(7)])))
    os.replace(path + ".new", path)
    files.name = "log.jsonl"
    before = content_of(path)
    for _ in range(2):
        with pytest.raises(LogUnreadableError, match="not trusted"):
            append(log, 2)
    with pytest.raises(LogUnreadableError, match="not trusted"):
        log.follow()
    assert content_of(path) == before


# -- later versions --------------------------------------------------------------------------------------------------


def later(*, torn: bytes = b"") -> bytes:
    return b"".join(sealed([encode_control("header", version=99), body(0)])) + torn


def test_a_log_of_a_later_version_is_read_with_a_warning_and_never_changed(
    path: str, log: FileLog, caplog: pytest.LogCaptureFixture
) -> None:
    """Neither by an append, nor by a repair of its tail, nor by a purge."""
    before = later(torn=b'{"role":"us')
    write_file(path, before)
    assert numbers(log) == [0]
    assert "format version 99" in caplog.text
    for _ in range(2):
        with pytest.raises(LogVersionError, match="only reads"):
            append(log, 1)
        with pytest.raises(LogVersionError, match="only reads"):
            log.repair()
    with pytest.raises(PurgeError, match="version 99"):
        purge_log(path, Purge(everything=True), now=lambda: STAMP)
    assert numbers(log) == [0]
    assert (content_of(path), saved_tails(path)) == (before, [])


# -- directories -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("exists", [False, True])
def test_a_directory_that_cannot_be_read_is_refused_before_anything_is_stored(
    path: str, log: FileLog, exists: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its entries cannot be synced (mode 0300): the caller is told that nothing was stored, and it is so."""
    if exists:
        append_to(path, 0)
    before, access = content_of(path) if exists else None, os.access
    monkeypatch.setattr(os, "access", lambda name, mode: name != os.path.dirname(path) and access(name, mode))
    for _ in range(2):
        with pytest.raises(AppendError if exists else LogCreateError, match=r"chmod u\+r"):
            append(log, 1)
    assert (content_of(path) if os.path.exists(path) else None) == before
    append(FileLog(path, durability="write"), 2)
    monkeypatch.undo()
    append(log, 3)
    assert numbers(log) == ([0] if exists else []) + [2, 3]
