"""One open log file: its descriptor, its identity and its bytes. It does not know records.

For an archived log, the bytes, the size and the status are those of the log in the archive. So a reader that uses a
`FileHandle` need not know about archives.
"""

from __future__ import annotations

import errno
import logging
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, cast

from ..errors import LogUnreadableError
from .archive_format import is_archive
from .archived_bytes import ArchivedBytes, archived_bytes
from .filesystem import FileSystem, Opened, open_file, open_regular, unreadable
from .thread_pool import WAITING

logger = logging.getLogger(__name__)

CHUNK_BYTES = 1 << 20
"""The number of bytes of a log that are read at once."""


class FileHandle:
    """A log's file, open or not.

    Args:
        path: the path of the file; a symbolic link as its last component is not followed.
        files: the system calls; tests replace them.
        writable: open the file for appending too.
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
        self.archive: ArchivedBytes | None = None
        """The reader of an archived log; None for a plain log."""

    @property
    def descriptor(self) -> int:
        """The descriptor of the open file.

        Raises:
            LogUnreadableError: no file is open.
        """
        if self.fd is None:
            raise LogUnreadableError(errno.ENOENT, "the log is not open", self.path)
        return self.fd

    def open(self, *, create: bool) -> bool:
        """Open the file, or with `create` make the file if it does not exist. Return whether the file is open now.

        Raises:
            LogUnreadableError: the file exists and cannot be read.
            OSError: the file does not exist and cannot be created.
        """
        with WAITING:
            opened = open_file(self.files, self.path, writable=self.writable, create=create)
            if opened is not None:
                self._take(opened)
        return opened is not None

    def _take(self, opened: Opened) -> None:
        self.fd, status = opened
        self.identity = (status.st_dev, status.st_ino)
        try:
            self.archive = archived_bytes(self._read_raw, status.st_size, self.path)
        except OSError as error:
            self.close()
            raise unreadable(error, self.path) from error
        self.opened_status = self._of_log(status)

    def _of_log(self, status: os.stat_result) -> os.stat_result:
        """Return the status of the open file. If the file is an archive, the size in it is that of the archived log."""
        return status if self.archive is None else with_size(status, self.archive.size)

    def close(self) -> None:
        """Close the file, if it is open."""
        self.archive = None
        fd = self.fd
        self.fd = None
        if fd is not None:
            try:
                self.files.close(fd)
            except OSError as error:  # acknowledged records were synced before, and the descriptor is closed anyway
                logger.warning("%s: closing it failed: %s", self.path, error)

    def __del__(self) -> None:
        """Close the file of a handle that was dropped without a `close`."""
        if getattr(self, "fd", None) is not None:  # the constructor may have failed
            self.close()

    def size(self) -> int:
        """Return the size of the open log in bytes.

        Raises:
            LogUnreadableError: the system refuses.
        """
        return self.open_status().st_size

    def open_status(self) -> os.stat_result:
        """Return the open file's status (`fstat`). If the file is an archive, the size is that of the archived log.

        Raises:
            LogUnreadableError: the system refuses.
        """
        try:
            return self._of_log(self.files.fstat(self.descriptor))
        except OSError as error:
            raise unreadable(error, self.path) from error

    def status(self) -> os.stat_result:
        """Return the status of the file that the path names now.

        Raises:
            LogUnreadableError: the file was removed, or the system refuses.
        """
        try:
            status = self.files.stat(self.path)
            is_open = self.archive is not None and (status.st_dev, status.st_ino) == self.identity
            return self._of_log(status) if is_open else status
        except FileNotFoundError as error:
            reason = "the log was removed while it was open; put it back, or begin a new session"
            raise LogUnreadableError(errno.ENOENT, reason, self.path) from error
        except OSError as error:
            raise unreadable(error, self.path) from error

    def is_as_left(self, size: int, end: bytes) -> bool:
        """Return whether the path still names the open file, and the file has this size and ends with these bytes.

        Raises:
            LogUnreadableError: the system refuses.
        """
        files = self.files
        fd = self.fd
        try:
            status = files.stat(self.path)
            if fd is None or status.st_size != size or (status.st_dev, status.st_ino) != self.identity:
                return False
            return files.read(fd, len(end), size - len(end)) == end
        except FileNotFoundError:
            return False
        except OSError as error:
            raise unreadable(error, self.path) from error

    def read(self, offset: int, size: int) -> bytes:
        """Read `size` bytes of the log from `offset`; fewer only at its end.

        Raises:
            LogUnreadableError: the system refuses.
        """
        with WAITING:
            return self._read(offset, size)

    def before(self, offset: int, size: int) -> bytes:
        """Read the last `size` bytes before `offset`; fewer bytes only near the start of the log.

        This is not marked as a wait (`WAITING`), because each append does it.

        Raises:
            LogUnreadableError: the system refuses.
        """
        start = offset - size if offset > size else 0
        return self._read(start, offset - start) if offset else b""

    def read_file(self, offset: int, size: int) -> bytes:
        """Read `size` bytes of the file from `offset`. For an archived log these are compressed bytes, not lines.

        Raises:
            LogUnreadableError: the system refuses, or the file is shorter.
        """
        try:
            block = b""
            while len(block) < size and (more := self._read_raw(size - len(block), offset + len(block))):
                block += more
        except OSError as error:
            raise unreadable(error, self.path) from error
        if len(block) < size:
            raise LogUnreadableError(errno.EIO, "the file was cut while it was read", self.path)
        return block

    def _read_raw(self, size: int, offset: int) -> bytes:
        return self.files.read(self.descriptor, size, offset)

    def _read(self, offset: int, size: int) -> bytes:
        fd = self.descriptor
        read = self.files.read
        try:
            if self.archive is not None:
                return self.archive.read(offset, size)
            block = read(fd, size, offset)
            while 0 < len(block) < size:
                more = read(fd, size - len(block), offset + len(block))
                if not more:
                    break
                block += more
        except OSError as error:
            raise unreadable(error, self.path) from error
        return block

    def lines(self, end: int, start: int = 0) -> Iterator[bytes]:
        """Yield the lines from the offset `start` up to `end`, without LF. The last line may lack its LF in the file.

        Raises:
            LogUnreadableError: the system refuses.
        """
        offset = start
        begun = list[bytes]()
        while offset < end and (block := self.read(offset, min(CHUNK_BYTES, end - offset))):
            offset += len(block)
            first, *lines = block.split(b"\n")
            begun.append(first)
            for line in lines:
                yield b"".join(begun)  # does not copy a line that lies in one block
                begun = [line]
        if any(begun):
            yield b"".join(begun)


def with_size(status: os.stat_result, size: int) -> os.stat_result:
    """Return a copy of a file's status with another size."""
    values, named_fields = cast("tuple[tuple[int, ...], dict[str, Any]]", status.__reduce__()[1])
    return os.stat_result((*values[:6], size, *values[7:]), named_fields)


