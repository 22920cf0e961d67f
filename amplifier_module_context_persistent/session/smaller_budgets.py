"""Requests that need a plan of their own: with a smaller budget, or with messages that must be shown in full.

Each such budget has a *side window* with a plan of its own, so that the session's plan stays unchanged.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable

from ..log.contract import Log
from ..window.request import ViewRequest
from ..window.window import Window

_SIDE_WINDOWS = 4


class SideWindows:
    """The side windows of one session that were used recently.

    Args:
        open_window: makes a window whose plans are not appended at once.
    """

    def __init__(self, open_window: Callable[[], Window]) -> None:
        self._open_window = open_window
        self._windows: OrderedDict[tuple[int, frozenset[int]], Window] = OrderedDict()

    def window(
        self,
        log: Log,
        request: ViewRequest,
        given_tokens: int,
        whole: frozenset[int] = frozenset(),
        *,
        base: Window,
    ) -> Window:
        """Return the side window of a budget.

        Args:
            log: the open log of the session.
            request: the complete request.
            given_tokens: the budget in tokens that the caller asked for.
            whole: the ordinals of messages that must be shown in full.
            base: a new side window starts as a copy of this window.
        """
        name = given_tokens, whole
        window = self._windows.get(name)
        if window is None:
            window = self._open_window()
            self._windows[name] = window
            window.begin_with(log, base, request)
            while len(self._windows) > _SIDE_WINDOWS:
                self._windows.popitem(last=False)
        self._windows.move_to_end(name)
        return window

    def clear(self) -> None:
        """Drop all side windows, after the history was replaced."""
        self._windows.clear()
