"""`context-persistent rewind`: continue from an earlier turn in the same session.

Exit codes: 0 done, or there was nothing to do; 2 nothing was done.
"""

from __future__ import annotations

import json
import shlex

import click

from ..transfer.rewind_session import Rewind, rewind_session
from .completion import complete_turn_or_id
from .confirm import ask
from .error_messages import unusable
from .ranges import turn_or_id
from .session_argument import SessionFirst, session_argument
from .terminal import counted, say


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
    on this log follow. Files that the agent has changed stay changed.
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


def _show_rewind(planned: Rewind) -> None:
    say(
        f"{planned.path}: {counted(planned.messages, 'message')} kept, up to turn {planned.turn:,} "
        f"({planned.message_id}); {planned.hidden:,} after that hidden."
    )
