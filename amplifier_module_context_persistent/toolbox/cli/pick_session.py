"""A list to choose a session from, in a terminal: words narrow it, a number chooses.

It reads lines as any prompt does, so it works in every terminal and needs no package of its own.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from itertools import islice

import click

from ...catalogue.session_list_cache import Glances
from ...errors import ContextPersistentError
from ...log.filesystem import FileSystem
from ...sessions.find_session import SessionFile
from ...sessions.overview import Overview, look_at
from ...sessions.prices import PriceList
from ...sessions.session_name import key_of
from ...sessions.totals import gathered, totals
from ...tokens.on_demand import named_counter
from .terminal import cut, escaped, one_line

_MOST_SHOWN = 12
_MOST_LOOKED_AT = 500
_FIRST_CELLS = 60


def can_pick() -> bool:
    """Whether a person is there to choose: what is asked and answered is in a terminal."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def pick_session(sessions: Sequence[SessionFile]) -> str | None:
    """Ask which session is meant; the path of its log, or None if nobody says.

    Args:
        sessions: those that there are, the one that was written last first.
    """
    glances = Glances()
    seen = [look_at(one, None, glances=glances) for one in islice(sessions, _MOST_LOOKED_AT)]
    glances.keep()
    seen = sorted((one for one in seen if not one.error), key=lambda one: -one.last_s)
    costs, words = _costs(seen), ""
    while seen:
        shown = matching(seen, words)[:_MOST_SHOWN]
        for number, one in enumerate(shown, 1):
            click.echo(line_of(number, one, costs.get(str(one.session.path), "")), err=True)
        given = click.prompt(
            "Which session? A number, or words to narrow the list", default="", show_default=False, err=True
        )
        if not given.strip():
            return None
        if given.isdecimal() and 1 <= int(given) <= len(shown):
            return str(shown[int(given) - 1].session.path)
        found = matching(seen, given)
        if len(found) == 1:
            return str(found[0].session.path)
        words = given if found else words
        if not found:
            click.echo(f"no session has {escaped(one_line(given))}", err=True)
    return None


def matching(seen: Sequence[Overview], words: str) -> list[Overview]:
    """The sessions that have all words in their ids, names or first lines, whatever their case."""
    wanted = key_of(words).split()
    texts = ((one, key_of(f"{one.session.id} {one.named.name} {one.first_line} {one.date}")) for one in seen)
    return [one for one, text in texts if all(word in text for word in wanted)]


def line_of(number: int, one: Overview, cost: str) -> str:
    """A session in a line: its name or first words, its last message's date, its cost, its id."""
    said = cut(one_line(one.named.name or one.first_line), _FIRST_CELLS)
    return escaped(one_line(f"{number:>3}  {one.date}  {cost:>8}  {one.session.id[:8]}  {said}"))


def _costs(seen: Sequence[Overview]) -> Mapping[str, str]:
    """What the first sessions of the list cost, by their paths; nothing if that cannot be added up."""
    from .amounts import money_of

    first = [one.session for one in seen[:_MOST_SHOWN]]
    try:
        with gathered(first, named_counter("auto"), lambda _: nullcontext(FileSystem())) as found:
            told = totals(found, PriceList(), "path")
    except ContextPersistentError:
        return {}
    return {path: money_of(one.bill) for path, one in told.items()}
