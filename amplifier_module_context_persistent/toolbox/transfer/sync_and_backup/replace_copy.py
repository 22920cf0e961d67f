"""Replace one copy of a session by another copy.

A copy is replaced only if nothing is lost: the new copy was purged and otherwise has everything of the old one; both
are imports of one source, and the new copy has all messages of the old one; the old copy had only names and tags beyond
the new one, which has them too (`join_labels`); or the old copy's history was kept as a session of its own
(`fork_whole`).
"""

from __future__ import annotations

from contextlib import closing

from ....log.contract import ReadableLog
from ....log.open_reader import open_reader
from ....sessions.raw_records import StoredLog
from ...maintenance.replace_log_lines import replace_log_lines
from ..damaged_log import check_sound
from ..fork_whole import fork_id
from .append_to_copy import MEANWHILE, SyncError, kept_closed, whole_lines
from .join_labels import has_labels_of
from .relation_of_copies import Relation, compare_read


def replace_copy(source: str, target: str, *, kept: str = "") -> None:
    """Replace a copy by another log.

    Args:
        source: the new log.
        target: the copy that is replaced.
        kept: the id of the fork that has the old copy's history; empty if the new log has everything itself.

    Raises:
        SyncError: a session has the copy open, or it was written to in the meantime; nothing was changed.
        DamagedLogError: the new log is damaged; nothing was changed.
        LogError, PurgeError: the errors of `replace_log_lines`.
    """
    with kept_closed(target), closing(open_reader(source)) as reader:
        reader.follow()
        check_sound(reader)

        def check(log: StoredLog) -> None:
            is_as_planned = fork_id(log) == kept if kept else _has_all_of(reader, log)
            if not is_as_planned:
                raise SyncError(MEANWHILE)

        replace_log_lines(target, whole_lines(reader), check=check)


def _has_all_of(log: ReadableLog, copy: ReadableLog) -> bool:
    relation = compare_read(log, copy).relation
    if relation is Relation.LABELED:
        return has_labels_of(log, copy)
    return relation in (Relation.PURGED, Relation.IMPORTED)
