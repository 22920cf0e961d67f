"""The messages of a session that is played, read from its log as they are needed: none is held."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import overload

from ..messages.message import Message
from ..transcript.transcript import Transcript
from .evidence import with_id


class StoredMessages(Sequence[Message]):
    """The live messages of a transcript, each with an id, parsed afresh whenever it is asked for."""

    def __init__(self, transcript: Transcript) -> None:
        self._transcript = transcript

    def __len__(self) -> int:
        return len(self._transcript)

    def __iter__(self) -> Iterator[Message]:
        for position, message in enumerate(self._transcript.messages()):
            yield with_id(self._transcript.path, position, message)

    @overload
    def __getitem__(self, position: int) -> Message: ...

    @overload
    def __getitem__(self, position: slice) -> list[Message]: ...

    def __getitem__(self, position: int | slice) -> Message | list[Message]:
        if isinstance(position, slice):
            return [self[one] for one in range(*position.indices(len(self)))]
        at = position if position >= 0 else len(self) + position
        if not 0 <= at < len(self):
            raise IndexError("there is no such message")
        (message,) = self._transcript.messages(at, at + 1)
        return with_id(self._transcript.path, at, message)
