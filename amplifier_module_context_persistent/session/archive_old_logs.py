"""Archiving a project's old logs when one of its sessions ends (`archive_after_days`); off unless it is configured.

Rules:
- It begins after the session's own log was closed, so no message and no request waits for it.
- At most 64 MB of logs are archived at one close, the oldest first, so that the close takes about a second.
- If archiving fails, the log stays unchanged, and the session gets no error.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Iterator
from pathlib import Path

from ..catalogue.index_snapshots import CatalogueSnapshots
from ..errors import ContextPersistentError
from ..log.archive_log import LEAST_LOG_BYTES, archive_log
from ..log.file_handle import is_archived
from ..log.open_mark import is_marked
from ..paths import LOG_NAME, why_linked

logger = logging.getLogger(__name__)

MOST_BYTES = 64 << 20
"""The most bytes to archive at one close. A larger log is archived alone."""
_DAY_S = 86_400


def archive_old_logs(log: str, days: int) -> None:
    """Archive the logs of a project that were not written to for some days.

    Args:
        log: the log of the session that ended; the logs in the directories beside its own are checked.
        days: the number of days without a write.
    """
    left = MOST_BYTES
    for path, size in _old_logs(log, days):
        if size > left < MOST_BYTES:
            return
        try:
            done = archive_log(path, snapshots=CatalogueSnapshots(wait_s=0), lock_timeout_s=0.1)
        except (OSError, ContextPersistentError) as error:
            logger.info("%s is not archived: %s", path, error)
            continue
        left -= size
        logger.info("%s was archived: %d bytes became %d", path, done.bytes_before, done.bytes_after)
        if left <= 0:
            return


def _old_logs(log: str, days: int) -> Iterator[tuple[str, int]]:
    """Yield the logs that may be archived, with their sizes. The least recently written log comes first."""
    own = Path(log)
    if own.name != LOG_NAME:
        return
    logs = []
    for path in own.parent.parent.glob(f"*/{LOG_NAME}"):
        try:
            status = path.lstat()
        except OSError:
            continue
        if status.st_size >= LEAST_LOG_BYTES and path != own:
            logs.append((status.st_mtime, str(path), status.st_size))
    for modified_s, place, size in sorted(logs):
        if modified_s > time.time() - days * _DAY_S:
            return
        is_own_file = os.path.isfile(place) and not os.path.islink(place) and not why_linked(place)
        if is_own_file and not _is_done(place):
            yield place, size


def _is_done(path: str) -> bool:
    """Return whether a log is already archived, or is open or cannot be read."""
    try:
        return is_archived(path) or is_marked(path) is not False
    except OSError:
        return True
