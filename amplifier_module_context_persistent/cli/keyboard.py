"""Read keys from a terminal one at a time, with a timeout; without a terminal, only wait."""

from __future__ import annotations

import os
import selectors
import sys
import time
from types import TracebackType

import click

try:
    import termios
    import tty
except ImportError:  # Windows: a key can be waited for, but not polled with a timeout
    termios = None  # type: ignore[assignment]

QUIT = "q"


class Keys:
    """The keyboard, for the length of a `with` statement; keys are not echoed."""

    def __init__(self) -> None:
        self._fd: int | None = None
        self._attributes: list[object] = []

    def __enter__(self) -> Keys:
        if termios is not None and sys.stdin.isatty():
            self._fd = sys.stdin.fileno()
            self._attributes = termios.tcgetattr(self._fd)
            tty.setcbreak(self._fd)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._fd is not None:
            termios.tcsetattr(self._fd, termios.TCSADRAIN, self._attributes)  # type: ignore[arg-type]

    def wait(self, timeout_s: float | None) -> str:
        """Wait for a key; empty after the timeout (None: no timeout), `QUIT` at the end of the input."""
        if self._fd is None:
            if timeout_s is None:
                return click.getchar()
            time.sleep(timeout_s)
            return ""
        with selectors.DefaultSelector() as selector:  # `select` itself takes no descriptor from 1,024 on
            selector.register(self._fd, selectors.EVENT_READ)
            if not selector.select(timeout_s):
                return ""
        return os.read(self._fd, 1).decode("latin-1") or QUIT
