"""Putting the lines of another copy in the place of a log, in a file or in a database.

The new file, or the new rows, are written and read back first. Then the log is locked, and replaced if nobody wrote to
it meanwhile. A kill leaves the old log or the new one. The project's catalogue is removed before and after, since it
holds words of the log.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import closing
from typing import TYPE_CHECKING

from ...errors import PurgeError
from ...log.database_location import stored_name
from ...log.reader import LogReader
from ...sessions.raw_records import StoredLog, follow_log
from .purge_file import PurgeFile
from .purge_options import Purge

if TYPE_CHECKING:
    from .purge_stored import PurgeRows

_LOCK_TIMEOUT_S = 10.0


def replace_log(path: str, lines: Iterable[bytes], *, check: Callable[[StoredLog], None]) -> None:
    """Put other lines in the place of a log.

    Args:
        path: the log's file, or its location in a database.
        lines: the lines, without LF.
        check: is given the log as it will be replaced; an error that it raises ends the operation.

    Raises:
        Exception: what `check` raises; nothing was changed.
        PurgeError: the log was written to meanwhile, or its content would stay elsewhere; nothing was changed.
        AppendError: the system or the server refused; the log is what it was.
        LogFailedError: the log was replaced, and the system refused what makes that durable; or a server did not say
            whether it was replaced.
        LogError: the log cannot be read or locked.
    """
    if stored_name(path) is not None:
        from .purge_stored import PurgeRows, open_rows  # its driver is an extra

        with closing(open_rows(path, _LOCK_TIMEOUT_S)) as stored:
            _check(stored, check)
            _replace(stored, PurgeRows(stored, path, _LOCK_TIMEOUT_S), lines)
        return
    with closing(LogReader(path, writable=True)) as log:
        _check(log, check)
        _replace(log, PurgeFile(log, Purge(), _LOCK_TIMEOUT_S), lines)


def _check(log: StoredLog, check: Callable[[StoredLog], None]) -> None:
    follow_log(log)
    check(log)


def _replace(log: StoredLog, new: PurgeFile | PurgeRows, lines: Iterable[bytes]) -> None:
    index, end = log.index, log.scanner.offset
    with new, new.refusing():
        for line in lines:
            new.write(line + b"\n")
        new.read_back()
        with new.holding():
            if log.index is not index or log.scanner.offset != end:
                raise PurgeError("the log was written to meanwhile; nothing was changed; try again")
            new.take_place()
