"""`context-persistent fork`: continue from an earlier turn in a new session.

Exit codes: 0 done, 1 a message could not be copied (the rest was), 2 nothing was done.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence

import click

from ..transfer.fork_session import Fork, fork_session
from ..transfer.fork_to_agent import AGENTS, ForkToAgent, fork_to_agent
from .completion import complete_turn_or_id
from .error_messages import tell_parts_left, unusable
from .exit_codes import DONE, FINDINGS
from .how_to_go_on import say_how_to_go_on
from .parameters import check_place
from .progress import progress
from .ranges import turn_or_id
from .session_argument import session_argument
from .terminal import counted, say

_MOST_SHOWN = 50


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
@click.option("--again", is_flag=True, help="Copy also texts that were purged here.")
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
    again: bool,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Make a new session that begins with SESSION's history up to turn N.

    Turns count from 1, and turn N is copied whole. With a message's id, everything up to and including that message is
    copied, even if a clear or a rewind has hidden it. SESSION is only read. The plan of the last compaction is copied
    too, so the provider's prompt cache still has what the fork sends first. What was purged here since SESSION, an old
    copy, was written is not copied; --again copies it all the same.

    With --to the new session is another agent's, which goes on with it; nothing in it is redacted.
    """
    if agent is not None:
        with unusable(path), progress(path, title="writing") as files:
            fork = fork_to_agent(
                path, agent, at, session_id=session_id, path=output, again=again, dry_run=dry_run, files=files
            )
        if as_json:
            click.echo(json.dumps({**fork.to_json(), "dry_run": dry_run}))
        else:
            _show_fork_to_agent(fork, dry_run=dry_run)
        return
    with unusable(path), progress(path, title="forking") as files:
        done = fork_session(path, at, session_id=session_id, path=output, again=again, dry_run=dry_run, files=files)
    if as_json:
        click.echo(json.dumps({**done.to_json(), "dry_run": dry_run}))
    else:
        _show_fork(done, dry_run=dry_run)
    context.exit(FINDINGS if done.not_carried else DONE)


def _show_fork_to_agent(done: ForkToAgent, *, dry_run: bool) -> None:
    say(f"Session {done.session_id} of {done.agent}: {counted(done.messages, 'message')}, up to turn {done.turn:,}.")
    _tell_erased(done.erased)
    say("Nothing was done (--dry-run)." if dry_run else done.path)
    if not dry_run:
        tell_parts_left(done.path)
        say(f"Go on with it, in {done.working_dir}:")
        say(f"  {shlex.join(done.command)}")


def _show_fork(done: Fork, *, dry_run: bool) -> None:
    session = f"Session {done.session_id}" if done.session_id else "The new session"
    of = f" of {done.parent_id}" if done.parent_id else ""
    say(f"{session}: {counted(done.messages, 'message')}{of}, up to turn {done.turn:,} ({done.message_id}).")
    _tell_erased(done.erased)
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


def _tell_erased(sentences: Sequence[str]) -> None:
    for sentence in sentences:
        say(f"{sentence[0].upper()}{sentence[1:]}.")
