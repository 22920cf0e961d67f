"""A list to choose from, as in `fzf`: typed words narrow it, and arrow keys move the mark.

Rules:
- The list is drawn on the error stream.
- The terminal's settings are always restored, and no line of the list stays on the screen.
- No line is wider than the terminal, and there are no more lines than it has.
- The marked line has `>` before it, so that it is visible without colours too.
"""

from __future__ import annotations

import codecs
import os
import re
import select
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Generic, TypeVar

import click

from .terminal import cut, escaped, one_line

if sys.platform != "win32":
    import termios
    import tty

T = TypeVar("T")

_KEY = re.compile(r"\x1b\[[0-9;]*[A-Za-z~]|\x1bO[A-Z]|.", re.DOTALL)
_NAMES = {
    "\x1b[A": "up", "\x1bOA": "up", "\x10": "up", "\x1b[B": "down", "\x1bOB": "down", "\x0e": "down",
    "\x1b[5~": "page up", "\x1b[6~": "page down", "\r": "enter", "\n": "enter", "\x1b": "leave", "\x04": "leave",
    "\x7f": "erase", "\x08": "erase", "\x15": "erase all", "\x17": "erase word",
}  # fmt: skip
_ESCAPE_S = 0.05  # the longest wait after an escape for the rest of an arrow key
_MOST_ROWS, _LEAST_ROWS = 15, 1
_OTHER_LINES = 2  # the question, and the line with the number of items
_HELP = "type to narrow, arrows to move, Enter to choose, Esc to leave"


def is_possible() -> bool:
    """Return whether the terminal can give single keys and redraw lines."""
    return sys.platform != "win32" and os.environ.get("TERM", "dumb") != "dumb"


class LiveList(Generic[T]):
    """The state of the list: the typed words, the matching items, and the marked line.

    Args:
        find: gets the typed words and a number; returns at most this number of matching items, and the count of all.
        line_of: returns an item as a line of the given width.
    """

    def __init__(self, find: Callable[[str, int], tuple[Sequence[T], int]], line_of: Callable[[T, int], str]) -> None:
        self._find = find
        self._line_of = line_of
        self._words = ""
        self._at = 0
        self._first = 0
        self._found: Sequence[T] = ()

    def press(self, key: str, rows: int) -> None:
        """Handle a key, given as the key's name or as a typed character."""
        if key in ("up", "down", "page up", "page down"):
            step = {"up": -1, "down": 1, "page up": -rows, "page down": rows}[key]
            self._at = max(0, self._at + step)
            return
        if key == "erase":
            self._words = self._words[:-1]
        elif key == "erase all":
            self._words = ""
        elif key == "erase word":
            self._words = self._words.rstrip().rpartition(" ")[0]
        elif len(key) == 1 and key.isprintable():
            self._words += key
        self._at = 0

    def marked(self) -> T | None:
        """Return the item of the marked line, or None if nothing is found."""
        if self._at >= len(self._found):
            return None
        return self._found[self._at]

    def lines(self, columns: int, rows: int) -> list[str]:
        """Search for the typed words, and return the lines to draw, for a number of columns and items."""
        total = self._search(rows)
        self._scroll(rows)
        return self._draw(columns, rows, total)

    def _search(self, rows: int) -> int:
        """Search for the typed words, choose one of the found items, and return the number of all found items."""
        self._found, total = self._find(self._words, self._at + rows)
        last = len(self._found) - 1
        self._at = max(0, min(self._at, last))
        return total

    def _scroll(self, rows: int) -> None:
        """Move the first drawn item, so that the chosen item is among the `rows` drawn ones."""
        if self._at < self._first:
            self._first = self._at
        elif self._at >= self._first + rows:
            self._first = self._at - rows + 1

    def _draw(self, columns: int, rows: int, total: int) -> list[str]:
        """Return the lines of the question, of the items and of the help."""
        items = []
        for number, item in enumerate(self._found[self._first : self._first + rows], self._first):
            sign = ">" if number == self._at else " "
            items.append(f"{sign} {self._line_of(item, columns - 3)}")
        place = "nothing has these words"
        if self._found:
            place = f"{self._at + 1:,} of {total:,}"
        lines = [f"Which session? {self._words}", *items, f"{place}; {_HELP}"]
        return [cut(escaped(one_line(line)), columns - 1) for line in lines]


def choose(listed: LiveList[T]) -> T | None:
    """Let a person choose an item of a list, and return the item. Return None if the person leaves the list.

    Raises:
        KeyboardInterrupt: Ctrl-C.
    """
    descriptor = sys.stdin.fileno()
    drawn = 0
    with _keys_one_by_one(descriptor):
        try:
            for keys in _presses(descriptor):
                for key in keys:
                    if key == "leave":
                        return None
                    chosen = listed.marked() if key == "enter" else None
                    if chosen is not None:
                        return chosen
                    listed.press(key, _rows())
                    listed.lines(*_size())  # updates the found items, one of which Enter takes
                _erase(drawn)
                lines = listed.lines(*_size())
                drawn = len(lines)
                click.echo("\r\n".join(lines), err=True, nl=False)
        finally:
            _erase(drawn)
    return None


def _size() -> tuple[int, int]:
    return shutil.get_terminal_size().columns, _rows()


def _rows() -> int:
    return max(_LEAST_ROWS, min(_MOST_ROWS, shutil.get_terminal_size().lines - _OTHER_LINES - 1))


def _erase(lines: int) -> None:
    """Erase the drawn lines; the cursor must be at the end of the last line."""
    if lines:
        up = f"\x1b[{lines - 1}A" if lines > 1 else ""
        click.echo(f"\r{up}\x1b[J", err=True, nl=False, color=True)


def _presses(descriptor: int) -> Iterator[list[str]]:
    """Yield the keys that a person presses. Keys that were read together are in one list; the first list is empty."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    yield []
    while True:
        pressed = os.read(descriptor, 1024)
        while pressed.endswith(b"\x1b") and select.select([descriptor], [], [], _ESCAPE_S)[0]:
            pressed += os.read(descriptor, 1024)
        if not pressed:
            return
        yield [_NAMES.get(key, key) for key in _KEY.findall(decoder.decode(pressed))]


if sys.platform != "win32":

    @contextmanager
    def _keys_one_by_one(descriptor: int) -> Iterator[None]:
        """Let the terminal give each key at once, without printing it; Ctrl-C still interrupts."""
        before = termios.tcgetattr(descriptor)
        try:
            tty.setcbreak(descriptor, termios.TCSADRAIN)
            yield
        finally:
            termios.tcsetattr(descriptor, termios.TCSADRAIN, before)

else:

    def _keys_one_by_one(descriptor: int) -> AbstractContextManager[None]:
        raise OSError("keys cannot be read one by one here")  # `is_possible` returns False here
