"""`context-persistent list`: which sessions there are.

Exit codes: 0 done, even if there are none; 2 a directory cannot be read. A log that cannot be read is listed.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from heapq import heappop, heappush
from itertools import islice
from pathlib import Path

import click
from rich.console import Console
from rich.text import Text

from ..catalogue.glance import Glances
from ..errors import LogError, RecallError
from ..maintenance.open_files import held_for_writing
from ..paths import project_slug
from ..tokens.counter import open_counter
from ..transcript.overview import Overview, look_at
from ..transcript.sessions import SessionFile, files_in, sessions_above, where_else
from ..transcript.transcript import Transcript
from .progress import progress
from .session_argument import no_catalogue_option, sessions_here, storage, storage_option
from .since import Since
from .terminal import UnusableError, console, counted, cut, duration, escaped, one_line, reason

_COLUMNS = (("AGE", 4), ("TOOK", 4), ("MESSAGES", 8), ("TOKENS", 6), ("SIZE", 6))
_STATE_COLUMNS = 13
_STATES = {"open": "green", "open, damaged": "red", "damaged": "red", "unreadable": "red", "interrupted": "yellow"}
_AGES = ((60, "s"), (60, "m"), (24, "h"), (365, "d"))
"""How many of each unit make the next one; after days come years."""
_LEAST_ID = 8  # characters of an id that is shortened
_INDENT = " " * 5


@click.command("list")
@storage_option
@no_catalogue_option
@click.argument("directories", metavar="[DIRECTORY]...", nargs=-1, type=click.Path(file_okay=False))
@click.option("--all", "everywhere", is_flag=True, help="The sessions of all projects.")
@click.option("-n", "--number", "most", type=click.IntRange(min=1), help="Only so many, the newest.")
@click.option("--since", type=Since(), help="Only those with a message since then: 12h, 3d, 2026-01-31.")
@click.option("--grep", "words", metavar="TEXT", help="Only those in which a message says TEXT, whatever its case.")
@click.option("-l", "--long", "in_full", is_flag=True, help="Also when each began, its model and its failed calls.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def list_sessions(
    directories: tuple[str, ...],
    *,
    everywhere: bool,
    most: int | None,
    since: float | None,
    words: str | None,
    in_full: bool,
    as_json: bool,
) -> None:
    """List the sessions of this project, by their last messages, the newest first.

    With DIRECTORY, the logs and plain message files in it (a storage_path). Each row has the age of the last message,
    the time from the first to the last, live messages, tokens (an estimate), size, state and id, and the first line
    that a person wrote. A terminal gets the beginning of a long id, which is enough to name it.

    A session is open while a process of yours has its log open for writing (known on Linux only). It is interrupted if
    its end is torn or its last calls have no results. For a damaged one, `verify` says what is wrong.
    """
    matches = _matching(words) if words is not None else None
    sessions = sessions_of(directories, everywhere=everywhere)
    look = _Look(sessions, since, matches, count_failed=in_full)
    if everywhere and most is None:
        seen = look.by_project()
    else:
        seen = islice(look.newest_first(), most)
        seen = iter(_by_project(list(seen))) if everywhere else seen
    if as_json:
        click.echo(json.dumps({"sessions": [one.to_json() for one in seen]}))
        look.glances.keep()
        return
    output = console()
    project, shortest = None, _shortest_ids(sessions) if output.is_terminal else None
    is_first = True
    for one in seen:
        if is_first:
            _row(output, [name for name, _ in _COLUMNS], Text("STATE"), "SESSION", style="bold")
            is_first = False
        if everywhere and one.session.project != project:
            project = one.session.project
            output.print(Text(escaped(one_line(project)), "bold"), overflow="fold")
        _show(output, one, shortest, in_full=in_full)
        sys.stdout.flush()  # in a pipe too: whoever reads has something to read
    look.glances.keep()
    if is_first:
        output.print(_nothing(found=bool(sessions), everywhere=everywhere, directories=directories), soft_wrap=True)


class _Look:
    """Looks at sessions, and gives those that are wanted as soon as it is known that they come next."""

    def __init__(
        self,
        sessions: list[SessionFile],
        since: float | None,
        matches: Callable[[SessionFile], bool] | None,
        *,
        count_failed: bool,
    ) -> None:
        self._sessions, self._since, self._matches, self._count_failed = sessions, since, matches, count_failed
        self._held = held_for_writing({session.path.name for session in sessions if isinstance(session.path, Path)})
        self._counter, self.glances = open_counter("estimate"), Glances()

    def newest_first(self, project: str | None = None) -> Iterator[Overview]:
        """Give them, or those of one project, in order of their last messages.

        A file is written no earlier than its last message: so a session comes next once all files that are left are
        older than its last message, and files older than what is wanted are not read.
        """
        waiting: list[tuple[float, float, str, int, Overview]] = []
        chosen = (one for one in self._sessions if project is None or one.project == project)
        left = sorted(chosen, key=lambda session: -session.modified_s)
        for number, session in enumerate(left):
            if self._since is not None and session.modified_s < self._since:
                break
            while waiting and -waiting[0][0] > session.modified_s:
                yield heappop(waiting)[-1]
            if self._matches is not None and not self._matches(session):
                continue
            with progress(str(session.path)) as files:
                one = look_at(
                    session,
                    self._counter,
                    self._held,
                    glances=self.glances,
                    files=files,
                    count_failed=self._count_failed,
                )
            if self._since is None or one.last_s >= self._since:
                heappush(waiting, (-one.last_s, -session.modified_s, session.id, number, one))
        while waiting:
            yield heappop(waiting)[-1]

    def by_project(self) -> Iterator[Overview]:
        """Give the sessions of each project together, the project with the newest message first."""
        projects = [(self.newest_first(name), name) for name in dict.fromkeys(one.project for one in self._sessions)]
        heads = [(first, rest, name) for rest, name in projects if (first := next(rest, None)) is not None]
        for first, rest, _ in sorted(heads, key=lambda head: (-head[0].last_s, head[2])):
            yield first
            yield from rest


def _matching(words: str) -> Callable[[SessionFile], bool]:
    """Whether a message of a session says something."""
    from ..search.pattern import text_pattern  # most lists are of all sessions
    from ..transcript.search import search

    try:
        pattern = text_pattern(words)
    except RecallError as error:
        raise click.UsageError(f"--grep: {one_line(str(error))}") from error

    def matches(session: SessionFile) -> bool:
        try:
            with progress(str(session.path)) as files, Transcript(session.path, files=files) as transcript:
                return next(iter(search(transcript, pattern)), None) is not None
        except (OSError, ValueError, LogError):
            return False

    return matches


def _by_project(seen: list[Overview]) -> list[Overview]:
    """Keep the sessions of each project together, the project with the newest message first."""
    newest: dict[str, int] = {}
    for position, one in enumerate(seen):
        newest.setdefault(one.session.project, position)
    return sorted(seen, key=lambda one: newest[one.session.project])


def _nothing(*, found: bool, everywhere: bool, directories: tuple[str, ...]) -> str:
    if found:
        return "no session matches"
    if directories or everywhere:
        return "no sessions"
    if storage() or sessions_above() is None:
        return "no sessions in this project; --all shows others"
    return f"no sessions in this project; {one_line(where_else())}"


def _shortest_ids(sessions: Iterable[SessionFile]) -> dict[str, str]:
    """For each id of the host's the shortest beginning that no other one has."""
    ids = sorted({session.id for session in sessions if session.project})
    short = {}
    for at, full in enumerate(ids):
        neighbours = ids[max(0, at - 1) : at] + ids[at + 1 : at + 2]
        shared = max((len(os.path.commonprefix([full, other])) for other in neighbours), default=0)  # noqa: RUF071 - no paths
        short[full] = full[: max(_LEAST_ID, shared + 1)]
    return short


