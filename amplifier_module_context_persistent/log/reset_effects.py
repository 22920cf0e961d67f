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
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any, NamedTuple

from .index import DAMAGED, UNCHAINED, Index
from .reset_record import KeptRun, Reset

Report = Callable[[str], None]

_SHORTEST_MESSAGE_BYTES = 64
_LOST_KINDS = frozenset({"unreadable", "oversized"})
_END_OF_FILE = 1 << 62  # greater than any offset


class _Member(NamedTuple):
    """A new message of a reset."""

    number: int
    """The place of the message among the reset's new messages, from 0; any number if the message is damaged."""
    ordinal: int


class _RunEnd(NamedTuple):
    """An end of a run that a reset keeps."""

    position: int | None
    """The position of this end of a run in the live history. None if all ids at this end are lost."""
    skipped: int
    """The number of ids at this end that are further out than the position, and are lost or not used."""


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
    members: list[_Member] = field(default_factory=list)
    """Its new messages."""
    runs: list[tuple[int, array[int]]] = field(default_factory=list)
    """Once the reset is in force: for each run, the number of the reset's new messages before it, and the run's
    ordinals."""

    def content(self) -> list[int]:
        """Return the ordinals of the messages that the reset makes live, in order."""
        content: list[int] = []
        new = deque(sorted(self.members, key=attrgetter("number")))  # the new messages that are not in `content` yet
        for new_before, ordinals in self.runs:
            while new and new[0].number < new_before:
                content.append(new.popleft().ordinal)
            content.extend(ordinals)
        content.extend(member.ordinal for member in new)
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
        self.index = index
        self._report = report
        self._states: dict[str, _State] = {}
        self._open: _State | None = None
        self._last: _State | None = None
        self._orphans: list[_Member] = []
        """Damaged messages since the last begin that name an unknown reset."""

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
        state.begun = True
        state.base = len(self.index.live)
        state.first = len(self.index)
        state.description = state.description or reset
        self._open = state
        self._orphans = []
        if state.committed and not state.in_force:
            self._apply(state, reset)
        self._apply_if_complete(state)

    def commit(self, reset: Reset, *, chained: bool) -> None:
        """Apply an intact commit of a reset; `chained` tells whether it continues the checksum chain."""
        state = self._states.setdefault(reset.id, _State())
        if state.committed:
            self._report("the commit of a reset stands in the log again; it counts once")
            return
        state.committed = True
        state.description = reset
        self._open = None
        if state.in_force:
            return
        is_in_place = state.begun or chained
        if not is_in_place and self._position_of(reset.upto) is None:
            self._report("a commit of a history that this log does not have; it changes nothing")
            return
        self._apply(state, reset)

    def member(self, ordinal: int, reset_id: str, number: int, *, doubtful: bool = False) -> None:
        """Add a message to its reset. A `doubtful` message may be damaged, so that the reset's id may be wrong."""
        state = self._states.setdefault(reset_id, _State())
        state.members.append(_Member(number, ordinal))
        is_known = state.begun or state.committed
        if doubtful and not is_known:
            self._orphans.append(_Member(number, ordinal))
        if not state.in_force:
            self._apply_if_complete(state)
        elif state is self._last and state.description is not None:  # the message comes after its commit
            rest = self.index.live[state.content_length() - 1 :]
            self.index.replace_live([*state.content(), *rest])

    def forget(self, ordinal: int) -> None:
        """Remove a message that proved to be a damaged copy of another one."""
        for state in self._states.values():
            state.members = [member for member in state.members if member.ordinal != ordinal]

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
        """Put a reset into force: its content replaces the live history that it covers. Report what cannot be read."""
        index = self.index
        stop = self._end_of_replaced(state, reset)
        before = index.live[:stop]
        after = index.live[stop:]
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
            self._last.members = []
            self._last.runs = []
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
        """Add damaged messages that name no reset to this reset, if it lacks enough messages.

        Return the other messages. Only the new messages of a reset are written between its begin and its commit.
        """
        found = [ordinal for ordinal in after if ordinal >= state.first and self._is_damaged(ordinal)]
        if not found or len(found) > reset.count - len(state.members):
            return after
        no_number = reset.count  # `_number_damaged` gives them valid numbers
        state.members += [_Member(no_number, ordinal) for ordinal in found]
        return array("I", (ordinal for ordinal in after if ordinal not in found))

    def _number_damaged(self, state: _State, reset: Reset) -> None:
        """Number the damaged messages of a reset anew, with the numbers that its sound messages do not have.

        Do nothing if all messages have valid numbers: distinct, and less than the count of new messages.
        """
        damaged = sorted(member.ordinal for member in state.members if self._is_damaged(member.ordinal))
        if not damaged or len(state.members) > reset.count:
            return
        numbers = {member.number for member in state.members}
        are_distinct = len(numbers) == len(state.members)
        if are_distinct and max(numbers) < reset.count:
            return
        sound = [member for member in state.members if not self._is_damaged(member.ordinal)]
        sound_numbers = {member.number for member in sound}
        # one by one: a malicious reset may have a count beyond all memory
        free_numbers = (number for number in range(reset.count) if number not in sound_numbers)
        state.members = sound
        for number, ordinal in zip(free_numbers, damaged, strict=False):
            state.members.append(_Member(number, ordinal))

    def _is_damaged(self, ordinal: int) -> bool:
        return bool(self.index.columns.flags[ordinal] & (DAMAGED | UNCHAINED))

    def _position_of(self, message_id: str) -> int | None:
        return find_position(self.index, self.index.live, message_id) if message_id else None

    def _find_run(self, run: KeptRun, live: Sequence[int]) -> array[int]:
        """Find a run in the live history, and return its ordinals.

        The record of the reset has the ids of the first two and of the last two messages of a run. If both ids of one
        end are lost, this end is estimated from the number of messages in the run.
        """
        starts = [find_position(self.index, live, message_id) for message_id in run.first]
        ends = [find_position(self.index, live, message_id) for message_id in reversed(run.last)]
        first, last = _ends_of(starts, ends, run.count)
        start = first.position
        end = last.position
        if start is not None and end is None:
            end = _LostLines(self.index, live).end_after(start, run.count - first.skipped)
        elif start is None and end is not None:
            start = _LostLines(self.index, live).start_before(end, run.count - last.skipped)
        if start is None or end is None or end < start:
            self._report("it keeps messages that cannot be found")
            return array("I")
        skipped_first = _outside(starts[: first.skipped], start, end)
        skipped_last = _outside(ends[: last.skipped], start, end)
        positions = [*skipped_first, *range(start, end + 1), *reversed(skipped_last)]
        return array("I", (live[position] for position in dict.fromkeys(positions)))


