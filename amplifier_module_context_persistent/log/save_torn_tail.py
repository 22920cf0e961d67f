"""Save a torn tail (the bytes after the last complete record) to another file, before any byte of the log is cut."""

from __future__ import annotations

import contextlib
import errno
import os
import re
from collections.abc import Iterator
from zlib import crc32

from .filesystem import FileSystem
from .index import TornTail

_CHUNK_BYTES = 1 << 20
_MOST_COPIES = 1000


def save_torn_tail(files: FileSystem, fd: int, path: str, torn: TornTail) -> str:
    """Copy a torn tail into a new file beside the log, sync file and directory, and return the copy's path.

    The copy's name contains the offset and the checksum. So after a crash between saving and cutting, the copy is found
    and no second one is made. If a file with this name has other content, a number is added to the name.

    Raises:
        OSError: the copy could not be written and synced; the log is unchanged.
    """
    crc = _checksum(files, fd, torn.offset, torn.torn_bytes)
    stem = f"{path}.torn-{torn.offset}-{crc:08x}"
    for attempt in range(_MOST_COPIES):
        name = f"{stem}.{attempt}" if attempt else stem
        try:
            copy = files.create_new(name)
        except FileExistsError:
            if not _is_copy(files, name, torn.torn_bytes, crc):
                continue
        else:
            _write_copy(files, copy, name, _blocks(files, fd, torn.offset, torn.torn_bytes))
        files.sync_directory(os.path.dirname(path))
        return name
    raise OSError(errno.EEXIST, "too many saved tails of one place")


def saved_tails(path: str) -> list[str]:
    """Return the paths of the copies of torn tails beside a log."""
    directory, name = os.path.split(path)
    pattern = re.compile(re.escape(name) + r"\.torn-\d+-[0-9a-f]{8}(\.\d+)?")
    return sorted(os.path.join(directory, other) for other in os.listdir(directory) if pattern.fullmatch(other))


def _write_copy(files: FileSystem, copy: int, name: str, blocks: Iterator[bytes]) -> None:
    """Fill and sync a new file. If this fails, remove the file, so that a full disk does not collect such files."""
    try:
        try:
            for block in blocks:
                if files.write(copy, block) != len(block):
                    raise OSError(errno.ENOSPC, "short write")
            files.sync(copy)
        finally:
            files.close(copy)
    except BaseException:
        with contextlib.suppress(OSError):
            files.remove(name)
        raise


def _is_copy(files: FileSystem, name: str, size: int, crc: int) -> bool:
    """Return whether a file is a copy of the tail already.

    If so, sync the file, because its writer may have died before the sync.
    """
    try:
        fd = files.open_readonly(name)
    except OSError:
        return False
    try:
        if files.fstat(fd).st_size != size or _checksum(files, fd, 0, size) != crc:
            return False
        files.sync(fd)
        return True
    finally:
        files.close(fd)


def _checksum(files: FileSystem, fd: int, offset: int, size: int) -> int:
    crc = 0
    for block in _blocks(files, fd, offset, size):
        crc = crc32(block, crc)
    return crc


def _blocks(files: FileSystem, fd: int, offset: int, size: int) -> Iterator[bytes]:
    position = offset
    end = offset + size
    while position < end:
        block = files.read(fd, min(_CHUNK_BYTES, end - position), position)
        if not block:
            raise OSError(errno.EIO, f"the file ends at byte {position}, before its torn tail does")
        yield block
        position += len(block)
