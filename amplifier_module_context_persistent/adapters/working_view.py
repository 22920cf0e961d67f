"""Views of a history that a kit keeps by itself: a log in memory that follows what the kit is about to send.

A kit hands over its list before each model call: its whole history, or the last view and what came after it. The log
takes what is new; so views keep their beginning from one call to the next, as those of a session do. A list that goes
another way (a branch, an edited message) rewinds the log to what both have in common.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

from ..forms.canonical import mark_of
from ..forms.whole_body import bodies_in
from ..messages.message import Message, calls_of
from ..messages.metadata import given_id
from ..session.change_history import HistoryChange
from ..session.manager import InMemoryContextManager

T = TypeVar("T")


class WorkingView(Generic[T]):
    """The working memory of one conversation.

    Args:
        read: reads a kit's message into canonical ones, with its whole body under `name`.
        write: writes canonical messages, which a view has changed, as messages of the kit.
        make: makes a message of the kit from its body.
        key: what tells two messages of the kit apart.
        name: of the kit's bodies.
        options: of the log's manager: `max_tokens`, `recipient`, …
    """

    def __init__(
        self,
        *,
        read: Callable[[T], list[Message]],
        write: Callable[[list[Message]], list[T]],
        make: Callable[[Any], T],
        key: Callable[[T], str],
        name: str,
        **options: Any,
    ) -> None:
        self._read, self._write, self._make, self._key, self._name = read, write, make, key, name
        self._manager = InMemoryContextManager(**options)
        self._taken: list[T] = []
        """The messages that the log has taken, in order."""
        self._keys: list[str] = []
        """Of each, what tells it from others."""
        self._sent: list[T] = []
        """The last view."""
        self._counts: list[int] = []
        """Of each, how many messages it is in the log."""
        self._shapes: dict[str, tuple[Any, ...]] = {}
        """By the id of a message of the log, what its body relies on."""

    async def view(self, given: Sequence[T]) -> list[T]:
        """Give what a model call is sent, in place of a kit's list."""
        if self.gave(given):
            new = given[len(self._sent) :]
        else:
            same = self._in_common(given)
            await self._rewind(same)
            new = given[same:]
        await self._take(new)
        self._sent = self._written(await self._manager.get_messages_for_request())
        return list(self._sent)

    def gave(self, given: Sequence[T]) -> bool:
        """Whether a list begins with the very messages of the last view: the kit goes on with what it got."""
        sent = self._sent
        return 0 < len(sent) <= len(given) and all(one is other for one, other in zip(sent, given, strict=False))

    def _in_common(self, given: Sequence[T]) -> int:
        """How many messages at its beginning a list has in common with what the log has taken."""
        for number, (known, one) in enumerate(zip(self._taken, given, strict=False)):
            if known is not one:
                if self._keys[number] != self._key(one):
                    return number
                self._taken[number] = one
        return min(len(self._taken), len(given))

    async def _take(self, messages: Sequence[T]) -> None:
        groups = list(map(self._read, messages))
        flat = [message for group in groups for message in group]
        if not flat:
            return
        await self._manager.change_history(lambda _, ready: HistoryChange(added=ready), flat)
        for stored in await self._manager.last_messages(len(flat)):
            self._shapes[given_id(stored) or ""] = _shape_of(stored)
        self._taken += messages
        self._keys += map(self._key, messages)
        self._counts += map(len, groups)

    async def _rewind(self, count: int) -> None:
        """Let the log hold so many of the kit's messages."""
        if count == len(self._taken):
            return
        kept = sum(self._counts[:count])
        await self._manager.change_history(lambda log, _: HistoryChange(log.index.live[:kept]))
        del self._taken[count:], self._keys[count:], self._counts[count:]

    def _written(self, view: Sequence[Message]) -> list[T]:
        """Write a view: what it shows in the shape that it came in from its body, the rest anew."""
        written: list[T] = []
        changed: list[Message] = []
        for group, body in bodies_in(view, self._name):
            is_whole = body is not None and all(
                self._shapes.get(given_id(one) or "") == _shape_of(one) for one in group
            )
            if not is_whole:
                changed += group
                continue
            written += self._write(changed) if changed else []
            changed = []
            written.append(self._make(body))
        return written + (self._write(changed) if changed else [])


def _shape_of(message: Message) -> tuple[Any, ...]:
    """What references into a message rely on: its blocks, its calls, the parts that it belongs to."""
    content = message.get("content")
    blocks = [block.get("type") for block in content] if isinstance(content, list) else type(content).__name__
    calls = list(calls_of(message))
    return message["role"], str(blocks), str(calls), message.get("tool_call_id"), str(mark_of(message).get("part"))
