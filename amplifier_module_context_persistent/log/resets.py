"""What resets of format version 2 do to the live history.

Rules:
- A reset is in force if its commit is intact; or if its begin is intact and all its new messages and runs are there.
- It replaces the history up to the message `upto`. Messages after that one which do not belong to it stay live.
- A message between begin and commit that names a reset nobody knows belongs to that reset.
- A message that belongs to a reset which is not in force is not live, and nobody holds it.
- A reset takes effect once; a begin or commit that stands in the log again is reported.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any

from .index import Index, ordinals_of, spans_of
from .reset_record import Reset, Run, parse
from .run_ends import RunEnds

Report = Callable[[str], None]


@dataclass(slots=True)
class _State:
    """What was read of one reset."""

    description: Reset | None = None
    begun: bool = False
    base: int = 0
    """How many messages were live where it began."""
    committed: bool = False
    in_force: bool = False
    members: list[tuple[int, int]] = field(default_factory=list)
    """The number in the reset and the ordinal of each of its messages."""
    runs: list[tuple[int, array[int]]] = field(default_factory=list)
    """Once it is in force: for each run the messages before it, and its ordinals."""


class Resets:
    """The resets of one log.

    Args:
        index: whose live history they replace.
        report: told of what does not fit.
    """

    def __init__(self, index: Index, report: Report) -> None:
        self._index, self._report = index, report
        self._states: dict[str, _State] = {}
        self._open: _State | None = None
        self._last: _State | None = None

    @property
    def is_open(self) -> bool:
        """Whether a reset was begun and none was committed since."""
        return self._open is not None

    def snapshot(self) -> list[dict[str, Any]]:
        """What is known of the resets, in plain JSON types and without content; for `restore`."""
        return [
            {
                "id": reset_id,
                "flags": [state.begun, state.committed, state.in_force, state is self._last],
                "base": state.base,
                "description": state.description.fields() if state.description and not state.in_force else None,
                "members": state.members,
                "runs": [[position, list(spans_of(ordinals))] for position, ordinals in state.runs],
            }
            for reset_id, state in self._states.items()
        ]

    def restore(self, snapshot: list[dict[str, Any]]) -> None:
        """Go on from a snapshot.

        Raises:
            ValueError: it names a message that the index lacks, or is none. Other errors of its types are possible too.
        """
        count = len(self._index)
        for one in snapshot:
            given = one["description"]
            state = _State(parse(given) if given is not None else None, base=int(one["base"]))
            state.begun, state.committed, state.in_force, is_last = map(bool, one["flags"])
            state.members = [(int(number), int(ordinal)) for number, ordinal in one["members"]]
            for position, spans in one["runs"]:
                state.runs.append((int(position), ordinals_of(spans, count)))
                if self._content_length(state) > count:
                    raise ValueError("a reset makes more messages live than the log has")
            if not all(0 <= ordinal < count for _, ordinal in state.members):
                raise ValueError("a reset has a message that the log lacks")
            self._states[one["id"]] = state
            self._last = state if is_last else self._last

    def begin(self, reset: Reset) -> None:
        """Take an intact begin."""
        state = self._states.setdefault(reset.id, _State())
        if state.begun:
            self._report("the begin of a reset stands in the log again; it counts once")
            return
        state.begun, state.base = True, len(self._index.live)
        state.description = state.description or reset
        self._open = state
        if state.committed and not state.in_force:
            self._apply(state, reset)
        self._apply_if_complete(state)

    def commit(self, reset: Reset, *, chained: bool) -> None:
        """Take an intact commit; `chained` says whether it stands where it was written."""
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

    def member(self, ordinal: int, reset_id: str, number: int) -> None:
        """Take a message that belongs to a reset."""
        state = self._states.get(reset_id)
        if state is None:
            state = self._open if self._open is not None else self._states.setdefault(reset_id, _State())
        state.members.append((number, ordinal))
        if not state.in_force:
            self._apply_if_complete(state)
        elif state is self._last:  # it stands after its commit
            rest = self._index.live[self._content_length(state) - 1 :]
            self._index.replace_live([*self._content(state), *rest])

    def _apply_if_complete(self, state: _State) -> None:
        reset = state.description
        if reset is None or not state.begun or state.in_force or len(state.members) < reset.count:
            return
        if reset.upto and self._position_of(reset.upto) is None:
            return
        runs = [self._find_run(run, self._index.live) for run in reset.runs]
        if all(len(found) == run.count for run, found in zip(reset.runs, runs, strict=True)):
            self._apply(state, reset)

    def _apply(self, state: _State, reset: Reset) -> None:
        index, position = self._index, self._position_of(reset.upto)
        if position is not None:
            stop = position + 1
        elif state.begun:
            stop = state.base
        else:
            stop = len(index.live) if reset.upto else 0
        before, after = index.live[:stop], index.live[stop:]
        state.runs, total = [], len(state.members)
        for run in reset.runs:
            ordinals = self._find_run(run, before)
            total += len(ordinals)
            if total > len(index):  # else a few lines could fill the memory
                self._report("it keeps more messages than the log has")
                break
            state.runs.append((run.position, ordinals))
        content = self._content(state)
        if len(content) != reset.live:
            self._report(f"{len(content):,} of the {reset.live:,} messages that it makes live can be read")
        if len(state.members) != reset.count:
            self._report(f"{len(state.members):,} of its {reset.count:,} new messages can be read")
        index.replace_live([*content, *after])
        state.in_force = True
        if self._last is not None:
            self._last.members, self._last.runs = [], []
        self._last = state

    @staticmethod
    def _content_length(state: _State) -> int:
        return len(state.members) + sum(len(ordinals) for _, ordinals in state.runs)

    @staticmethod
    def _content(state: _State) -> list[int]:
        """What a reset makes live, in its order."""
        content: list[int] = []
        members = sorted(state.members, key=itemgetter(0))
        taken = 0
        for position, ordinals in state.runs:
            while taken < len(members) and members[taken][0] < position:
                content.append(members[taken][1])
                taken += 1
            content.extend(ordinals)
        content.extend(ordinal for _, ordinal in members[taken:])
        return content

    def _position_of(self, message_id: str) -> int | None:
        return find_position(self._index, self._index.live, message_id) if message_id else None

    def _find_run(self, run: Run, live: Sequence[int]) -> array[int]:
        """The ordinals of a run in the live history; where one of its ends cannot be read, as `RunEnds` finds it."""
        first = [find_position(self._index, live, message_id) for message_id in run.first]
        last = [find_position(self._index, live, message_id) for message_id in run.last]
        start, lost_first = _first_of(first)
        end, lost_last = _first_of(last[::-1])
        if start is None and end is None:
            start, end = RunEnds(self._index, live).between(run.count) or (None, None)
        elif end is None and start is not None:
            end = RunEnds(self._index, live).end_after(start, run.count - lost_first)
        elif start is None and end is not None:
            start = RunEnds(self._index, live).start_before(end, run.count - lost_last)
        if start is None or end is None or end < start:
            self._report("it keeps messages that cannot be found")
            return array("I")
        return array("I", live[start : end + 1])


def _first_of(positions: Sequence[int | None]) -> tuple[int | None, int]:
    """The first position that was found, and how many before it were not."""
    found = ((at, lost) for lost, at in enumerate(positions) if at is not None)
    return next(found, (None, len(positions)))


def find_position(index: Index, live: Sequence[int], message_id: str) -> int | None:
    """The position of a message in a live history."""
    ordinal = index.find_live(message_id, live)
    return _position(live, ordinal) if ordinal is not None else None


def _position(live: Sequence[int], ordinal: int) -> int | None:
    try:
        return live.index(ordinal)
    except ValueError:
        return None
