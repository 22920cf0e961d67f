"""Replace one copy of a session by another copy.

A copy is replaced only if nothing is lost: the new copy was purged and otherwise has everything of the old one; both
are imports of one source, and the new copy has all messages of the old one; the old copy had only names and tags beyond
the new one, which has them too (`join_labels`); or the old copy's history was kept as a session of its own
(`fork_whole`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import closing
from typing import TYPE_CHECKING

from ....errors import PurgeError
from ....log.contract import ReadableLog
from ....log.database_location import stored_name
from ....log.open_reader import open_reader
from ....log.reader import LogReader
from ....sessions.raw_records import StoredLog, read_log
from ...maintenance.purge_options import Purge
from ...maintenance.swap_in_new_file import NewLogFile
from ..damaged_log import check_sound
from ..fork_whole import fork_id
from .append_to_copy import MEANWHILE, SyncError, kept_closed, whole_lines
from .join_labels import has_labels_of
from .relation_of_copies import Relation, compare_read

if TYPE_CHECKING:
    from ...maintenance.swap_in_new_rows import NewLogRows

_LOCK_TIMEOUT_S = 10.0


def replace_copy(source: str, target: str, *, kept: str = "") -> None:
    """Replace a copy by another log.

    Args:
        source: the new log.
        target: the copy that is replaced.
        kept: the id of the fork that has the old copy's history; empty if the new log has everything itself.

    Raises:
        SyncError: a session has the copy open, or it was written to in the meantime; nothing was changed.
        DamagedLogError: the new log is damaged; nothing was changed.
        PurgeError: another process has written to the copy, or the copy has other hard links, or belongs to another
            user; nothing was changed.
        AppendError: the system or the server refused; the copy is unchanged.
        LogFailedError: the copy was replaced, but the system could not make the replacement durable; or a server did
            not say whether the copy was replaced.
        LogError: a log cannot be read or locked.
    """
    with kept_closed(target), closing(open_reader(source)) as reader:
        reader.follow()
        check_sound(reader)

        def check(log: StoredLog) -> None:
            is_as_planned = fork_id(log) == kept if kept else _has_all_of(reader, log)
            if not is_as_planned:
                raise SyncError(MEANWHILE)

        _replace_lines(target, whole_lines(reader), check=check)


def _has_all_of(log: ReadableLog, copy: ReadableLog) -> bool:
    relation = compare_read(log, copy).relation
    if relation is Relation.LABELED:
        return has_labels_of(log, copy)
    return relation in (Relation.PURGED, Relation.IMPORTED)


def _replace_lines(path: str, lines: Iterable[bytes], *, check: Callable[[StoredLog], None]) -> None:
    """Replace a log's lines by other lines, in a file or in a database.

    The new file, or the new rows, are written and read back first. Then the log is locked, and replaced if nobody wrote
    to the log since then. A kill leaves the old log or the new one. The project's catalogue is removed before and
    after, because it contains words of the log.

    Args:
        path: the log's file, or its location in a database.
        lines: the lines, without LF.
        check: called with the log before the replacement; an exception that it raises ends the operation.

    Raises:
        Exception: what `check` raises; nothing was changed.
        LogError, PurgeError: see `replace_copy`.
    """
    if stored_name(path) is not None:
        from ...maintenance.swap_in_new_rows import NewLogRows, open_rows  # its driver is an extra

        with closing(open_rows(path, _LOCK_TIMEOUT_S)) as stored:
            _check(stored, check)
            _replace(stored, NewLogRows(stored, path, _LOCK_TIMEOUT_S), lines)
        return
    with closing(LogReader(path, writable=True)) as log:
        _check(log, check)
        _replace(log, NewLogFile(log, Purge(), _LOCK_TIMEOUT_S, done="its replacement"), lines)


def _check(log: StoredLog, check: Callable[[StoredLog], None]) -> None:
    read_log(log)
    check(log)


def _replace(log: StoredLog, new: NewLogFile | NewLogRows, lines: Iterable[bytes]) -> None:
    index = log.index
    end = log.scanner.offset
    with new, new.refusing():
        for line in lines:
            new.write(line + b"\n")
        new.read_back()
        with new.holding():
            if log.index is not index or log.scanner.offset != end:
                raise PurgeError("the log was written to by another process; nothing was changed; try again")
            new.take_place()
