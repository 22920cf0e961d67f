"""`context-persistent search`: find messages, and print them with their matches.

Exit codes, as grep's: 0 found, 1 not found, 2 something could not be searched.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import click
from rich.console import Console
from rich.text import Text

from ...catalogue.session_list_cache import Glances
from ...errors import RecallError
from ...log.open_reader import file_reader
from ...log.reader import LogReader
from ...log.record_line import ROLES
from ...messages.metadata import metadata_of, timestamp_of
from ...search.pattern import Pattern, regex_pattern, text_pattern
from ...search.word_search import AllWords, words_pattern
from ...sessions.filters import SessionFilter
from ...sessions.find_session import SessionFile
from ...sessions.overview import Overview, look_at
from ...sessions.search_session import FoundLine, HiddenText, search
from ...sessions.session_name import SessionNames
from ...sessions.transcript import LiveMessage
from .exit_codes import DONE, FINDINGS, UNUSABLE
from .filter_options import check_no_filter, chosen_sessions, filter_options
from .found_lines import shown_line
from .message_printer import head_of
from .progress import progress
from .sealed_files import reads_sealed
from .session_argument import (
    complete,
    last_path,
    leave_replica,
    no_catalogue_option,
    path_of,
    read_replica,
    session_file,
    session_name,
    storage,
    storage_option,
)
from .short_ids import shortest_ids
from .terminal import (
    UnusableError,
    check_tools,
    console,
    counted,
    cut,
    escaped,
    one_line,
    open_transcript,
    unreadable,
    unusable,
)

FindPlaces = Callable[[LogReader], list[int] | None]
"""Names the positions of the messages of a log that may match; None means all."""


class _HowMany(click.IntRange):
    """The number of answers; a question in its place gets a hint about the order."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Read it."""
        if isinstance(value, str) and not value.strip().lstrip("-+").isdecimal():
            self.fail("give how many first, as in `search --best 5 'QUESTION'`", param, ctx)
        return super().convert(value, param, ctx)


@click.command("search")
@storage_option
@reads_sealed
@no_catalogue_option
@filter_options(tool_help="Only calls and results of this tool; again for those of another one, too.")
@click.argument("pattern", metavar="PATTERN")
@click.argument("sessions", metavar="[SESSION]...", nargs=-1, shell_complete=complete)
@click.option("--last", is_flag=True, help="Search the session of this project that was written to last.")
@click.option(
    "--best",
    type=_HowMany(1, 1000),
    metavar="N",
    help="PATTERN is a question: show the N messages that answer best.",
)
@click.option("--explain", "explains", is_flag=True, help="With --best: also say why each message was found.")
@click.option(
    "--newest",
    "by_time",
    is_flag=True,
    help="Show the newest first: of sessions, of messages, or with --best of answers.",
)
@click.option("-i", "--ignore-case", is_flag=True, help="Ignore case.")
@click.option("-F", "--fixed", is_flag=True, help="PATTERN is plain text, not a regular expression.")
@click.option("-w", "--words", "in_words", is_flag=True, help='PATTERN is words: `retry "reset by peer" time*`.')
@click.option(
    "--hidden", is_flag=True, help="Also what a clear hid, plans and other records, metadata, and unreadable bytes."
)
@click.option("--role", type=click.Choice(ROLES), help="Only messages of this role.")
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
    wanted: SessionFilter,
    best: int | None,
    explains: bool,
    by_time: bool,
    ignore_case: bool,
    fixed: bool,
    in_words: bool,
    hidden: bool,
    role: str | None,
    lines: int,
    names: bool,
    count: bool,
    as_json: bool,
) -> None:
    """Search messages of this project's sessions, or of each SESSION.

    With --best N, PATTERN is a question in words, and the messages that answer it best are shown, over all sessions; in
    a terminal it is taken so if no message has the text and it has three words or more.

    PATTERN is a regular expression of Python in which `^` and `$` match at lines. A message on which it takes too long
    is given up, and counted. With --words, all words must be in a message, in any order and any case; "two words" are a
    phrase, begin* is the beginning of a word. The texts, thinking, calls and tool results of live messages are
    searched; with --hidden, all that the log holds, and the checkpoint of a session that several hosts share. Exits
    with 0 if something was found, 1 if nothing was, 2 if something could not be searched.
    """
    if in_words and fixed:
        raise click.UsageError("give one of --fixed and --words")
    if hidden and wanted.tools:
        raise click.UsageError("give one of --hidden and --tool")
    is_literal = ignore_case or fixed or in_words or hidden or names or count or lines
    if best is None and explains:
        raise click.UsageError("--explain is of --best N")
    if best is not None and is_literal:
        raise click.UsageError("--best takes a question: give no option for texts (-i, -F, -w, -C, -l, -c, --hidden)")
    if best is None:
        read_replica()
    chosen = _chosen(sessions, everywhere=everywhere, last=last, wanted=wanted)
    answer = partial(_answer, chosen, pattern, role, wanted.tools, explains=explains, by_time=by_time, as_json=as_json)
    if best is not None:
        code = answer(most=best)
    else:
        found = _pattern(pattern, fixed=fixed, ignore_case=ignore_case, in_words=in_words)
        printer = MatchPrinter(chosen, several=len(chosen.files) > 1, names=names, count=count, as_json=as_json)
        context_lines = 0 if names or count else lines
        one = _Search(
            found, printer, role=role, tools=wanted.tools, context=context_lines, hidden=hidden, by_time=by_time
        )
        if by_time:
            newest = {session: -chosen.look(str(session.path)).last_s for session in chosen.files}
            chosen.files.sort(key=newest.__getitem__)
        code = _search_all(one, chosen)
        if code == FINDINGS and wanted.tools:
            _check_tools(wanted.tools, chosen)
        if code == FINDINGS and not is_literal and not as_json and _is_question(pattern):
            code = _taken_as_question(answer)
        elif code == FINDINGS and not as_json and is_terminal():
            click.echo(f"nothing in {counted(len(chosen.files), 'session')}", err=True)
    chosen.glances.keep()
    context.exit(code)


