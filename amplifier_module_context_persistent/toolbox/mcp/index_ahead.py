"""The index of messages that no catalogue has indexed. It is kept in memory, because the server writes nothing.

A thread fills it, also between questions. A question waits for the thread for a limited time.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence

from ...catalogue.catalogue_file import only_read
from ...catalogue.ranked_fill import RankedFill
from ...errors import LogError
from ...sessions.all_sessions_index import RankedSearch
from ...sessions.session_files import SessionFile

MOST_LOG_BYTES = 1 << 30
"""Bytes of logs whose index is kept in memory; the index takes up to a third of that."""


class IndexAhead:
    """Fills the index of sessions on a thread."""

    def __init__(self) -> None:
        self.fills: dict[str, RankedFill] = {}
        """The index of each log, by the log's path."""
        self.failed: dict[str, LogError] = {}
        """The errors of logs that cannot be read, by their paths."""
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def go_on(self, sessions: Sequence[SessionFile], others: Sequence[SessionFile] = ()) -> None:
        """Start a thread that indexes `sessions` and then `others`, each from the newest session on.

        If the thread runs already, its work continues with these sessions.
        """
        self._stop.set()
        before = self._thread
        stop = threading.Event()
        self._thread = threading.Thread(
            target=self._run, args=(before, stop, sessions, others), name="index ahead", daemon=True
        )
        self._stop = stop
        self._thread.start()

    def has_room(self) -> bool:
        """Return whether more may be indexed in memory."""
        return sum(fill.memory_bytes for fill in self.fills.values()) < MOST_LOG_BYTES

    def wait(self, seconds: float) -> None:
        """Wait until everything is indexed, at most for some seconds."""
        if self._thread is not None:
            self._thread.join(max(0.0, seconds))

    def stop(self, seconds: float) -> None:
        """Ask the thread to end after its present batch, and wait at most `seconds` for the end."""
        self._stop.set()
        self.wait(seconds)

    def _run(
        self,
        before: threading.Thread | None,
        stop: threading.Event,
        sessions: Sequence[SessionFile],
        others: Sequence[SessionFile],
    ) -> None:
        if before is not None:
            before.join()  # one thread at a time changes the fills

        def may_go_on() -> bool:
            return not stop.is_set() and self.has_room()

        with only_read():
            for group in (sessions, others):
                if group and not stop.is_set():
                    search = RankedSearch(group, may_go_on=may_go_on, fills=self.fills, failed=self.failed)
                    search.update_index()
