"""`context-persistent hide` and `show-again`: keep a turn out of what the model sees, and bring it back.

Exit codes: 0 done, or it was so already; 2 nothing was done.
"""

from __future__ import annotations

import click

from ..transcript.transcript import Transcript
from ..transfer.hide import hide_turn
from .fork import turn_or_id
from .session_argument import session_argument
from .terminal import say, unusable

_NEXT_PLAN = "the next plan; `compact` makes one now"


class _TurnLast(click.Command):
    """With `--last` the one argument is TURN; click would take it for the first, SESSION."""

    def parse_args(self, context: click.Context, arguments: list[str]) -> list[str]:
        if "--last" not in arguments:
            return super().parse_args(context, arguments)
        params, context.params["session"] = self.params, None
        self.params = [one for one in params if one.name != "session"]
        try:
            return super().parse_args(context, arguments)
        finally:
            self.params = params


@click.command(cls=_TurnLast)
@session_argument
@click.argument("turn", type=turn_or_id)
@click.option("--reason", default="", help="Why; the log keeps it.")
def hide(path: str, turn: int | str, *, reason: str) -> None:
    """Keep TURN of SESSION out of what the model sees, from the next plan on.

    TURN is a turn's number in `show --outline`, or the id of one of its messages. The whole turn goes, but for system
    text and pins. History keeps it, and `search` and the model's `recall` find it. The turn in progress cannot be
    hidden.
    """
    _set(path, turn, hidden=True, reason=reason)


@click.command(cls=_TurnLast)
@session_argument
@click.argument("turn", type=turn_or_id)
def show_again(path: str, turn: int | str) -> None:
    """Show a hidden TURN of SESSION to the model again.

    From the next plan on, as far as there is room.
    """
    _set(path, turn, hidden=False)


def _set(path: str, turn: int | str, *, hidden: bool, reason: str = "") -> None:
    with unusable(path):
        Transcript(path).close()  # a log that is not there is no new one
        is_new = hide_turn(path, turn, hidden=hidden, reason=reason)
    if not is_new:
        say(f"Nothing to do: turn {turn} is {'hidden' if hidden else 'shown'} already.")
    else:
        say(f"Turn {turn} {'is hidden from' if hidden else 'may be shown again in'} views from {_NEXT_PLAN}.")
