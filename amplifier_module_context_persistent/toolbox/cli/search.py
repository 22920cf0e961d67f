"""`context-persistent search`: find messages, and print them with their matches.

Exit codes, as grep's: 0 found, 1 not found, 2 something could not be searched.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import click

from ...errors import RecallError
from ...log.open_reader import file_reader
from ...log.reader import LogReader
from ...log.record_line import ROLES
from ...search.pattern import Pattern, matches_only_empty, regex_pattern, text_pattern
from ...search.word_search import AllWords, words_pattern
from ...sessions.filters import SessionFilter
from ...sessions.pattern_in_session import search
from ...sessions.session_files import SessionFile
from .completion import complete
from .error_messages import UnusableError, check_tools, shown_path, unreadable, unusable
from .exit_codes import DONE, FINDINGS, UNUSABLE
from .filter_options import check_no_filter, chosen_sessions, filter_options, split_places
from .match_printer import MatchPrinter, SearchedSessions
from .open_transcript import open_transcript
from .progress import progress
from .read_from_replica import leave_replica, read_replica
from .sealed_files import reads_sealed
from .session_argument import last_path, no_catalogue_option, path_of, session_file, storage, storage_option
from .terminal import counted, one_line

FindPlaces = Callable[[LogReader], list[int] | None]
"""Returns the positions of the messages of a log that may match, or None for all messages."""


class _HowMany(click.IntRange):
    """The type of `--best`: a number. If a question is given instead, the error says that the number comes first."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Parse a number."""
        if isinstance(value, str) and not value.strip().lstrip("-+").isdecimal():
            self.fail("give how many first, as in `search --best 5 'QUESTION'`", param, ctx)
        return super().convert(value, param, ctx)