_BEST_UNASKED = 5
_NARROW = 100  # columns; narrower terminals are not told the projects of sessions
_LINE_WIDTH = 100  # of a session's first line, where lines are not cut to a terminal
"""So many best answers are shown in a terminal if no message has the text."""
_QUESTION = re.compile(r"[\w\s,.;:?!'\u2019\"-]+")
_LEAST_WORDS = 3


def _taken_as_question(answer: Callable[..., int]) -> int:
    """Answer a pattern that no message has as a question; not in a terminal, name the option only. The exit code."""
    if not is_terminal():
        click.echo("no message has this text; --best N takes it as a question", err=True)
        return FINDINGS
    leave_replica()
    click.echo("No message has this text. The best answers to it as a question (--best N):\n", err=True)
    return answer(most=_BEST_UNASKED)


def is_terminal() -> bool:
    """Whether a person reads the output."""
    return sys.stdout.isatty()


def _is_question(pattern: str) -> bool:
    """Whether a pattern reads as a question: several words, and nothing that only expressions have."""
    return _QUESTION.fullmatch(pattern) is not None and len(re.findall(r"\w+", pattern)) >= _LEAST_WORDS


@dataclass(frozen=True)
class _Chosen:
    """The sessions that are searched.

    Attributes:
        files: the sessions.
        are_named: whether the command line names each; else they are all of a project, or of several.
        glances: what catalogues keep of them.
    """

    files: list[SessionFile]
    are_named: bool
    glances: Glances = field(default_factory=Glances)

    def look(self, path: str) -> Overview:
        """Look at one of them."""
        session = next(session for session in self.files if str(session.path) == path)
        return look_at(session, None, glances=self.glances)


def _chosen(sessions: Sequence[str], *, everywhere: bool, last: bool, wanted: SessionFilter) -> _Chosen:
    """The named sessions, or the filtered sessions of this project, of another one or of all.

    Raises:
        UsageError: the arguments contradict each other.
        UnusableError: there is no such session.
    """
    if sessions and last:
        raise click.UsageError("give either SESSION or --last")
    of_sessions = replace(wanted, tools=())  # `--tool` is about messages here
    if not sessions and not last:
        return _Chosen(chosen_sessions(of_sessions, everywhere=everywhere), are_named=False)
    check_no_filter(of_sessions, everywhere=everywhere)
    paths = [last_path()] if last else list(dict.fromkeys(map(_named_path, sessions)))
    return _Chosen([session_file(path) for path in paths], are_named=True)


def _named_path(name: str) -> str:
    """The log of a session that the command line names.

    Raises:
        UnusableError: there is none; whoever asks a question may have forgotten its quotes.
    """
    try:
        return path_of(name)
    except UnusableError as error:
        hint = "; what comes after PATTERN names sessions: put several words in quotes"
        raise UnusableError(f"{error.message}{hint}") from error


def _answer(
    chosen: _Chosen,
    question: str,
    role: str | None,
    tools: Sequence[str],
    *,
    most: int,
    explains: bool,
    by_time: bool,
    as_json: bool,
) -> int:
    from ...sessions.best_messages import Narrowing
    from .best_answers import show_best_answers  # the ranking, which a search for a text does not need

    return show_best_answers(
        chosen.files,
        question,
        most=most,
        narrowing=Narrowing(role, tuple(tools)),
        look=chosen.look,
        by_time=by_time,
        explains=explains,
        as_json=as_json,
    )


