"""Save a torn tail aside. This must happen before any byte of the log is cut."""

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
    """Copy a torn tail into a new file beside the log, and sync file and directory; returns the copy's path.

    The name has the offset and the checksum. So if a crash came between saving and cutting, the copy is found again and
    not made twice. If the name has other content, the next free name is taken.

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
    """The copies of torn tails beside a log."""
    directory, name = os.path.split(path)
    pattern = re.compile(re.escape(name) + r"\.torn-\d+-[0-9a-f]{8}(\.\d+)?")
    return sorted(os.path.join(directory, other) for other in os.listdir(directory) if pattern.fullmatch(other))


def _write_copy(files: FileSystem, copy: int, name: str, blocks: Iterator[bytes]) -> None:
    """Fill and sync a new file. If that fails, the file is removed, so that a full disk does not collect them."""
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
    """Whether a file has the tail already. If so, it is synced, because its writer may have died before that."""
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
    at, end = offset, offset + size
    while at < end:
        block = files.read(fd, min(_CHUNK_BYTES, end - at), at)
        if not block:
            raise OSError(errno.EIO, f"the file ends at byte {at}, before its torn tail does")
        yield block
        at += len(block)
