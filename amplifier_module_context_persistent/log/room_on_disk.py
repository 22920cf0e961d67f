"""Check before a large file is written that the disk has room for it. If not, the error says needed and free bytes.

A disk that fills up would make the appends of other sessions fail. So nothing is begun that cannot fit.
"""

from __future__ import annotations

import errno
import os
import shutil


def free_bytes(path: str | os.PathLike[str]) -> int | None:
    """Return the bytes that this user may still write on the disk of a path.

    The result is None if the system does not tell the number. The path need not exist; then the nearest directory above
    it counts.
    """
    place = os.path.abspath(path)
    while not os.path.exists(place) and place != os.path.dirname(place):
        place = os.path.dirname(place)
    try:
        disk = shutil.disk_usage(place)
    except OSError:
        return None
    return disk.free if disk.total else None  # some mounts of servers say 0 of everything


def no_room_error(path: str, needed_bytes: int, written_bytes: int = 0) -> OSError:
    """Return the error for a file that does not fit on its disk.

    Args:
        path: the path of the file.
        needed_bytes: the size that it should have.
        written_bytes: the bytes of it that were written, and are free again when it is removed.
    """
    free = free_bytes(path)
    if free is None or free + written_bytes >= needed_bytes:  # perhaps a quota
        found = "the disk is full, or a limit is reached"
    else:
        found = f"{free + written_bytes:,} are free on the disk"
    reason = f"the new file needs up to {needed_bytes:,} bytes, and {found}; make room, and try again"
    return OSError(errno.ENOSPC, reason, path)


def check_room(path: str, needed_bytes: int) -> None:
    """Check that a file fits on its disk. Other files may still take the room before it is written.

    Raises:
        OSError: the file does not fit.
    """
    free = free_bytes(path) if needed_bytes else None
    if free is not None and free < needed_bytes:
        raise no_room_error(path, needed_bytes)
