"""Hide a turn of a session from its views, or show it again, from outside the session."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ... import clock
from ...log.index import Index
from ...log.open_log import open_log
from ...session.pin_and_hide import hide_record
from .copy_log import append_all


def hide_turn(
    path: str | Path,
    turn: int | str,
    *,
    hidden: bool = True,
    reason: str = "",
    lock_timeout_s: float = 10.0,
    now: Callable[[], str] = clock.utc_now,
    new_id: Callable[[], str] = clock.new_id,
) -> bool:
    """Hide a turn from a session's views, or show it again, from the session's next plan on.

    Args:
        path: the session's log (a file, or a location in a database), which may be in use.
        turn: the turn's number, from 1, or the id of one of its messages.
        hidden: True to hide the turn, False to show it again.
        reason: the reason, which is kept in the log.
        lock_timeout_s: how long to wait for another process that holds the log's lock.
        now: gives ISO 8601 timestamps.
        new_id: gives unique ids.

    Returns:
        Whether the turn's state changed.

    Raises:
        PinError: there is no such turn, or it is the one in progress.
        LogError: the log is missing, cannot be read, or refused the append.
    """
    log = open_log(str(path), lock_timeout_s=lock_timeout_s)
    record_id = new_id()
    time = now()
    appended: list[bytes] = []

    def prepare(index: Index) -> list[bytes]:
        record = hide_record(index, log.read, record_id, turn, hidden=hidden, reason=reason, time=time)
        appended[:] = [] if record is None else [record]
        return appended

    append_all(log, prepare)
    return bool(appended)
