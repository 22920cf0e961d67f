"""Messages that are not in the log: ephemeral messages, and memory files before the first append.

A host adds an *ephemeral* message to the views of one process only.
"""

from __future__ import annotations

import copy
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple

from ..log.index import Index
from ..messages.message import Message, as_json
from ..view.entry import Entry, classify, lighter
from .late_system_text import conversation_start


class _Unlogged(NamedTuple):
    entry: Entry
    message: Message
    before: int
    """The ordinal of the next record after the message."""
    is_unsaved: bool = False
    """Whether the message is written to the log with the first append."""


class UnloggedMessages:
    """The messages of a session that are not in its log: ephemeral ones, and memory files before the first append."""

    def __init__(self) -> None:
        self._unlogged: dict[int, _Unlogged] = {}
        """The messages by their (negative) ordinals; memory files come first."""
        self._next_ordinal = -1

    @property
    def unsaved(self) -> list[Message]:
        """The memory files, which are written to the log with the first append."""
        return [ephemeral.message for ephemeral in self._unlogged.values() if ephemeral.is_unsaved]

    @property
    def has_any(self) -> bool:
        """Whether the session has messages that are not in the log."""
        return bool(self._unlogged)

    def set_unsaved(self, messages: Sequence[Message], count: Callable[[Message], int]) -> None:
        """Add memory files. They come before all other messages until the first append writes them to the log."""
        for message in messages:
            self._add(message, count, before=0, is_unsaved=True)

    def unsaved_copies(self, index: Index) -> list[Message]:
        """Return copies of the unsaved messages. The list is empty if the log has messages."""
        return copy.deepcopy(self.unsaved) if not len(index) else []

    def add_ephemeral(
        self, index: Index, message: Message, count: Callable[[Message], int], *, reminds: bool = False
    ) -> None:
        """Add a message after the last record. `reminds` says whether late system text is shown as a reminder."""
        is_late = conversation_start(index) < len(index.live)
        before = len(index) or len(self.unsaved)
        self._add(message, count, before=before, late=is_late, reminds=reminds)

    def leave_out_media(self, beyond: Mapping[int, AbstractSet[int]], count: Callable[[Message], int]) -> None:
        """Leave out media of ephemeral messages for the rest of the process.

        Args:
            beyond: the numbers of the media, by ordinal; other messages are ignored.
            count: counts a message.
        """
        for ordinal in beyond.keys() & self._unlogged.keys():
            ephemeral = self._unlogged[ordinal]
            self._unlogged[ordinal] = ephemeral._replace(entry=lighter(ephemeral.entry, beyond[ordinal], count))

    def clear(self) -> None:
        """Drop all messages."""
        self._unlogged.clear()

    def ordinals(self) -> AbstractSet[int]:
        """Return the ordinals of the ephemeral messages."""
        return {ordinal for ordinal, ephemeral in self._unlogged.items() if not ephemeral.is_unsaved}

    def merge(self, index: Index, stored: list[Entry], without: AbstractSet[int]) -> list[Entry]:
        """Return the stored entries, with the messages that are in no log in their places.

        Memory files are left out once the log has messages, because the log then contains them.
        """
        unlogged = (ephemeral for ephemeral in self._unlogged.values() if not (ephemeral.is_unsaved and len(index)))
        waiting = deque(ephemeral for ephemeral in unlogged if ephemeral.entry.ordinal not in without)
        if not waiting:
            return stored
        merged = list[Entry]()
        for entry in stored:
            while waiting and waiting[0].before <= entry.ordinal:
                merged.append(waiting.popleft().entry)
            merged.append(entry)
        return merged + [ephemeral.entry for ephemeral in waiting]

    def message(self, ordinal: int) -> Message:
        """Return a copy of the message with this ordinal."""
        return copy.deepcopy(self._unlogged[ordinal].message)

    def _add(
        self,
        message: Message,
        count: Callable[[Message], int],
        *,
        before: int,
        is_unsaved: bool = False,
        late: bool = False,
        reminds: bool = False,
    ) -> None:
        size_bytes = len(as_json(message).encode(errors="replace"))
        entry = classify(self._next_ordinal, message, count, late=late, reminds=reminds, size_bytes=size_bytes)
        self._unlogged[entry.ordinal] = _Unlogged(entry, message, before, is_unsaved)
        self._next_ordinal -= 1
