"""Print the best answers to a question, for `search --best`."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import click
from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from ...errors import RecallError
from ...search.question_times import Period
from ...sessions.all_sessions_index import RankedSearch
from ...sessions.best_messages import BestMessage, BestMessages, Narrowing, best_messages
from ...sessions.overview import Overview
from ...sessions.session_files import SessionFile
from ...sessions.session_name import read_name
from .error_messages import UnusableError, reason, shown_path
from .exit_codes import DONE, FINDINGS, UNUSABLE
from .found_lines import shown_line
from .message_printer import head_of
from .progress import stages
from .short_ids import shortest_ids
from .terminal import console, counted, cut, escaped, one_line

Look = Callable[[str], Overview]
"""A function that returns the list entry of a session, given the path of the session's log."""


def show_best_answers(
    sessions: Sequence[SessionFile],
    question: str,
    *,
    most: int,
    narrowing: Narrowing,
    look: Look,
    by_time: bool,
    explains: bool,
    as_json: bool,
) -> int:
    """Print the messages that answer a question best, and return the exit code.

    Args:
        sessions: the sessions to search.
        question: the question in words.
        most: the largest number of messages to show.
        narrowing: the conditions that messages must meet.
        look: returns the list entry of a session, by its log's path.
        by_time: whether the newest of the messages comes first, and not the best.
        explains: whether to print why each message was found.
        as_json: whether to print JSON lines.
    """
    with stages() as tell:
        search = RankedSearch(sessions, progress=lambda done, total: tell("reading what is new", done, total))
        try:
            best = best_messages(search, question, most=most, narrowing=narrowing)
        except RecallError as error:
            raise click.UsageError(f"PATTERN: {one_line(str(error).removeprefix('query: '))}") from error
    messages = best.messages
    if by_time:
        messages = sorted(messages, key=lambda message: -message.ranked.seconds)
    if as_json:
        for message in messages:
            click.echo(json.dumps(_plain(message, look, explains=explains) | {"unmatched": best.unmatched}))
    else:
        _print(messages, look, shortest_ids(session.id for session in sessions), explains=explains)
    _say_what_is_missing(best, explains=explains)
    if best.errors:
        return UNUSABLE
    if not messages:
        return FINDINGS  # as grep, when nothing was found
    return DONE


def _print(messages: Sequence[BestMessage], look: Look, short: Mapping[str, str], *, explains: bool) -> None:
    output = console()
    for number, message in enumerate(messages, 1):
        if number > 1:
            click.echo()
        seen = look(str(message.session.path))
        title = read_name(message.session.path).name or seen.first_line
        width = output.width if output.is_terminal else sys.maxsize
        heading = _heading(number, seen, title, short.get(seen.session.id, seen.session.id), width)
        _say(output, Text(heading, "bold underline"))
        _say(output, head_of(message.placed))
        known = 0
        for line in message.lines():
            if known and line.number > known + 1:
                _say(output, Text("   --", "dim"))
            known = line.number
            _say(output, shown_line(line))
        if message.forks:
            ids = ", ".join(one_line(session.id) for session in message.forks)
            _say(output, Text(f"   also in {counted(len(message.forks), 'fork')}: {ids}", "dim"))
        if explains:
            _say(output, Text(f"   {_reasons(message)}", "dim"))


_LEAST_TITLE = 12


def _heading(number: int, seen: Overview, title: str, short: str, width: int) -> str:
    """Return the date, project, id and title of a session in one line, shortened to `width` columns.

    A short id replaces the whole one, then project and date are left out, and the title is cut. The id is never cut,
    because it is needed to show the session.
    """
    date = seen.date
    project = seen.session.project

    def line(*parts: str) -> str:
        return f"{number}. {escaped(one_line('  '.join(part for part in parts if part)))}"

    whole = line(date, project, seen.session.id, title)
    if cell_len(whole) <= width:
        return whole
    for beginning in (line(date, project, short), line(date, short), line(short)):
        if not title and cell_len(beginning) <= width:
            return beginning
        left = width - cell_len(beginning) - 2
        if title and left >= _LEAST_TITLE:
            return f"{beginning}  {cut(escaped(one_line(title)), left)}"
    return line(short)


def _say(output: Console, text: Text) -> None:
    if output.is_terminal:
        output.print(text, soft_wrap=True)
    else:
        click.echo(text.plain)


def _reasons(message: BestMessage) -> str:
    """Return a line that says why a message was found: its score, and the points of each word of the question."""
    points: dict[str, float] = {}
    near: set[str] = set()
    for term in message.ranked.reasons:  # a compound name has one term for each of its parts
        points[term.said] = points.get(term.said, 0.0) + term.points
        if term.is_near:
            near.add(term.said)
    shown_words = []
    for word in sorted(points, key=lambda word: -points[word]):
        mark = "*" if word in near else ""
        shown_words.append(f"{one_line(word)} {points[word]:.1f}{mark}")
    line = f"score {message.score:.2f}: {', '.join(shown_words)}"
    if near:
        line += " (* in a message beside it)"
    if message.ranked.spoke:
        line += "; the question names who wrote it"
    if message.ranked.in_period:
        line += "; it is of the time that the question names"
    return line


def _say_what_is_missing(best: BestMessages, *, explains: bool) -> None:
    for path, error in best.errors.items():
        UnusableError(f"{one_line(shown_path(path))}: {reason(error)}").show()
    if not best.is_whole:
        click.echo(f"{best.indexed:,} of {counted(best.sessions, 'session')} could be searched", err=True)
    if best.advice:
        click.echo(one_line(best.advice), err=True)
    for note in best.notes:
        click.echo(one_line(note), err=True)
    if best.unmatched:
        click.echo(f"no message has: {one_line(', '.join(best.unmatched))}", err=True)
    if not best.messages:
        click.echo(f"no message answers this: {counted(best.indexed, 'session')}", err=True)
    if explains or not best.messages:
        for period in best.periods:
            click.echo(f"read as a time: {one_line(period.said)} ({_time_of(period)})", err=True)
    if explains and best.common:
        common = ", ".join(map(one_line, best.common))
        click.echo(f"very common, so they count only beside rarer words: {common}", err=True)


def _time_of(period: Period) -> str:
    """Return a period as text from the first to the last minute, in this machine's time zone."""
    begin, end = (datetime.fromtimestamp(seconds, UTC).astimezone() for seconds in (period.begin, period.end - 1))
    if not period.begin:
        return f"until {end:%Y-%m-%d %H:%M}"
    return f"{begin:%Y-%m-%d %H:%M} to {end:%Y-%m-%d %H:%M}"


def _plain(message: BestMessage, look: Look, *, explains: bool) -> dict[str, Any]:
    """Return a found message in JSON types; `explains` adds the reasons for its rank."""
    session = message.session
    overview = look(str(session.path))
    name = read_name(session.path).name
    answer: dict[str, Any] = {
        "session": session.id,
        "name": name,
        "title": name or overview.first_line,
        "project": session.project,
        "path": shown_path(str(session.path)),
        "role": message.role,
        "number": message.number,
        "id": message.id,
        "tools": message.placed.tools,
        "time": message.time,
        "score": message.score,
        "forks": [fork.id for fork in message.forks],
        "lines": [{"line": line.number, "text": line.text, "spans": line.spans} for line in message.lines()],
    }
    if explains:
        answer["reasons"] = [
            {"term": reason.term, "word": reason.said, "points": round(reason.points, 4), "near": reason.is_near}
            for reason in message.ranked.reasons
        ]
        answer["spoke"] = message.ranked.spoke
        answer["in_period"] = message.ranked.in_period
    return answer
