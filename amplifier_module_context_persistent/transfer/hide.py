"""Hiding a turn of a session from views, or showing it again, from outside: sessions that have the log open follow."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from .. import clock
from ..log.index import Index
from ..log.open import open_log
from ..session.hidden_turns import hide_record


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
    """Keep a turn out of views from the session's next plan on, or show it again from then on.

    Args:
        path: the session's log (a file, or a location in a database), which may be in use.
        turn: the turn's number, from 1, or the id of one of its messages.
        hidden: whether it is hidden.
        reason: why; the log keeps it.
        lock_timeout_s: how long to wait for another process that holds the log's lock.
        now: gives ISO 8601 timestamps.
        new_id: gives unique ids.

    Returns:
        Whether that was new.

    Raises:
        PinError: there is no such turn, or it is the one in progress.
        LogError: the log is not there, cannot be read, or took nothing.
    """
    log, record_id, time = open_log(str(path), lock_timeout_s=lock_timeout_s), new_id(), now()
    appended: list[bytes] = []

    def prepare(index: Index) -> list[bytes]:
        record = hide_record(index, log.read, turn, hidden=hidden, record_id=record_id, reason=reason, time=time)
        appended[:] = [] if record is None else [record]
        return appended

    try:
        (outcome,) = log.append([prepare])
    finally:
        log.close()
    if isinstance(outcome, Exception):
        raise outcome
    return bool(appended)
