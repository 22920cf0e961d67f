"""Putting one copy of a session in the place of another one.

That is done if nothing is lost by it: this copy was purged and has all that the other one has; both are imports of one
source, and this one has all of the other one; or the other one's history is a session of its own (`fork_whole`).
"""

from __future__ import annotations

from contextlib import closing

from ...log.base import ReadableLog
from ...log.open_reader import open_reader
from ...sessions.raw_records import StoredLog
from ..maintenance.replace_log import replace_log
from .append_to_copy import MEANWHILE, SyncError, kept_closed, whole_lines
from .compare_logs import Relation, compare_read
from .fork_whole import fork_id


def take_over(source: str, target: str, *, kept: str = "") -> None:
    """Put a log in the place of another copy.

    Args:
        source: the log.
        target: the copy that is replaced.
        kept: the id of the session that has the copy's history; without one the log itself has all of it.

    Raises:
        SyncError: a session has the copy open, or it was written to meanwhile; nothing was changed.
        LogError, PurgeError: as `replace_log`.
    """
    with kept_closed(target), closing(open_reader(source)) as reader:
        reader.follow()

        def check(log: StoredLog) -> None:
            if not (fork_id(log) == kept if kept else _has_all_of(reader, log)):
                raise SyncError(MEANWHILE)

        replace_log(target, whole_lines(reader), check=check)


def _has_all_of(log: ReadableLog, copy: ReadableLog) -> bool:
    return compare_read(log, copy).relation in (Relation.PURGED, Relation.IMPORTED)
