"""`context-persistent search`: find messages.

Exit codes, as grep's: 0 found, 1 not found, 2 something could not be searched.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial

import click

from ..errors import LogError, RecallError
from ..log.open import file_reader
from ..log.reader import LogReader
from ..log.record import ROLES
from ..search.pattern import Pattern, regex_pattern, text_pattern
from ..search.words import AllWords, words_pattern
from ..tokens.counter import open_counter
from ..transcript.overview import Overview, SessionGlances, look_at
from ..transcript.search import search
from ..transcript.sessions import SessionFile
from .exit_codes import DONE, FINDINGS, UNUSABLE
from .match_printer import MatchPrinter
from .progress import progress
from .session_argument import (
    all_sessions,
    complete,
    complete_tool,
    last_path,
    no_catalogue_option,
    path_of,
    session_file,
    storage,
    storage_option,
)
from .terminal import UnusableError, check_tool, one_line, open_transcript, reason

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
    searched; with --hidden, all that the log holds. Exits with 0 if something was found, 1 if nothing was, 2 if
    something could not be searched.
    """
    if sum((bool(sessions), everywhere, last)) > 1:
        raise click.UsageError("give one of SESSION, --all and --last")
    if in_words and fixed:
        raise click.UsageError("give one of --fixed and --words")
    if hidden and tool is not None:
        raise click.UsageError("give one of --hidden and --tool")
    wanted = _pattern(pattern, fixed=fixed, ignore_case=ignore_case, in_words=in_words)
    files = [] if sessions or last else all_sessions(everywhere=everywhere)
    paths = _paths(sessions, last=last) if sessions or last else [str(session.path) for session in files]
    known, glances = {str(session.path): session for session in files}, SessionGlances()

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
    from ..transcript.project_search import SessionsSearch

    catalogues = SessionsSearch(files, one.pattern)
    open_ones = (session for session in files if not catalogues.rules_out(session))
    code = _searched(one, ((str(session.path), partial(catalogues.positions, session)) for session in open_ones))
    catalogues.update()
    return code


def _paths_there(files: list[SessionFile], where: str, pattern: Pattern | AllWords) -> list[str]:
    from ..transcript.project_search import may_match_there

    try:
        return [str(session.path) for session in may_match_there(files, where, pattern)]
    except (LogError, ValueError) as error:
        raise UnusableError(reason(error)) from error


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


def _paths(sessions: Iterable[str], *, last: bool) -> list[str]:
    return [last_path()] if last else list(dict.fromkeys(path_of(name) for name in sessions))


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
        bar, printer = ExitStack(), self.printer
        files = bar.enter_context(progress(path, title="searching", passes=2))
        with bar, open_transcript(path, files=files) as transcript:
            try:
                reader = transcript.reader
                file = file_reader(reader)
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
