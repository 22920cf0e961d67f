"""`context-persistent list`: which sessions there are.

Exit codes: 0 done, even if there are none; 2 a directory cannot be read. A log that cannot be read is listed.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable

import click
from rich.cells import set_cell_size
from rich.console import Console
from rich.text import Text

from ..paths import project_slug
from ..tokens.counter import open_counter
from ..transcript.open_files import held_for_writing
from ..transcript.overview import Overview, look_at
from ..transcript.sessions import SessionFile, files_in, session_files
from .progress import progress
from .terminal import UnusableError, console, escaped, one_line, reason

_COLUMNS = (("AGE", 4), ("MESSAGES", 8), ("TOKENS", 6), ("SIZE", 6))
_STATE_COLUMNS = 13
_STATES = {"open": "green", "open, damaged": "red", "damaged": "red", "unreadable": "red", "interrupted": "yellow"}
_AGES = ((60, "s"), (60, "m"), (24, "h"), (365, "d"))
"""How many of each unit make the next one; after days come years."""


@click.command("list")
@click.argument("directories", metavar="[DIRECTORY]...", nargs=-1, type=click.Path(file_okay=False))
@click.option("--all", "everywhere", is_flag=True, help="The sessions of all projects.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def list_sessions(directories: tuple[str, ...], *, everywhere: bool, as_json: bool) -> None:
    """List the sessions of this project, the newest first.

    With DIRECTORY, the logs in it (a storage_path). Each row has the age, live messages, tokens (an estimate), size,
    state and id, and the first line that a person wrote.

    A session is open while a process of yours has its log open for writing (known on Linux only). It is interrupted if
    its end is torn or its last calls have no results. For a damaged one, `verify` says what is wrong.
    """
    if directories and everywhere:
        raise click.UsageError("give either --all or DIRECTORY")
    sessions = _sessions(directories, everywhere=everywhere)
    output, counter = console(), open_counter("estimate")
    held = held_for_writing({session.path.name for session in sessions})
    if not sessions and not as_json:
        output.print("no sessions" if directories or everywhere else "no sessions in this project; --all shows others")
    project, listed = None, []
    for place, session in enumerate(sessions):
        with progress(str(session.path)) as files:
            seen = look_at(session, counter, held, files=files)
        if as_json:
            listed.append(seen.to_json())
            continue
        if place == 0:
            _row(output, [name for name, _ in _COLUMNS], Text("STATE"), "SESSION", style="bold")
        if everywhere and session.project != project:
            project = session.project
            output.print(Text(escaped(one_line(project)), "bold"), overflow="fold")
        _show(output, seen)
    if as_json:
        click.echo(json.dumps({"sessions": listed}))


def _sessions(directories: Iterable[str], *, everywhere: bool) -> list[SessionFile]:
    if everywhere:
        found = session_files()
        newest: dict[str, int] = {}
        for place, session in enumerate(found):
            newest.setdefault(session.project, place)
        return sorted(found, key=lambda session: newest[session.project])
    if not directories:
        return session_files(project_slug("."))
    found = []
    for directory in directories:
        try:
            found += files_in(directory)
        except (OSError, ValueError) as error:
            raise UnusableError(f"{one_line(directory)}: {reason(error)}") from error
    return sorted(found, key=lambda session: -session.modified_s)


def _show(output: Console, seen: Overview) -> None:
    readable = not seen.error
    cells = [
        _age(time.time() - seen.session.modified_s),
        f"{seen.messages:,}" if readable else "",
        _scaled(seen.tokens, "kMGT") if readable else "",
        _scaled(seen.size_bytes, "kMGT") if readable else "",
    ]
    _row(output, cells, Text(seen.state, _STATES.get(seen.state, "")), escaped(one_line(seen.session.id)))
    line = escaped(one_line(seen.error or seen.first_line))
    if line:
        output.print(Text(set_cell_size(f"     {line}", min(output.width, _cells(line) + 5)), "dim"), soft_wrap=True)


def _row(output: Console, cells: list[str], state: Text, session_id: str, *, style: str = "") -> None:
    """Print a row; an id that does not fit is printed on a line of its own, and is never cut."""
    row = Text(style=style)
    for cell, (_, columns) in zip(cells, _COLUMNS, strict=True):
        row.append(f"{cell:>{columns}} ")
    row.append(" ").append_text(state)
    gap = " " * (_STATE_COLUMNS + 1 - len(state))
    fits = row.cell_len + len(gap) + _cells(session_id) <= output.width
    output.print(row.append(gap).append(session_id, style or "bold") if fits else row, soft_wrap=True)
    if not fits:
        output.print(Text(f"     {session_id}", "bold"), overflow="fold")


def _cells(text: str) -> int:
    return Text(text).cell_len


def _age(seconds: float) -> str:
    """How long ago, in the largest unit that is full."""
    number = max(0, int(seconds))
    for most, unit in _AGES:
        if number < most:
            return f"{number}{unit}"
        number //= most
    return f"{number}y"


def _scaled(number: float, units: str) -> str:
    """A number in at most four digits and a unit."""
    for unit in ("", *units):
        if number < 1000:
            return f"{number:.1f}{unit}" if unit and number < 100 else f"{number:.0f}{unit}"
        number /= 1000
    return f"{number:.0f}{units[-1]}"
