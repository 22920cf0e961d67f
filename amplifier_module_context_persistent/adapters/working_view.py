"""Views of a history that a kit keeps by itself: a log in memory follows the list that the kit is about to send.

A kit passes its list before each model call: its whole history, or the last view and the messages after it. New
messages are added to the log, so views keep their beginning from one call to the next, as in a session. If the list
differs (a branch, an edited message), the log is rewound to the part that the list and the log have in common.

The plan of the views is kept in the stored session as soon as the session has all messages that the plan names
(`kept_plan`). The next process reads the plan there. Markers of views name messages by their ids in this log. The ids
follow from a message's place and content, so they are the same in the next process.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice
from operator import is_
from typing import Any, Generic, TypeVar

from ..forms.canonical import mark_of
from ..forms.whole_body import bodies_in
from ..log.contract import Log
from ..messages.message import Message, calls_of, metadata_of
from ..messages.metadata import given_id
from ..session.change_history import HistoryChange
from ..session.in_memory_manager import InMemoryContextManager
from ..session.portable_plan import PortablePlan
from ..view.receipts import text_hash
from ..view.recipients import bond_of
from .kept_plan import Kept, KeptPlan, Named, paired

T = TypeVar("T")


class WorkingView(Generic[T]):
    """The views of one conversation, made in a log in memory. Only one call at a time may use this object.

    Args:
        read: reads a kit's message into canonical ones, with its whole body under `name`.
        write: writes canonical messages, which a view has changed, as messages of the kit.
        make: makes a message of the kit from its body.
        key: the identity of a message of the kit.
        name: the name under which the kit's bodies are stored.
        kept_plan: keeps the plan in a stored session; None if the plan ends with the process.
        options: options of the log's manager: `max_tokens`, `recipient`, …; without them, views offer no tool `recall`.
    """

    def __init__(
        self,
        *,
        read: Callable[[T], list[Message]],
        write: Callable[[list[Message]], list[T]],
        make: Callable[[Any], T],
        key: Callable[[T], str],
        name: str,
        kept_plan: KeptPlan | None = None,
        **options: Any,
    ) -> None:
        self._read = read
        self._write = write
        self._make = make
        self._key = key
        self._name = name
        self.kept_plan = kept_plan
        self._manager = InMemoryContextManager(**{"recall": False, **options})
        self._taken: list[T] = []
        """The kit's messages that the log has, in order."""
        self._keys: list[str] = []
        """For each message of the kit, a key by which equal messages are recognised."""
        self._sent: list[T] = []
        """The last view."""
        self._ids: list[list[str]] = []
        """For each message of the kit, the ids of the log's messages in which it is stored."""
        self._plan_id = ""
        """The id of the plan that the last view followed."""
        self._shapes: dict[str, tuple[Any, ...]] = {}
        """The shape of each stored message, by its id in the log. A body is used only if the shape is unchanged."""

    async def view(self, kit_messages: Sequence[T]) -> list[T]:
        """Return the messages that a model call is sent, instead of a kit's list."""
        if not self._taken and self.kept_plan is not None:
            await self._go_on(kit_messages, self.kept_plan)
        if self.gave(kit_messages):
            new = kit_messages[len(self._sent) :]
        else:
            same = self.in_common(kit_messages)
            await self._rewind(same)
            new = kit_messages[same:]
        await self._take(new)
        self._sent = self._written(await self._manager.get_messages_for_request())
        plan_id = await self._manager.look(lambda log: str((log.index.session.plan or {}).get("id", "")))
        if plan_id != self._plan_id:
            self._plan_id = plan_id
            await self.keep_plan()
        return list(self._sent)

    async def keep_plan(self) -> None:
        """Store the plan in force in the conversation's session, if it is new and the session has its messages."""
        if self.kept_plan is None or self.kept_plan.has(self._plan_id):
            return
        plan = await self._manager.look(PortablePlan.of)
        if plan is not None:
            await self.kept_plan.write(plan, self._named())

    def knows(self, message: T, *, itself: bool) -> bool:
        """Return whether the log has an equal message; with `itself`, whether it has this very object."""
        if itself:
            return any(taken is message for taken in reversed(self._taken))
        return self._key(message) in self._keys

    def gave(self, messages: Sequence[T]) -> bool:
        """Return whether a list begins with the message objects of the last view. Then the kit continues this view."""
        sent = self._sent
        if not sent or len(sent) > len(messages):
            return False
        return all(map(is_, sent, messages))

    def in_common(self, messages: Sequence[T]) -> int:
        """Return the number of messages at the start of a list that the log has at its start too."""
        for position, (taken, message) in enumerate(zip(self._taken, messages, strict=False)):
            if taken is not message:
                if self._keys[position] != self._key(message):
                    return position
                self._taken[position] = message
        return min(len(self._taken), len(messages))

    async def _take(self, messages: Sequence[T]) -> None:
        """Add messages of the kit to the log."""
        keys = [self._key(message) for message in messages]
        groups = []
        first_number = len(self._taken) + 1
        for number, (message, key) in enumerate(zip(messages, keys, strict=True), first_number):
            groups.append(_with_ids(self._read(message), f"{number}-{text_hash(key)[:8]}"))
        parts = [part for group in groups for part in group]
        if not parts:
            return
        await self._manager.change_history(lambda _, ready: HistoryChange(added=ready), parts)
        stored = iter(await self._manager.last_messages(len(parts)))
        for group in groups:
            stored_parts = list(islice(stored, len(group)))
            self._ids.append([given_id(part) or "" for part in stored_parts])
            for part in stored_parts:
                self._shapes[given_id(part) or ""] = _shape_of(part)
        self._taken += messages
        self._keys += keys

    async def _rewind(self, count: int) -> None:
        """Shorten the log to the first `count` messages of the kit."""
        if count == len(self._taken):
            return
        staying_count = sum(map(len, self._ids[:count]))
        await self._manager.change_history(lambda log, _: HistoryChange(log.index.live[:staying_count]))
        del self._taken[count:], self._keys[count:], self._ids[count:]

    async def _go_on(self, kit_messages: Sequence[T], kept_plan: KeptPlan) -> None:
        """Continue the views of an earlier process: add the messages that the kept plan covers, the plan, and the rest.

        Before an answer with reasoning is added, the view that it answers is made again. The answer's reasoning stays
        if that view is the same.
        """
        earlier_plan = await kept_plan.read()
        if earlier_plan is None:
            return
        covered_count = earlier_plan.covered_count([self._key(message) for message in kit_messages])
        if not covered_count:
            return
        await self._take(kit_messages[:covered_count])
        if not await self._follow(earlier_plan):
            return
        for number in range(covered_count, len(kit_messages)):
            if any(_has_reasoning(part) for part in self._read(kit_messages[number])):
                await self._take(kit_messages[len(self._taken) : number])
                await self._manager.get_messages_for_request()
                await self._take([kit_messages[number]])

    async def _follow(self, kept_plan: Kept) -> bool:
        """Put a plan of the stored session in force in the working log.

        Return False if the log lacks a message that the plan names.
        """
        pairs = paired(kept_plan.named, self._named())
        is_followed = False

        def decide(log: Log, _: Sequence[Message]) -> HistoryChange:
            nonlocal is_followed
            try:
                record = kept_plan.plan.renamed(pairs).record_for(log.index)
            except ValueError:  # the kit's list lacks a message that the plan names
                return HistoryChange()
            is_followed = True
            return HistoryChange(plan=record)

        await self._manager.change_history(decide)
        return is_followed

    def _named(self) -> list[Named]:
        return list(map(Named, self._keys, self._ids))

    def _written(self, view: Sequence[Message]) -> list[T]:
        """Write a view as messages of the kit. Unchanged messages are made from their stored bodies."""
        written: list[T] = []
        changed: list[Message] = []
        for group, body in bodies_in(view, self._name):
            is_unchanged = all(self._shapes.get(given_id(part) or "") == _shape_of(part) for part in group)
            if body is None or not is_unchanged:
                changed += group
                continue
            if changed:
                written += self._write(changed)
                changed = []
            written.append(self._make(body))
        if changed:
            written += self._write(changed)
        return written


def _with_ids(parts: Sequence[Message], name: str) -> list[Message]:
    """Return copies, with ids that begin with `name`, of the messages into which one message of a kit was converted."""
    parts_with_ids = []
    for number, part in enumerate(parts):
        message_id = name if number == 0 else f"{name}.{number}"
        parts_with_ids.append({**part, "metadata": {**metadata_of(part), "message_id": message_id}})
    return parts_with_ids


def _has_reasoning(message: Message) -> bool:
    bond = bond_of(message, ("", ""))
    return bond is not None and bool(bond.reasoning)


def _shape_of(message: Message) -> tuple[Any, ...]:
    """Return the parts of a message to which ids and positions refer: role, block types, calls, and its source."""
    content = message.get("content")
    blocks = [block.get("type") for block in content] if isinstance(content, list) else type(content).__name__
    calls = list(calls_of(message))
    return message["role"], str(blocks), str(calls), message.get("tool_call_id"), str(mark_of(message).get("part"))
