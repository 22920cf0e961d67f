"""Create a log again that a failover to a lagging replica lost whole, if all its lines are still in memory.

A log that was removed on the same server stays removed. So does a log that was deleted after the failover, as the list
of erasures says. The list is read after the new row is there: then a deletion by another client has ended before, or
finds the new row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..database_location import Location
from . import rows
from .erasure_rows import is_log_deleted
from .rows import Head, Row
from .server_connections import timeline_of

if TYPE_CHECKING:
    from .connection import Connection


class LogDeletedError(Exception):
    """The log was deleted, or this may be so."""


class LogExistsError(Exception):
    """Another process of the session has created the log again."""


@dataclass(frozen=True, slots=True)
class LostLog:
    """A log that the server does not have any more, as this process knows it."""

    location: Location
    generation: int
    log_ids: Sequence[str]
    """The ids in its headers."""
    rows: Sequence[Row]
    """All its lines, or none if not all of them are in memory."""


def may_be_failover(timeline_before: str, connection: Connection) -> bool:
    """Return whether a failover has happened since the server had this timeline."""
    timeline = connection.timeline and timeline_of(connection)
    return bool(timeline_before and timeline and timeline_before != timeline)


def create_again(connection: Connection, lost: LostLog, *, limit_s: float, durable: bool) -> Head | None:
    """Create a lost log again with its lines. Return its row; None if it is empty because no lines are known.

    Args:
        connection: the connection, in no transaction.
        lost: the log. It keeps its generation, so that a line whose outcome is unknown is looked for in it.
        limit_s: the longest wait for a lock, in seconds.
        durable: whether the server must have the lines on its disk.

    Raises:
        LogExistsError: the log exists again; nothing was changed.
        LogDeletedError: the log was deleted, or it is unknown whether it was; nothing was changed.
    """
    schema = lost.location.schema
    with connection.transaction():
        rows.limit_waits(connection, limit_s=limit_s)
        begun = rows.create(connection, schema, lost.location.name, generation=lost.generation)
        if begun is None:
            raise LogExistsError
        _check_not_deleted(connection, lost)
        if not lost.rows:
            return None
        return rows.append(connection, schema, begun, lost.rows, durable=durable)


def _check_not_deleted(connection: Connection, lost: LostLog) -> None:
    """Raise an error if the list of erasures names the log. Also if it cannot be read: the log may be in it."""
    session_id = lost.location.name.rpartition("/")[2]
    is_deleted = is_log_deleted(connection, lost.location.schema, lost.log_ids, session_id)
    if is_deleted is None:
        raise LogDeletedError("this role may not read the list of erasures, so it may have been deleted")
    if is_deleted:
        raise LogDeletedError("it was deleted")
