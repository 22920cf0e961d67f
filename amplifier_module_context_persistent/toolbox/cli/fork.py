"""`context-persistent fork` and `rewind`: continue from an earlier turn, in a new session or in the same one.

Exit codes: 0 done, 1 a message could not be copied (the rest was), 2 nothing was done.
"""

from __future__ import annotations

import json
import shlex

import click

from ..transfer.fork_session import Fork, fork_session
from ..transfer.hand_over import AGENTS, HandOver, hand_over
from ..transfer.rewind_session import Rewind, rewind_session
from .confirm import ask
from .error_messages import tell_parts_left, unusable
from .exit_codes import DONE, FINDINGS
from .parameters import check_place
from .progress import progress
from .session_argument import SessionFirst, complete_turn_or_id, say_how_to_go_on, session_argument
from .terminal import counted, say

_MOST_SHOWN = 50
_MOST_DIGITS = 10


def turn_or_id(value: str) -> int | str:
    """Parse a position in a history: return a turn's number, or else the text as a message's id."""
    return int(value) if value.isdecimal() and len(value) < _MOST_DIGITS else value


@click.command()
@session_argument
@click.option(
    "--at",
    type=turn_or_id,
    metavar="N",
    shell_complete=complete_turn_or_id,
    help="The last turn to copy, or a message's id; by default all.",
)
@click.option(
    "--to",
    "agent",
    metavar="AGENT",
    type=click.Choice(tuple(AGENTS)),
    help=f"Make a session of another agent, in this directory: {', '.join(AGENTS)}.",
)
@click.option("--session", "session_id", metavar="ID", help="The new session's id; by default a new one.")
@click.option(
    "-o", "--output", callback=check_place, metavar="PATH", help="The new log's file; by default beside SESSION's."
)
@click.option("--dry-run", is_flag=True, help="Show what would be done, and write nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of a report.")
@click.pass_context
def fork(
    context: click.Context,
    path: str,
    at: int | str | None,
    agent: str | None,
    session_id: str | None,
    output: str | None,
    *,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Make a new session that begins with SESSION's history up to turn N.

    Turns count from 1, and turn N is copied whole. With a message's id, everything up to and including that message is
    copied, even if a clear or a rewind has hidden it. SESSION is only read. The plan of the last compaction is copied
    too, so the provider's prompt cache still has what the fork sends first.

    With --to the new session is another agent's, which goes on with it; nothing in it is redacted.
    """
    if agent is not None:
        with unusable(path), progress(path, title="writing") as files:
            handed = hand_over(path, agent, at, session_id=session_id, path=output, dry_run=dry_run, files=files)
        if as_json:
            click.echo(json.dumps({**handed.to_json(), "dry_run": dry_run}))
        else:
            _show_hand_over(handed, dry_run=dry_run)
        return
    with unusable(path), progress(path, title="forking") as files:
        done = fork_session(path, at, session_id=session_id, path=output, dry_run=dry_run, files=files)
    if as_json:
        click.echo(json.dumps({**done.to_json(), "dry_run": dry_run}))
    else:
        _show_fork(done, dry_run=dry_run)
    context.exit(FINDINGS if done.not_carried else DONE)


@click.command(cls=SessionFirst)
@session_argument
@click.argument("turn", metavar="[N]", type=turn_or_id, required=False, shell_complete=complete_turn_or_id)
@click.option(
    "--to",
    type=turn_or_id,
    metavar="N",
    shell_complete=complete_turn_or_id,
    help="The last turn to keep, or a message's id: the same as N.",
)
@click.option("--dry-run", is_flag=True, help="Show what would be done, and do nothing.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object; with it, --yes is needed.")
def rewind(path: str, turn: int | str | None, to: int | str | None, *, dry_run: bool, yes: bool, as_json: bool) -> None:
    """Make SESSION's history end with turn N again.

    Turns count from 1, and turn N stays whole. With a message's id, everything up to and including that message stays.
    Nothing is erased: what follows is hidden, and a fork at one of the hidden messages brings it back. Running sessions
    on this log follow. Files that the agent has changed stay as they are.
    """
    if as_json and not (yes or dry_run):
        raise click.UsageError("--json cannot ask; add --yes or --dry-run")
    last = turn if turn is not None else to
    if last is None or (turn is not None and to is not None):
        raise click.UsageError("name the last turn to keep once, as in `rewind SESSION 12`")
    with unusable(path):
        planned = rewind_session(path, last, dry_run=True)
    if not as_json:
        _show_rewind(planned)
    if (planned.hidden or planned.finishes) and not dry_run:
        if planned.hidden:
            ask("Rewind it?", yes=yes)
        with unusable(path):
            planned = rewind_session(path, last)
    if as_json:
        click.echo(json.dumps({**planned.to_json(), "dry_run": dry_run}))
    elif not planned.hidden:
        say("Nothing to do: the history ends there already.")
        if planned.host_files:
            say("An earlier rewind was interrupted; the host's transcript.jsonl ends there too now.")
    elif dry_run:
        say("Nothing was done (--dry-run).")
    else:
        if planned.host_files:
            say("The host's transcript.jsonl ends there too; the old one is kept beside it.")
        elif planned.host_files_because:
            say(f"The host's transcript.jsonl stays as it is: {planned.host_files_because}.")
        again = shlex.join(["context-persistent", "fork", planned.path, "--at", planned.hidden_to])
        say("Done. What is hidden stays in the log; this command makes a session with all of it:")
        say(f"  {again}")


def _show_hand_over(done: HandOver, *, dry_run: bool) -> None:
    say(f"Session {done.session_id} of {done.agent}: {counted(done.messages, 'message')}, up to turn {done.turn:,}.")
    say("Nothing was done (--dry-run)." if dry_run else done.path)
    if not dry_run:
        tell_parts_left(done.path)
        say(f"Go on with it, in {done.working_dir}:")
        say(f"  {shlex.join(done.command)}")


def _show_fork(done: Fork, *, dry_run: bool) -> None:
    named = f"Session {done.session_id}" if done.session_id else "The new session"
    of = f" of {done.parent_id}" if done.parent_id else ""
    say(f"{named}: {counted(done.messages, 'message')}{of}, up to turn {done.turn:,} ({done.message_id}).")
    if done.plan:
        say("The plan of the last compaction was copied too.")
    if done.host_turn != done.turn:
        say(f"The host counts {counted(done.host_turn, 'turn')}: one for every message of the role user.")
    if done.host_files:
        say("Files for the host were written beside the log: metadata.json, transcript.jsonl.")
    for loss in done.not_carried[:_MOST_SHOWN]:
        say(f"NOT copied: line {loss.line:,}, byte {loss.offset:,}: {loss.reason}")
    if len(done.not_carried) > _MOST_SHOWN:
        say(f"... and {len(done.not_carried) - _MOST_SHOWN:,} more; --json has all")
    say("Nothing was done (--dry-run)." if dry_run else done.path)
    if not dry_run:
        say_how_to_go_on(done.path)


def _show_rewind(planned: Rewind) -> None:
    say(
        f"{planned.path}: {counted(planned.messages, 'message')} kept, up to turn {planned.turn:,} "
        f"({planned.message_id}); {planned.hidden:,} after that hidden."
    )