class _LostLines:
    """Unreadable lines of a log, from whose places the lost end of a run is estimated.

    Args:
        index: has the places of the damage.
        live: the live history, as ordinals.
    """

    def __init__(self, index: Index, live: Sequence[int]) -> None:
        self._offsets = index.columns.offsets
        self._live = live
        self._breaks = sorted(found.offset for found in index.damage if found.kind != "reset")
        lost = (found for found in index.damage if found.kind in _LOST_KINDS)
        self._lost = sorted(found.offset for found in lost if found.length >= _SHORTEST_MESSAGE_BYTES)

    def start_before(self, end: int, count: int) -> int:
        """Estimate the position at which a run of `count` messages starts, if it ends at the position `end`."""
        earliest = end
        missing = count - 1
        while earliest > 0:
            lost = self._lost_at(earliest)
            if missing <= lost:
                break
            missing -= lost + 1
            earliest -= 1
        for position in range(earliest, end + 1):
            if self._is_broken(position):
                return position
        return end

    def end_after(self, start: int, count: int) -> int:
        """Estimate the position at which a run of `count` messages ends, if it starts at the position `start`."""
        latest = start
        missing = count - 1
        while latest < len(self._live) - 1:
            lost = self._lost_at(latest + 1)
            if missing <= lost:
                break
            missing -= lost + 1
            latest += 1
        for position in range(latest, start - 1, -1):
            if self._is_broken(position + 1):
                return position
        return start

    def _spans(self, position: int) -> list[tuple[int, int]]:
        """Return the byte ranges of the file where a message before this position may have been lost.

        These ranges are right before the message at the position, and right after the live message before it.
        """
        live = self._live
        if position == len(live):  # messages after the last live one may be anywhere after it
            return [(self._next_offset(live[-1]) if live else 0, _END_OF_FILE)]
        ordinal = live[position]
        start = self._next_offset(ordinal - 1) if ordinal > 0 else 0
        spans = [(start, self._offsets[ordinal])]
        if position > 0 and ordinal != live[position - 1] + 1:
            before = live[position - 1]
            is_last_of_log = before + 1 == len(self._offsets)
            end = _END_OF_FILE if is_last_of_log else self._offsets[before + 1]
            spans.append((self._next_offset(before), end))
        return spans

    def _next_offset(self, ordinal: int) -> int:
        """Return the offset one byte after the start of a message."""
        return self._offsets[ordinal] + 1

    def _lost_at(self, position: int) -> int:
        """Count the unreadable lines before the message at a position that may have been messages."""
        count = 0
        for start, end in self._spans(position):
            count += bisect_left(self._lost, end) - bisect_left(self._lost, start)
        return count

    def _is_broken(self, position: int) -> bool:
        """Return whether there is damage right before a position, or lines may be missing there."""
        for start, end in self._spans(position):
            count = bisect_right(self._breaks, end) - bisect_left(self._breaks, start)
            if count > 0:
                return True
        return False


def _ends_of(starts: Sequence[int | None], ends: Sequence[int | None], count: int) -> tuple[_RunEnd, _RunEnd]:
    """Return the two ends of a run.

    A damaged message may be in another place of the history than before. So the ids that enclose the most messages are
    used, up to `count`. The messages of skipped ids are taken from their present places.

    Args:
        starts: the positions of the ids at the run's start, from the outermost on; None for an id that is lost.
        ends: the same for the run's end.
        count: the number of the run's messages.
    """
    first = _outermost(starts)
    last = _outermost(ends)
    if first.position is None or last.position is None:
        return first, last
    if last.position - first.position + 1 == count:
        return first, last
    best = first, last
    best_length = 0
    for lost_first, start in enumerate(starts):
        for lost_last, end in enumerate(ends):
            if start is None or end is None:
                continue
            length = end - start + 1
            if length <= count and length > best_length:
                best = _RunEnd(start, lost_first), _RunEnd(end, lost_last)
                best_length = length
    return best


def _outermost(positions: Sequence[int | None]) -> _RunEnd:
    """Return the end of a run at its outermost id that is not lost."""
    for skipped, position in enumerate(positions):
        if position is not None:
            return _RunEnd(position, skipped)
    return _RunEnd(None, len(positions))


def _outside(positions: Sequence[int | None], start: int, end: int) -> list[int]:
    """Return the positions that are not between `start` and `end`; None (a lost id) is left out."""
    return [position for position in positions if position is not None and not start <= position <= end]


def find_position(index: Index, live: Sequence[int], message_id: str) -> int | None:
    """Return the position of a message in a live history; None if the message is not live."""
    ordinal = index.find_live(message_id, live)
    if ordinal is None or ordinal not in live:
        return None
    return live.index(ordinal)
