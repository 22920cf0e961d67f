"""Which logs a PostgreSQL database holds, which of them may hold a word, what `list` says of each; and deleting one."""

from __future__ import annotations

import errno
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from ...errors import AppendError, DeleteError, LogUnreadableError
from ..location import parse_location
from . import rows
from .server import ServerError, using

TIMEOUT_S = 10.0
SEARCH_S = 60.0


@dataclass(frozen=True, slots=True)
class StoredLog:
    """A log's name, and when it was written last, in seconds since 1970."""

    name: str
    changed_s: float


def stored_logs(storage: str, project: str | None = None) -> list[StoredLog]:
    """The logs of one project, or of all, the one that was written last first.

    Args:
        storage: a location without a log's name.
        project: what stands before the last `/` of a name.

    Raises:
        ValueError: the location is none.
        LogUnreadableError: the server cannot be asked, or has no tables of ours.
    """
    location = parse_location(storage)
    statement = f"""
        select name, extract(epoch from changed)::float8 from {location.schema}.log
         where %s::text is null or starts_with(name, %s::text) order by changed desc, name
    """
    beginning = None if project is None else f"{project}/"
    try:
        with using(location) as server, server.connected(time.monotonic() + TIMEOUT_S) as connection:
            found = connection.execute(statement.encode(), [beginning, beginning]).fetchall()
    except ServerError as error:
        reason = f"the sessions cannot be read from the server: {error}"
        raise LogUnreadableError(errno.EIO, reason, location.shown) from error
    return [StoredLog(name, changed_s) for name, changed_s in found]


def logs_with_word(storage: str, word: bytes, unless: bytes) -> set[str]:
    """The names of the logs of which a line may hold a word; see `rows.logs_with_word`. It reads all lines there are.

    Raises:
        ValueError: the location is none.
        LogUnreadableError: the server cannot be asked.
    """
    location = parse_location(storage)
    try:
        with using(location) as server, server.connected(time.monotonic() + SEARCH_S) as connection:
            return rows.logs_with_word(connection, location.schema, word, unless)
    except ServerError as error:
        reason = f"the sessions cannot be searched on the server: {error}"
        raise LogUnreadableError(errno.EIO, reason, location.shown) from error


def kept_glances(storage: str) -> dict[str, tuple[str, bytes]]:
    """By the names of logs, what is kept of those that are as they were then, and the line that it names.

    Nothing where the server does not give it: the tables may be older, or the role may not read them.
    """
    location = parse_location(storage)
    try:
        with using(location) as server, server.connected(time.monotonic() + TIMEOUT_S) as connection:
            return {name: (told, line) for name, told, line in rows.read_glances(connection, location.schema)}
    except ServerError:
        return {}


def keep_glances(storage: str, new: Sequence[tuple[str, int, str, int]]) -> None:
    """Keep what is told of logs, as `rows.write_glances`; what the role may not write is looked at again."""
    location = parse_location(storage)
    with suppress(ServerError), using(location) as server, server.connected(time.monotonic() + TIMEOUT_S) as connection:
        rows.write_glances(connection, location.schema, new)


def delete_stored_log(location: str, size_bytes: int, *, timeout_s: float = TIMEOUT_S) -> None:
    """Delete a log's rows, if it has the size that it had when it was looked at.

    Raises:
        DeleteError: it has another one; nothing was deleted.
        LogUnreadableError: there is no such log.
        AppendError: the server refused or went away; look before trying again.
    """
    parsed = parse_location(location)
    try:
        with using(parsed) as server, server.connected(time.monotonic() + timeout_s) as connection:
            rows.begin(connection, limit_s=timeout_s)
            head = rows.read_head(connection, parsed.schema, parsed.name, lock=True)
            if head is None:
                raise LogUnreadableError(errno.ENOENT, "there is no such log; look again", parsed.shown)
            if head.size != size_bytes:
                raise DeleteError("the log was written to since it was looked at; nothing was deleted; look again")
            rows.delete(connection, parsed.schema, head.log_id)
            connection.execute(b"commit")
    except ServerError as error:
        reason = f"the server refused: {error}; look whether the log is there before trying again"
        raise AppendError(errno.EIO, reason, parsed.shown) from error
