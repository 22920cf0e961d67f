"""`context-persistent compact`: compact from outside what the model sees of a session.

Exit codes: 0 done, or there was nothing to do; 2 nothing was done.
"""

from __future__ import annotations

import json

import click

from ...tokens.on_demand import named_counter
from ..transfer.compact_session import Change, CompactResult, compact_session
from .error_messages import unusable
from .session_argument import session_argument
from .terminal import counted, say

_MOST_SHOWN = 20


@click.command()
@session_argument
@click.option("--undo", is_flag=True, help="Go back to the plan before the one in force.")
@click.option("--budget", type=click.IntRange(min=1), help="Tokens; by default the budget of the last request.")
@click.option(
    "--tokenizer", default="auto", show_default=True, help="The tokenizer: auto, estimate, or an encoding's name."
)
@click.option("--dry-run", is_flag=True, help="Show what would be done, and do nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of a report.")
def compact(path: str, budget: int | None, tokenizer: str, *, undo: bool, dry_run: bool, as_json: bool) -> None:
    """Compact what the model sees of SESSION now, see what that would do, or undo it.

    The view is reduced to `target_usage` of its budget, by the plan that the session would make next: for the model and
    the budget of its last request. The history does not change. Running sessions use the plan from their next request
    on. --undo goes back to the plan before, if its view still fits; views then begin with the same bytes again, and
    messages after the later plan are shown without their reasoning.
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
    """Print the sizes of the view before and after, and the changes by their kind, the largest first."""
    after = f", and {done.tokens_after:,} after compaction" if done.plan else ""
    target = f"target {done.target_tokens:,} of {done.budget_tokens:,}"
    say(f"{done.path}: the view has {done.tokens_before:,} tokens{after} ({target}).")
    changes_by_kind: dict[str, list[Change]] = {}
    for change in done.changes:
        changes_by_kind.setdefault(change.what, []).append(change)
    for kind, changes in changes_by_kind.items():
        say(f"{counted(len(changes), 'message')} {kind}: {_tokens(sum(change.tokens for change in changes))}")
        largest = sorted(changes, key=lambda change: -abs(change.tokens))
        for change in largest[:_MOST_SHOWN]:
            say(f"  [{change.number}] {change.role}  {change.message_id}  {_tokens(change.tokens)}")
        if len(changes) > _MOST_SHOWN:
            say(f"  ... and {len(changes) - _MOST_SHOWN:,} smaller ones; --json has all")


def _tokens(fewer: int) -> str:
    return f"{counted(abs(fewer), 'token')} {'fewer' if fewer >= 0 else 'more'}"
