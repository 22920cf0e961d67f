"""Ask a PostgreSQL database about many logs, or its replica while that is read."""

from __future__ import annotations

import errno
import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

from ...errors import AppendError, LogUnreadableError
from ..database_location import Location, parse_location
from .replica import place_to_read
from .server_connections import ServerError, using, was_conflict

if TYPE_CHECKING:
    from .connection import Connection

logger = logging.getLogger(__name__)

T = TypeVar("T")

TIMEOUT_S = 10.0
SEARCH_S = 60.0
_REPLICA_ATTEMPTS = 3
_CANCELLED = (
    "the replica %s cancelled a question %d times, since it was in the way of what the primary sends; the primary is "
    "asked instead (with hot_standby_feedback, or a longer max_standby_streaming_delay, the replica answers)"
)


@contextmanager
def asking(
    storage: str,
    limit_s: float,
    failure: type[LogUnreadableError | AppendError] = LogUnreadableError,
    advice: str = "",
) -> Iterator[tuple[Connection, Location]]:
    """Give a connection to a storage (never to its replica), and its parsed location, for a `with` statement.

    Args:
        storage: a location.
        limit_s: how long the block may take, in seconds.
        failure: the class of the error if the server cannot be queried, or refuses.
        advice: the end of that error's text if the outcome is unknown.

    Raises:
        ValueError: the location is invalid.
        LogUnreadableError: the database has no tables of this package.
        LogUnreadableError, AppendError: (the class `failure`) the server cannot be queried, or refuses.
    """
    location = parse_location(storage)
    with _connected(location, limit_s, failure, advice) as connection:
        yield connection, location


@contextmanager
def _connected(
    location: Location,
    limit_s: float,
    failure: type[LogUnreadableError | AppendError] = LogUnreadableError,
    advice: str = "",
) -> Iterator[Connection]:
    """Give a connection to a location for a `with` statement; arguments and errors as for `asking`."""
    try:
        with using(location) as server, server.connected(time.monotonic() + limit_s) as connection:
            yield connection
    except ServerError as error:
        reason = f"the sessions cannot be reached: {error}{advice}"
        if error.is_refusal:
            reason = f"the server refused: {error}"
        raise failure(errno.EIO, reason, location.shown) from error


def ask(storage: str, limit_s: float, question: Callable[[Connection, Location], T]) -> T:
    """Ask a storage, or its replica while that is read, and return the answer.

    A replica cancels a statement that is in the way of what its primary sends. Then it is asked again; after
    `_REPLICA_ATTEMPTS` attempts the primary is asked, and a warning says so.

    Args:
        storage: a location.
        limit_s: how long each attempt may take, in seconds.
        question: runs statements that only read, outside a transaction; a second call begins anew.

    Raises:
        ValueError: the location is invalid.
        LogUnreadableError: the server cannot be queried, refuses, or has no tables of this package.
    """
    location = parse_location(storage)
    place = place_to_read(location)
    if place is not location:
        for _ in range(_REPLICA_ATTEMPTS):
            try:
                with _connected(place, limit_s) as connection:
                    return question(connection, location)
            except LogUnreadableError as error:
                if not was_conflict(error.__cause__):
                    raise
        logger.warning(_CANCELLED, location.read, _REPLICA_ATTEMPTS)
    with _connected(location, limit_s) as connection:
        return question(connection, location)
