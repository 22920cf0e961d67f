"""Read from the replica that `read=` in a location names. Lists and text searches use it; nothing is written to it.

A replica is read only within a `reading_from_replica` block, and only by code that calls `place_to_read`: queries about
many logs, and logs that are opened for reading. A session's own log (`PostgresLog`) and all changes always use the
primary.
"""

from __future__ import annotations

import contextlib
import errno
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ...errors import LogUnreadableError
from ..database_location import Location, host_and_port, parse_location
from .server_connections import ServerError, conninfo_of, read_conninfo, using

if TYPE_CHECKING:
    from .connection import Connection

_LIMIT_S = 5.0
_LAG = b"""
    select pg_catalog.pg_is_in_recovery(), exists (select from pg_catalog.pg_stat_wal_receiver),
           pg_catalog.pg_last_wal_receive_lsn() = pg_catalog.pg_last_wal_replay_lsn(),
           pg_catalog.date_part('epoch', pg_catalog.clock_timestamp() - pg_catalog.pg_last_xact_replay_timestamp())
"""

_in_use: dict[tuple[str, str], Location] = {}
"""The replicas that are read now, by connection string and schema of their primaries."""


@dataclass(frozen=True, slots=True)
class ReplicaLag:
    """The lag of a replica behind its primary.

    Attributes:
        host: the replica, as the location names it.
        is_replica: whether the server is a replica; None if it does not tell.
        is_connected: whether it is connected to its primary.
        is_caught_up: whether it has applied all received changes.
        last_change_s: the age of its last applied change in seconds; None if there is none, or it does not tell.
    """

    host: str
    is_replica: bool | None = None
    is_connected: bool = False
    is_caught_up: bool = False
    last_change_s: float | None = None

    def __str__(self) -> str:
        """Return a line that says how far the replica is behind."""
        if self.is_replica is None:
            return f"read from {self.host}, which does not say how far it is behind"
        if not self.is_replica:
            return f"read from {self.host}, which is no replica"
        if self.is_connected and self.is_caught_up:
            return f"read from the replica {self.host}, which is up to date"
        age = "of an unknown time" if self.last_change_s is None else f"{max(0, round(self.last_change_s)):,} s old"
        if not self.is_connected:
            return f"read from the replica {self.host}, which its primary does not reach; its last change is {age}"
        return f"read from the replica {self.host}, which is behind; its last change is {age}"


def place_to_read(location: Location) -> Location:
    """Return the location to read from: within `reading_from_replica` the replica, else the given location."""
    found = _in_use.get((location.conninfo, location.schema))
    return location if found is None else replace(found, name=location.name, shown=location.shown)


@contextmanager
def reading_from_replica(storage: str) -> Iterator[ReplicaLag]:
    """Read from the replica of a storage, in the whole process, until the block ends.

    Args:
        storage: a location with a `read` parameter.

    Raises:
        ValueError: the location is invalid.
        LogUnreadableError: the replica cannot be reached, or has no tables of this package; then it is not used.

    Yields:
        The lag of the replica at the beginning.
    """
    location = parse_location(storage)
    other = _replica_of(location)
    with using(other) as server:
        try:
            with server.connected(time.monotonic() + _LIMIT_S) as connection:
                lag = _lag_of(connection, location.read)
        except ServerError as error:
            raise LogUnreadableError(errno.EIO, str(error), location.read) from error
        _in_use[location.conninfo, location.schema] = other
        try:
            yield lag
        finally:
            del _in_use[location.conninfo, location.schema]


def _replica_of(location: Location) -> Location:
    """Return the location of a replica: the location of its primary with the replica's hosts."""
    parameters: dict[str, Any] = read_conninfo(location)
    parameters.pop("hostaddr", None)
    hosts = [host_and_port(address) for address in location.read.split(",")]
    parameters["host"] = ",".join(host for host, _ in hosts)
    parameters["port"] = ",".join(port or "5432" for _, port in hosts)
    parameters["target_session_attrs"] = "any"
    return replace(location, conninfo=conninfo_of(parameters), read="")


def _lag_of(connection: Connection, host: str) -> ReplicaLag:
    """Ask a server for the lag of its data. A server of another kind than PostgreSQL may not know its lag."""
    with contextlib.suppress(Exception):  # after any error, the sessions can still be read
        row = connection.execute(_LAG).fetchone()
        if row is not None:
            return ReplicaLag(host, row[0], bool(row[1]), bool(row[2]), row[3])
    return ReplicaLag(host)
