"""The file that takes a log's place in a purge; removed again if it does not."""

from __future__ import annotations

import contextlib
import errno
import os
import re
from collections.abc import Iterator
from secrets import token_hex

from ..errors import AppendError, LogError
from ..log.filesystem import WINDOWS, FileSystem
from ..log.reader import LogReader
from .purge_rewrite import ChainedLines, check_written

PURGING_SUFFIX = ".purging"
"""What a purge writes before it takes the log's place has the log's name, this, and a number of its own."""

_BLOCK_BYTES = 1 << 20


def unfinished_purges(path: str) -> list[str]:
    """The files beside a log that purges of this user left, or are writing."""
    directory, name = os.path.split(path)
    pattern = re.compile(re.escape(name + PURGING_SUFFIX) + r"(-[0-9a-f]{8})?")
    return sorted(os.path.join(directory, other) for other in os.listdir(directory) if pattern.fullmatch(other))


class PurgeFile:
    """A new file beside a log; use it in a `with` statement.

    Args:
        reader: the open log.
    """

    def __init__(self, reader: LogReader) -> None:
        self._reader, self._files = reader, reader.file.files
        self._path = f"{reader.path}{PURGING_SUFFIX}-{token_hex(4)}"
        self._check = LogReader(self._path, files=self._files, max_record_bytes=reader.max_record_bytes)
        self._fd: int | None = None
        self._waiting = bytearray()
        self.lines = ChainedLines(self._write)
        """Takes what the file is to hold."""
        self._in_place = False

    def __enter__(self) -> PurgeFile:
        try:
            _sweep(self._files, self._reader.path)
            self._fd = self._files.create_new(self._path)
            if not WINDOWS and self._files.try_lock(self._path, self._fd) is None:
                raise OSError(errno.EWOULDBLOCK, "the new file is locked by another process")
        except OSError as error:
            self._discard()
            raise self._refused(error) from error
        return self

    def __exit__(self, *_: object) -> None:
        self._check.close()
        self._discard()

    @contextlib.contextmanager
    def refusing(self) -> Iterator[None]:
        """Turn an error of the system into one that says that the log is what it was."""
        try:
            yield
        except LogError:
            raise
        except OSError as error:
            raise self._refused(error) from error

    def sync(self) -> None:
        """Bring what was written to the disk."""
        self._flush(0)
        self._files.sync(self._descriptor)

    def follow(self) -> None:
        """Read what was written so far."""
        self._check.follow()

    def check(self, expected: list[int]) -> None:
        """Read the file as any reader would: it must hold what stays, live in the same order, and verify.

        Raises:
            PurgeError: it does not.
        """
        self._check.follow()
        assert self._check.torn is None  # noqa: S101 - only whole lines are written
        check_written(self._check.index, expected)

    def take_place(self) -> None:
        """Rename the file over the log."""
        if WINDOWS:  # an open file cannot be replaced there
            self._check.close()
            self._close()
            self._reader.close()
        self._files.replace(self._path, self._reader.path)
        self._in_place = True

    @property
    def _descriptor(self) -> int:
        assert self._fd is not None  # noqa: S101 - between __enter__ and __exit__ it is open
        return self._fd

    def _write(self, line: bytes) -> None:
        self._waiting += line
        self._flush(_BLOCK_BYTES)

    def _flush(self, more_than_bytes: int) -> None:
        if len(self._waiting) > more_than_bytes:
            written = self._files.write(self._descriptor, bytes(self._waiting))
            if written != len(self._waiting):
                raise OSError(errno.ENOSPC, f"only {written} of {len(self._waiting)} bytes were taken")
            self._waiting.clear()

    def _refused(self, error: OSError) -> AppendError:
        reason = f"the purge was refused ({error.strerror or error}); the log is what it was"
        return AppendError(error.errno or errno.EIO, reason, self._reader.path)

    def _close(self) -> None:
        fd, self._fd = self._fd, None
        if fd is not None:
            with contextlib.suppress(OSError):
                self._files.close(fd)

    def _discard(self) -> None:
        created = self._fd is not None
        self._close()
        if created and not self._in_place:
            with contextlib.suppress(OSError):
                self._files.remove(self._path)


def _sweep(files: FileSystem, path: str) -> None:
    """Remove what killed purges of this user left; a purge that still runs holds a lock on its file."""
    for name in unfinished_purges(path):
        with contextlib.suppress(OSError):
            if not WINDOWS and files.stat(name).st_uid != os.geteuid():
                continue
            fd = files.open_readonly(name)
            try:
                if WINDOWS or files.try_lock(name, fd) is not None:
                    files.remove(name)
            finally:
                files.close(fd)
