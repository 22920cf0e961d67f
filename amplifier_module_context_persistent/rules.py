"""The providers' rules on a sequence of messages, each a named function: what goes together, what may not stand.

Sources: Anthropic's Messages API (every `tool_use` is answered in the next message, one `tool_result` each, and the
first message is the user's), OpenAI's Chat Completions (a `tool` message answers a call of the message before it;
arrays of calls are not empty), Gemini's (a function call comes right behind a user's turn or a function's response).

A *tool group* is a message with its results. It is kept or dropped as one; between two groups every cut is legal.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from .entry import Entry


@dataclass(frozen=True, slots=True)
class Group:
    """A message and, for each of its calls in order, the result, or None where there is none."""

    head: Entry
    results: tuple[Entry | None, ...] = ()

    def entries(self) -> tuple[Entry, ...]:
        """The messages that were stored, head first."""
        return (self.head, *(result for result in self.results if result is not None))

    @property
    def unanswered(self) -> bool:
        """Whether a call still lacks its result."""
        return None in self.results

    @property
    def pinned(self) -> bool:
        """Whether a pin holds it: one on any of its messages holds the whole group."""
        return any(entry.pinned for entry in self.entries())


@dataclass(slots=True)
class _Open:
    head: Entry
    results: list[Entry | None] = field(default_factory=list)


def tool_groups(entries: Iterable[Entry]) -> list[Group]:
    """Match calls and results: each result right behind its call, in call order.

    A result answers the last call of its id before it that has no answer yet. Results that answer nothing and second
    answers are left out, blank messages too; what stood between a call and its result comes behind it.
    """
    groups: list[_Open] = []
    waiting: dict[str, list[tuple[_Open, int]]] = {}
    for entry in entries:
        if entry.result_of is not None:
            if places := waiting.get(entry.result_of):
                group, place = places.pop()
                group.results[place] = entry
        elif not entry.blank:
            group = _Open(entry, [None] * len(entry.calls))
            groups.append(group)
            for place, call in enumerate(entry.calls):
                waiting.setdefault(call.id, []).append((group, place))
    return [Group(group.head, tuple(group.results)) for group in groups]


def last_human(groups: Sequence[Group]) -> int | None:
    """Where the last human message stands: the turn in progress begins there."""
    return next((place for place in reversed(range(len(groups))) if groups[place].head.human), None)


def first_human(groups: Sequence[Group]) -> int | None:
    """Where the first human message stands."""
    return next((place for place, group in enumerate(groups) if group.head.human), None)


def untouchable(groups: Sequence[Group], *, preserve_system: bool = True) -> set[int]:
    """What no step of the ladder touches: system text, pins, the last human message, open calls, the newest group."""
    turn = last_human(groups)
    fixed = {
        place
        for place, group in enumerate(groups)
        if group.pinned or (group.head.instructs and (preserve_system or place == 0))
    }
    if turn is not None:
        fixed.add(turn)
        fixed.update(place for place in range(turn, len(groups)) if groups[place].unanswered)
    if groups:
        fixed.add(len(groups) - 1)
    return fixed


def needs_user_before(previous: Entry | None, entry: Entry, *, answered: bool) -> bool:
    """Whether a user's word must be put before a message.

    The first message after the system text is a user's; a message with calls follows a user's or results.

    Args:
        previous: the message before it that is no system text; None at the start.
        entry: the message.
        answered: whether `previous` has results behind it.
    """
    if entry.instructs or entry.role == "user":
        return False
    if previous is None:
        return True
    return bool(entry.calls) and previous.role == "assistant" and not answered


def unique_call_ids(groups: Sequence[Group]) -> dict[tuple[int, int], str]:
    """New ids for calls whose id occurred before (some providers count `call_0` anew each turn): by key and place."""
    seen: set[str] = set()
    renamed: dict[tuple[int, int], str] = {}
    for group in groups:
        for place, call in enumerate(group.head.calls):
            call_id, attempt = call.id, 1
            while call_id in seen:
                attempt += 1
                call_id = f"{call.id}_{attempt}"
            if call_id != call.id:
                renamed[group.head.key, place] = call_id
            seen.add(call_id)
    return renamed
