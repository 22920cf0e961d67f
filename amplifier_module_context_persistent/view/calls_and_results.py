"""The providers' rules on a sequence of messages, each a named function: what goes together, and what is not allowed.

Sources: Anthropic's Messages API (every `tool_use` is answered in the next message, one `tool_result` each, and the
first message is the user's), OpenAI's Chat Completions (a `tool` message answers a call of the message before it;
arrays of calls are not empty), Gemini's (a function call comes right after a user's turn or a function's response).

A *tool group* is a message with its results. It is kept or dropped as one; between two groups every cut is legal. A
*turn* begins at a person's message; what comes before the first belongs to it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from ..log.index import USER, Index
from ..messages.message import Message
from ..messages.metadata import is_human
from .entry import Entry
from .wire_rules import TAKES_ALL, WireRules


class Group(NamedTuple):
    """A message and, for each of its calls in order, the result, or None where there is none."""

    head: Entry
    results: tuple[Entry | None, ...] = ()

    def entries(self) -> tuple[Entry, ...]:
        """The messages that were stored, head first."""
        return (self.head, *[result for result in self.results if result is not None]) if self.results else (self.head,)

    @property
    def unanswered(self) -> bool:
        """Whether a call still lacks its result."""
        return None in self.results

    @property
    def pinned(self) -> bool:
        """Whether a pin or a protection holds it: one on any of its messages holds the whole group."""
        return any(entry.pinned or entry.changes.protected for entry in self.entries())


def tool_groups(entries: Iterable[Entry]) -> list[Group]:
    """Match calls and results: each result right after its call, in call order.

    A result answers the last call of its id before it, unless that one is closed. Results that answer nothing and
    second answers are left out, blank messages too; what was between a call and its result comes after it.
    """
    groups: list[tuple[Entry, Sequence[Entry | None]]] = []
    waiting: dict[str, tuple[list[Entry | None], int]] = {}
    for entry in entries:
        if entry.result_of is not None:
            if entry.result_of in waiting:
                results, position = waiting.pop(entry.result_of)
                results[position] = entry
        elif not entry.calls:
            if not entry.form.blank:
                groups.append((entry, ()))
        elif not entry.form.blank:
            results = [None] * len(entry.calls)
            groups.append((entry, results))
            for position, call in enumerate(entry.calls):
                if call.id not in entry.changes.closed:
                    waiting[call.id] = results, position
    return [Group(head, tuple(results)) for head, results in groups]


class LateResults:
    """The results that came after the model had answered without them: its request had stand-ins in their place.

    Answers that follow one another are parts of one response, and do not count. Lists are asked about one after the
    other, of which each mostly goes on from the one before it: only what came since is looked at.
    """

    def __init__(self) -> None:
        self._begin()

    def _begin(self) -> None:
        self._known: list[Entry] = []
        self._late: list[Entry] = []
        self._asked: dict[str, int] = {}
        """By the id of a call that waits for its result, how many answers there were when it was made."""
        self._answers, self._before = 0, ""

    def of(self, entries: Sequence[Entry]) -> Sequence[Entry]:
        """The late results among entries."""
        if entries[: len(self._known)] != self._known:
            self._begin()
        new = entries[len(self._known) :]
        for entry in new:
            if entry.result_of is not None:
                if (since := self._asked.pop(entry.result_of, None)) is not None and self._answers > since:
                    self._late.append(entry)
            elif entry.role == "assistant":
                self._answers += self._before != "assistant"
                self._asked.update(
                    (call.id, self._answers) for call in entry.calls if call.id not in entry.changes.closed
                )
            self._before = entry.role
        self._known += new
        return self._late


def late_results(entries: Sequence[Entry]) -> Sequence[Entry]:
    """The late results among entries (`LateResults`)."""
    return LateResults().of(list(entries))


def closed_calls(
    groups: Sequence[Group], kept: Sequence[bool], *, to_the_end: bool = True
) -> dict[str, frozenset[str]]:
    """Calls of kept groups that no later message can answer, by message id.

    Their id belongs to a later call that is not kept: an answer to that call must not be taken for an answer to them.
    Where the groups do not reach to the end of the history, later calls are not known, and every call without a result
    is closed.
    """
    closed: dict[str, frozenset[str]] = {}
    last = {call.id: position for position, group in enumerate(groups) for call in group.head.calls}
    for group in (group for at, group in enumerate(groups) if group.unanswered and kept[at] and group.head.id):
        pairs = zip(group.head.calls, group.results, strict=True)
        missing = {call.id for call, result in pairs if result is None}
        taken = {call_id for call_id in missing if call_id in group.head.changes.closed or not kept[last[call_id]]}
        if ids := taken if to_the_end else missing:
            closed[group.head.id] = frozenset(ids)
    return closed


def last_human(groups: Sequence[Group]) -> int | None:
    """The position of the last human message: the turn in progress begins there."""
    return next((position for position in reversed(range(len(groups))) if groups[position].head.human), None)


def first_human(groups: Sequence[Group]) -> int | None:
    """The position of the first human message."""
    return next((position for position, group in enumerate(groups) if group.head.human), None)


def open_calls(groups: Sequence[Group]) -> set[int]:
    """Groups with calls that a result may still answer: those whose id no later call has, and that are not closed."""
    last = {call.id: position for position, group in enumerate(groups) for call in group.head.calls}
    return {
        position
        for position, group in enumerate(groups)
        for call, result in zip(group.head.calls, group.results, strict=True)
        if result is None and last[call.id] == position and call.id not in group.head.changes.closed
    }


def newest_group(groups: Sequence[Group]) -> int:
    """The position of the newest group that a person or the model began; else of the last one."""
    for position in reversed(range(len(groups))):
        if groups[position].head.human or groups[position].head.role == "assistant":
            return position
    return len(groups) - 1


def needs_user_before(previous: Entry | None, entry: Entry, *, answered: bool) -> bool:
    """Whether a user's word must be put before a message.

    The first message after the system text is a user's; a message with calls follows a user's or results.

    Args:
        previous: the message before it that is no system text; None at the start.
        entry: the message.
        answered: whether results follow `previous`.
    """
    if entry.instructs or entry.role == "user":
        return False
    if previous is None:
        return True
    return bool(entry.calls) and previous.role == "assistant" and not answered


def unique_call_ids(groups: Sequence[Group], seen: set[str], wire: WireRules = TAKES_ALL) -> dict[tuple[int, int], str]:
    """New ids for calls whose id occurred before (some providers count `call_0` anew each turn), or is refused.

    They are found by the ordinal of the message and the position of the call.

    Args:
        groups: the groups, in order.
        seen: the ids that occurred before the groups; theirs are added.
        wire: which ids the reader takes.
    """
    renamed: dict[tuple[int, int], str] = {}
    for group in groups:
        for position, call in enumerate(group.head.calls):
            first, attempt = wire.call_id(call.id), 1
            call_id = first
            while call_id in seen:
                attempt += 1
                call_id = wire.numbered(first, attempt)
            if call_id != call.id:
                renamed[group.head.ordinal, position] = call_id
            seen.add(call_id)
    return renamed


Read = Callable[[Sequence[int]], Iterable[Message]]
"""Reads messages by their ordinals."""


def turn_starts(index: Index, read: Read) -> list[int]:
    """Where each turn begins in the live history; empty where that is."""
    live = index.live
    roles = bytes(map(index.columns.roles.__getitem__, live))
    users = [found.start() for found in re.finditer(re.escape(bytes([USER])), roles)]
    unknown = [position for position in users if not index.columns.plain_users[live[position]]]
    messages = read([live[position] for position in unknown])
    others = {position for position, message in zip(unknown, messages, strict=True) if not is_human(message)}
    starts = [position for position in users if position not in others]
    return [0, *starts[1:]] if len(live) else []


class TurnCount:
    """Says which messages begin a turn, for whoever goes through a live history from its beginning.

    Only messages up to the one that is asked about are read, and of those only what the index does not say.
    """

    def __init__(self, index: Index, read: Read) -> None:
        self._index, self._read = index, read
        self._counted, self._humans = 0, 0
        """How many messages were gone through, and how many of these a person wrote."""

    def begun_by(self, position: int, message: Message) -> int | None:
        """The number of the turn that a message begins, as `turn_starts` has it; None if it begins none.

        Args:
            position: the message's position in the live history, never before one that was asked about.
            message: the message.
        """
        if position == 0:
            return 1
        if not is_human(message):
            return None
        self._count(position)
        number = self._humans + 1
        return number if number > 1 else None  # what comes before the first one belongs to its turn

    def _count(self, end: int) -> None:
        """Count the human messages before a position."""
        columns, live = self._index.columns, self._index.live
        users = [live[position] for position in range(self._counted, end) if columns.roles[live[position]] == USER]
        unknown = [ordinal for ordinal in users if not columns.plain_users[ordinal]]
        self._humans += len(users) - len(unknown) + sum(map(is_human, self._read(unknown)))
        self._counted = end
