"""`context-persistent search`: find messages, and print them with their matches.

Exit codes, as grep's: 0 found, 1 not found, 2 something could not be searched.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

import click
from rich.console import Console
from rich.text import Text

from ...catalogue.session_list_cache import Glances
from ...errors import RecallError
from ...log.open_log import file_reader
from ...log.reader import LogReader
from ...log.record_line import ROLES
from ...messages.metadata import metadata_of, timestamp_of
from ...search.pattern import Pattern, regex_pattern, text_pattern
from ...search.word_search import AllWords, words_pattern
from ...sessions.find_session import SessionFile
from ...sessions.overview import Overview, look_at
from ...sessions.search_session import FoundLine, HiddenText, search
from ...sessions.session_name import name_of
from ...sessions.transcript import LiveMessage
from ...tokens.counter import open_counter
from .exit_codes import DONE, FINDINGS, UNUSABLE
from .message_printer import head_of
from .progress import progress
from .session_argument import (
    all_sessions,
    complete,
    complete_tool,
    last_path,
    no_catalogue_option,
    path_of,
    session_file,
    session_name,
    storage,
    storage_option,
)
from .terminal import UnusableError, check_tool, console, cut, escaped, one_line, open_transcript, unreadable, unusable

FindPlaces = Callable[[LogReader], list[int] | None]
"""Names the positions of the messages of a log that may match; None means all."""


@click.command("search")
@storage_option
@no_catalogue_option
@click.argument("pattern", metavar="PATTERN")
@click.argument("sessions", metavar="[SESSION]...", nargs=-1, shell_complete=complete)
@click.option("--all", "everywhere", is_flag=True, help="Search the sessions of all projects.")
@click.option("--last", is_flag=True, help="Search the session of this project that was written to last.")
@click.option("-i", "--ignore-case", is_flag=True, help="Ignore case.")
@click.option("-F", "--fixed", is_flag=True, help="PATTERN is plain text, not a regular expression.")
@click.option("-w", "--words", "in_words", is_flag=True, help='PATTERN is words: `retry "reset by peer" time*`.')
@click.option(
    "--hidden", is_flag=True, help="Also what a clear hid, plans and other records, metadata, and unreadable bytes."
)
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
    in_words: bool,
    hidden: bool,
    role: str | None,
    tool: str | None,
    lines: int,
    names: bool,
    count: bool,
    as_json: bool,
) -> None:
    """Search messages of this project's sessions, or of each SESSION.

    PATTERN is a regular expression of Python in which `^` and `$` match at lines. A message on which it takes too long
    is given up, and counted. With --words, all words must be in a message, in any order and any case; "two words" are a
    phrase, begin* is the beginning of a word. The texts, thinking, calls and tool results of live messages are
    searched; with --hidden, all that the log holds, and the checkpoint of a session that several hosts share. Exits
    with 0 if something was found, 1 if nothing was, 2 if something could not be searched.
    """
    if sum((bool(sessions), everywhere, last)) > 1:
        raise click.UsageError("give one of SESSION, --all and --last")
    if in_words and fixed:
        raise click.UsageError("give one of --fixed and --words")
    if hidden and tool is not None:
        raise click.UsageError("give one of --hidden and --tool")
    wanted = _pattern(pattern, fixed=fixed, ignore_case=ignore_case, in_words=in_words)
    files = [] if sessions or last else all_sessions(everywhere=everywhere)
    paths = [last_path()] if last else list(dict.fromkeys(path_of(name) for name in sessions))
    paths = paths or [str(session.path) for session in files]
    known, glances = {str(session.path): session for session in files}, Glances()

    def look(path: str) -> Overview:
        session = known.get(path) or session_file(path)
        return look_at(session, open_counter("estimate"), None, glances=glances)

    printer = MatchPrinter(look, several=len(paths) > 1, names=names, count=count, as_json=as_json)
    one = _Search(wanted, printer, role=role, tool=tool, context=0 if names or count else lines, hidden=hidden)
    if files and not hidden and storage() is None:  # the catalogue is about files
        code = _search_with_catalogue(one, files)
    else:
        if files and not hidden and (where := storage()):
            paths = _paths_there(files, where, wanted)
        code = _searched(one, ((path, None) for path in paths))
    glances.keep()
    if tool is not None and code == FINDINGS:
        check_tool(tool, _tool_names(paths))
    context.exit(code)


def _search_with_catalogue(one: _Search, files: list[SessionFile]) -> int:
    from ...sessions.project_search import SessionsSearch

    catalogues = SessionsSearch(files, one.pattern)
    open_ones = (session for session in files if not catalogues.rules_out(session))
    code = _searched(one, ((str(session.path), partial(catalogues.positions, session)) for session in open_ones))
    catalogues.update()
    return code


def _paths_there(files: list[SessionFile], where: str, pattern: Pattern | AllWords) -> list[str]:
    from ...sessions.project_search import may_match_there

    with unusable():
        return [str(session.path) for session in may_match_there(files, where, pattern)]


def _searched(one: _Search, logs: Iterable[tuple[str, FindPlaces | None]]) -> int:
    """Search logs, each at the positions that something names."""
    code = FINDINGS
    for path, find_places in logs:
        try:
            if one.run(path, find_places):
                code = DONE if code != UNUSABLE else code
        except UnusableError as error:
            error.show()
            code = UNUSABLE
    return code


def _tool_names(paths: Iterable[str]) -> list[str]:
    """The tools that are called in some sessions."""
    names: set[str] = set()
    for path in paths:
        with open_transcript(path) as transcript:
            names.update(transcript.tool_names())
    return sorted(names)


def _pattern(pattern: str, *, fixed: bool, ignore_case: bool, in_words: bool) -> Pattern | AllWords:
    if not pattern:
        raise click.UsageError("PATTERN is empty")
    try:
        if in_words:
            return words_pattern(pattern)
        make = text_pattern if fixed else regex_pattern
        return make(pattern, ignore_case=ignore_case)
    except RecallError as error:
        said = one_line(str(error).removeprefix("query: "))
        advice = "" if in_words or fixed else " (--fixed searches for it as plain text)"
        raise click.UsageError(f"PATTERN: {said}{advice}") from error


@dataclass(frozen=True)
class _Search:
    """What is looked for, and who prints it."""

    pattern: Pattern | AllWords
    printer: MatchPrinter
    role: str | None
    tool: str | None
    context: int
    hidden: bool

    def run(self, path: str, find_places: FindPlaces | None) -> bool:
        """Search one session, print each match as it is found, and say whether there was one.

        Raises:
            UnusableError: it cannot be read, or not be searched to the end.
        """
        total = given_up = 0
        printer = self.printer
        with (
            progress(path, title="searching", passes=2) as files,
            open_transcript(path, files=files) as transcript,
            unreadable(path),
        ):
            file = file_reader(transcript.reader)
            among = find_places(file) if find_places is not None and file is not None else None
            found_here = search(
                transcript,
                self.pattern,
                role=self.role,
                tool=self.tool,
                context=self.context,
                among=among,
                hidden=self.hidden,
            )
            for found in found_here:
                given_up += not found.is_whole
                if not found.lines:
                    continue
                total += sum(bool(line.spans) for line in found.lines)
                if printer.only_names:
                    break
                if printer.shows_messages:
                    files.before_printing()
                    printer.show(path, found.placed, found.lines)
        if total:
            printer.sum_up(path, total)
        if given_up:
            what = f"{given_up:,} message{' was' if given_up == 1 else 's were'} not searched to the end"
            raise UnusableError(f"{one_line(path)}: {what}: the expression takes too long; make it simpler")
        return total > 0


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

    def show(self, path: str, found: LiveMessage | HiddenText, lines: list[FoundLine]) -> None:
        """Print a message that matches, or another text of the log."""
        if self._as_json:
            click.echo(json.dumps(_plain(path, found, lines)))
            return
        if self._path:
            click.echo()
        if self._several and path != self._path:
            named = "  ".join(filter(None, (session_name(path), name_of(path).name)))
            self._print(Text(escaped(one_line(named)), "bold underline"))
        self._path = path
        self._print(head_of(found) if isinstance(found, LiveMessage) else _head_of_hidden(found))
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
        named = name_of(path).name
        told: dict[str, Any] = {"session": session_name(path), "name": named, "path": path}
        if self._count:
            self._told(told | {"lines": total}, [f"{session_name(path)}: {total}"])
            return
        seen = self._look(path)
        told |= {"project": seen.session.project, "last_message": seen.last_message, "first_line": seen.first_line}
        self._told(told, [session_name(path), seen.date, seen.session.project, seen.first_line, *filter(None, [named])])

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


def _shown(line: FoundLine) -> Text:
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
    where = "" if found.is_outside else f"line {found.line:,}, byte {found.offset:,}: "
    return Text(escaped(one_line(f"[{where}{found.what}]")), "bold magenta")


def _plain(path: str, found: LiveMessage | HiddenText, lines: list[FoundLine]) -> dict[str, Any]:
    message = found.message
    if isinstance(found, LiveMessage):
        place: dict[str, Any] = {"number": found.number, "tools": found.tools}
    else:
        place = {"number": None, "hidden": found.what, "log_line": found.line, "offset": found.offset}
    return {
        "session": session_name(path),
        "name": name_of(path).name,
        "path": path,
        "role": message.get("role"),
        **place,
        "time": timestamp_of(message),
        "id": metadata_of(message).get("message_id", ""),
        "lines": [{"line": line.number, "text": line.text, "spans": line.spans} for line in lines],
    }