def _search_all(one: _Search, chosen: _Chosen) -> int:
    """Search the sessions for a text, without those that a catalogue or a database rules out."""
    files = chosen.files
    if chosen.are_named or one.hidden:
        return _searched(one, ((str(session.path), None) for session in files))
    if (where := storage()) is None:
        return _search_with_catalogue(one, files)
    return _searched(one, ((path, None) for path in _paths_there(files, where, one.pattern)))


def _check_tools(tools: Sequence[str], chosen: _Chosen) -> None:
    check_tools(tools, _tool_names(str(session.path) for session in chosen.files))


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
    """The pattern of a search, and the printer of its matches."""

    pattern: Pattern | AllWords
    printer: MatchPrinter
    role: str | None
    tools: tuple[str, ...]
    context: int
    hidden: bool
    by_time: bool

    def run(self, path: str, find_places: FindPlaces | None) -> bool:
        """Search one session and print each match at once; returns whether there was one.

        Raises:
            UnusableError: the session cannot be read, or not searched to its end.
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
                tools=self.tools,
                context=self.context,
                among=among,
                hidden=self.hidden,
            )
            for found in reversed(list(found_here)) if self.by_time else found_here:
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


class MatchPrinter:
    """Prints the matches in the form that was asked for.

    Args:
        chosen: the sessions that are searched.
        several: whether there are several sessions.
        names: print only which sessions match.
        count: print only how many lines match in each.
        as_json: print JSON lines.
    """

    def __init__(self, chosen: _Chosen, *, several: bool, names: bool, count: bool, as_json: bool) -> None:
        self._look = chosen.look
        self.only_names = names
        self.shows_messages = not names and not count
        self._count, self._several, self._as_json = count, several, as_json
        self._console: Console = console()
        ids = (session_name(str(one.path)) for one in chosen.files)
        is_short = names and not chosen.are_named and self._console.is_terminal
        self._short = shortest_ids(ids) if is_short else {}
        self._path = ""
        self._names = SessionNames(chosen.glances)

    def show(self, path: str, found: LiveMessage | HiddenText, lines: list[FoundLine]) -> None:
        """Print a message that matches, or another text of the log."""
        if self._as_json:
            click.echo(json.dumps(_plain(path, self._names.of(path).name, found, lines)))
            return
        if self._path:
            click.echo()
        if self._several and path != self._path:
            named = "  ".join(filter(None, (session_name(path), self._names.of(path).name)))
            self._print(Text(escaped(one_line(named)), "bold underline"))
        self._path = path
        self._print(head_of(found) if isinstance(found, LiveMessage) else _head_of_hidden(found))
        known = lines[0].number
        for line in lines:
            if line.number > known + 1:
                self._print(Text("   --", "dim"))
            known = line.number
            self._print(shown_line(line))

    def sum_up(self, path: str, total: int) -> None:
        """Print the session, or how many lines match in it, if only that was asked for."""
        if self.shows_messages:
            return
        named = self._names.of(path).name
        told: dict[str, Any] = {"session": session_name(path), "name": named, "path": path}
        if self._count:
            self._told(told | {"lines": total}, [f"{session_name(path)}: {total}"])
            return
        seen = self._look(path)
        told |= {"project": seen.session.project, "last_message": seen.last_message, "first_line": seen.first_line}
        first = cut(one_line(seen.first_line), _LINE_WIDTH)
        is_narrow = self._console.is_terminal and self._console.width < _NARROW
        where = [self._short.get(session_name(path), session_name(path)), seen.date]
        where += [] if is_narrow else [seen.session.project]
        self._told(told, [*where, first, *filter(None, [named])])

    def _told(self, told: dict[str, Any], cells: list[str]) -> None:
        """Print a line; its cells are separated by tabs, in a terminal by spaces."""
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


def _head_of_hidden(found: HiddenText) -> Text:
    where = "" if found.is_outside else f"line {found.line:,}, byte {found.offset:,}: "
    return Text(escaped(one_line(f"[{where}{found.what}]")), "bold magenta")


def _plain(path: str, name: str, found: LiveMessage | HiddenText, lines: list[FoundLine]) -> dict[str, Any]:
    message = found.message
    if isinstance(found, LiveMessage):
        place: dict[str, Any] = {"number": found.number, "tools": found.tools}
    else:
        place = {"number": None, "hidden": found.what, "log_line": found.line, "offset": found.offset}
    return {
        "session": session_name(path),
        "name": name,
        "path": path,
        "role": message.get("role"),
        **place,
        "time": timestamp_of(message),
        "id": metadata_of(message).get("message_id", ""),
        "lines": [{"line": line.number, "text": line.text, "spans": line.spans} for line in lines],
    }
