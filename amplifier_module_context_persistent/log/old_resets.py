"""What resets of format version 1 do to the live history.

Version 1 wrote `reset {id, count}`, then `count` records (messages, and `keep {from, to}` for runs of the history
before it), then `commit {id}`, in one piece and under the lock. Only the two ids tie them together, so damage is judged
by what must have stood there:
- A reset is in force once it has its commit, or once `count` records have followed an intact one.
- A commit belongs to the reset before it if the ids are equal, or if one of both is damaged or the count is right.
- A commit whose reset is lost belongs to what was read since the damage.
- Records that cannot be read count. A rewind whose only run is lost is not in force: nobody knows what it kept.
- A reset that another kind of record follows before it has all its records was never committed: what it brought is
  not live.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass, field

from .index import UNHELD, Index
from .resets import find_position

Run = tuple[str, str]
Item = int | Run | None
"""An ordinal, a run by its first and its last id, or a record that cannot be read."""


@dataclass(slots=True)
class _Reset:
    id: str
    count: int
    line: int
    is_rewind: bool
    intact: bool
    items: list[Item] = field(default_factory=list)


class OldResets:
    """The resets of version 1 in one log.

    Args:
        index: whose live history they replace.
        report: told of what does not fit.
    """

    def __init__(self, index: Index, report: Callable[[str], None]) -> None:
        self._index, self._report = index, report
        self._pending: _Reset | None = None
        self._expects_commit = self._is_over = False
        self._since_damage: list[Item] | None = None
        """What was read since the last damage, while it may all belong to a reset whose first record is lost."""

    @property
    def is_open(self) -> bool:
        """Whether a message that is read now may belong to a reset."""
        return self._pending is not None or self._since_damage is not None

    def snapshot(self) -> list[bool]:
        """What is known where none is open, in plain JSON types; for `restore`."""
        return [self._expects_commit, self._is_over]

    def restore(self, snapshot: list[bool]) -> None:
        """Go on from a snapshot."""
        self._expects_commit, self._is_over = map(bool, snapshot)

    def damage(self) -> None:
        """Note that a line cannot be read, or that one is missing here."""
        if self._pending is None and not self._is_over:
            self._since_damage = []

    def lost_record(self, *, was_run: bool = False) -> None:
        """Count a record that cannot be read."""
        if self._pending is None:
            self.damage()
        elif not (was_run and self._pending.is_rewind):
            self._take(None)

    def reset(self, reset_id: str, *, count: int, line: int, is_rewind: bool, intact: bool) -> None:
        """Take a reset's first record."""
        self.close()
        self._pending = _Reset(reset_id, count, line, is_rewind, intact)
        self._apply_if_complete()

    def message(self, ordinal: int, *, doubtful: bool = False) -> None:
        """Take a message: it belongs to the reset that is open, or is live; one without a checksum belongs to none."""
        if self._pending is not None and not doubtful:
            self._index.flags[ordinal] |= UNHELD
            if self._take(ordinal):
                return
            self._index.flags[ordinal] &= ~UNHELD
        self._index.make_live(ordinal)
        if self._since_damage is not None:
            self._since_damage.append(ordinal)

    def run(self, first: str, last: str) -> None:
        """Take a run of kept messages."""
        if self._pending is not None:
            self._take((first, last))
        elif self._since_damage is not None:
            self._since_damage.append((first, last))

    def commit(self, reset_id: str, *, intact: bool) -> None:
        """Take a commit."""
        pending, self._pending = self._pending, None
        since, self._since_damage = self._since_damage, None
        expected, self._expects_commit = self._expects_commit, False
        if pending is not None:
            same = pending.id == reset_id or not (pending.intact and intact) or len(pending.items) == pending.count
            if same and not (pending.is_rewind and not pending.items):
                self._apply(pending)
            else:
                self._report(f"the reset of line {pending.line} is incomplete; it changes nothing")
        elif since is not None and not expected:
            self._report("a commit whose first record is lost; what was read since the damage is what it brought")
            own = {item for item in since if isinstance(item, int)}
            before = [ordinal for ordinal in self._index.live if ordinal not in own]
            self._index.replace_live(before)
            self._apply(_Reset(reset_id, len(since), 0, is_rewind=False, intact=False, items=since))
        elif not expected:
            self._report("a commit without a reset; it changes nothing")

    def other(self) -> None:
        """Take note of a control record that no reset of version 1 has among its own."""
        self.close()
        self._since_damage = None
        self._expects_commit = False

    def end(self) -> None:
        """Take note that a later version writes to this log: no lost reset of version 1 is looked for any more."""
        self.other()
        self._is_over = True

    def close(self) -> None:
        """End an open reset: it is in force if all its records are there."""
        pending, self._pending = self._pending, None
        if pending is None:
            return
        if len(pending.items) == pending.count:
            self._report(f"the reset of line {pending.line} has no readable commit; all its records are there")
            self._apply(pending)
        else:
            self._report(f"the reset of line {pending.line} was never committed; what it brought is not live")

    def _take(self, item: Item) -> bool:
        pending = self._pending
        if pending is None:
            return False
        if len(pending.items) - pending.items.count(None) == pending.count:  # after the place of the commit
            self.close()
            return False
        pending.items.append(item)
        self._apply_if_complete()
        return True

    def _apply_if_complete(self) -> None:
        pending = self._pending
        if pending is not None and pending.intact and len(pending.items) == pending.count and None not in pending.items:
            self._pending, self._expects_commit = None, True
            self._apply(pending)

    def _apply(self, reset: _Reset) -> None:
        index, live = self._index, list[int]()
        for item in reset.items:
            if isinstance(item, int):
                live.append(item)
            elif isinstance(item, tuple):
                first, last = (self._find(message_id) for message_id in item)
                if (first is None and last is None) or (first is not None and last is not None and first > last):
                    self._report(f"the reset of line {reset.line} keeps records that the log lacks")
                    continue
                start, stop = self._bounds(first, last)
                if len(live) + stop - start > len(index):  # else a few lines could fill the memory
                    self._report(f"the reset of line {reset.line} keeps more records than the log has")
                    continue
                live.extend(index.live[start:stop])
        index.replace_live(live)

    def _bounds(self, first: int | None, last: int | None) -> tuple[int, int]:
        """The bounds of a run in the live history; a lost end is where the damage is, else where the history ends."""
        offsets, live = self._index.offsets, self._index.live
        begin = offsets[live[first]] if first is not None else 0
        end = offsets[live[last]] if last is not None else offsets[live[-1]]
        damage = [found.offset for found in self._index.damage if begin < found.offset <= end]
        if first is None:
            self._report("the first message that a reset keeps cannot be found; it keeps what follows the damage")
            first = bisect_left(live, damage[-1], key=offsets.__getitem__) if damage else 0
        if last is None:
            self._report("the last message that a reset keeps cannot be found; it keeps what comes before the damage")
            return first, bisect_left(live, damage[0], key=offsets.__getitem__) if damage else len(live)
        return first, last + 1

    def _find(self, message_id: str) -> int | None:
        return find_position(self._index, self._index.live, message_id)
