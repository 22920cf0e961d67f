"""The effect of resets on the live history. A reset (`reset_record`) replaces the live history with other messages.

Rules:
- A reset is in force if its commit is intact; or if its begin is intact and all its new messages and kept runs exist.
- It replaces the history up to the message `upto`. Later messages that do not belong to the reset stay live.
- A damaged message between begin and commit may name an unknown reset or no reset. It belongs to the open reset if
  this reset lacks messages. If its number was damaged too, it gets a free number.
- A message of a reset that is not in force is neither live nor found by its id.
- A reset takes effect once. A repeated begin or commit is reported.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any

from .index import DAMAGED, UNCHAINED, Index
from .reset_record import KeptRun, Reset

Report = Callable[[str], None]

_SHORTEST_MESSAGE_BYTES = 64
_LOST_KINDS = frozenset({"unreadable", "oversized"})
_END_OF_FILE = 1 << 62  # greater than any offset


@dataclass(slots=True)
class _State:
    """The records of one reset that were read so far."""

    description: Reset | None = None
    begun: bool = False
    base: int = 0
    """The number of live messages at its begin."""
    first: int = 0
    """The ordinal of the first message after its begin."""
    committed: bool = False
    in_force: bool = False
    members: list[tuple[int, int]] = field(default_factory=list)
    """The number in the reset and the ordinal of each of its messages."""
    runs: list[tuple[int, array[int]]] = field(default_factory=list)
    """Once it is in force: for each run, the number of the reset's new messages before it, and its ordinals."""

    def content(self) -> list[int]:
        """Return the ordinals of the messages that the reset makes live, in order."""
        content: list[int] = []
        members = sorted(self.members, key=itemgetter(0))
        taken = 0
        for position, ordinals in self.runs:
            while taken < len(members) and members[taken][0] < position:
                content.append(members[taken][1])
                taken += 1
            content.extend(ordinals)
        content.extend(ordinal for _, ordinal in members[taken:])
        return content

    def content_length(self) -> int:
        """Return the number of messages that the reset makes live."""
        return len(self.members) + sum(len(ordinals) for _, ordinals in self.runs)


