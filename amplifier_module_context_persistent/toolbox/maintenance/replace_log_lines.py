"""Replace a log's lines by the lines of another copy, in a file or in a database.

The new file, or the new rows, are written and read back first. Then the log is locked, and replaced if nobody wrote to
the log meanwhile. A kill leaves the old log or the new one. The project's catalogue is removed before and after,
because it contains words of the log.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import closing
from typing import TYPE_CHECKING

from ...errors import PurgeError
from ...log.database_location import stored_name
from ...log.reader import LogReader
from ...sessions.raw_records import StoredLog, read_log
from .purge_options import Purge
from .swap_in_new_file import NewLogFile

if TYPE_CHECKING:
    from .swap_in_new_rows import NewLogRows

_LOCK_TIMEOUT_S = 10.0


def replace_log_lines(path: str, lines: Iterable[bytes], *, check: Callable[[StoredLog], None]) -> None:
    """Replace a log's lines by other lines.

    Args:
        path: the log's file, or its location in a database.
        lines: the lines, without LF.
        check: called with the log before the replacement; an exception that it raises ends the operation.

    Raises:
        Exception: what `check` raises; nothing was changed.
        PurgeError: the log was written to meanwhile, has other hard links, or belongs to another user; nothing was
            changed.
        AppendError: the system or the server refused; the log is unchanged.
        LogFailedError: the log was replaced, but the system could not make the replacement durable; or a server did
            not say whether the log was replaced.
        LogError: the log cannot be read or locked.
    """
    if stored_name(path) is not None:
        from .swap_in_new_rows import NewLogRows, open_rows  # its driver is an extra

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
                raise PurgeError("the log was written to meanwhile; nothing was changed; try again")
            new.take_place()
