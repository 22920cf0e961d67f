"""The providers' rules for sequences of messages, one function for each rule.

Sources: Anthropic's Messages API (every `tool_use` is answered in the next message, one `tool_result` each, and the
first message is the user's), OpenAI's Chat Completions (a `tool` message answers a call of the message before it;
arrays of calls are not empty), Gemini's (a function call comes right after a user's turn or a function's response).

A *tool group* is a message with the results of its calls. A group is kept or dropped as a whole; a history may be cut
between any two groups. A *turn* begins with a human message; the messages before the first human message belong to the
first turn.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from .entry import Entry
from .wire_rules import TAKES_ALL, WireRules


class Group(NamedTuple):
    """A message and the result of each of its calls, in order. A missing result is None."""

    head: Entry
    results: tuple[Entry | None, ...] = ()

    def entries(self) -> tuple[Entry, ...]:
        """Return the stored messages of the group, its head first."""
        if not self.results:
            return (self.head,)
        return (self.head, *[result for result in self.results if result is not None])

    @property
    def unanswered(self) -> bool:
        """Whether a call still lacks its result."""
        return None in self.results

    @property
    def pinned(self) -> bool:
        """Whether any message of the group is pinned or protected. Then the whole group is kept."""
        if not self.results:
            return self.head.pinned or self.head.changes.protected
        return any(entry.pinned or entry.changes.protected for entry in self.entries())


def tool_groups(entries: Iterable[Entry]) -> list[Group]:
    """Match calls and results: each result follows its call, in the order of the calls.

    A result answers the last call with its id before it, unless that call is closed. Results that answer no call,
    second results of one call, and blank messages are left out. A message between a call and its result comes after the
    result.
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
    """Finds late results: results of calls that the model already saw answered by a stand-in.

    Adjacent answers are parts of one response and count as one. If a list continues the list of the call before, only
    its new entries are read.
    """

    def __init__(self) -> None:
        self._begin()

    def _begin(self) -> None:
        self._known: list[Entry] = []
        self._late: list[Entry] = []
        self._asked: dict[str, int] = {}
        """The number of answers before each call without a result, by call id."""
        self._answers, self._before = 0, ""

    def of(self, entries: Sequence[Entry]) -> Sequence[Entry]:
        """Return the late results among entries, in order."""
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
    """Return the late results among entries, as `LateResults` finds them."""
    return LateResults().of(list(entries))


def closed_calls(
    groups: Sequence[Group], kept: Sequence[bool], *, to_the_end: bool = True
) -> dict[str, frozenset[str]]:
    """Return the ids of calls in kept groups that no later message can answer, by message id.

    A later call that is not kept may have the id too. A result of the later call must not be taken for a result
    of the earlier one. If the groups do not reach the end of the history (`to_the_end`), later calls are unknown, and
    every call without a result is closed.
    """
    closed: dict[str, frozenset[str]] = {}
    unanswered = [position for position, group in enumerate(groups) if kept[position] and group.unanswered]
    last = _last_groups_by_call(groups) if unanswered else {}
    for position in unanswered:
        group, head = groups[position], groups[position].head
        if not head.id:
            continue
        calls = zip(head.calls, group.results, strict=True)
        ids = {call.id for call, result in calls if result is None}
        if to_the_end:
            ids = {call_id for call_id in ids if call_id in head.changes.closed or not kept[last[call_id]]}
        if ids:
            closed[head.id] = frozenset(ids)
    return closed


def last_human(groups: Sequence[Group]) -> int | None:
    """Return the position of the last human message, where the turn in progress begins, or None without one."""
    return next((position for position in reversed(range(len(groups))) if groups[position].head.human), None)


def first_human(groups: Sequence[Group]) -> int | None:
    """Return the position of the first human message, or None without one."""
    return next((position for position, group in enumerate(groups) if group.head.human), None)


def open_calls(groups: Sequence[Group]) -> set[int]:
    """Return the positions of groups with an open call: without a result, not closed, and the last call with its id."""
    unanswered = [position for position, group in enumerate(groups) if group.unanswered]
    last = _last_groups_by_call(groups) if unanswered else {}
    positions: set[int] = set()
    for position in unanswered:
        head, results = groups[position]
        for call, result in zip(head.calls, results, strict=True):
            if result is None and last[call.id] == position and call.id not in head.changes.closed:
                positions.add(position)
    return positions


def _last_groups_by_call(groups: Sequence[Group]) -> dict[str, int]:
    """Return the position of the last group that has a call, by call id."""
    return {call.id: position for position, group in enumerate(groups) for call in group.head.calls}


def newest_group(groups: Sequence[Group]) -> int:
    """Return the position of the newest group that begins with a human message or an answer, else of the last group."""
    for position in reversed(range(len(groups))):
        if groups[position].head.human or groups[position].head.role == "assistant":
            return position
    return len(groups) - 1


def needs_user_before(previous: Entry | None, entry: Entry, *, answered: bool) -> bool:
    """Return whether a user message must be inserted before a message.

    The first message after the system text must be a user message. A message with calls must follow a user message or
    results.

    Args:
        previous: the message before it, without system text; None at the start.
        entry: the message.
        answered: whether results follow `previous`.
    """
    if entry.instructs or entry.role == "user":
        return False
    if previous is None:
        return True
    return bool(entry.calls) and previous.role == "assistant" and not answered


def unique_call_ids(groups: Sequence[Group], seen: set[str], wire: WireRules = TAKES_ALL) -> dict[tuple[int, int], str]:
    """Return new ids for calls whose id the reader refuses, or whose id an earlier call has.

    Some providers use `call_0` again in each turn. The keys are the ordinal of the message and the position of the call
    in the message.

    Args:
        groups: the groups, in order.
        seen: the ids of earlier calls; the ids of these groups are added.
        wire: the reader's rules for ids.
    """
    renamed: dict[tuple[int, int], str] = {}
    for group in groups:
        for position, call in enumerate(group.head.calls):
            accepted = wire.call_id(call.id)
            call_id = accepted
            number = 1
            while call_id in seen:
                number += 1
                call_id = wire.numbered(accepted, number)
            if call_id != call.id:
                renamed[group.head.ordinal, position] = call_id
            seen.add(call_id)
    return renamed
