"""The check of a file's owner and permissions: a log that another user may have forged is not read and not written."""

from __future__ import annotations

import errno
import logging
import os
import stat
import sys

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


def check_trust(status: os.stat_result, path: str) -> None:
    """Raise an error for a log that another user may have forged; log a warning if the file's group may write it.

    Raises:
        LogUnreadableError: another user owns the log, or every user may write it; the text says what to do.
    """
    if reason := distrust(status):
        raise LogUnreadableError(errno.EPERM, reason, path)
    if not WINDOWS and status.st_mode & stat.S_IWGRP:
        logger.warning("%s: its group may write it; make it private with chmod 600", path)
