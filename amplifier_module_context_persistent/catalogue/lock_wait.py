"""The time that a process waits for other processes' locks on catalogues.

A command may open many catalogues, each in many transactions. If each of them waited on its own, one locked catalogue
would delay a command by many seconds. So all waits of a process share one budget. When it is used up, locked catalogues
are not used. The budget grows again slowly, for processes that live long or fill a catalogue for minutes. So a command
that takes two seconds waits for at most half a second.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

COMMAND_WAIT_S = 0.4
"""The time that a short command waits for locks altogether; a session does not wait."""
REGAINED_SHARE = 0.05
"""The seconds of waiting that a process regains in each second."""
_FIRST_PAUSE_S = 0.001
_LONGEST_PAUSE_S = 0.02


class WaitBudget:
    """The time that a process may still wait, shared by its threads.

    Args:
        full_s: the whole budget.
        clock: gives seconds.
    """

    def __init__(self, full_s: float = COMMAND_WAIT_S, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._full_s = full_s
        self._clock = clock
        self._left_s = full_s
        self._known_at = clock()
        self._mutex = threading.Lock()

    def left_s(self) -> float:
        """Return the number of seconds that are left."""
        with self._mutex:
            return self._grown_s()

    def spend(self, seconds: float) -> None:
        """Use some seconds of the budget."""
        with self._mutex:
            self._left_s = max(0.0, self._grown_s() - seconds)

    def _grown_s(self) -> float:
        now = self._clock()
        self._left_s = min(self._full_s, self._left_s + REGAINED_SHARE * (now - self._known_at))
        self._known_at = now
        return self._left_s


WAIT_BUDGET = WaitBudget()


class LockWait:
    """The wait of one transaction for a lock of SQLite, in pauses after each try.

    Args:
        most_s: the longest wait.
        budget: the process's budget, which limits the wait too.
        clock: gives seconds.
        sleep: waits some seconds.
    """

    def __init__(
        self,
        most_s: float,
        budget: WaitBudget = WAIT_BUDGET,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._left_s = most_s
        self._budget = budget
        self._clock = clock
        self._sleep = sleep
        self._pause_s = _FIRST_PAUSE_S

    def pause(self) -> bool:
        """Pause before another try and return True. If no time is left, return False at once."""
        pause_s = min(self._pause_s, self._left_s, self._budget.left_s())
        if pause_s < _FIRST_PAUSE_S:  # the budget always grows a little
            return False
        begin = self._clock()
        self._sleep(pause_s)
        paused_s = max(pause_s, self._clock() - begin)
        self._left_s -= paused_s
        self._budget.spend(paused_s)
        self._pause_s = min(2 * self._pause_s, _LONGEST_PAUSE_S)
        return True
