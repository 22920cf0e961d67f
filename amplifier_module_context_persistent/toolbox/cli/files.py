"""`context-persistent files`: show which files a session touched, or which sessions touched a file.

Exit codes: 0 done, 1 no file was touched, or some logs could not be read; 2 unusable.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from textwrap import wrap

import click
from rich.console import Console
from rich.text import Text

from ...sessions.file_uses import ACTIONS, LEFT_OUT, FileUse, files_of
from ...sessions.filters import ALL_SESSIONS, SessionFilter
from ...sessions.session_files import SessionFile
from ...sessions.sub_agents import with_sub_agents
from .completion import complete
from .exit_codes import FINDINGS
from .filter_options import check_no_filter, chosen_sessions, filter_options
from .sealed_files import reads_sealed
from .session_argument import (
    NAME_ONE,
    last_path,
    no_catalogue_option,
    path_of,
    picked,
    session_file,
    sessions_that_may_belong,
    storage_option,
)
from .short_ids import shortest_ids
from .tables import show_table, width_of, without_empty
from .terminal import console, counted, escaped, one_line

_MOST_TURNS = 6
_INDENT = " " * 5
_LEAST_WIDTH = 20  # of the facts below a path


@click.command("files")
@storage_option
@reads_sealed
@no_catalogue_option
@click.argument("given", metavar="[SESSION|PATH]", required=False, shell_complete=complete)
@click.option("--last", is_flag=True, help="The session of this project that was written to last.")
@filter_options()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_context
def files(
    context: click.Context, given: str | None, *, last: bool, everywhere: bool, wanted: SessionFilter, as_json: bool
) -> None:
    """Show which files SESSION touched, or which sessions touched PATH.

    With --all or a filter the argument is PATH, and the session that touched it last is shown first. Each row has the
    numbers of times that a file was read, changed, created and deleted, the turns, and the sub-agent. PATH is a file's
    name, the end of its path, or its path from here. Without PATH, all files of these sessions are shown.

    The command reads the arguments of tools, and patches. Calls that failed do not count. Changes of files by
    redirections and programs of shell commands are unknown.
    """
    has_filter = everywhere or wanted != ALL_SESSIONS
    if last:
        check_no_filter(wanted, everywhere=everywhere)
    is_of_many = has_filter and not last
    path = ""
    if is_of_many:
        sessions = chosen_sessions(wanted, everywhere=everywhere)
        path = given or ""
    else:
        sessions = _one(_named(given, last=last))
    uses, unreadable = files_of(sessions, path)
    if as_json:
        result = {
            "files": [use.to_json() for use in uses],
            "left_out": LEFT_OUT,
            "unreadable": [{"path": log, "error": why} for log, why in unreadable.items()],
        }
        click.echo(json.dumps(result))
    else:
        _show(uses, with_sessions=is_of_many)
        for log, why in unreadable.items():
            click.echo(escaped(one_line(f"not read: {log}: {why}")), err=True)
        paths = {use.path for use in uses}
        among = f" in {counted(len(sessions), 'session')}" if is_of_many else ""
        click.echo(f"{counted(len(paths), 'file')}{among}; {LEFT_OUT}", err=True)
    if not uses or unreadable:
        context.exit(FINDINGS)


def _named(argument: str | None, *, last: bool) -> str:
    """Return the log's path of the session that the user means.

    This is the named session, or with `last` the last one; without either, a person picks a session from a list.

    Raises:
        UsageError: no session is named, or two are.
    """
    chosen = None
    if argument is None:
        chosen = last_path() if last else picked()
    elif not last:
        chosen = path_of(argument)
    if chosen is None:  # both an argument and --last, or nothing picked
        raise click.UsageError(f"{NAME_ONE}; or give --all or a filter, and a PATH, for the sessions that touched it")
    return chosen


def _one(path: str) -> list[SessionFile]:
    """Return the session of a log, followed by its sub-agents' sessions."""
    known = sessions_that_may_belong([path])
    for session in known:
        if str(session.path) == path:
            return with_sub_agents(session, known)
    return with_sub_agents(session_file(path), known)


def _show(uses: Sequence[FileUse], *, with_sessions: bool) -> None:
    """Print a table; if the terminal is too narrow, print each path on its own line, so that no path is folded."""
    if not uses:
        return
    output = console()
    short_ids = shortest_ids(use.session for use in uses) if output.is_terminal else {}
    rows = []
    for use in uses:
        row = [use.path]
        if with_sessions:
            row.append(short_ids.get(use.session, use.session))
        counts = [use.counts[action] for action in ACTIONS]
        row += [f"{count:,}" if count else "" for count in counts]
        row += [use.last_time[:16].replace("T", " "), _turns(use)]
        rows.append(row)
    session_head = ["session"] if with_sessions else []
    heads, cells = without_empty(("file", *session_head, *ACTIONS, "last at", "in turns"), rows)
    if output.is_terminal and width_of(heads, cells) > output.width:
        _show_stacked(output, heads, cells)
    else:
        show_table(output, heads, cells)


def _show_stacked(output: Console, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print each path and, on the lines below, the sessions that touched this file, each on one line if it fits."""
    before = ""
    for row in rows:
        cells = zip(heads[1:], row[1:], strict=True)
        facts = [_fact(head, escaped(one_line(cell))) for head, cell in cells if cell]
        if row[0] != before:
            output.print(Text(escaped(one_line(row[0])), "bold"), soft_wrap=True)
        before = row[0]
        for line in _lines_of(facts, output.width - len(_INDENT)):
            output.print(Text(_INDENT + line), soft_wrap=True)


def _fact(head: str, cell: str) -> str:
    """Return a cell with the head of its column, such as `in turn 3`, for output without columns."""
    if head in ("session", "last at"):
        return cell
    is_single_turn = head == "in turns" and cell.isdecimal()
    if is_single_turn:
        return f"in turn {cell}"
    return f"{head} {cell}"


def _lines_of(facts: Sequence[str], width: int) -> list[str]:
    """Return facts in lines of `width` columns; a longer fact continues on the next line."""
    lines: list[str] = []
    for fact in facts:
        if lines and len(lines[-1]) + len("  ") + len(fact) <= width:
            lines[-1] += f"  {fact}"
        else:
            lines += wrap(fact, max(width, _LEAST_WIDTH))
    return lines


def _turns(use: FileUse) -> str:
    """Return the turns that touched a file, with the id of the sub-agent for a sub-agent's turns."""
    parts = []
    for session_id, turns in use.turns.items():
        listed = ", ".join(map(str, turns[:_MOST_TURNS]))
        if len(turns) > _MOST_TURNS:
            listed += ", ..."
        if session_id != use.session:
            sub_agent = session_id.removeprefix(use.session).lstrip("-_")
            listed = f"{sub_agent}: {listed}"
        parts.append(listed)
    return "; ".join(parts)
