"""A file that appears whole or not at all: a new session's log, an export.

On Linux the file is written without a name, so that it disappears if its writer is killed. On other systems it is
written in the same directory under a name with our mark and the suffix `.part`, and is locked until it is complete; a
file that is not locked was left by a killed writer. The mode is 0600. The file is synced, and only then gets its name.
An existing file is replaced only if that was asked for.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import re
import stat
from secrets import token_hex

from ..errors import NO_ROOM
from .filesystem import WINDOWS, FileSystem, directories_above, make_directories, open_file_path
from .os_file_lock import try_lock
from .room_on_disk import check_room, no_room_error

_BLOCK_BYTES = 1 << 20
PART_MARK = "context-persistent-"
"""A part of every `.part` name, since programs that download files use that suffix too."""


class NewFile:
    """A file that is being written. Use it in a `with` statement, and call `finish` at the end.

    Args:
        path: the path of the file.
        replace: replace an existing regular file.
        with_directories: make missing parent directories, with mode 0700.
        reads_back: compare the content of the file with the written bytes before it gets its name.
        beside_log: whether a log is in the same directory. Then its parent directories need no sync.
        needed_bytes: the size that the file will have; 0 if it is not known. If it does not fit, nothing is written.
        files: the system calls; tests replace them.

    Raises:
        OSError: the file cannot be written, or the path exists already; nothing of the file is left.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        replace: bool = False,
        with_directories: bool = False,
        reads_back: bool = False,
        beside_log: bool = False,
        needed_bytes: int = 0,
        files: FileSystem | None = None,
    ) -> None:
        self.path = os.path.abspath(os.path.expanduser(path))
        self._aside = f"{self.path}.{PART_MARK}{token_hex(4)}.part"
        self._replace = replace
        self._with_directories = with_directories
        self._files = files or FileSystem()
        self._beside_log = beside_log
        self._needed_bytes = needed_bytes
        self._written_bytes = 0
        self._may_be_unnamed = files is None
        self._is_unnamed = False
        self._fd: int | None = None
        self._waiting = bytearray()
        self._made = ""
        self._digest = hashlib.sha256() if reads_back else None
        self._is_settled = False
        """Whether all written bytes are on the disk and were read back."""

    def __enter__(self) -> NewFile:
        check_free(self.path, replace=self._replace)
        check_room(self.path, self._needed_bytes)
        directory = os.path.dirname(self.path)
        if self._with_directories and not os.path.isdir(directory):
            make_directories(self._files, directory)
            self._made = directory
        self._fd = self._files.create_unnamed(directory) if self._may_be_unnamed else None
        self._is_unnamed = self._fd is not None
        if self._fd is None:
            self._fd = self._create_aside()
        with contextlib.suppress(OSError):  # without locks nobody can tell that its `.part` is in use
            try_lock(self._fd, exclusive=True)
        return self

    def _create_aside(self) -> int:
        try:
            fd = self._files.create_new(self._aside)
        except OSError as error:
            error.filename = self.path
            raise
        return fd

    def __exit__(self, *_: object) -> None:
        fd = self._fd
        self._fd = None
        if fd is None:
            return
        with contextlib.suppress(OSError):
            self._files.close(fd)
        if not self._is_unnamed:
            with contextlib.suppress(OSError):
                self._files.remove(self._aside)
        if self._made:
            with contextlib.suppress(OSError):
                os.rmdir(self._made)

    def write(self, content: bytes) -> None:
        """Write bytes at the end of the file."""
        self._is_settled = False
        if self._digest is not None:
            self._digest.update(content)
        if len(content) >= _BLOCK_BYTES:  # a large content is not copied
            self._flush()
            self._write(content)
            return
        self._waiting += content
        if len(self._waiting) >= _BLOCK_BYTES:
            self._flush()

    def settle(self) -> str:
        """Sync the file and read it back. Return a path by which the file can be read before it has its name.

        `finish` does this too. A caller that names the file under a lock calls `settle` before, since this may take
        long.
        """
        self._flush()
        assert self._fd is not None  # noqa: S101 - within the `with` statement it is open
        self._files.sync(self._fd)
        if self._digest is not None:
            self._read_back(self._digest.digest())
        self._is_settled = True
        return open_file_path(self._fd) if self._is_unnamed else self._aside

    def finish(self) -> None:
        """Sync the file and give it its name.

        Raises:
            FileExistsError: the name exists.
            OSError: the system refuses. If only the directory could not be synced, the file has its name.
        """
        if not self._is_settled:
            self.settle()
        fd = self._fd
        files = self._files
        assert fd is not None  # noqa: S101 - as above
        check_free(self.path, replace=self._replace)
        may_name_at_once = self._is_unnamed and not self._replace
        if not may_name_at_once or not self._named_at_once(fd):
            self._name_by_way_of_aside(fd)
        self._close()
        try:
            above = [os.path.dirname(self.path)] if self._beside_log else directories_above(self.path)
            for directory in above:
                files.sync_directory(directory)
        except OSError as error:
            reason = f"it was written, but its name may not survive a power cut: a directory cannot be synced ({error})"
            raise OSError(error.errno or errno.EIO, reason, self.path) from error

    def _close(self) -> None:
        fd = self._fd
        self._fd = None
        if fd is not None:
            self._files.close(fd)

    def _named_at_once(self, fd: int) -> bool:
        """Give an unnamed file its name, and return True; return False if the system does not support this.

        Raises:
            FileExistsError: the name exists by now.
        """
        try:
            self._files.give_name(fd, self.path)
        except FileExistsError as error:
            raise taken_error(self.path) from error
        except OSError:
            return False
        return True

    def _name_by_way_of_aside(self, fd: int) -> None:
        """Give a file its name by linking or renaming the name that ends in `.part`."""
        try:
            if self._is_unnamed:
                self._name_aside(fd)
            if WINDOWS:  # an open file cannot be renamed there
                self._close()
            self._give_name()
        except BaseException:  # also after an interrupt by the user: no `.part` file is left
            with contextlib.suppress(OSError):
                self._files.remove(self._aside)
            raise

    def _name_aside(self, fd: int) -> None:
        """Give an unnamed file its `.part` name; if the system does not support that, make a copy with that name."""
        try:
            self._files.give_name(fd, self._aside)
        except OSError:
            self._copy_aside(fd)
        else:
            self._is_unnamed = False

    def _copy_aside(self, fd: int) -> None:
        copy = self._create_aside()
        offset = 0
        try:
            while block := self._files.read(fd, _BLOCK_BYTES, offset):
                written = self._files.write(copy, block)
                if written != len(block):
                    raise OSError(errno.ENOSPC, no_room(written, len(block)), self.path)
                offset += len(block)
            self._files.sync(copy)
        finally:
            self._files.close(copy)

    def _read_back(self, digest: bytes) -> None:
        assert self._fd is not None  # noqa: S101 - within the `with` statement it is open
        with open(open_file_path(self._fd) if self._is_unnamed else self._aside, "rb") as written:
            if hashlib.file_digest(written, "sha256").digest() != digest:
                raise OSError(errno.EIO, "the file does not hold what was written; it was removed", self.path)

    def _give_name(self) -> None:
        if self._replace:
            self._files.replace(self._aside, self.path)
            return
        try:
            os.link(self._aside, self.path)  # unlike a rename, never over another file
        except FileExistsError as error:
            raise taken_error(self.path) from error
        except OSError:  # a file system without hard links
            os.rename(self._aside, self.path)
        else:
            with contextlib.suppress(OSError):  # the file is there; a purge removes the other name
                self._files.remove(self._aside)

    def _flush(self) -> None:
        content = bytes(self._waiting)
        self._waiting = bytearray()
        if content:
            self._write(content)

    def _write(self, content: bytes) -> None:
        assert self._fd is not None  # noqa: S101 - as above
        try:
            written = self._files.write(self._fd, content)
        except OSError as error:
            if error.errno in NO_ROOM and self._needed_bytes:
                raise no_room_error(self.path, self._needed_bytes, self._written_bytes) from error
            raise
        self._written_bytes += written
        if written == len(content):
            return
        if self._needed_bytes:
            raise no_room_error(self.path, self._needed_bytes, self._written_bytes)
        raise OSError(errno.ENOSPC, no_room(written, len(content)), self.path)


