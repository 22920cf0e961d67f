"""`context-persistent fork` and `rewind`: going on from an earlier place of a session, beside it or within it.

Exit codes: 0 done, 1 a message could not be carried over (the rest was), 2 nothing was done.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from typing import TypeVar

import click

from ..errors import ContextPersistentError
from ..transfer.fork import Fork, fork_session
from ..transfer.rewind import Rewind, rewind_session
from .progress import progress
from .session_argument import session_argument
from .terminal import UnusableError, ask, escaped, one_line, reason

T = TypeVar("T")

_LOST = 1
_MOST_SHOWN = 50
_MOST_DIGITS = 10


def place(value: str) -> int | str:
    """Read a place in a history: the number of a turn, else a message's id."""
    return int(value) if value.isdecimal() and len(value) < _MOST_DIGITS else value


@click.command()
@session_argument
@click.option("--at", type=place, metavar="N", help="The last turn to take over, or a message's id; else all.")
@click.option("--session", "session_id", metavar="ID", help="The new session's id; else a new one.")
@click.option("-o", "--output", metavar="PATH", help="The new log's file; else it lies beside SESSION's.")
@click.option("--dry-run", is_flag=True, help="Show what would be done, and write nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of a report.")
@click.pass_context
def fork(
    context: click.Context,
    path: str,
    at: int | str | None,
    session_id: str | None,
    output: str | None,
    *,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Make a new session that begins with SESSION's history up to turn N.

    Turns count from 1, and turn N is taken over in whole. A message's id takes what stands up to and with that message,
    also one that a clear or a rewind has hidden. SESSION is only read. The compaction in force there comes along, so
    the provider's prompt cache still has what the fork sends first.
    """
    with progress(path, title="forking") as files:
        done = _run(
            path, lambda: fork_session(path, at, session_id=session_id, path=output, dry_run=dry_run, files=files)
        )
    if as_json:
        click.echo(json.dumps({**done.to_json(), "dry_run": dry_run}))
    else:
        _show_fork(done, dry_run=dry_run)
    context.exit(_LOST if done.not_carried else 0)


@click.command()
@session_argument
@click.option("--to", type=place, metavar="N", required=True, help="The last turn that stays, or a message's id.")
@click.option("--dry-run", is_flag=True, help="Show what would be done, and do nothing.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object; with it, --yes is needed.")
def rewind(path: str, to: int | str, *, dry_run: bool, yes: bool, as_json: bool) -> None:
    """Let SESSION's history end with turn N again.

    Turns count from 1, and turn N stays in whole; a message's id keeps what stands up to and with that message. Nothing
    is erased: what comes behind is hidden, and a fork at one of its messages has it again. Sessions that have the log
    open follow. Files that the agent changed meanwhile stay as they are.
    """
    if as_json and not (yes or dry_run):
        raise click.UsageError("--json cannot ask; add --yes or --dry-run")
    planned = _run(path, lambda: rewind_session(path, to, dry_run=True))
    if not as_json:
        _show_rewind(planned)
    if planned.hidden and not dry_run:
        ask("Rewind it?", yes=yes)
        planned = _run(path, lambda: rewind_session(path, to))
    if as_json:
        click.echo(json.dumps({**planned.to_json(), "dry_run": dry_run}))
    elif not planned.hidden:
        _say("Nothing to do: the history ends there.")
    elif dry_run:
        _say("Nothing was done (--dry-run).")
    else:
        again = shlex.join(["context-persistent", "fork", planned.path, "--at", planned.hidden_to])
        _say("Done. What is hidden stays in the log; this makes a session that has it all again:")
        _say(f"  {again}")


def _run(path: str, job: Callable[[], T]) -> T:
    try:
        return job()
    except (OSError, ContextPersistentError, ValueError) as error:
        named = getattr(error, "filename", None) or path
        raise UnusableError(f"{one_line(str(named))}: {reason(error)}") from error


def _show_fork(done: Fork, *, dry_run: bool) -> None:
    named = f"Session {done.session_id}" if done.session_id else "The new session"
    of = f" of {done.parent_id}" if done.parent_id else ""
    messages = f"{done.messages:,} message{'' if done.messages == 1 else 's'}"
    _say(f"{named}: {messages}{of}, up to turn {done.turn:,} ({done.message_id}).")
    if done.plan:
        _say("The compaction in force there comes along.")
    for loss in done.not_carried[:_MOST_SHOWN]:
        _say(f"NOT carried over: line {loss.line:,}, byte {loss.offset:,}: {loss.reason}")
    if len(done.not_carried) > _MOST_SHOWN:
        _say(f"... and {len(done.not_carried) - _MOST_SHOWN:,} more; --json has all")
    _say("Nothing was done (--dry-run)." if dry_run else done.path)


def _show_rewind(planned: Rewind) -> None:
    _say(
        f"{planned.path}: {planned.messages:,} messages stay, up to turn {planned.turn:,} ({planned.message_id}); "
        f"{planned.hidden:,} behind them are hidden."
    )


def _say(text: str) -> None:
    click.echo(escaped(one_line(text)))