class Resets:
    """The resets of one log.

    Args:
        index: the index whose live history they replace.
        report: gets a text about each inconsistency.
    """

    def __init__(self, index: Index, report: Report) -> None:
        self.index, self._report = index, report
        self._states: dict[str, _State] = {}
        self._open: _State | None = None
        self._last: _State | None = None
        self._orphans: list[tuple[int, int]] = []
        """Damaged messages since the last begin that name an unknown reset: their number in it and their ordinal."""

    @property
    def is_open(self) -> bool:
        """Whether a reset was begun and not yet committed."""
        return self._open is not None

    def snapshot(self) -> list[tuple[str, bool, bool, bool]]:
        """Return the ids and the progress of all resets: enough to recognise a repeated begin or commit."""
        return [(name, state.begun, state.committed, state.in_force) for name, state in self._states.items()]

    def restore(self, snapshot: Iterable[Sequence[Any]]) -> None:
        """Continue from a snapshot; a malformed snapshot raises ValueError or TypeError."""
        for name, begun, committed, in_force in snapshot:
            self._states[str(name)] = _State(begun=bool(begun), committed=bool(committed), in_force=bool(in_force))

    def begin(self, reset: Reset) -> None:
        """Apply an intact begin of a reset."""
        state = self._states.setdefault(reset.id, _State())
        if state.begun:
            self._report("the begin of a reset stands in the log again; it counts once")
            return
        state.begun, state.base, state.first = True, len(self.index.live), len(self.index)
        state.description = state.description or reset
        self._open, self._orphans = state, []
        if state.committed and not state.in_force:
            self._apply(state, reset)
        self._apply_if_complete(state)

    def commit(self, reset: Reset, *, chained: bool) -> None:
        """Apply an intact commit of a reset; `chained` tells whether it continues the checksum chain."""
        state = self._states.setdefault(reset.id, _State())
        if state.committed:
            self._report("the commit of a reset stands in the log again; it counts once")
            return
        state.committed, state.description = True, reset
        self._open = None
        if state.in_force:
            return
        if not (state.begun or chained) and self._position_of(reset.upto) is None:
            self._report("a commit of a history that this log does not have; it changes nothing")
            return
        self._apply(state, reset)

    def member(self, ordinal: int, reset_id: str, number: int, *, doubtful: bool = False) -> None:
        """Add a message to its reset. If it is `doubtful`, it may be damaged, and the reset's id may be wrong."""
        state = self._states.setdefault(reset_id, _State())
        state.members.append((number, ordinal))
        if doubtful and not (state.begun or state.committed):
            self._orphans.append((number, ordinal))
        if not state.in_force:
            self._apply_if_complete(state)
        elif state is self._last and state.description is not None:  # the message comes after its commit
            rest = self.index.live[state.content_length() - 1 :]
            self.index.replace_live([*state.content(), *rest])

    def forget(self, ordinal: int) -> None:
        """Remove a message that proved to be a damaged copy of another one."""
        for state in self._states.values():
            state.members = [member for member in state.members if member[1] != ordinal]

    def _apply_if_complete(self, state: _State) -> None:
        reset = state.description
        if reset is None or not state.begun or state.in_force or len(state.members) < reset.count:
            return
        if reset.upto and self._position_of(reset.upto) is None:
            return
        live = self.index.live
        runs = [self._find_run(run, live) for run in reset.runs]
        if all(len(found) == run.count for run, found in zip(reset.runs, runs, strict=True)):
            self._apply(state, reset)

    def _apply(self, state: _State, reset: Reset) -> None:
        index = self.index
        stop = self._end_of_replaced(state, reset)
        before, after = index.live[:stop], index.live[stop:]
        if len(state.members) < reset.count:
            state.members += self._orphans
        if state.begun and state.committed:
            after = self._without_nameless(state, reset, after)
        self._number_damaged(state, reset)
        state.runs = self._found_runs(state, reset, before)
        content = state.content()
        if len(content) != reset.live:
            self._report(f"{len(content):,} of the {reset.live:,} messages that it makes live can be read")
        if len(state.members) != reset.count:
            self._report(f"{len(state.members):,} of its {reset.count:,} new messages can be read")
        index.replace_live([*content, *after])
        state.in_force = True
        self._orphans = []
        if self._last is not None:
            self._last.members, self._last.runs = [], []
        self._last = state

    def _end_of_replaced(self, state: _State, reset: Reset) -> int:
        """Return the position in the live history after the last message that the reset replaces."""
        position = self._position_of(reset.upto)
        if state.begun:  # the message `upto` may be damaged and in another place than before
            return state.base if position is None else max(state.base, position + 1)
        if position is not None:
            return position + 1
        return len(self.index.live) if reset.upto else 0

    def _found_runs(self, state: _State, reset: Reset, before: Sequence[int]) -> list[tuple[int, array[int]]]:
        """Find the runs that the reset keeps, and return their ordinals as in `_State.runs`."""
        runs: list[tuple[int, array[int]]] = []
        total = len(state.members)
        for run in reset.runs:
            ordinals = self._find_run(run, before)
            total += len(ordinals)
            if total > len(self.index):  # a few malicious lines could otherwise fill the memory
                self._report("it keeps more messages than the log has")
                break
            runs.append((run.position, ordinals))
        return runs

    def _without_nameless(self, state: _State, reset: Reset, after: array[int]) -> array[int]:
        """Add damaged messages that name no reset to this one, if it lacks enough messages; return the other messages.

        Only the new messages of a reset are written between its begin and its commit.
        """
        found = [ordinal for ordinal in after if ordinal >= state.first and self._is_damaged(ordinal)]
        if not found or len(found) > reset.count - len(state.members):
            return after
        state.members += [(reset.count, ordinal) for ordinal in found]
        return array("I", (ordinal for ordinal in after if ordinal not in found))

    def _number_damaged(self, state: _State, reset: Reset) -> None:
        """Give the damaged messages of a reset free numbers, unless all numbers are valid."""
        sound = [member for member in state.members if not self._is_damaged(member[1])]
        damaged = sorted(ordinal for _, ordinal in state.members if self._is_damaged(ordinal))
        if not damaged or len(state.members) > reset.count:
            return
        numbers = {number for number, _ in state.members}
        are_valid = len(numbers) == len(state.members) and max(numbers) < reset.count
        if are_valid:
            return
        used = {number for number, _ in sound}
        free = (number for number in range(reset.count) if number not in used)
        state.members = [*sound, *zip(free, damaged, strict=False)]

    def _is_damaged(self, ordinal: int) -> bool:
        return bool(self.index.columns.flags[ordinal] & (DAMAGED | UNCHAINED))

    def _position_of(self, message_id: str) -> int | None:
        return find_position(self.index, self.index.live, message_id) if message_id else None

    def _find_run(self, run: KeptRun, live: Sequence[int]) -> array[int]:
        """Find a run in the live history, and return its ordinals.

        If both ids at one end of the run are lost, this end is estimated from the run's count.
        """
        starts = [find_position(self.index, live, message_id) for message_id in run.first]
        ends = [find_position(self.index, live, message_id) for message_id in reversed(run.last)]
        (start, lost_first), (end, lost_last) = _ends_of(starts, ends, run.count)
        if end is None and start is not None:
            end = _LostLines(self.index, live).end_after(start, run.count - lost_first)
        elif start is None and end is not None:
            start = _LostLines(self.index, live).start_before(end, run.count - lost_last)
        if start is None or end is None or end < start:
            self._report("it keeps messages that cannot be found")
            return array("I")
        before = [at for at in starts[:lost_first] if at is not None and not start <= at <= end]
        after = [at for at in ends[:lost_last] if at is not None and not start <= at <= end]
        places = dict.fromkeys([*before, *range(start, end + 1), *reversed(after)])
        return array("I", (live[at] for at in places))


