"""Print the matches of a search: messages with their lines, sessions, counts, or JSON lines."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import click
from rich.console import Console
from rich.text import Text

from ...catalogue.session_list_cache import Glances
from ...messages.message import metadata_of
from ...messages.message_times import timestamp_of
from ...sessions.overview import Overview, overview_of
from ...sessions.pattern_in_session import FoundLine, HiddenText
from ...sessions.session_files import SessionFile
from ...sessions.session_name import SessionNames
from ...sessions.transcript import LiveMessage
from .error_messages import shown_path
from .found_lines import shown_line
from .message_printer import head_of
from .session_argument import session_name
from .short_ids import shortest_ids
from .terminal import console, cut, escaped, one_line

_NARROW = 100  # columns; narrower terminals do not show the projects of sessions
_LINE_WIDTH = 100  # the width of a session's first line before the line is cut to the terminal


@dataclass(frozen=True)
class SearchedSessions:
    """The sessions that are searched.

    Attributes:
        files: the sessions.
        are_named: whether the command line names each session; otherwise filters chose them.
        glances: the sessions' list entries, which catalogues store.
    """

    files: list[SessionFile]
    are_named: bool
    glances: Glances = field(default_factory=Glances)

    def look(self, path: str) -> Overview:
        """Return the list entry of the session whose log has this path."""
        session = next(session for session in self.files if str(session.path) == path)
        return overview_of(session, None, glances=self.glances)


class MatchPrinter:
    """Prints the matches of a search.

    Args:
        chosen: the searched sessions.
        names: print only the sessions that match.
        count: print only the number of matching lines in each session.
        as_json: print JSON lines.
    """

    def __init__(self, chosen: SearchedSessions, *, names: bool, count: bool, as_json: bool) -> None:
        self._look = chosen.look
        self.only_names = names
        self.shows_messages = not names and not count
        self._count = count
        self._as_json = as_json
        self._several = len(chosen.files) > 1
        self._console: Console = console()
        ids = (session_name(str(session.path)) for session in chosen.files)
        is_short = names and not chosen.are_named and self._console.is_terminal
        self._short = shortest_ids(ids) if is_short else {}
        self._path = ""
        self._names = SessionNames(chosen.glances)

    def show(self, path: str, match: LiveMessage | HiddenText, lines: list[FoundLine]) -> None:
        """Print a matching message, or another matching text of the log, with the lines."""
        if self._as_json:
            click.echo(json.dumps(_plain(path, self._names.of(path).name, match, lines)))
            return
        if self._path:
            click.echo()
        if self._several and path != self._path:
            heading = "  ".join(filter(None, (session_name(path), self._names.of(path).name)))
            self._print(Text(escaped(one_line(heading)), "bold underline"))
        self._path = path
        self._print(head_of(match) if isinstance(match, LiveMessage) else _head_of_hidden(match))
        known = lines[0].number
        for line in lines:
            if line.number > known + 1:
                self._print(Text("   --", "dim"))
            known = line.number
            self._print(shown_line(line))

    def sum_up(self, path: str, total: int) -> None:
        """Print the session's name or its number of matching lines, if the options ask for only one of the two."""
        if self.shows_messages:
            return
        name = self._names.of(path).name
        entry: dict[str, Any] = {"session": session_name(path), "name": name, "path": shown_path(path)}
        if self._count:
            self._print_row(entry | {"lines": total}, [f"{session_name(path)}: {total}"])
            return
        overview = self._look(path)
        project = overview.session.project
        entry |= {"project": project, "last_message": overview.last_message, "first_line": overview.first_line}
        cells = [self._short.get(session_name(path), session_name(path)), overview.date]
        is_narrow = self._console.is_terminal and self._console.width < _NARROW
        if not is_narrow:
            cells.append(project)
        cells.append(cut(one_line(overview.first_line), _LINE_WIDTH))
        if name:
            cells.append(name)
        self._print_row(entry, cells)

    def _print_row(self, entry: dict[str, Any], cells: list[str]) -> None:
        """Print a JSON line, or a line of cells, which are separated by tabs, or in a terminal by spaces."""
        if self._as_json:
            click.echo(json.dumps(entry))
        elif self._console.is_terminal:
            self._print(Text(cut("  ".join(escaped(one_line(cell)) for cell in cells if cell), self._console.width)))
        else:
            click.echo("\t".join(escaped(one_line(cell)) for cell in cells))

    def _print(self, text: Text) -> None:
        if self._console.is_terminal:
            self._console.print(text, soft_wrap=True)
        else:
            click.echo(text.plain)


def _head_of_hidden(text: HiddenText) -> Text:
    where = "" if text.is_outside else f"line {text.line:,}, byte {text.offset:,}: "
    return Text(escaped(one_line(f"[{where}{text.what}]")), "bold magenta")


def _plain(path: str, name: str, match: LiveMessage | HiddenText, lines: list[FoundLine]) -> dict[str, Any]:
    """Return a match in JSON types: its session, its place in the log, and its lines."""
    message = match.message
    if isinstance(match, LiveMessage):
        place: dict[str, Any] = {"number": match.number, "tools": match.tools}
    else:
        place = {"number": None, "hidden": match.what, "log_line": match.line, "offset": match.offset}
    return {
        "session": session_name(path),
        "name": name,
        "path": shown_path(path),
        "role": message.get("role"),
        **place,
        "time": timestamp_of(message),
        "id": metadata_of(message).get("message_id", ""),
        "lines": [{"line": line.number, "text": line.text, "spans": line.spans} for line in lines],
    }
