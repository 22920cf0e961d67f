"""`context-persistent search`: find messages.

Exit codes, as grep's: 0 found, 1 not found, 2 something could not be searched.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from typing import Any

import click
from rich.console import Console
from rich.text import Text

from ..errors import LogError, RecallError
from ..log.record import ROLES
from ..messages.metadata import metadata_of, timestamp_of
from ..paths import project_slug
from ..search.pattern import Pattern, regex_pattern, text_pattern
from ..transcript.search import Line, search
from ..transcript.sessions import SessionNameError, last_session, session_files
from ..transcript.transcript import Placed
from .exit_codes import DONE, FINDINGS, UNUSABLE
from .message_printer import head_of
from .progress import progress
from .session_argument import complete, complete_tool, path_of, session_name
from .terminal import UnusableError, check_tool, console, escaped, one_line, open_transcript, reason

_LINE_CHARS = 300  # of a line are shown
_BEFORE_CHARS = 100  # of these before the first match


@click.command("search")
@click.argument("pattern", metavar="PATTERN")
@click.argument("sessions", metavar="[SESSION]...", nargs=-1, shell_complete=complete)
@click.option("--all", "everywhere", is_flag=True, help="Search the sessions of all projects.")
@click.option("--last", is_flag=True, help="Search the session of this project that was written to last.")
@click.option("-i", "--ignore-case", is_flag=True, help="Ignore case.")
@click.option("-F", "--fixed", is_flag=True, help="PATTERN is plain text, not a regular expression.")
@click.option("--role", type=click.Choice(ROLES), help="Only messages of this role.")
@click.option("--tool", metavar="NAME", shell_complete=complete_tool, help="Only calls and results of this tool.")
@click.option(
    "-C", "--context", "lines", type=click.IntRange(0, 1000), default=0, metavar="N", help="Show N lines around each."
)
@click.option("-l", "--sessions-only", "names", is_flag=True, help="Print only which sessions match.")
@click.option("-c", "--count", is_flag=True, help="Print only how many lines match in each session.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON lines.")
@click.pass_context
def search_command(
    context: click.Context,
    pattern: str,
    sessions: tuple[str, ...],
    *,
    everywhere: bool,
    last: bool,
    ignore_case: bool,
    fixed: bool,
    role: str | None,
    tool: str | None,
    lines: int,
    names: bool,
    count: bool,
    as_json: bool,
) -> None:
    """Search messages of this project's sessions, or of each SESSION.

    PATTERN is a regular expression of Python in which `^` and `$` match at lines. A message on which it takes too long
    is given up, and counted. The texts, thinking, calls and tool results of live messages are searched. Exits with 0 if
    something was found, 1 if nothing was, 2 if something could not be searched.
    """
    if sum((bool(sessions), everywhere, last)) > 1:
        raise click.UsageError("give one of SESSION, --all and --last")
    wanted = _pattern(pattern, fixed=fixed, ignore_case=ignore_case)
    paths = list(_paths(sessions, everywhere=everywhere, last=last))
    printer = _Printer(several=len(paths) > 1, names=names, count=count, as_json=as_json)
    code = FINDINGS
    for path in paths:
        try:
            if _search(path, wanted, printer, role=role, tool=tool, context=0 if names or count else lines):
                code = DONE if code != UNUSABLE else code
        except UnusableError as error:
            error.show()
            code = UNUSABLE
    if tool is not None and code == FINDINGS:
        check_tool(tool, _tool_names(paths))
    context.exit(code)


def _tool_names(paths: Iterable[str]) -> list[str]:
    """The tools that are called in some sessions."""
    names: set[str] = set()
    for path in paths:
        with open_transcript(path) as transcript:
            names.update(transcript.tool_names())
    return sorted(names)


def _pattern(pattern: str, *, fixed: bool, ignore_case: bool) -> Pattern:
    if not pattern:
        raise click.UsageError("PATTERN is empty")
    try:
        make = text_pattern if fixed else regex_pattern
        return make(pattern, ignore_case=ignore_case)
    except RecallError as error:
        said = one_line(str(error).removeprefix("query: "))
        raise click.UsageError(f"PATTERN: {said} (--fixed searches for it as plain text)") from error


def _paths(sessions: Iterable[str], *, everywhere: bool, last: bool) -> Iterator[str]:
    if sessions:
        yield from dict.fromkeys(path_of(name) for name in sessions)
        return
    try:
        if last:
            yield str(last_session().path)
            return
        found = session_files(None if everywhere else project_slug("."))
    except SessionNameError as error:
        raise UnusableError(reason(error)) from error
    if not found:
        where = "there is no session" if everywhere else "this project has no session; --all searches all projects"
        raise UnusableError(where)
    yield from (str(session.path) for session in found)


def _search(
    path: str, pattern: Pattern, printer: _Printer, *, role: str | None, tool: str | None, context: int
) -> bool:
    """Search one session, print each match as it is found, and say whether there was one.

    Raises:
        UnusableError: it cannot be read, or not be searched to the end.
    """
    total = given_up = 0
    bar = ExitStack()
    with bar, open_transcript(path, files=bar.enter_context(progress(path, title="searching", passes=2))) as transcript:
        try:
            for found in search(transcript, pattern, role=role, tool=tool, context=context):
                given_up += not found.is_whole
                if not found.lines:
                    continue
                total += sum(bool(line.spans) for line in found.lines)
                if printer.only_names:
                    break
                if printer.shows_messages:
                    bar.close()  # before anything is printed
                    printer.show(path, found.placed, found.lines)
        except (LogError, ValueError) as error:
            raise UnusableError(f"{one_line(path)}: {reason(error)}") from error
    if total:
        printer.sum_up(path, total)
    if given_up:
        what = f"{given_up:,} message{' was' if given_up == 1 else 's were'} not searched to the end"
        raise UnusableError(f"{one_line(path)}: {what}: the expression takes too long; make it simpler")
    return total > 0


class _Printer:
    """Prints the matches in the form that was asked for."""

    def __init__(self, *, several: bool, names: bool, count: bool, as_json: bool) -> None:
        self.only_names = names
        self.shows_messages = not names and not count
        self._count, self._several, self._as_json = count, several, as_json
        self._console: Console = console()
        self._path = ""

    def show(self, path: str, placed: Placed, lines: list[Line]) -> None:
        """Print a message that matches."""
        if self._as_json:
            click.echo(json.dumps(_plain(path, placed, lines)))
            return
        if self._path:
            click.echo()
        if self._several and path != self._path:
            self._print(Text(_name(path), "bold underline"))
        self._path = path
        self._print(head_of(placed))
        known = lines[0].number
        for line in lines:
            if line.number > known + 1:
                self._print(Text("   --", "dim"))
            known = line.number
            self._print(_shown(line))

    def sum_up(self, path: str, total: int) -> None:
        """Print the session's name or count, if only that was asked for."""
        if self.shows_messages:
            return
        if self._as_json:
            told: dict[str, Any] = {"session": session_name(path), "path": path}
            click.echo(json.dumps(told | ({"lines": total} if self._count else {})))
        else:
            self._print(Text(f"{_name(path)}{f': {total}' if self._count else ''}"))

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


def _plain(path: str, placed: Placed, lines: list[Line]) -> dict[str, Any]:
    message = placed.message
    return {
        "session": session_name(path),
        "path": path,
        "number": placed.number,
        "role": message.get("role"),
        "tools": placed.tools,
        "time": timestamp_of(message),
        "id": metadata_of(message).get("message_id", ""),
        "lines": [{"line": line.number, "text": line.text, "spans": line.spans} for line in lines],
    }


def _name(path: str) -> str:
    return escaped(one_line(session_name(path)))
