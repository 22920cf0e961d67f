"""Telling a file that is no log from a log that is damaged.

A log is damaged if some of its lines are no records; what can be read of it is read. A file of which no line is a
record is a stranger's: it is neither read as an empty session nor repaired nor purged. The beginning of one record is
enough, as a crash during the first append leaves it.
"""

from __future__ import annotations

import errno

from ..errors import NotALogError
from .base import ReadableLog
from .location import is_postgres

_BEGINNINGS = (b'{"_record":', b'{"role":')


def check_is_log(reader: ReadableLog) -> None:
    """Check that a file that was scanned is a log, or empty.

    Raises:
        NotALogError: no line of it is a record, and it does not begin with the beginning of one.
    """
    index = reader.index
    described = reader.describe()
    if len(index) or index.control_counts or index.headers or not described.size_bytes:
        return
    if is_postgres(described.location) or _begins_as_record(described.location):
        return
    why = "this is not a log: no line of it is a record; context-persistent import knows other formats"
    raise NotALogError(errno.EINVAL, why, described.location)


def _begins_as_record(path: str) -> bool:
    with open(path, "rb") as file:
        return file.read(max(map(len, _BEGINNINGS))).startswith(_BEGINNINGS)
