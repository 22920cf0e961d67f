"""Let a person choose a session from a list in a terminal; words narrow the list.

If single keys can be read, the list reacts to each key (`live_list`). Otherwise lines are read from a prompt, and a
number chooses a session.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import islice
from time import time

import click

from ...catalogue.session_list_cache import Glances
from ...sessions.overview import Overview, overview_of
from ...sessions.prices import PriceList
from ...sessions.resume_cost import resume_cost
from ...sessions.session_files import SessionFile
from ...sessions.session_name import key_of
from .amounts import money
from .live_list import LiveList, choose, is_possible
from .session_rows import age
from .terminal import escaped, one_line

_MOST_SHOWN = 12
_LOOKED_AT_ONCE = 200
_NARROW = 60  # columns; a line in a narrower terminal has no cost and no id
_LEAST_ID = 8


def can_pick() -> bool:
    """Return whether a person can be asked, because standard input and error stream are terminals."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def pick_session(sessions: Sequence[SessionFile]) -> str | None:
    """Ask which session to use, and return the path of its log; None without an answer.

    Args:
        sessions: all sessions, the last written first.
    """
    choices = SessionChoices(sessions)
    if not choices.find("", 1)[0]:
        return None
    try:
        chosen = choose(LiveList(choices.find, choices.line_of)) if is_possible() else _ask(choices)
    finally:
        choices.keep()
    return str(chosen.session.path) if chosen is not None else None


def _ask(choices: SessionChoices) -> Overview | None:
    """Ask with a prompt, and return the chosen session; None without an answer."""
    words = ""
    while True:
        offered = choices.find(words, _MOST_SHOWN)[0]
        for number, overview in enumerate(offered, 1):
            click.echo(f"{number:>3}  {choices.line_of(overview, 200)}", err=True)
        reply = click.prompt(
            "Which session? A number, or words to narrow the list", default="", show_default=False, err=True
        )
        if not reply.strip():
            return None
        if reply.isdecimal() and 1 <= int(reply) <= len(offered):
            return offered[int(reply) - 1]
        matching, count = choices.find(reply, 1)
        if count == 1:
            return matching[0]
        words = reply if matching else words
        if not matching:
            click.echo(f"no session has {escaped(one_line(reply))}", err=True)


class SessionChoices:
    """The sessions from which a person chooses. Each session is read only when its facts are needed.

    Args:
        sessions: the sessions, the last written first.
    """

    def __init__(self, sessions: Sequence[SessionFile]) -> None:
        self._left = iter(sessions)
        self._count = len(sessions)
        self._glances = Glances()
        self._prices = PriceList()
        self._seen: list[tuple[str, Overview]] = []
        """The searchable text and the list entry of each session read so far, the newest message first."""

    def find(self, words: str, most: int) -> tuple[Sequence[Overview], int]:
        """Return the first `most` sessions that have all words, and how many known sessions have them.

        Words are searched in ids, names, first lines and dates, ignoring case. While too few sessions are found, more
        sessions are read. Without words, the number is that of all sessions.
        """
        wanted = key_of(words).split()
        while True:
            matching = [overview for text, overview in self._seen if _has_all(text, wanted)]
            if len(matching) >= most or not self._look_further():
                break
        count = len(matching) if wanted else self._count
        return matching[:most], count

    def line_of(self, overview: Overview, columns: int) -> str:
        """Return a session as a line: its age, the cost of resuming it, its id, its name or first line."""
        when = "?"
        if overview.has_time:
            when = age(max(0.0, time() - overview.last_s))
        title = overview.named.name or overview.first_line
        if columns < _NARROW:
            return one_line(f"{when:>4}  {title}")
        resuming = resume_cost(self._prices, overview.last_request)
        cost = money(resuming.cost) if resuming is not None else ""
        short_id = overview.session.id[:_LEAST_ID].ljust(_LEAST_ID)
        return one_line(f"{when:>4}  {cost:>7}  {short_id}  {title}")

    def keep(self) -> None:
        """Store new list entries in the catalogues."""
        self._glances.keep()

    def _look_further(self) -> bool:
        """Read some more sessions, and return whether there were any."""
        sessions = list(islice(self._left, _LOOKED_AT_ONCE))
        for session in sessions:
            overview = overview_of(session, None, glances=self._glances)
            if overview.error:
                self._count -= 1
            else:
                text = f"{session.id} {overview.named.name} {overview.first_line} {overview.date}"
                self._seen.append((key_of(text), overview))
        self._seen.sort(key=lambda pair: -pair[1].last_s)
        return bool(sessions)


def _has_all(text: str, words: Sequence[str]) -> bool:
    return all(word in text for word in words)
