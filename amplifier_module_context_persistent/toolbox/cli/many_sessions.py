"""Gather the figures of many sessions, and describe the sessions from which they come."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from ...sessions.gather_figures import GatheredFigures, gathered
from ...sessions.session_files import SessionFile
from .error_messages import unreadable
from .filter_options import watched
from .terminal import counted, one_line

if TYPE_CHECKING:
    from ...tokens.counter import TokenCounter

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MOST_NAMED = 3


@contextmanager
def gathering(sessions: Sequence[SessionFile], counter: TokenCounter) -> Iterator[GatheredFigures]:
    """Gather the figures of sessions, with a progress bar if the work takes long; arguments as for `gathered`.

    Raises:
        UnusableError: Python has no SQLite, or the figures cannot be added up.
    """
    with unreadable(), gathered(sessions, counter, watched) as figures:
        yield figures


def source_of(figures: GatheredFigures, until_s: float | None = None) -> dict[str, Any]:
    """Return facts about the sessions behind some figures, in JSON types; `until_s` as for `source_line`."""
    last = _last(figures, until_s)
    return {
        "sessions": figures.sessions,
        "sub_agents": figures.sub_agents,
        "up_to": last.isoformat(timespec="milliseconds") if last is not None else None,
        "unreadable": [{"path": path, "error": error} for path, error in figures.unreadable.items()],
    }


def source_line(figures: GatheredFigures, *, until_s: float | None = None, is_newest: bool = False) -> str:
    """Return the facts of `source_of` in one line.

    Args:
        figures: the gathered figures of the sessions.
        until_s: nothing after this time is counted.
        is_newest: whether the sessions are only the newest of those that the filters choose.
    """
    line = counted(figures.sessions, "session")
    if is_newest:
        line = f"only the newest: {line}"
    if figures.sub_agents:
        line += f" ({figures.sub_agents:,} of sub-agents)"
    last = _last(figures, until_s)
    if last is not None:
        line += f", up to {last.astimezone():%Y-%m-%d %H:%M}"
    if figures.unreadable:
        failures = [f"{path} ({why})" for path, why in list(figures.unreadable.items())[:_MOST_NAMED]]
        if len(figures.unreadable) > _MOST_NAMED:
            failures.append("...")
        line += f"; {len(figures.unreadable):,} could not be read: {', '.join(failures)}"
    return one_line(line)


def _last(figures: GatheredFigures, until_s: float | None = None) -> datetime | None:
    last = figures.up_to_us
    if last is not None and until_s is not None:
        last = min(last, int(until_s * 1e6))
    try:
        return _EPOCH + timedelta(microseconds=last) if last is not None else None
    except OverflowError:
        return None
