"""Work that a session does while it waits for a provider: in short slices, on the log's thread.

It begins a while after a view was handed out, since then the session mostly waits for an answer. It keeps no task and
no thread of its own: a timer of the event loop puts a slice into the queue of the log's thread, and a slice asks for
the next one.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable

from ..log.group_commit import GroupCommit

FIRST_PAUSE_S = 0.2
PAUSE_S = 0.02
MOST_SLICES = 50
"""So many after one view: a session that goes on for hours catches up, and no single wait is busy for long."""


class IdleWork:
    """The work of one session.

    Args:
        commit: the way to the log's thread.
        work: does a slice, and says whether there is more; it must raise nothing.
    """

    def __init__(self, commit: GroupCommit, work: Callable[[], bool]) -> None:
        self._commit, self._work = commit, work
        self._timer: asyncio.TimerHandle | None = None
        self._left = 0

    def begin(self) -> None:
        """Begin after a while, or begin again; on an event loop."""
        self.stop()
        self._left = MOST_SLICES
        self._wait(asyncio.get_running_loop(), FIRST_PAUSE_S)

    def stop(self) -> None:
        """Do no more."""
        self._left = 0
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _wait(self, loop: asyncio.AbstractEventLoop, pause_s: float) -> None:
        if self._left:
            self._timer = loop.call_later(pause_s, self._submit, loop)

    def _submit(self, loop: asyncio.AbstractEventLoop) -> None:
        if self._left:
            self._left -= 1
            self._commit.call(lambda _: self._slice(loop))

    def _slice(self, loop: asyncio.AbstractEventLoop) -> None:
        if self._work():
            with contextlib.suppress(RuntimeError):  # the loop was closed: the session is over
                loop.call_soon_threadsafe(self._wait, loop, PAUSE_S)
