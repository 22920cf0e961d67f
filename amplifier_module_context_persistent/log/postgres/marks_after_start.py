"""Give open sessions the time to mark their logs again after their server was started, or was replaced by another.

A session marks its log with a lock of the server (`open_marks`). No lock survives a start of the server, or a failover.
Sessions notice that and mark their logs again within seconds. Until then, no log looks open, so whoever deletes a log
waits.

A failover is recognised as long as the first checkpoint on the new timeline has not ended. After that, nobody can tell
how long ago it was.
"""

from __future__ import annotations

import time
from contextlib import suppress
from typing import TYPE_CHECKING

from .open_marks import is_direct
from .server_connections import TIMELINE

if TYPE_CHECKING:
    from ..database_location import Location
    from .connection import Connection

SETTLED_S = 20.0
"""The seconds after a start until all sessions have marked their logs again: more than `open_marks.CHECK_S`, the
longest pause (`open_marks.LONGEST_PAUSE_S`) or two attempts to connect need."""

_ABOUT_START = f"""
    select pg_catalog.date_part('epoch', pg_catalog.now() - pg_catalog.pg_postmaster_start_time()), {TIMELINE},
           (select timeline_id from pg_catalog.pg_control_checkpoint())
""".encode()

_first_seen: dict[str, float] = {}
"""When this process first saw a timeline that began with a failover, of `time.monotonic`."""


def seconds_until_marked(connection: Connection, location: Location) -> float:
    """Return the seconds until all open sessions have had the time to mark their logs; 0 if they had.

    0 also if no session can mark its log, since a pooler is in between, and if the server does not tell when it began.

    Args:
        connection: to the primary, in no transaction.
        location: the location that it was made for.
    """
    if not (location.prepares and is_direct(connection)):
        return 0.0
    with suppress(connection.driver.Error):
        ((since_start_s, timeline, timeline_of_checkpoint),) = connection.execute(_ABOUT_START).fetchall()
        since_s = float(since_start_s)
        if timeline and int(timeline.rpartition("/")[2], 16) != timeline_of_checkpoint:
            now = time.monotonic()
            since_s = min(since_s, now - _first_seen.setdefault(timeline, now))
        return max(0.0, SETTLED_S - since_s)
    return 0.0  # a server of another kind
