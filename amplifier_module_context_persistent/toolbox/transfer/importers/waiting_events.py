"""Store events in a temporary file until it is known which of them are live."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..imports.spool import SpooledValues
from .events import Event, KeptEntry, MessageRead

NO_PLACE = -1
"""The place of an event that is not stored."""
_MESSAGE_FIELDS = len(MessageRead._fields)


class WaitingEvents:
    """The stored events of a file. Each has a place, which is an integer, so that places can be kept in an array.

    Args:
        aside: stores the content of the events.
    """

    def __init__(self, aside: SpooledValues) -> None:
        self._aside = aside
        self.stay_in_memory = aside.keeps_values
        """Whether stored events stay in memory as they are."""
        self._few: list[Event] = []
        """The events of rare kinds, which stay in memory."""

    def put(self, event: Event) -> int:
        """Store an event, and return its place."""
        if self.stay_in_memory:
            return self._aside.put(event)
        if isinstance(event, MessageRead):
            return self._aside.put((event.message, event.line))
        if isinstance(event, KeptEntry):
            return self._aside.put((event.entry, event.line, event.kind))
        self._few.append(event)
        return NO_PLACE - len(self._few)

    def get(self, place: int) -> Event:
        """Return the event that was stored at a place."""
        if self.stay_in_memory:
            event: Event = self._aside.get(place)
            return event
        if place < NO_PLACE:
            return self._few[NO_PLACE - 1 - place]
        fields = self._aside.get(place)
        return MessageRead(*fields) if len(fields) == _MESSAGE_FIELDS else KeptEntry(*fields)

    def all(self, places: Iterable[int]) -> Iterator[Event]:
        """Yield the events that were stored at places, in the order of the places."""
        return map(self.get, places)
