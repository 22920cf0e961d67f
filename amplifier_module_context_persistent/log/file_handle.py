"""One open log file: its descriptor, its identity, its bytes. Knows nothing of records."""

from __future__ import annotations

import errno
import logging
import os
from collections.abc import Iterator
from pathlib import Path

from ..errors import LogUnreadableError
from .filesystem import FileSystem, open_file, unreadable
from .thread_pool import WAITING

logger = logging.getLogger(__name__)

CHUNK_BYTES = 1 << 20
"""How much of a log is read at once."""


class FileHandle:
    """A log's file, open or not.

    Args:
        path: the file; its last component is never followed if it is a link.
        files: the system calls, for tests to replace.
        writable: open for appending too.
    """

    def __init__(self, path: str | Path, files: FileSystem | None = None, *, writable: bool = False) -> None:
        self.path = os.path.abspath(os.path.expanduser(path))
        self.files = files or FileSystem()
        self.fd: int | None = None
        self.opened_status: os.stat_result | None = None
        """The file's status when it was opened."""
        self.identity = (-1, -1)
        """Device and inode of the open file."""
        self.writable = writable

    @property
    def descriptor(self) -> int:
        """The open file.

        Raises:
            LogUnreadableError: no file is open.
        """
        if self.fd is None:
            raise LogUnreadableError(errno.ENOENT, "the log is not open", self.path)
        return self.fd

    def open(self, *, create: bool) -> bool:
        """Open the file if it is there, or create it; whether it is open now.

        Raises:
            LogUnreadableError: it is there and cannot be read.
            OSError: it is not there and cannot be created.
        """
        with WAITING:
            opened = open_file(self.files, self.path, writable=self.writable, create=create)
        if opened is not None:
            self.fd, self.opened_status = opened
            self.identity = (self.opened_status.st_dev, self.opened_status.st_ino)
        return opened is not None

    def close(self) -> None:
        """Close the file; nothing if none is open."""
        fd, self.fd = self.fd, None
        if fd is not None:
            try:
                self.files.close(fd)
            except OSError as error:  # what was acknowledged was synced before; the descriptor is gone all the same
                logger.warning("%s: closing it failed: %s", self.path, error)

    def __del__(self) -> None:
        """Close the file of a log that was dropped without a close; nobody can be using it any more."""
        if getattr(self, "fd", None) is not None:  # the constructor may have failed
            self.close()

    def size(self) -> int:
        """The open file's size.

        Raises:
            LogUnreadableError: the system refuses.
        """
        try:
            return self.files.fstat(self.descriptor).st_size
        except OSError as error:
            raise unreadable(error, self.path) from error

    def status(self) -> os.stat_result:
        """The status of the file that the path names by now.

        Raises:
            LogUnreadableError: it is gone, or the system refuses.
        """
        try:
            return self.files.stat(self.path)
        except FileNotFoundError as error:
            reason = "the log was removed while it was open; put it back, or begin a new session"
            raise LogUnreadableError(errno.ENOENT, reason, self.path) from error
        except OSError as error:
            raise unreadable(error, self.path) from error

    def is_as_left(self, size: int, end: bytes) -> bool:
        """Whether the path names the open file, and this has a size and ends with some bytes.

        Raises:
            LogUnreadableError: the system refuses to tell.
        """
        files = self.files
        try:
            status = files.stat(self.path)
            if status.st_size != size or (status.st_dev, status.st_ino) != self.identity:
                return False
            return files.read(self.descriptor, len(end), size - len(end)) == end
        except FileNotFoundError:
            return False
        except OSError as error:
            raise unreadable(error, self.path) from error

    def read(self, offset: int, size: int) -> bytes:
        """Read `size` bytes from `offset`; fewer only where the file ends.

        Raises:
            LogUnreadableError: the system refuses.
        """
        with WAITING:
            return self._read(offset, size)

    def before(self, offset: int, size: int) -> bytes:
        """The last few bytes before an offset; fewer only where there are no more.

        It does not count as a wait, as little as a look at the file's status: both are to be known for each append.

        Raises:
            LogUnreadableError: the system refuses.
        """
        start = offset - size if offset > size else 0
        return self._read(start, offset - start) if offset else b""

    def _read(self, offset: int, size: int) -> bytes:
        fd, read = self.descriptor, self.files.read
        try:
            block = read(fd, size, offset)
            while len(block) < size and block and (more := read(fd, size - len(block), offset + len(block))):
                block += more
        except OSError as error:
            raise unreadable(error, self.path) from error
        return block

    def lines(self, end: int, start: int = 0) -> Iterator[bytes]:
        """The lines from the offset `start` up to `end`, without their LF; the last one may lack it in the file.

        Raises:
            LogUnreadableError: the system refuses.
        """
        at, begun = start, list[bytes]()
        while at < end and (block := self.read(at, min(CHUNK_BYTES, end - at))):
            at += len(block)
            first, *lines = block.split(b"\n")
            begun.append(first)
            for line in lines:
                yield b"".join(begun)  # no copy of a line that lies in one block
                begun = [line]
        if any(begun):
            yield b"".join(begun)
