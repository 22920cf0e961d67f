"""`context-persistent compact`, `hide` and `show-again`: change from outside what the model sees of a session.

Exit codes: 0 done, or there was nothing to do; 2 nothing was done.
"""

from __future__ import annotations

import json

import click

from ...sessions.transcript import Transcript
from ...tokens.on_demand import named_counter
from ..transfer.compact_session import CompactResult, compact_session, hide_turn
from .error_messages import unusable
from .fork import turn_or_id
from .session_argument import SessionFirst, session_argument
from .terminal import counted, say

_MOST_SHOWN = 20


@click.command()
@session_argument
@click.option("--undo", is_flag=True, help="Go back to the plan before the one in force.")
@click.option("--budget", type=click.IntRange(min=1), help="Tokens; by default the budget of the last request.")
@click.option("--tokenizer", default="auto", show_default=True, help="What counts tokens.")
@click.option("--dry-run", is_flag=True, help="Show what would be done, and do nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of a report.")
def compact(path: str, budget: int | None, tokenizer: str, *, undo: bool, dry_run: bool, as_json: bool) -> None:
    """Compact what the model sees of SESSION now, see what that would do, or undo it.

    The view comes down to `target_usage` of its budget, by a plan as the session would make it next: for the model and
    the budget of its last request. History does not change, and running sessions follow with their next request. --undo
    goes back to the plan before, whose views begin with the same bytes again, while that fits; what came after the
    later plan is shown without its reasoning.
    """
    with unusable(path):
        done = compact_session(path, named_counter(tokenizer), budget_tokens=budget, undo=undo, dry_run=dry_run)
    if as_json:
        click.echo(json.dumps({**done.to_json(), "dry_run": dry_run}))
        return
    _show(done)
    if not done.plan:
        say("Nothing to do: a plan would free too little.")
    elif dry_run:
        say("Nothing was done (--dry-run).")
    else:
        say("Done.")


def _show(done: CompactResult) -> None:
    arrow = f" to {done.tokens_after:,}" if done.plan else ""
    say(
        f"{done.path}: the view goes from {done.tokens_before:,}{arrow} tokens "
        f"(target {done.target_tokens:,} of {done.budget_tokens:,})."
    )
    for what in dict.fromkeys(change.what for change in done.changes):
        alike = [change for change in done.changes if change.what == what]
        say(f"{counted(len(alike), 'message')} {what}: {_tokens(sum(change.tokens for change in alike))}")
        for change in sorted(alike, key=lambda one: -abs(one.tokens))[:_MOST_SHOWN]:
            say(f"  [{change.number}] {change.role}  {change.message_id}  {_tokens(change.tokens)}")
        if len(alike) > _MOST_SHOWN:
            say(f"  ... and {len(alike) - _MOST_SHOWN:,} smaller ones; --json has all")


def _tokens(fewer: int) -> str:
    return f"{counted(abs(fewer), 'token')} {'fewer' if fewer >= 0 else 'more'}"


_NEXT_PLAN = "the next plan; `compact` makes one now"


@click.command(cls=SessionFirst)
@session_argument
@click.argument("turn", type=turn_or_id)
@click.option("--reason", default="", help="Why; the log keeps it.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of a report.")
def hide(path: str, turn: int | str, *, reason: str, as_json: bool) -> None:
    """Keep TURN of SESSION out of what the model sees, from the next plan on.

    TURN is a turn's number in `show --outline`, or the id of one of its messages. The whole turn goes, but for system
    text and pins. History keeps it, and `search` and the model's `recall` find it. The turn in progress cannot be
    hidden.
    """
    _set(path, turn, hidden=True, reason=reason, as_json=as_json)


@click.command(cls=SessionFirst)
@session_argument
@click.argument("turn", type=turn_or_id)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of a report.")
def show_again(path: str, turn: int | str, *, as_json: bool) -> None:
    """Show a hidden TURN of SESSION to the model again.

    From the next plan on, as far as there is room.
    """
    _set(path, turn, hidden=False, as_json=as_json)


def _set(path: str, turn: int | str, *, hidden: bool, as_json: bool, reason: str = "") -> None:
    with unusable(path):
        Transcript(path).close()  # raises an error if there is no log, so that none is created
        is_new = hide_turn(path, turn, hidden=hidden, reason=reason)
    if as_json:
        click.echo(json.dumps({"path": path, "turn": turn, "hidden": hidden, "changed": is_new}))
    elif not is_new:
        say(f"Nothing to do: turn {turn} is {'hidden' if hidden else 'shown'} already.")
    else:
        say(f"Turn {turn} {'is hidden from' if hidden else 'may be shown again in'} views from {_NEXT_PLAN}.")