@click.command("search")
@storage_option
@reads_sealed
@no_catalogue_option
@filter_options(tool_help="Only calls and results of this tool. May be repeated.", of_messages=True)
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
    help="Show the newest sessions and messages first; with --best, the newest answers.",
)
@click.option("-i", "--ignore-case", is_flag=True, help="Ignore case.")
@click.option("-F", "--fixed", is_flag=True, help="PATTERN is plain text, not a regular expression.")
@click.option("-w", "--words", "in_words", is_flag=True, help='PATTERN is words: `retry "reset by peer" time*`.')
@click.option(
    "--hidden",
    is_flag=True,
    help="Also search cleared messages, plans and other records, metadata, and unreadable bytes.",
)
@click.option("--role", type=click.Choice(ROLES), help="Only messages of this role.")
@click.option(
    "-C", "--context", "lines", type=click.IntRange(0, 1000), default=0, metavar="N", help="Show N lines around each."
)
@click.option("-l", "--sessions-only", "names", is_flag=True, help="Print only the sessions that match.")
@click.option("-c", "--count", is_flag=True, help="Print only the number of matching lines in each session.")
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
    a terminal it is taken so if no message has the text and it has three words or more. Times in words work: with
    `search --best 5 "what broke last week"`, messages of that week count more (also "in March", "yesterday morning").

    PATTERN is a regular expression of Python in which `^` and `$` match at lines. A message on which it takes too long
    is given up, and counted. With --words, all words must be in a message, in any order and any case; "two words" are a
    phrase, begin* is the beginning of a word. The texts, thinking, calls and tool results of live messages are
    searched; with --hidden, all that the log holds, and the checkpoint of a session that several hosts share. Exits
    with 0 if something was found, 1 if nothing was, 2 if something could not be searched.
    """
    is_literal = bool(ignore_case or fixed or in_words or hidden or names or count or lines)
    _check_options(
        best=best,
        explains=explains,
        is_literal=is_literal,
        fixed=fixed,
        in_words=in_words,
        searches_hidden_of_tools=hidden and bool(wanted.tools),
    )
    if best is None:
        read_replica()
    chosen = _chosen(sessions, everywhere=everywhere, last=last, wanted=wanted)
    answer = partial(_answer, chosen, pattern, role, wanted, explains=explains, by_time=by_time, as_json=as_json)
    if best is not None:
        code = answer(most=best)
    else:
        printer = MatchPrinter(chosen, names=names, count=count, as_json=as_json)
        text = _pattern(pattern, fixed=fixed, ignore_case=ignore_case, in_words=in_words)
        context_lines = lines
        if names or count:
            context_lines = 0
        search = _Search(text, printer, role=role, wanted=wanted, context=context_lines, hidden=hidden, by_time=by_time)
        may_be_question = not is_literal and not as_json and _is_question(pattern)
        code = _search_texts(search, chosen, answer if may_be_question else None, tells=not as_json)
    chosen.glances.keep()
    context.exit(code)


_BEST_UNASKED = 5
"""The number of best answers that are shown in a terminal if no message has the text."""
_QUESTION = re.compile(r"[\w\s,.;:?!'\u2019\"-]+")
_LEAST_WORDS = 3


def _check_options(
    *, best: int | None, explains: bool, is_literal: bool, fixed: bool, in_words: bool, searches_hidden_of_tools: bool
) -> None:
    """Refuse options that contradict each other.

    Raises:
        UsageError: two options contradict each other.
    """
    if in_words and fixed:
        raise click.UsageError("give one of --fixed and --words")
    if searches_hidden_of_tools:
        raise click.UsageError("give one of --hidden and --tool")
    if best is None and explains:
        raise click.UsageError("--explain is of --best N")
    if best is not None and is_literal:
        raise click.UsageError("--best takes a question: give no option for texts (-i, -F, -w, -C, -l, -c, --hidden)")


def _search_texts(
    search: _Search, chosen: SearchedSessions, question: Callable[..., int] | None, *, tells: bool
) -> int:
    """Search for a text. If no message has the text, answer it as a question. Return the exit code.

    Args:
        search: the text, and the conditions on messages.
        chosen: the sessions.
        question: answers the text as a question; None if the text is not a question.
        tells: whether to print in a terminal that nothing was found.
    """
    if search.by_time:
        newest = {session: -chosen.look(str(session.path)).last_s for session in chosen.files}
        chosen.files.sort(key=newest.__getitem__)
    code = _search_all(search, chosen)
    if code != FINDINGS:
        return code
    if search.wanted.tools:
        _check_tools(search.wanted.tools, chosen)
    if question is not None:
        return _taken_as_question(question)
    if tells and is_terminal():
        click.echo(f"nothing in {counted(len(chosen.files), 'session')}", err=True)
    return code


def _taken_as_question(answer: Callable[..., int]) -> int:
    """Offer to take the given text as a question, which `answer` answers. Return the exit code.

    Without a terminal, only print which option does it.
    """
    if not is_terminal():
        click.echo("no message has this text; --best N takes it as a question", err=True)
        return FINDINGS
    leave_replica()
    click.echo("No message has this text. The best answers to it as a question (--best N):\n", err=True)
    return answer(most=_BEST_UNASKED)


def is_terminal() -> bool:
    """Return whether the standard output is a terminal."""
    return sys.stdout.isatty()


def _is_question(pattern: str) -> bool:
    """Return whether a pattern looks like a question: several words, and no characters of expressions."""
    return _QUESTION.fullmatch(pattern) is not None and len(re.findall(r"\w+", pattern)) >= _LEAST_WORDS


def _chosen(sessions: Sequence[str], *, everywhere: bool, last: bool, wanted: SessionFilter) -> SearchedSessions:
    """Return the named sessions, or those that filters choose in a project, in all projects, or in directories.

    Raises:
        UsageError: the arguments contradict each other.
        UnusableError: there is no such session.
    """
    if sessions and last:
        raise click.UsageError("give either SESSION or --last")
    sessions, places = split_places(sessions, wanted.places)
    of_sessions = replace(wanted, tools=(), places=places)  # `--tool` chooses messages here
    if not sessions and not last:
        return SearchedSessions(chosen_sessions(of_sessions, everywhere=everywhere), are_named=False)
    check_no_filter(replace(of_sessions, since_s=None, until_s=None), everywhere=everywhere)
    paths = [last_path()] if last else list(dict.fromkeys(map(_named_path, sessions)))
    return SearchedSessions([session_file(path) for path in paths], are_named=True)


def _named_path(name: str) -> str:
    """Return the path of the log of a session that the command line names.

    Raises:
        UnusableError: there is no such session. Perhaps the name is a word of the pattern: the message says that a
            pattern of several words needs quotes.
    """
    try:
        return path_of(name)
    except UnusableError as error:
        hint = "; what comes after PATTERN names sessions: put several words in quotes"
        raise UnusableError(f"{error.message}{hint}") from error


def _answer(
    chosen: SearchedSessions,
    question: str,
    role: str | None,
    wanted: SessionFilter,
    *,
    most: int,
    explains: bool,
    by_time: bool,
    as_json: bool,
) -> int:
    from ...sessions.best_messages import Narrowing
    from .best_answers import show_best_answers  # a search for a text does not need the ranking

    return show_best_answers(
        chosen.files,
        question,
        most=most,
        narrowing=Narrowing(role, wanted.tools, wanted.since_s, wanted.until_s),
        look=chosen.look,
        by_time=by_time,
        explains=explains,
        as_json=as_json,
    )


def _search_all(search: _Search, chosen: SearchedSessions) -> int:
    """Search sessions for a text, without those that a catalogue or a database rules out; return the exit code."""
    files = chosen.files
    if chosen.are_named or search.hidden:
        return _searched(search, ((str(session.path), None) for session in files))
    where = storage()
    if where is None:
        return _search_with_catalogue(search, files)
    return _searched(search, ((path, None) for path in _paths_there(files, where, search.pattern)))


def _check_tools(tools: Sequence[str], chosen: SearchedSessions) -> None:
    check_tools(tools, _tool_names(str(session.path) for session in chosen.files))


def _search_with_catalogue(search: _Search, files: list[SessionFile]) -> int:
    from ...sessions.pattern_in_projects import SessionsSearch

    catalogues = SessionsSearch(files, search.pattern)
    not_ruled_out = (session for session in files if not catalogues.rules_out(session))
    code = _searched(search, ((str(session.path), partial(catalogues.positions, session)) for session in not_ruled_out))
    catalogues.update()
    return code


def _paths_there(files: list[SessionFile], where: str, pattern: Pattern | AllWords) -> list[str]:
    from ...sessions.pattern_in_projects import may_match_there

    with unusable():
        return [str(session.path) for session in may_match_there(files, where, pattern)]


def _searched(search: _Search, logs: Iterable[tuple[str, FindPlaces | None]]) -> int:
    """Search logs, each at the positions that its function returns, and return the exit code."""
    code = FINDINGS
    for path, find_places in logs:
        try:
            if search.run(path, find_places) and code == FINDINGS:
                code = DONE
        except UnusableError as error:
            error.show()
            code = UNUSABLE
    return code


def _tool_names(paths: Iterable[str]) -> list[str]:
    """Return the names of the tools that the sessions call."""
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
        expression = make(pattern, ignore_case=ignore_case)
    except RecallError as error:
        reason = one_line(str(error).removeprefix("query: "))
        advice = " (--fixed searches for it as plain text)"
        if in_words or fixed:
            advice = ""
        raise click.UsageError(f"PATTERN: {reason}{advice}") from error
    if not fixed and matches_only_empty(pattern):
        shown_pattern = one_line(pattern)
        raise click.UsageError(
            f"PATTERN: {shown_pattern} matches no character; `.` matches each line that is not empty"
        )
    return expression


@dataclass(frozen=True)
class _Search:
    """A search for a text: the pattern, the conditions, and the printer of the matches."""

    pattern: Pattern | AllWords
    printer: MatchPrinter
    role: str | None
    wanted: SessionFilter
    """The filter; its tools and times choose messages."""
    context: int
    hidden: bool
    by_time: bool

    def run(self, path: str, find_places: FindPlaces | None) -> bool:
        """Search one session, print each match immediately, and return whether anything matched.

        Raises:
            UnusableError: the session cannot be read, or cannot be searched completely.
        """
        matching_lines = 0
        unfinished = 0
        printer = self.printer
        with (
            progress(path, title="searching", passes=2) as files,
            open_transcript(path, files=files) as transcript,
            unreadable(path),
        ):
            file = file_reader(transcript.reader)
            places = None
            if find_places is not None and file is not None:
                places = find_places(file)
            found_here = search(
                transcript,
                self.pattern,
                role=self.role,
                tools=self.wanted.tools,
                since_s=self.wanted.since_s,
                until_s=self.wanted.until_s,
                context=self.context,
                among=places,
                hidden=self.hidden,
            )
            in_order = reversed(list(found_here)) if self.by_time else found_here
            for found in in_order:
                if not found.is_whole:
                    unfinished += 1
                if not found.lines:
                    continue
                matching_lines += len([line for line in found.lines if line.spans])
                if printer.only_names:
                    break
                if printer.shows_messages:
                    files.before_printing()
                    printer.show(path, found.placed, found.lines)
        if matching_lines:
            printer.sum_up(path, matching_lines)
        if unfinished:
            what = f"{unfinished:,} message{' was' if unfinished == 1 else 's were'} not searched to the end"
            raise UnusableError(f"{one_line(shown_path(path))}: {what}: the expression takes too long; make it simpler")
        return matching_lines > 0
