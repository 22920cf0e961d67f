"""How `context-persistent search` prints what it found."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import click
from rich.console import Console
from rich.text import Text

from ..messages.metadata import metadata_of, timestamp_of
from ..transcript.overview import Overview
from ..transcript.search import HiddenText, Line
from ..transcript.transcript import Placed
from .message_printer import head_of
from .session_argument import session_name
from .terminal import console, cut, escaped, one_line

_LINE_CHARS = 300  # of a line are shown
_BEFORE_CHARS = 100  # of these before the first match


class MatchPrinter:
    """Prints the matches in the form that was asked for.

    Args:
        look: looks at the session whose log is at a path.
        several: whether there are several sessions.
        names: print only which sessions match.
        count: print only how many lines match in each.
        as_json: print JSON lines.
    """

    def __init__(
        self, look: Callable[[str], Overview], *, several: bool, names: bool, count: bool, as_json: bool
    ) -> None:
        self._look = look
        self.only_names = names
        self.shows_messages = not names and not count
        self._count, self._several, self._as_json = count, several, as_json
        self._console: Console = console()
        self._path = ""

    def show(self, path: str, found: Placed | HiddenText, lines: list[Line]) -> None:
        """Print a message that matches, or another text of the log."""
        if self._as_json:
            click.echo(json.dumps(_plain(path, found, lines)))
            return
        if self._path:
            click.echo()
        if self._several and path != self._path:
            self._print(Text(_name(path), "bold underline"))
        self._path = path
        self._print(head_of(found) if isinstance(found, Placed) else _head_of_hidden(found))
        known = lines[0].number
        for line in lines:
            if line.number > known + 1:
                self._print(Text("   --", "dim"))
            known = line.number
            self._print(_shown(line))

    def sum_up(self, path: str, total: int) -> None:
        """Print the session, or how many lines match in it, if only that was asked for."""
        if self.shows_messages:
            return
        told: dict[str, Any] = {"session": session_name(path), "path": path}
        if self._count:
            self._told(told | {"lines": total}, [f"{session_name(path)}: {total}"])
            return
        seen = self._look(path)
        told |= {"project": seen.session.project, "last_message": seen.last_message, "first_line": seen.first_line}
        self._told(told, [session_name(path), seen.date, seen.session.project, seen.first_line])

    def _told(self, told: dict[str, Any], cells: list[str]) -> None:
        """Print a line; its cells stand apart by tabs, in a terminal by spaces."""
        if self._as_json:
            click.echo(json.dumps(told))
        elif self._console.is_terminal:
            self._print(Text(cut("  ".join(escaped(one_line(cell)) for cell in cells if cell), self._console.width)))
        else:
            click.echo("\t".join(escaped(one_line(cell)) for cell in cells))

    def _print(self, text: Text) -> None:
        if self._console.is_terminal:
            self._console.print(text, soft_wrap=True)
        else:
            click.echo(text.plain)


def _shown(line: Line) -> Text:
    """A line with its number and its matches; of a long line, the part around the first match."""
    begin = max(0, line.spans[0][0] - _BEFORE_CHARS) if line.spans and len(line.text) > _LINE_CHARS else 0
    end = begin + _LINE_CHARS
    shown = Text(f"{line.number:>5}{':' if line.spans else '-'} ", "dim")
    shown.append("..." if begin else "")
    at = begin
    for first, last in line.spans:
        first, last = max(at, min(first, end)), max(at, min(last, end))
        shown.append(_piece(line.text[at:first]), "not dim")
        shown.append(_piece(line.text[first:last]), "not dim bold red")
        at = last
    shown.append(_piece(line.text[at:end]), "not dim")
    return shown.append("..." if end < len(line.text) else "")


def _piece(text: str) -> str:
    return escaped(text.replace("\t", " ").removesuffix("\r"))


def _head_of_hidden(found: HiddenText) -> Text:
    where = "" if found.what.startswith("saved") else f"line {found.line:,}, byte {found.offset:,}: "
    return Text(escaped(one_line(f"[{where}{found.what}]")), "bold magenta")


def _plain(path: str, found: Placed | HiddenText, lines: list[Line]) -> dict[str, Any]:
    message = found.message
    if isinstance(found, Placed):
        place: dict[str, Any] = {"number": found.number, "tools": found.tools}
    else:
        place = {"number": None, "hidden": found.what, "log_line": found.line, "offset": found.offset}
    return {
        "session": session_name(path),
        "path": path,
        "role": message.get("role"),
        **place,
        "time": timestamp_of(message),
        "id": metadata_of(message).get("message_id", ""),
        "lines": [{"line": line.number, "text": line.text, "spans": line.spans} for line in lines],
    }


def _name(path: str) -> str:
    return escaped(one_line(session_name(path)))
