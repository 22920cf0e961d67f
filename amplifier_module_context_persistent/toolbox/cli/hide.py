"""`context-persistent hide` and `show-again`: keep a turn of a session out of what the model sees, or show it again.

Exit codes: 0 done, or there was nothing to do; 2 nothing was done.
"""

from __future__ import annotations

import json

import click

from ...sessions.transcript import Transcript
from ..transfer.hide_turn import hide_turn
from .error_messages import unusable
from .ranges import turn_or_id
from .session_argument import SessionFirst, session_argument
from .terminal import say

_NEXT_PLAN = "the next plan; `compact` makes one now"


@click.command(cls=SessionFirst)
@session_argument
@click.argument("turn", type=turn_or_id)
@click.option("--reason", default="", help="The reason, which the log keeps.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of a report.")
def hide(path: str, turn: int | str, *, reason: str, as_json: bool) -> None:
    """Keep TURN of SESSION out of what the model sees, from the next plan on.

    TURN is a turn's number in `show --outline`, or the id of one of its messages. The whole turn is hidden, except
    system text and pins. It stays in the history, where `search` and the model's `recall` find it. The turn in progress
    cannot be hidden.
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
