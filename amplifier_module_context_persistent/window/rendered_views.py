"""The views of a window, rendered: what the view before showed too is parsed from the JSON that it was rendered to.

Between two plans a view is the one before it with what was appended. So the messages that two views in turn show alike
are written down as JSON arrays. The next view parses these, with their cuts and markers, where the log still holds the
bytes of its messages that were verified; and it renders only what came since.

Rules:
- What is handed out is parsed for each view, so nothing that is done to a message reaches another view.
- For every view the log's bytes of all its messages are looked at. Where these changed, or the log does not keep them,
  all of the view is rendered from the log, which reports what changed.
- What JSON would not give back as it is (large integers, NaN) is rendered for each view.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import orjson

from ..log.base import ComparesBytes, Log, SharesMessages
from ..log.index import Index
from ..log.verified_blocks import VerifiedBytes
from ..messages.message import Message
from ..view.arrangement import Arrangement, Item
from ..view.render import SharedRendering, common_length, render
from .message_source import MessageSource

MOST_BYTES = 4 << 20
"""So much of a window's view is written down: the bytes of as many messages as a large model takes."""
CHUNK_BYTES = 256 << 10
"""About the most that one JSON array has of it."""
LATE_BYTES = 1 << 20
"""So much is parsed on the caller's thread, which takes about 5 ms; more than that on the log's own."""


@dataclass(frozen=True, slots=True)
class RenderedView:
    """A view: its beginning as JSON, the rest as messages.

    The JSON is parsed by whoever takes the messages. Objects are made and freed several times faster where that is done
    by the same thread, since each core has its own cache, and a parser keeps other threads waiting on any thread.
    """

    head: Sequence[Message] = ()
    """The system text that heads the view."""
    written: Sequence[bytes] = ()
    """The messages after it, in JSON arrays."""
    odd: Mapping[int, Message] = field(default_factory=dict)
    """By position after the head, messages that stand in the place of what is written."""
    start: int = 0
    """How many messages are written."""
    rest: Sequence[Message] = ()
    """The messages after those."""

    def __len__(self) -> int:
        return len(self.head) + self.start + len(self.rest)

    def messages(self) -> list[Message]:
        """All messages; to be handed out once, as some of them are the same objects the next time."""
        return [*self.head, *self._beginning(), *self.rest]

    def after_head(self, position: int) -> Sequence[Message]:
        """The messages from a position after the head on, to be looked at alone."""
        if position >= self.start:
            return self.rest[position - self.start :]
        return [*self._beginning()[position:], *self.rest]

    def parsed(self) -> RenderedView:
        """The same view with nothing left to be parsed."""
        return RenderedView(self.head, rest=[*self._beginning(), *self.rest])

    def _beginning(self) -> list[Message]:
        messages: list[Message] = []
        for chunk in self.written:
            messages += orjson.loads(chunk)
        for at, message in self.odd.items():
            messages[at] = message
        return messages


