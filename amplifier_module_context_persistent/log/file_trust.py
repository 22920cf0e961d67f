"""The check of a file's owner and permissions: a log that another user may have forged is not read and not written.

Some file systems keep no permissions: FAT, exFAT and NTFS on sticks, and Windows' disks in WSL, show every file with
the permissions that were given when the disk was mounted. There `chmod` fails or does nothing, so permissions say
nothing about who wrote a file.
"""

from __future__ import annotations

import errno
import logging
import os
import stat
import sys
import tempfile

from ..errors import LogUnreadableError
from .filesystem import WINDOWS

logger = logging.getLogger(__name__)


def is_own(status: os.stat_result) -> bool:
    """Return whether a file belongs to the user of this process.

    The result is always True on Windows, which does not tell the owner.
    """
    return sys.platform == "win32" or status.st_uid == os.geteuid()


def distrust(status: os.stat_result) -> str:
    """Explain why another user may have forged a log.

    The result is "" if this user or root owns the log, and not every user may write it.
    """
    if sys.platform == "win32":
        return ""
    if status.st_uid not in (os.geteuid(), 0):
        return f"the log belongs to the user with the id {status.st_uid}, so it is not trusted; change its owner"
    if status.st_mode & stat.S_IWOTH:
        return "every user may write the log, so it is not trusted; chmod o-w it"
    return ""


def keeps_permissions(directory: str) -> bool:
    """Return whether the file system of a directory keeps the permissions of its files.

    This is found out with an unnamed file that is made private: if every user may write it all the same, the file
    system keeps no permissions. If no file can be made there, the result is True.
    """
    try:
        with tempfile.TemporaryFile(dir=directory) as file:  # made with mode 0600
            return not os.fstat(file.fileno()).st_mode & stat.S_IWOTH
    except OSError:
        return True


def check_trust(status: os.stat_result, path: str, *, is_carried_copy: bool = False) -> None:
    """Raise an error for a log that another user may have forged; log a warning if the file's group may write it.

    Args:
        status: the status of the open file.
        path: the path of the file.
        is_carried_copy: whether the log is a copy in a place that is synced, or in a backup. A person trusts the place,
            so such a copy is refused for its permissions only if its file system keeps permissions.

    Raises:
        LogUnreadableError: another user owns the log, or every user may write it; the text says what to do.
    """
    reason = distrust(status)
    is_by_permissions = not WINDOWS and (is_own(status) or status.st_uid == 0)
    if reason and is_by_permissions and not keeps_permissions(os.path.dirname(path) or os.curdir):
        if is_carried_copy:
            return
        reason = "every user may write the log, and its disk keeps no permissions, so it is not trusted"
        reason += "; keep sessions on another disk, or mount this one with umask=077"
    if reason:
        raise LogUnreadableError(errno.EPERM, reason, path)
    if not WINDOWS and status.st_mode & stat.S_IWGRP:
        logger.warning("%s: its group may write it; make it private with chmod 600", path)
