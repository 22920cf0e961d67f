"""The messages of a window's last view, kept as bytes: verified and rendered once, and parsed again for each view.

Rules:
- Each view gets new objects, so that changes to a message do not reach another view.
- The bytes belong to one index. After a purge, a lost tail, or a replaced or removed file, `Log.follow` makes a new
  index, and the bytes are dropped.
- A view repeats the start of the last view as far as the items are identical. Another plan, another reader or another
  text before a message makes other items. From the first different item on, everything is rendered again.
- Items that were rendered before a view, to hash them, are not rendered again for the view.
- At most `MOST_BYTES` of lines are kept, and as many bytes of rendered messages. Messages beyond that are read and
  verified for each request.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, NamedTuple

import orjson

from ..log.contract import Log
from ..log.index import Index
from ..log.read_back import parsed_line
from ..log.record_line import message_alone
from ..messages.message import Message
from ..view.arrangement import Item, same_items

MOST_BYTES = 8 << 20

ReadLines = Callable[[Sequence[int]], Iterator[Message]]
"""Parses the messages of some ordinals, in order."""

Render = Callable[[Sequence[Item], ReadLines], Sequence[Message]]
"""Renders the given items of a view, in order. It reads the messages through its first argument."""


class _Kept(NamedTuple):
    content: bytes
    is_message: bool
    """Whether `content` is only the message's JSON. Otherwise `content` is the whole line."""


class ShownLines:
    """The log lines of the messages that the views of one window show."""

    def __init__(self) -> None:
        self._index: Index | None = None
        self._lines: dict[int, _Kept] = {}
        self._bytes = 0

    def read(self, log: Log, ordinals: Sequence[int], *, keeps: bool = False) -> Iterator[Message]:
        """Parse messages in the given order; errors as `Log.read`.

        Args:
            log: the open log of the session.
            ordinals: the ordinals of the messages.
            keeps: whether to keep their lines.
        """
        index = log.index
        if index is not self._index:
            self._index = index
            self._lines = {}
            self._bytes = 0
        known = self._lines
        lines = log.lines([wanted for wanted in ordinals if wanted not in known])
        location = log.describe().location
        for ordinal in ordinals:
            known_line = known.get(ordinal)
            if known_line is not None and known_line.is_message:
                yield orjson.loads(known_line.content)
                continue
            line = known_line.content if known_line is not None else next(lines)[1]
            message = parsed_line(index, (ordinal, line), location)
            if keeps and known_line is None:
                self._keep(ordinal, line, message)
            yield message

    def message_alone(self, ordinal: int) -> bytes | None:
        """Return the JSON of a message whose line is kept, or None if the JSON cannot be cut out of the line."""
        line = self._lines.get(ordinal)
        if line is not None and line.is_message:
            return line.content
        return None

    def let_go(self, shown_ordinals: Collection[int]) -> None:
        """Drop the lines of all other messages."""
        self._lines = {ordinal: self._lines[ordinal] for ordinal in shown_ordinals if ordinal in self._lines}
        self._bytes = sum(len(line.content) for line in self._lines.values())

    def _keep(self, ordinal: int, line: bytes, message: Message) -> None:
        """Keep the message of a line, without the parts that are only for the log, if there is room."""
        if self._bytes + len(line) <= MOST_BYTES:
            self._bytes += len(line)
            alone = message_alone(line, message["metadata"]["message_id"])
            self._lines[ordinal] = _Kept(alone or line, is_message=alone is not None)


class ShownMessages:
    """The rendered messages of one window's last view, as bytes.

    Args:
        lines: keeps the lines of the messages that it shows.
    """

    def __init__(self, lines: ShownLines) -> None:
        self._lines = lines
        self._forget(None)

    def _forget(self, index: Index | None) -> None:
        self._index = index
        self._items: Sequence[Item] = ()
        self._shown: list[bytes] = []
        """The JSON of each message of the view, or `_NOT_KEPT`."""
        self._bytes = 0
        self._not_kept: list[int] = []
        """The positions of the messages that are rendered for each view."""
        self._looked_at: dict[int, tuple[Item, Message]] = {}
        """The messages that were rendered since the last view, by the identity of their items."""

    def look_at(self, log: Log, items: Sequence[Item], render: Render) -> Sequence[Message]:
        """Render items of the next view. The view returns the same message objects, so do not change these.

        Args:
            log: the open log of the session.
            items: the items of the view to render.
            render: as in `view`.
        """
        if log.index is not self._index:
            self._forget(log.index)
        messages = render(items, lambda ordinals: self._lines.read(log, ordinals, keeps=True))
        self._looked_at.update((id(item), (item, message)) for item, message in zip(items, messages, strict=True))
        return messages

    def view(self, log: Log, items: Sequence[Item], render: Render) -> list[Message]:
        """Return the messages of a view. Kept messages are parsed, the others are rendered.

        Args:
            log: the open log of the session.
            items: the view; the sequence is kept, and must not change.
            render: renders some of its items.
        """
        if log.index is not self._index:
            self._forget(log.index)
        same = same_items(self._items, items)
        self._items = ()  # if a message cannot be read
        self._begin_with(same, items)
        view: list[Message] = orjson.loads(b"[%b]" % b",".join(self._shown))
        missing = [*self._not_kept, *range(same, len(items))]
        for at, message in zip(missing, self._messages(log, [items[at] for at in missing], render), strict=True):
            if at < same:
                view[at] = message
            else:
                view.append(message)
                self._keep(at, items[at], message)
        self._items = items
        return view

    def _messages(self, log: Log, items: Sequence[Item], render: Render) -> Iterator[Message]:
        """Yield the messages of items: the messages that `look_at` rendered, each once, and newly rendered ones."""
        looked_at = self._looked_at
        self._looked_at = {}
        known = [looked_at.pop(id(item), None) for item in items]
        others = [item for item, found in zip(items, known, strict=True) if found is None]
        rendered = iter(render(others, lambda ordinals: self._lines.read(log, ordinals, keeps=True)))
        return (next(rendered) if found is None else found[1] for found in known)

    def _begin_with(self, same: int, items: Sequence[Item]) -> None:
        """Drop the kept bytes of the last view from position `same` on."""
        if same == len(self._shown):
            return
        del self._shown[same:]
        self._bytes = sum(map(len, self._shown))
        self._not_kept = [at for at in self._not_kept if at < same]
        self._lines.let_go([item.entry.ordinal for item in items if item.entry is not None])

    def _keep(self, at: int, item: Item, message: Message) -> None:
        """Keep the JSON of a message of the view, or note that it has to be rendered for each view."""
        encoded = self._json_of(item, message)
        if encoded is None or self._bytes + len(encoded) > MOST_BYTES:
            self._not_kept.append(at)
            encoded = _NOT_KEPT
        self._bytes += len(encoded)
        self._shown.append(encoded)

    def _json_of(self, item: Item, message: Message) -> bytes | None:
        """Return the JSON of a message; None if it has none. It comes from the log if the view shows it as stored."""
        if item.entry is not None and item.as_stored:
            line = self._lines.message_alone(item.entry.ordinal)
            if line:
                return line
        return _as_bytes(message)


_NOT_KEPT = b"null"


def _as_bytes(message: Message) -> bytes | None:
    """Return the JSON of a message, or None if `orjson` would alter or refuse it (as in `receipts.canonical`)."""
    try:
        encoded: bytes = orjson.dumps(message)
    except TypeError:
        return None
    parsed: Any = orjson.loads(encoded)
    return encoded if parsed == message else None