class RenderedViews:
    """Renders the views of one window.

    Args:
        source: parses messages.
        boundary: as `elide_text`.
    """

    def __init__(self, source: MessageSource, boundary: str) -> None:
        self._source, self._boundary = source, boundary
        self._index: Index | None = None
        self._items: Sequence[Item] = ()
        """Those of the last view."""
        self._written: _Written | None = None
        self._sharing: SharedRendering | None = None

    def render(self, log: Log, arrangement: Arrangement, head: Sequence[Message]) -> RenderedView:
        """Render a view.

        Raises:
            LogUnreadableError: a message is no longer what was verified.
        """
        items, head = arrangement.items, copy.deepcopy(list(head))
        if log.index is not self._index:
            self._index, self._items = log.index, ()
            self._written = _Written(log.verified_bytes()) if isinstance(log, ComparesBytes) else None
            self._sharing = SharedRendering() if isinstance(log, SharesMessages) else None
        if self._sharing is not None and isinstance(log, SharesMessages) and log.shares_messages:
            shared = self._sharing.render(
                arrangement, lambda some: self._source.fetch(log, some), boundary=self._boundary
            )
            return RenderedView(head, rest=shared)
        same, self._items, written = common_length(self._items, items), (), self._written
        if written is None:
            return RenderedView(head, rest=self._rendered(log, arrangement, 0, len(items)))
        written.cut(same)
        if written.count and not written.stands:
            written.cut(0)
        count, chunks = written.count, [chunk.json for chunk in written.chunks]
        odd = {at: self._rendered(log, arrangement, at, at + 1)[0] for at in written.odd}
        rest = self._rendered(log, arrangement, count, len(items))
        view = RenderedView(head, chunks, odd, count, rest)
        written.write(items[count:same], rest)
        self._items = items
        return view.parsed() if sum(map(len, chunks)) > LATE_BYTES else view

    def _rendered(self, log: Log, arrangement: Arrangement, start: int, stop: int) -> list[Message]:
        part = arrangement.part(start, stop)
        return render(part, lambda wanted: self._source.fetch(log, wanted), boundary=self._boundary)


@dataclass(frozen=True, slots=True)
class _Chunk:
    """Messages that follow each other, as a JSON array."""

    json: bytes
    start: int
    """How many messages come before it."""
    records: int
    """How many records of the log come before it."""


class _Written:
    """The messages of the beginning of a view, as JSON, and the log's bytes that they were made of."""

    def __init__(self, verified: VerifiedBytes) -> None:
        self._verified = verified
        self.chunks: list[_Chunk] = []
        self.count = 0
        """How many messages are written."""
        self.odd: list[int] = []
        """The positions of the messages that have to be rendered: JSON would not give them back as they are."""
        self._records = self._size = 0

    @property
    def stands(self) -> bool:
        """Whether the log still holds what they were made of."""
        return self._verified.unchanged()

    def cut(self, count: int) -> None:
        """Forget all but the first ones, and those of the chunk that the first one of them is in."""
        while self.count > count:
            chunk = self.chunks.pop()
            self.count, self._records = chunk.start, chunk.records
            self._size -= len(chunk.json)
        self._verified.cut(self._records)
        while self.odd and self.odd[-1] >= self.count:
            self.odd.pop()

    def write(self, items: Sequence[Item], messages: Sequence[Message]) -> None:
        """Write down the messages of items that follow, as far as there is room and the log keeps their bytes."""
        for chunk in _chunks(items, messages):
            ordinals = [ordinal for ordinal, _ in chunk if ordinal is not None and ordinal >= 0]
            json = b"[" + b",".join([text or b"null" for _, text in chunk]) + b"]"
            if self._size + len(json) > MOST_BYTES or not self._verified.add(ordinals):
                return
            self.chunks.append(_Chunk(json, self.count, self._records))
            self.odd += [self.count + at for at, (_, text) in enumerate(chunk) if not text]
            self.count += len(chunk)
            self._records += len(ordinals)
            self._size += len(json)


def _chunks(items: Sequence[Item], messages: Sequence[Message]) -> Iterator[list[tuple[int | None, bytes]]]:
    """The ordinals of items, and the JSON of their messages, in groups of a moderate size."""
    chunk, size = list[tuple[int | None, bytes]](), 0
    for item, message in zip(items, messages, strict=False):
        ordinal = item.entry.ordinal if item.entry is not None else None
        text = _as_json(message)
        chunk.append((ordinal, text))
        size += len(text)
        if size >= CHUNK_BYTES:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk


def _as_json(message: Message) -> bytes:
    """A message as JSON; empty where it would not be the same afterwards."""
    try:
        encoded = orjson.dumps(message)
    except TypeError:
        return b""
    same = b"null" not in encoded or orjson.loads(encoded) == message  # NaN and infinities are written as null
    return encoded if same else b""