def no_room(written: int, wanted: int) -> str:
    """Return the error text for a write that the system accepted only in part."""
    return f"there was room for {written:,} of {wanted:,} bytes: the disk is full, or a limit is reached; make room"


def remove_other_name(path: str, files: FileSystem) -> None:
    """Remove the `.part` name of a file whose writer was killed after giving the file its own name.

    Raises:
        OSError: the system refuses.
    """
    for beside in other_names(path, files):
        files.remove(beside)


def other_names(path: str, files: FileSystem) -> list[str]:
    """Return the paths of a file that `remove_other_name` removes.

    Raises:
        OSError: the system refuses.
    """
    directory, name = os.path.split(path)
    aside = re.compile(rf"{re.escape(name)}\.(?:{PART_MARK})?[0-9a-f]{{8}}\.part")
    status = files.stat(path)
    besides = [os.path.join(directory, other) for other in filter(aside.fullmatch, os.listdir(directory))]
    return [beside for beside in besides if os.path.samestat(files.stat(beside), status)]


def check_free(path: str, *, replace: bool = False) -> None:
    """Raise an error if a path exists. With `replace`, a regular file may exist.

    Raises:
        FileExistsError: the path exists.
    """
    try:
        status = os.stat(path, follow_symlinks=False)
    except FileNotFoundError:
        return
    if not (replace and stat.S_ISREG(status.st_mode)):
        raise taken_error(path)


def taken_error(path: str) -> FileExistsError:
    """Return the error for a path that exists already."""
    what = "a directory" if os.path.isdir(path) else "a file"
    return FileExistsError(errno.EEXIST, f"there is {what} of that name already; nothing was written", path)
