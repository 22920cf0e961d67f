"""`context-persistent diff`: show the differences of two sessions with a common beginning.

Exit codes: 0 done, 1 the sessions are equal, 2 unusable.
"""

from __future__ import annotations

import json

import click

from ...sessions.prices import PriceList
from ...sessions.session_diff import PartAfterFork, SessionDiff, diff_of
from ...sessions.session_name import read_name
from ...tokens.on_demand import named_counter
from .amounts import money
from .completion import complete
from .error_messages import UnusableError, unreadable
from .exit_codes import DONE, FINDINGS
from .open_transcript import open_transcript
from .session_argument import path_of, session_argument, session_name
from .terminal import counted, cut, one_line, say

_MOST_LINES = 20
_LINE_CELLS = 70


@click.command("diff")
@session_argument
@click.argument("other", required=False, shell_complete=complete)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_context
def diff(context: click.Context, path: str, other: str | None, *, as_json: bool) -> None:
    """Show where SESSION and OTHER part, and what each did since.

    Without OTHER, SESSION is compared with the session that it was forked from. The messages that both begin with are
    counted. Then the turns, calls, files and cost of each session after them are shown. `view --diff` compares two
    requests of one session.
    """
    with open_transcript(path) as transcript, unreadable(path):
        if other is None:
            parent = transcript.header.get("parent_id")
            if not isinstance(parent, str):
                raise UnusableError(
                    f"{one_line(session_name(path))}: it was not forked from another session; name the OTHER one"
                )
            target = _origin_of(path, parent)
        else:
            target = path_of(other)
        with open_transcript(target) as other_transcript, unreadable(target):
            difference = diff_of(transcript, other_transcript, named_counter("auto"), PriceList())
    if as_json:
        click.echo(json.dumps({"paths": [path, target], **difference.to_json()}))
    else:
        say(_common_beginning(difference))
        for log, part in ((path, difference.one), (target, difference.other)):
            names = [session_name(log), read_name(log).name]
            _show("  ".join(filter(None, names)), part)
    is_same = not difference.one.messages and not difference.other.messages
    context.exit(FINDINGS if is_same else DONE)


def _common_beginning(difference: SessionDiff) -> str:
    """Return a sentence about the messages that both sessions begin with."""
    count = difference.common_messages
    if not count:
        return "Their first messages differ: they have no beginning in common."
    first = "first message is" if count == 1 else f"first {count:,} messages are"
    turn = f", up to turn {difference.common_turns:,}" if difference.common_turns else ""
    return f"The {first} the same{turn}."


def _origin_of(fork: str, parent: str) -> str:
    """Return the path of the session from which a fork was made.

    Raises:
        UnusableError: that session does not exist any more.
    """
    try:
        return path_of(parent)
    except UnusableError as error:
        raise UnusableError(
            f"{one_line(session_name(fork))}: it was forked from {one_line(parent)}, which is not here "
            "any more (deleted, or of another machine); name the OTHER one"
        ) from error


def _show(name: str, part: PartAfterFork) -> None:
    """Print the sizes, the cost, the turns and the files of one session after the fork."""
    counts = f"{counted(part.messages, 'message')}, {counted(len(part.turns), 'turn')}, {counted(part.calls, 'call')}"
    cost = "cost not known"
    if part.cost is not None:
        sign = "~" if part.is_estimated else ""
        cost = f"{sign}{money(part.cost)}"
    say(f"{name}: {counts}, {cost}")
    for turn, line in zip(part.turns[:_MOST_LINES], part.first_lines[:_MOST_LINES], strict=True):
        say(f"  turn {turn:,}: {cut(one_line(line), _LINE_CELLS)}")
    for path, actions in list(part.files.items())[:_MOST_LINES]:
        say(f"  {path}: {', '.join(actions)}")
    more = max(len(part.turns), len(part.files)) - _MOST_LINES
    if more > 0:
        say(f"  ... and {more:,} more; --json has all")
