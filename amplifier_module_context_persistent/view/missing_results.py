"""Calls without a result, and the stand-in that views show in place of a result.

A killed process, a cancelled tool or a purge may leave a call without a result, and providers refuse such a request.
`tool_groups` finds these calls. A view shows a stand-in right after each of them (`Arranger`); the log is not changed.
Rules:

- An *open* call is the last call with its id, and may still get its result. The result then replaces the stand-in.
- A *late* result comes after an answer that saw the stand-in. It is shown beside its call all the same.
- A *closed* call gets no result any more, because a later call that is left out has its id.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..messages.message import Message
from .entry import Entry
from .inserted_messages import inserted_message
from .tool_groups import Group

INTERRUPTED = "[interrupted: this call has no result]"


def stand_in(call_id: str, name: str) -> Message:
    """Make the result to show for a call that has no result."""
    return inserted_message("tool", INTERRUPTED, tool_call_id=call_id, name=name)


def is_stand_in(inserted: Message | None) -> bool:
    """Return whether a message that a view inserts is a stand-in for a result."""
    return inserted is not None and inserted.get("content") == INTERRUPTED


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


def closed_calls(
    groups: Sequence[Group], is_kept: Sequence[bool], *, to_the_end: bool = True
) -> dict[str, frozenset[str]]:
    """Return the ids of calls in kept groups that no later message can answer, by message id.

    A later call that is not kept may have the same id. A result of the later call must not be taken for a result of the
    earlier one. If the groups do not reach the end of the history (`to_the_end`), later calls are unknown, and every
    call without a result is closed.
    """
    closed: dict[str, frozenset[str]] = {}
    unanswered = [position for position, group in enumerate(groups) if is_kept[position] and group.unanswered]
    last = _last_groups_by_call(groups) if unanswered else {}
    for position in unanswered:
        group = groups[position]
        head = groups[position].head
        if not head.id:
            continue
        calls = zip(head.calls, group.results, strict=True)
        ids = {call.id for call, result in calls if result is None}
        if to_the_end:
            ids = {call_id for call_id in ids if call_id in head.changes.closed or not is_kept[last[call_id]]}
        if ids:
            closed[head.id] = frozenset(ids)
    return closed


def _last_groups_by_call(groups: Sequence[Group]) -> dict[str, int]:
    """Return the position of the last group that has a call, by call id."""
    return {call.id: position for position, group in enumerate(groups) for call in group.head.calls}


class LateResults:
    """Finds late results: results for which the model has already seen a stand-in.

    Adjacent answers are parts of one response and count as one answer. If a list continues the list of the call before,
    only the new entries are read.
    """

    def __init__(self) -> None:
        self._begin()

    def _begin(self) -> None:
        self._known: list[Entry] = []
        self._late: list[Entry] = []
        self._asked: dict[str, int] = {}
        """The number of answers before each call without a result, by call id."""
        self._answers = 0
        self._before = ""

    def of(self, entries: Sequence[Entry]) -> Sequence[Entry]:
        """Return the late results among entries, in order."""
        if entries[: len(self._known)] != self._known:
            self._begin()
        new = entries[len(self._known) :]
        for entry in new:
            if entry.result_of is not None:
                since = self._asked.pop(entry.result_of, None)
                if since is not None and self._answers > since:
                    self._late.append(entry)
            elif entry.role == "assistant":
                if self._before != "assistant":
                    self._answers += 1
                for call in entry.calls:
                    if call.id not in entry.changes.closed:
                        self._asked[call.id] = self._answers
            self._before = entry.role
        self._known += new
        return self._late


def late_results(entries: Sequence[Entry]) -> Sequence[Entry]:
    """Return the late results among entries, as `LateResults` finds them."""
    return LateResults().of(list(entries))
