"""What resets do to the live history.

Rules:
- A reset is in force if its commit is intact; or if its begin is intact and all its new messages and runs are there.
- It replaces the history up to the message `upto`. Messages after that one which do not belong to it stay live.
- A damaged message between begin and commit that names a reset nobody knows, or none, belongs to that one, if it lacks
  some. If the number of a damaged one is no longer its own, it gets the number that is free.
- A message that belongs to a reset which is not in force is not live, and nobody holds it.
- A reset takes effect once; a begin or commit that stands in the log again is reported.
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


@dataclass(slots=True)
class _State:
    """What was read of one reset."""

    description: Reset | None = None
    begun: bool = False
    base: int = 0
    """How many messages were live where it began."""
    first: int = 0
    """The ordinal of the first message after its begin."""
    committed: bool = False
    in_force: bool = False
    members: list[tuple[int, int]] = field(default_factory=list)
    """The number in the reset and the ordinal of each of its messages."""
    runs: list[tuple[int, array[int]]] = field(default_factory=list)
    """Once it is in force: for each run the messages before it, and its ordinals."""

    def content(self) -> list[int]:
        """What it makes live, in its order."""
        content: list[int] = []
        members, taken = sorted(self.members, key=itemgetter(0)), 0
        for position, ordinals in self.runs:
            while taken < len(members) and members[taken][0] < position:
                content.append(members[taken][1])
                taken += 1
            content.extend(ordinals)
        content.extend(ordinal for _, ordinal in members[taken:])
        return content

    def content_length(self) -> int:
        """How many messages it makes live."""
        return len(self.members) + sum(len(ordinals) for _, ordinals in self.runs)


class Resets:
    """The resets of one log.

    Args:
        index: whose live history they replace.
        report: told of what does not fit.
    """

    def __init__(self, index: Index, report: Report) -> None:
        self.index, self._report = index, report
        self._states: dict[str, _State] = {}
        self._open: _State | None = None
        self._last: _State | None = None
        self._orphans: list[tuple[int, int]] = []
        """Damaged members since the last begin whose reset nobody knows: their number in it and their ordinal."""

    @property
    def is_open(self) -> bool:
        """Whether a reset was begun and none was committed since."""
        return self._open is not None

    def snapshot(self) -> list[tuple[str, bool, bool, bool]]:
        """Which resets were read, and how far they went: enough to tell a copy of one of their records."""
        return [(name, state.begun, state.committed, state.in_force) for name, state in self._states.items()]

    def restore(self, snapshot: Iterable[Sequence[Any]]) -> None:
        """Go on from a snapshot; errors of its types are possible."""
        for name, begun, committed, in_force in snapshot:
            self._states[str(name)] = _State(begun=bool(begun), committed=bool(committed), in_force=bool(in_force))

    def begin(self, reset: Reset) -> None:
        """Take an intact begin."""
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
        """Take an intact commit; `chained` says whether it continues the chain there."""
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
        """Take a message that belongs to a reset; where it is doubtful, its reset's id may be wrong."""
        state = self._states.setdefault(reset_id, _State())
        state.members.append((number, ordinal))
        if doubtful and not (state.begun or state.committed):
            self._orphans.append((number, ordinal))
        if not state.in_force:
            self._apply_if_complete(state)
        elif state is self._last and state.description is not None:  # it stands after its commit
            rest = self.index.live[state.content_length() - 1 :]
            self.index.replace_live([*state.content(), *rest])

    def forget(self, ordinal: int) -> None:
        """Take note that a message is no more than a damaged copy of another one."""
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
        index, position = self.index, self._position_of(reset.upto)
        live: Sequence[int] = index.live
        if state.begun:  # a damaged message may stand elsewhere in the history than it did
            stop = max(state.base, position + 1 if position is not None else 0)
        elif position is not None:
            stop = position + 1
        else:
            stop = len(live) if reset.upto else 0
        before, after = live[:stop], live[stop:]
        if len(state.members) < reset.count:
            state.members += self._orphans
        if state.begun and state.committed:
            after = self._without_nameless(state, reset, after)
        self._number_damaged(state, reset)
        state.runs, total = [], len(state.members)
        for run in reset.runs:
            ordinals = self._find_run(run, before)
            total += len(ordinals)
            if total > len(index):  # else a few lines could fill the memory
                self._report("it keeps more messages than the log has")
                break
            state.runs.append((run.position, ordinals))
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

    def _without_nameless(self, state: _State, reset: Reset, after: Sequence[int]) -> Sequence[int]:
        """Take damaged messages that name no reset for its own, if they are as many as it lacks; the others.

        Nothing but its new messages is written between a begin and its commit.
        """
        found = [ordinal for ordinal in after if ordinal >= state.first and self._is_damaged(ordinal)]
        if not found or len(found) > reset.count - len(state.members):
            return after
        state.members += [(reset.count, ordinal) for ordinal in found]
        return [ordinal for ordinal in after if ordinal not in found]

    def _number_damaged(self, state: _State, reset: Reset) -> None:
        """Give damaged messages of a reset the numbers that the others leave free, if theirs are not these."""
        sound = [member for member in state.members if not self._is_damaged(member[1])]
        damaged = sorted(ordinal for _, ordinal in state.members if self._is_damaged(ordinal))
        taken = {number for number, _ in state.members}
        if (
            not damaged
            or len(state.members) > reset.count
            or (len(taken) == len(state.members) and max(taken) < reset.count)
        ):
            return
        used = {number for number, _ in sound}
        free = (number for number in range(reset.count) if number not in used)
        state.members = [*sound, *zip(free, damaged, strict=False)]

    def _is_damaged(self, ordinal: int) -> bool:
        return bool(self.index.columns.flags[ordinal] & (DAMAGED | UNCHAINED))

    def _position_of(self, message_id: str) -> int | None:
        return find_position(self.index, self.index.live, message_id) if message_id else None

    def _find_run(self, run: KeptRun, live: Sequence[int]) -> array[int]:
        """The ordinals of a run in the live history; if both names of one end are lost, its count tells the end."""
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
    """The lines of a log that cannot be read, as positions of a live history: they tell where a run ends.

    Args:
        index: knows where the damage lies.
        live: the history, as ordinals.
    """

    def __init__(self, index: Index, live: Sequence[int]) -> None:
        self._offsets, self._live = index.columns.offsets, live
        self._breaks = sorted(found.offset for found in index.damage if found.kind != "reset")
        lost = (f for f in index.damage if f.kind in _LOST_KINDS and f.length >= _SHORTEST_MESSAGE_BYTES)
        self._lost = sorted(found.offset for found in lost)

    def start_before(self, end: int, count: int) -> int:
        """Where a run of `count` messages starts that ends with the one at the position `end`."""
        position, missing = end, count - 1
        while position and missing > (lost := self._lost_at(position)):
            missing -= lost + 1
            position -= 1
        broken = (at for at in range(position, end + 1) if self._is_broken(at))
        return next(broken, end)

    def end_after(self, start: int, count: int) -> int:
        """Where a run of `count` messages ends that starts with the one at the position `start`."""
        position, missing, last = start, count - 1, len(self._live) - 1
        while position < last and missing > (lost := self._lost_at(position + 1)):
            missing -= lost + 1
            position += 1
        broken = (at for at in range(position, start - 1, -1) if self._is_broken(at + 1))
        return next(broken, start)

    def _span(self, position: int) -> list[tuple[int, int]]:
        """The bytes of the file beside a position: before the message there, and after the one before it."""
        offsets, live = self._offsets, self._live
        spans: list[tuple[int, int]] = []
        if position < len(live):
            after = live[position]
            spans.append((offsets[after - 1] + 1 if after else 0, offsets[after]))
        if position == len(live):  # what was live after the last one may stand anywhere after it
            spans.append((offsets[live[-1]] + 1 if live else 0, 1 << 62))
        elif position and live[position] != live[position - 1] + 1:
            before = live[position - 1]
            spans.append((offsets[before] + 1, offsets[before + 1] if before + 1 < len(offsets) else 1 << 62))
        return spans

    def _lost_at(self, position: int) -> int:
        """How many lines that may have been messages cannot be read before the message at a position."""
        return sum(bisect_left(self._lost, end) - bisect_left(self._lost, start) for start, end in self._span(position))

    def _is_broken(self, position: int) -> bool:
        """Whether anything is damaged there, or lines may be missing."""
        return any(
            bisect_right(self._breaks, end) > bisect_left(self._breaks, start) for start, end in self._span(position)
        )


