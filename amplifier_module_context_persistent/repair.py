"""Saving a torn tail aside: the one thing that must happen before a byte of the log may be cut."""

from __future__ import annotations

import errno
import os
from zlib import crc32

from .files import Files
from .index import TornTail

_CHUNK_BYTES = 1 << 20


def save_torn_tail(files: Files, fd: int, path: str, torn: TornTail) -> str:
    """Copy a torn tail into a new file beside the log and sync file and directory; the copy's path.

    The name holds offset and checksum, so a copy that a crash left behind between saving and cutting is found again
    and is not made twice; one that is not whole is left alone, and the next free name is taken.

    Raises:
        OSError: it could not be written and synced; the log was not touched.
    """
    crc = 0
    for block in _blocks(files, fd, torn):
        crc = crc32(block, crc)
    stem = f"{path}.torn-{torn.offset}-{crc:08x}"
    for attempt in range(1000):
        name = f"{stem}.{attempt}" if attempt else stem
        try:
            copy = files.create_new(name)
        except FileExistsError:
            if files.stat(name).st_size == torn.torn_bytes:
                return name
            continue
        try:
            for block in _blocks(files, fd, torn):
                if files.write(copy, block) != len(block):
                    raise OSError(errno.ENOSPC, "short write")
            files.sync(copy)
        finally:
            files.close(copy)
        files.sync_directory(os.path.dirname(path))
        return name
    raise OSError(errno.EEXIST, "too many saved tails of one place")


def _blocks(files: Files, fd: int, torn: TornTail) -> list[bytes]:
    starts = range(torn.offset, torn.offset + torn.torn_bytes, _CHUNK_BYTES)
    return [files.read(fd, min(_CHUNK_BYTES, torn.offset + torn.torn_bytes - start), start) for start in starts]
