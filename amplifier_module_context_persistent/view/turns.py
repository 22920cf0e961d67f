"""Turns of a live history. A turn begins at a person's message; messages before the first one belong to the first turn.

The index knows of most users' messages whether a person wrote them, so only the other messages are read.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence

from ..log.index import USER, Index
from ..messages.message import Message
from ..messages.metadata import is_human

_USER = re.compile(re.escape(bytes([USER])))
Read = Callable[[Sequence[int]], Iterable[Message]]
"""Reads messages by their ordinals."""


def turn_starts(index: Index, read: Read) -> list[int]:
    """Return the positions in the live history at which turns begin. The list is empty if the history is empty."""
    plain = index.columns.plain_users
    live = index.live
    users = list(_users(index, 0, len(live)))
    unknown = [position for position in users if not plain[live[position]]]
    messages = read([live[position] for position in unknown])
    not_human = {position for position, message in zip(unknown, messages, strict=True) if not is_human(message)}
    human = [position for position in users if position not in not_human]
    if not live:
        return []
    return [0, *human[1:]]  # the first turn begins with the history


def _users(index: Index, start: int, stop: int) -> Iterator[int]:
    """Yield the positions of users' messages in a part of the live history.

    The column of roles is searched as bytes, which is faster than a look at each message.
    """
    position = start
    for run in index.live_runs(start, stop):
        roles = index.columns.roles[run.start : run.stop]
        for match in _USER.finditer(roles):
            yield position + match.start()
        position += len(run)


class TurnCount:
    """Tells which messages begin a turn, to a caller that walks through a live history from its beginning.

    Only messages before the position in question are read, and only messages of which the index does not know whether a
    person wrote them.
    """

    def __init__(self, index: Index, read: Read, starts: Sequence[int] | None = None) -> None:
        self._index = index
        self._read = read
        self._starts = starts
        self._counted = 0
        self._humans = 0
        """The number of messages read so far, and how many of them a person wrote."""

    def begun_by(self, position: int, message: Message) -> int | None:
        """Return the number of the turn that a message begins, as in `turn_starts`; None if it does not begin one.

        Args:
            position: the message's position in the live history; positions must not decrease from call to call.
            message: the message at this position.
        """
        if position == 0:
            return 1
        if not is_human(message):
            return None
        if self._starts is not None:
            number = bisect_left(self._starts, position)
            return number + 1 if self._starts[number : number + 1] == [position] else None
        self._count(position)
        number = self._humans + 1
        return number if number > 1 else None  # messages before the first human message belong to the first turn

    def _count(self, end: int) -> None:
        """Count the human messages before a position."""
        plain = self._index.columns.plain_users
        live = self._index.live
        users = [live[position] for position in _users(self._index, self._counted, end)]
        unknown = [ordinal for ordinal in users if not plain[ordinal]]
        self._humans += len(users) - len(unknown) + sum(map(is_human, self._read(unknown)))
        self._counted = end
