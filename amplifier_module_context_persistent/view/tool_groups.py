"""Match calls and results into tool groups, by the providers' rules for sequences of messages.

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
        for entry in (self.head, *self.results):  # in a loop, which takes half of the time of `any`
            if entry is not None and (entry.pinned or entry.changes.protected):
                return True
        return False


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


def last_human(groups: Sequence[Group]) -> int | None:
    """Return the position of the last human message, or None if there is no human message.

    The current turn begins there.
    """
    for position in reversed(range(len(groups))):
        if groups[position].head.human:
            return position
    return None


def first_human(groups: Sequence[Group]) -> int | None:
    """Return the position of the first human message, or None if there is none."""
    for position, group in enumerate(groups):
        if group.head.human:
            return position
    return None


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