class _LostLines:
    """Unreadable lines of a log, from whose places the lost end of a run is estimated.

    Args:
        index: has the places of the damage.
        live: the live history, as ordinals.
    """

    def __init__(self, index: Index, live: Sequence[int]) -> None:
        self._offsets, self._live = index.columns.offsets, live
        self._breaks = sorted(found.offset for found in index.damage if found.kind != "reset")
        lost = (found for found in index.damage if found.kind in _LOST_KINDS)
        self._lost = sorted(found.offset for found in lost if found.length >= _SHORTEST_MESSAGE_BYTES)

    def start_before(self, end: int, count: int) -> int:
        """Estimate the position at which a run of `count` messages starts, if it ends at the position `end`."""
        position, missing = end, count - 1
        while position:
            lost = self._lost_at(position)
            if missing <= lost:
                break
            missing -= lost + 1
            position -= 1
        broken = (at for at in range(position, end + 1) if self._is_broken(at))
        return next(broken, end)

    def end_after(self, start: int, count: int) -> int:
        """Estimate the position at which a run of `count` messages ends, if it starts at the position `start`."""
        position, missing = start, count - 1
        while position < len(self._live) - 1:
            lost = self._lost_at(position + 1)
            if missing <= lost:
                break
            missing -= lost + 1
            position += 1
        broken = (at for at in range(position, start - 1, -1) if self._is_broken(at + 1))
        return next(broken, start)

    def _span(self, position: int) -> list[tuple[int, int]]:
        """Return the byte ranges of the file where a message before this position may have been lost.

        These are right before the message at the position, and right after the live message before it.
        """
        live = self._live
        if position == len(live):  # messages after the last live one may be anywhere after it
            return [(self._next_offset(live[-1]) if live else 0, _END_OF_FILE)]
        ordinal = live[position]
        spans = [(self._next_offset(ordinal - 1) if ordinal else 0, self._offsets[ordinal])]
        if position and ordinal != live[position - 1] + 1:
            before = live[position - 1]
            is_last = before + 1 == len(self._offsets)
            spans.append((self._next_offset(before), _END_OF_FILE if is_last else self._offsets[before + 1]))
        return spans

    def _next_offset(self, ordinal: int) -> int:
        """Return the offset one byte after the start of a message."""
        return self._offsets[ordinal] + 1

    def _lost_at(self, position: int) -> int:
        """Count the unreadable lines before the message at a position that may have been messages."""
        return sum(bisect_left(self._lost, end) - bisect_left(self._lost, start) for start, end in self._span(position))

    def _is_broken(self, position: int) -> bool:
        """Return whether there is damage right before a position, or lines may be missing there."""
        return any(
            bisect_right(self._breaks, end) > bisect_left(self._breaks, start) for start, end in self._span(position)
        )


def _ends_of(
    starts: Sequence[int | None], ends: Sequence[int | None], count: int
) -> tuple[tuple[int | None, int], tuple[int | None, int]]:
    """Return the positions of a run's two ends, each with the number of skipped ids at this end.

    A damaged message may be in another place of the history than before. So those ids are used that enclose the most
    messages, up to `count`. The messages of skipped ids are taken from their present places.
    """
    first, last = _first_of(starts), _first_of(ends)
    if first[0] is None or last[0] is None or last[0] - first[0] == count - 1:
        return first, last
    best, best_length = (first, last), 0
    for lost_first, start in enumerate(starts):
        for lost_last, end in enumerate(ends):
            if start is None or end is None:
                continue
            length = end - start + 1
            if best_length < length <= count:
                best, best_length = ((start, lost_first), (end, lost_last)), length
    return best


def _first_of(positions: Sequence[int | None]) -> tuple[int | None, int]:
    """Return the first position that is not None, and the number of Nones before it."""
    for lost, position in enumerate(positions):
        if position is not None:
            return position, lost
    return None, len(positions)


def find_position(index: Index, live: Sequence[int], message_id: str) -> int | None:
    """Return the position of a message in a live history; None if the history does not have it."""
    ordinal = index.find_live(message_id, live)
    if ordinal is None or ordinal not in live:
        return None
    return live.index(ordinal)
