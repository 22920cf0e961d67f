"""Events that wait until it is known which of them are live: what they say is put aside meanwhile."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..spool import SpooledValues
from .events import Event, KeptEntry, MessageRead

Waiting = int | Event
"""The place of an event that is put aside; or the event itself, if it is of a kind of which there are few."""


class WaitingEvents:
    """The events of a file that wait.

    Args:
        aside: keeps what they say.
    """

    def __init__(self, aside: SpooledValues) -> None:
        self._aside = aside

    def put(self, event: Event) -> Waiting:
        """Let an event wait."""
        if isinstance(event, MessageRead):
            return self._aside.put((event.message, event.line))
        if isinstance(event, KeptEntry):
            return self._aside.put((event.entry, event.line, event.kind))
        return event

    def get(self, waiting: Waiting) -> Event:
        """An event that waited, made anew."""
        if not isinstance(waiting, int):
            return waiting
        said = self._aside.get(waiting)
        return MessageRead(*said) if len(said) == len(MessageRead._fields) else KeptEntry(*said)

    def all(self, waiting: Iterable[Waiting]) -> Iterator[Event]:
        """Events that waited, in their order."""
        return map(self.get, waiting)