def is_archived(path: str | os.PathLike[str]) -> bool:
    """Return whether a file is an archived log, judged by its beginning and its end.

    Raises:
        OSError: the file cannot be read.
    """
    with open_regular(path) as file:
        return is_open_archive(file, path)


def is_open_archive(file: BinaryIO, path: str | os.PathLike[str]) -> bool:
    """Return whether an open file is an archived log; its position changes.

    Args:
        file: an open file that can be read at any position.
        path: its path, for errors.

    Raises:
        OSError: the file cannot be read.
    """

    def read(size: int, offset: int) -> bytes:
        file.seek(offset)
        return file.read(size)

    return is_archive(read, os.fstat(file.fileno()).st_size, os.fspath(path))


def size_of_log(path: str | os.PathLike[str]) -> int:
    """Return the size of a log in bytes, or for an archived log the size of the log in the archive.

    Raises:
        OSError: the file cannot be read.
    """
    log = FileHandle(os.fspath(path))
    try:
        return log.size() if log.open(create=False) else 0
    finally:
        log.close()


def first_line(path: str | os.PathLike[str], most_bytes: int) -> bytes:
    """Return the first line of a log, archived or not; at most `most_bytes` bytes.

    Raises:
        OSError: the file cannot be read.
    """
    with open_regular(path) as file:
        line = file.readline(most_bytes)
        if not is_open_archive(file, path):
            return line
    return beginning(path, most_bytes).partition(b"\n")[0]


def beginning(path: str | os.PathLike[str], size: int) -> bytes:
    """Return the first `size` bytes of a log, archived or not, or of any other file.

    Raises:
        OSError: the file cannot be read.
    """
    with open_regular(path) as file:
        first = file.read(size)
        if not is_open_archive(file, path):
            return first
    log = FileHandle(os.fspath(path))
    try:
        return log.read(0, size) if log.open(create=False) else b""
    finally:
        log.close()
