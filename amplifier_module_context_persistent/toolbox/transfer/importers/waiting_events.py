"""Events that wait until it is known which of them are live: what they say is put aside meanwhile."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..spool import SpooledValues
from .events import Event, KeptEntry, MessageRead

NO_PLACE = -1
"""The place of no event."""


class WaitingEvents:
    """The events of a file that wait, each at a place: a whole number, so that memory may hold places in an array.

    Args:
        aside: keeps what they say.
    """

    def __init__(self, aside: SpooledValues) -> None:
        self._aside = aside
        self._few: list[Event] = []
        """Events of rare kinds; they stay in memory."""

    def put(self, event: Event) -> int:
        """Let an event wait; its place."""
        if isinstance(event, MessageRead):
            return self._aside.put((event.message, event.line))
        if isinstance(event, KeptEntry):
            return self._aside.put((event.entry, event.line, event.kind))
        self._few.append(event)
        return NO_PLACE - len(self._few)

    def get(self, place: int) -> Event:
        """An event that waited, made anew."""
        if place < NO_PLACE:
            return self._few[NO_PLACE - 1 - place]
        said = self._aside.get(place)
        return MessageRead(*said) if len(said) == len(MessageRead._fields) else KeptEntry(*said)

    def all(self, places: Iterable[int]) -> Iterator[Event]:
        """Events that waited, in their order."""
        return map(self.get, places)
