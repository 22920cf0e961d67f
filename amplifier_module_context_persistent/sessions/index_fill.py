"""Fill the ranked index of many logs, also while other processes fill the same one.

Rules:
- No process holds a lock between two segments, so a process that was killed or stopped holds up no other one.
- Before a log is read, the catalogue is asked whether another process has already indexed it.
- If another process is indexing a log, this process leaves the log to it. It continues with the oldest log, and the
  next time in the middle of the rest. So all processes share the work, and few segments are made twice.
- If only such logs are left, this process waits for them. If there is no progress for `PATIENCE_S`, or for twice as
  long as a segment took this process, this process indexes the log itself.
"""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from ..errors import LogError
from .indexed_log import Fills, IndexedLog, error_of_session, fill_log

Progress = Callable[[int, int], None]
"""A function that is called with the number of bytes indexed so far and the number of bytes to index."""

PATIENCE_S = 3.0
"""The wait for another process that makes no progress. A segment takes one or two seconds on an idle machine."""
_PAUSE_S = 0.05
_MOST_LOST = 8
"""The number of segments of a log that are made in vain before the rest of the log is indexed in memory."""


@dataclass(frozen=True, slots=True)
class FillOptions:
    """The options for filling an index.

    Attributes:
        progress: called while the index is filled.
        may_go_on: returns whether to continue.
        fills: the index parts of earlier questions of this process. The fill adds to it.
        failed: the errors of logs that could not be read at the last attempt, by path. The fill updates it.
    """

    progress: Progress
    may_go_on: Callable[[], bool]
    fills: Fills | None
    failed: dict[str, LogError]


class IndexFill:
    """Fills the index of the given logs, beginning with the log that was modified last.

    Args:
        logs: the logs that are not fully indexed.
        options: how they are filled.
        in_memory: whether a new index is made in memory, without the catalogue.
    """

    def __init__(self, logs: Iterable[IndexedLog], options: FillOptions, *, in_memory: bool = False) -> None:
        self._left = deque(sorted(logs, key=lambda log: -log.session.modified_s))
        self._options = options
        self._in_memory = in_memory
        self._sizes = {log.path: log.size_bytes for log in self._left}
        self._done, self._total = 0, sum(self._sizes.values())
        self._others = dict[str, float]()
        """The logs that other processes are indexing, each with the time of the last progress."""
        self._lost = Counter[str]()
        """The number of segments that were made in vain, by log."""
        self._patience_s = PATIENCE_S

    def run(self) -> None:
        """Fill the index. Errors of logs are noted in the logs."""
        is_asked = bool(self._left)
        while self._left:
            log = self._next()
            if not self._options.may_go_on():
                log.is_partial, log.error = True, self._options.failed.get(log.path)
            elif self._leaves_to_others(log):
                self._left.append(log)
                self._pause_if_none_is_free(log)
            else:
                self._fill(log)
        if is_asked:
            self._options.progress(self._total, self._total)

    def _next(self) -> IndexedLog:
        """Take out the next log, if possible one that no other process is indexing."""
        for _ in range(len(self._left)):
            if self._left[0].path not in self._others:
                break
            self._left.rotate(-1)
        return self._left.popleft()

    def _leaves_to_others(self, log: IndexedLog) -> bool:
        """Read what other processes have indexed of a log.

        Return whether one is indexing it, so that the log is left to it.
        """
        if self._is_in_memory(log):
            return False
        has_progress = log.take_from_others()
        if log.is_fully_indexed:
            return False
        if has_progress:
            self._leave(log)
            return True
        progress_at = self._others.get(log.path)
        if progress_at is None:
            return False
        if time.monotonic() - progress_at <= self._patience_s:
            return True
        del self._others[log.path]
        return False

    def _pause_if_none_is_free(self, log: IndexedLog) -> None:
        """Report the progress of a log and pause, if other processes are indexing all logs that are left."""
        if all(log_left.path in self._others for log_left in self._left):
            self._options.progress(self._done + log.stored_bytes, self._total)
            time.sleep(_PAUSE_S)

    def _is_in_memory(self, log: IndexedLog) -> bool:
        """Return whether a log is indexed in memory, without regard to other processes."""
        return self._in_memory or self._lost[log.path] > _MOST_LOST

    def _leave(self, log: IndexedLog) -> None:
        """Note that another process is indexing a log.

        If this was not known yet, the next log is one far from this log.
        """
        if not self._others:
            self._left.reverse()
        elif log.path not in self._others:
            self._left.rotate(-(len(self._left) // 2))
        self._others[log.path] = time.monotonic()

    def _fill(self, log: IndexedLog) -> None:
        options, begin = self._options, self._done
        options.failed.pop(log.path, None)
        options.progress(begin, self._total)
        begun_at = time.monotonic()

        def tell(offset: int) -> None:
            options.progress(begin + offset, self._total)

        in_memory = self._is_in_memory(log)
        try:
            if not in_memory and log.is_fully_indexed:
                log.use_stored()
            elif fill_log(log, options.fills, in_memory=in_memory, tell=tell, may_go_on=options.may_go_on):
                self._lost[log.path] += 1
                (options.fills or {}).pop(log.path, None)
                log.stored = None
                log.memory_segments = []
                log.is_partial = False
                self._patience_s = max(self._patience_s, 2 * (time.monotonic() - begun_at))
                self._leave(log)
                self._left.append(log)
                return
        except Exception as error:  # noqa: BLE001 - whatever it is: the other sessions can be asked
            log.error = options.failed[log.path] = error_of_session(error)
        self._done += self._sizes[log.path]