def sessions_of(directories: Sequence[str], *, everywhere: bool) -> list[SessionFile]:
    """The sessions of this project, of all, or in directories; or in the database.

    Raises:
        UsageError: more than one of these was asked for.
        UnusableError: a directory cannot be read, or the database cannot be asked.
    """
    if directories and (everywhere or storage()):
        raise click.UsageError(
            "give only one of --all, --storage and DIRECTORY" if storage() else "give either --all or DIRECTORY"
        )
    if not directories:
        return sessions_here(None if everywhere else project_slug("."))
    found = []
    for directory in directories:
        try:
            found += files_in(directory)
        except (OSError, ValueError) as error:
            raise UnusableError(f"{one_line(directory)}: {reason(error)}") from error
    return found


def _show(output: Console, seen: Overview, shortest: dict[str, str] | None, *, in_full: bool) -> None:
    readable = not seen.error
    cells = [
        age(time.time() - seen.last_s),
        age(seen.duration_s) if seen.duration_s is not None else "",
        f"{seen.messages:,}" if readable else "",
        scaled(seen.tokens, "kMGT") if readable else "",
        scaled(seen.size_bytes, "kMGT") if readable else "",
    ]
    name = (shortest or {}).get(seen.session.id, seen.session.id)
    _row(output, cells, Text(seen.state, _STATES.get(seen.state, "")), escaped(one_line(name)))
    _say(output, seen.error or seen.first_line)
    if in_full and readable:
        began = f"began {seen.first_message[:16].replace('T', ' ')}" if seen.first_message else ""
        took = duration(seen.duration_s) if seen.duration_s is not None else ""
        failed = counted(seen.failed_calls, "failed call") if seen.failed_calls else ""
        _say(output, ", ".join(filter(None, (began, took, seen.model, failed))))


def _say(output: Console, text: str) -> None:
    """Print a line below a row, in a terminal no longer than the terminal is wide."""
    if line := escaped(one_line(text)):
        line = _INDENT + line
        output.print(Text(cut(line, output.width) if output.is_terminal else line, "dim"), soft_wrap=True)


def _row(output: Console, cells: list[str], state: Text, session_id: str, *, style: str = "") -> None:
    """Print a row; in a terminal an id that does not fit is printed on a line of its own, and is never cut."""
    row = Text(style=style)
    for cell, (_, columns) in zip(cells, _COLUMNS, strict=True):
        row.append(f"{cell:>{columns}} ")
    row.append(" ").append_text(state)
    gap = " " * (_STATE_COLUMNS + 1 - len(state))
    fits = not output.is_terminal or row.cell_len + len(gap) + _cells(session_id) <= output.width
    output.print(row.append(gap).append(session_id, style or "bold") if fits else row, soft_wrap=True)
    if not fits:
        output.print(Text(f"     {session_id}", "bold"), overflow="fold")


def _cells(text: str) -> int:
    return Text(text).cell_len


def age(seconds: float) -> str:
    """How long ago, in the largest unit that is full."""
    number = max(0, int(seconds))
    for most, unit in _AGES:
        if number < most:
            return f"{number}{unit}"
        number //= most
    return f"{number}y"


def scaled(number: float, units: str) -> str:
    """A number in at most four digits and a unit."""
    for unit in ("", *units):
        if number < 1000:
            return f"{number:.1f}{unit}" if unit and number < 100 else f"{number:.0f}{unit}"
        number /= 1000
    return f"{number:.0f}{units[-1]}"
