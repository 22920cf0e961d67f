"""Messages that are in this process's views and in no log: ephemeral ones, and memory files before the first append.

Their ordinals are negative. An ephemeral message follows the record that was the last one when it was added.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace

from ..log.index import Index
from ..messages.message import Message, as_json
from ..view.entry import Entry, classify, lighter

_UNKNOWN_BYTES = 10_000


@dataclass(frozen=True, slots=True)
class _Extra:
    entry: Entry
    message: Message
    before: int
    """The first ordinal that a record after it can have."""


class Extras:
    """The messages of one session that are in no log."""

    def __init__(self) -> None:
        self.unsaved: list[Message] = []
        """Memory files that go to the log with the first append; they come first."""
        self._unsaved_entries: list[Entry] = []
        self._ephemeral: dict[int, _Extra] = {}
        self._next_ordinal = -1

    def set_unsaved(self, messages: Sequence[Message], count: Callable[[Message], int]) -> None:
        """Put messages before all others until they are saved."""
        self.unsaved = list(messages)
        self._unsaved_entries = [
            classify(self._take_ordinal(), message, count, size_bytes=_size(message)) for message in messages
        ]

    def unsaved_copies(self, index: Index) -> list[Message]:
        """Copies of the unsaved messages; none once the log holds messages."""
        if len(index):
            self.saved()
        return copy.deepcopy(self.unsaved)

    def saved(self) -> None:
        """Forget the unsaved messages: they are in the log now."""
        self.unsaved, self._unsaved_entries = [], []

    def add_ephemeral(
        self, index: Index, message: Message, count: Callable[[Message], int], *, reminds: bool = False
    ) -> None:
        """Put a message after the last record; `reminds` as `late_system: reminder` has it."""
        late = reminds and index.conversation_start() < len(index.live)
        entry = classify(self._take_ordinal(), message, count, late=late, size_bytes=_size(message))
        self._ephemeral[entry.ordinal] = _Extra(entry, message, len(index) or len(self.unsaved))

    def leave_out_media(self, beyond: Mapping[int, AbstractSet[int]], count: Callable[[Message], int]) -> bool:
        """Leave out media of ephemeral messages for the rest of the process; whether there were any.

        Args:
            beyond: by ordinal, the numbers of media; those of other messages are passed over.
            count: counts a message.
        """
        going = [ordinal for ordinal in beyond if ordinal in self._ephemeral]
        for ordinal in going:
            extra = self._ephemeral[ordinal]
            self._ephemeral[ordinal] = replace(extra, entry=lighter(extra.entry, beyond[ordinal], count))
        return bool(going)

    def clear(self) -> None:
        """Forget all of them."""
        self.saved()
        self._ephemeral.clear()

    def ordinals(self) -> AbstractSet[int]:
        """The ordinals of the ephemeral messages."""
        return self._ephemeral.keys()

    def merge(self, index: Index, stored: list[Entry], without: AbstractSet[int]) -> list[Entry]:
        """Put the extra entries in their places among the stored ones."""
        if len(index):
            self.saved()
        waiting = [extra for ordinal, extra in self._ephemeral.items() if ordinal not in without]
        if not waiting:
            return self._unsaved_entries + stored if self._unsaved_entries else stored
        merged, at = list(self._unsaved_entries), 0
        for entry in stored:
            while at < len(waiting) and waiting[at].before <= entry.ordinal:
                merged.append(waiting[at].entry)
                at += 1
            merged.append(entry)
        merged.extend(extra.entry for extra in waiting[at:])
        return merged

    def message(self, ordinal: int) -> Message:
        """A copy of a message."""
        if ordinal in self._ephemeral:
            return copy.deepcopy(self._ephemeral[ordinal].message)
        position = next(at for at, entry in enumerate(self._unsaved_entries) if entry.ordinal == ordinal)
        return copy.deepcopy(self.unsaved[position])

    def _take_ordinal(self) -> int:
        ordinal, self._next_ordinal = self._next_ordinal, self._next_ordinal - 1
        return ordinal


def _size(message: Message) -> int:
    """The bytes of a message as JSON; a guess where an integer has more digits than Python writes."""
    try:
        return len(as_json(message).encode(errors="replace"))
    except ValueError:
        return _UNKNOWN_BYTES
