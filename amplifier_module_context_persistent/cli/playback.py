"""Playing steps in a terminal: one at a time with a way back, keys, and a line that says where one is."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from rich.console import Console

from ..replay.timeline import Step
from .keyboard import QUIT, Keys

KEYS = "space: next message, b: back, p: pause, n: next turn, 12g: turn 12, ?: all keys, q: quit"
HELP = """\
space, enter   the next message now; while paused, one message
p              pause, or go on
b              back by one message; playing pauses there
n              the next turn
12g            turn 12
?              these keys
q              quit"""

GO, PAUSE, BACK, TELL = "go", "pause", "back", "tell"
"""What a key asks for, besides a turn."""

_COMMANDS = {" ": GO, "\n": GO, "\r": GO, "": GO, "p": PAUSE, "b": BACK, "\x7f": BACK, "?": TELL}
_CLEAR_LINE = "\r\x1b[2K"
_REMEMBERED = 1_000  # steps that one can go back


class Course:
    """The steps of a session, with a way back.

    Args:
        steps: the steps, in order.
    """

    def __init__(self, steps: Iterator[Step]) -> None:
        self._steps = steps
        self._shown: deque[Step] = deque(maxlen=_REMEMBERED)
        self._ahead: list[Step] = []

    def peek(self) -> Step | None:
        """The next step; None at the end."""
        if not self._ahead and (step := next(self._steps, None)) is not None:
            self._ahead.append(step)
        return self._ahead[-1] if self._ahead else None

    def advance(self) -> None:
        """Take the next step as shown."""
        self._shown.append(self._ahead.pop())

    def back(self) -> Step | None:
        """Go back to the message before the last one that was shown; None if there is none."""
        positions = range(len(self._shown) - 2, -1, -1)
        at = next((at for at in positions if self._shown[at].placed is not None), None)
        if at is None:
            return None
        while len(self._shown) > at + 1:
            self._ahead.append(self._shown.pop())
        return self._shown[-1]


def wait_for_command(keys: Keys, turn: int, turns: int, timeout_s: float | None) -> str | int:
    """Wait for a key: one of the commands, `GO` after the timeout, or the number of the turn to go to (0: quit).

    Args:
        keys: the keyboard.
        turn: the turn that is played.
        turns: how many there are.
        timeout_s: how long; None for ever.
    """
    digits = ""
    while True:
        key = keys.wait(timeout_s)
        if key.isdigit():
            digits += key
        elif key == "g" and digits:
            return min(int(digits[-9:]), turns) or 1
        elif key == "n":
            return turn + 1 if turn < turns else 0
        elif key == QUIT:
            return 0
        elif key in _COMMANDS:
            return _COMMANDS[key]


class StatusLine:
    """A line at the end of what is printed that says where one is; it goes before anything else is printed.

    Args:
        screen: the terminal; on one that cannot move its cursor, nothing is shown.
        turns: how many turns there are.
        messages: how many messages there are.
    """

    def __init__(self, screen: Console, turns: int, messages: int) -> None:
        self._screen, self._turns, self._messages = screen, turns, messages
        self._is_able = screen.is_terminal and not screen.is_dumb_terminal
        self._is_shown = False

    def show(self, turn: int, message: int, *, paused: bool) -> None:
        """Show it."""
        if self._is_able:
            state = ", paused" if paused else ""
            said = f"turn {turn:,}/{self._turns:,}, message {message:,}/{self._messages:,}{state}, ? for keys"
            self._write(_CLEAR_LINE + said[: self._screen.width - 1])
            self._is_shown = True

    def clear(self) -> None:
        """Take it away."""
        if self._is_shown:
            self._write(_CLEAR_LINE)
            self._is_shown = False

    def _write(self, text: str) -> None:
        self._screen.file.write(text)
        self._screen.file.flush()
