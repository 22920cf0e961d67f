"""Printing, shared by all commands.

A transcript is untrusted input: all text from a log, from a file's name or from an error passes through `one_line` or
`escaped` before it is shown. `rich` is imported only when it prints, because many commands do not need it.
"""

from __future__ import annotations

import json
import logging
import re
import sys
from typing import TYPE_CHECKING

import click

_DOUBTFUL = re.compile(r"[^ -~\n]")
_TAB_COLUMNS = 8
_USUAL_COLUMNS = 80

if TYPE_CHECKING:
    from rich.console import Console


logging.getLogger(__name__.partition(".")[0]).addHandler(
    logging.NullHandler()
)  # `verify` reports the reader's warnings


def console() -> Console:
    """Return a console on the standard output that prints square brackets literally, not as markup."""
    from .plain_console import PlainConsole

    return PlainConsole()


def columns_of(output: Console) -> int:
    """Return the width of the terminal, or 80 if the output does not go to a terminal."""
    return output.width if output.is_terminal else _USUAL_COLUMNS


def one_line(text: str) -> str:
    """Return a text on one line, with `?` for each character that does not print."""
    return "".join(character if character.isprintable() else "?" for character in text)


def escaped(text: str) -> str:
    """Return a text with characters escaped that do not print (except LF) or that the output cannot encode."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    return _DOUBTFUL.sub(_escape, text).encode(encoding, "backslashreplace").decode(encoding)


def escaped_body(text: str) -> str:
    """Return a text of several lines escaped, with tabs as spaces and CR LF as LF."""
    return escaped(text.replace("\r\n", "\n").expandtabs(_TAB_COLUMNS))


def _escape(match: re.Match[str]) -> str:
    character = match[0]
    return character if character.isprintable() else json.dumps(character)[1:-1]


def say(text: str) -> None:
    """Print one line of text, with unprintable characters escaped."""
    click.echo(escaped(one_line(text)))


def counted(number: int, what: str) -> str:
    """Return a number with its noun: `1 message`, `2 messages`, `2 entries`."""
    if number == 1:
        return f"1 {what}"
    return f"{number:,} {what[:-1]}ies" if what.endswith("try") else f"{number:,} {what}s"


def duration(seconds: float) -> str:
    """Return a duration in at most two units: `0.4 s`, `12 s`, `3 min 20 s`, `2 h 5 min`, `3 d 4 h`."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    for large, small in (
        (f"{days} d", f"{hours} h"),
        (f"{hours} h", f"{minutes} min"),
        (f"{minutes} min", f"{rest} s"),
    ):
        if not large.startswith("0 "):
            return large if small.startswith("0 ") else f"{large} {small}"
    return f"{rest} s"


def cut(text: str, cells: int) -> str:
    """Return a text, cut and marked with `...` if the text is wider than a number of terminal cells."""
    from rich.cells import cell_len, set_cell_size

    if cell_len(text) <= cells:
        return text
    return f"{set_cell_size(text, cells - 3).rstrip()}..."