def _ends_of(
    starts: Sequence[int | None], ends: Sequence[int | None], count: int
) -> tuple[tuple[int | None, int], tuple[int | None, int]]:
    """The positions of a run's two ends, and how many names of each end were passed over.

    A damaged message may stand elsewhere in the history than it did. So those names tell where the run is that enclose
    the most messages, up to `count`. A message that was passed over is taken from where it stands.
    """
    first, last = _first_of(starts), _first_of(ends)
    if first[0] is None or last[0] is None or last[0] - first[0] == count - 1:
        return first, last
    pairs = [
        ((start, lost_first), (end, lost_last))
        for lost_first, start in enumerate(starts)
        for lost_last, end in enumerate(ends)
        if start is not None and end is not None and 0 <= end - start < count
    ]
    return max(pairs, key=lambda pair: pair[1][0] - pair[0][0], default=(first, last))


def _first_of(positions: Sequence[int | None]) -> tuple[int | None, int]:
    """The first position that was found, and how many before it were not."""
    found = ((at, lost) for lost, at in enumerate(positions) if at is not None)
    return next(found, (None, len(positions)))


def find_position(index: Index, live: Sequence[int], message_id: str) -> int | None:
    """The position of a message in a live history."""
    ordinal = index.find_live(message_id, live)
    return live.index(ordinal) if ordinal is not None and ordinal in live else None
