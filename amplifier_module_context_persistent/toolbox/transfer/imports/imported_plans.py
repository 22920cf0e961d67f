"""The plans of an import: a compaction of the source becomes a plan, so views leave out what the agent left out.

A plan is written only when a message of a person, another compaction, a clear or the end follows, because it keeps the
last message of a person. Tokens are counted only from the source's first compaction on, for the sizes in plans, because
counting takes a quarter of an import's time.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from ....forms.canonical import total
from ....log.record_line import decode, encode_control
from ....tokens.counter import EstimateCounter, count_message
from ....tokens.estimate import estimate_tokens
from ....view.plan import IMPORTED, SUMMARY_TAGS, LeftOut, Making, Notice, Plan, keep_runs
from ..importers.events import CompactionEvent
from .spool import RecordBodies

_COUNTER = EstimateCounter()


class _Pending(NamedTuple):
    """A compaction whose plan is not written yet."""

    plan: Plan
    kept: list[int]
    """The positions of the messages that it kept."""
    live: range
    """The positions of the messages that were live."""


class ImportedPlans:
    """The plans of one session of an import.

    Args:
        ids: the ids of its messages; the caller adds to them.
        at: the position of each message among the bodies; the caller adds to them.
        bodies: the bodies of its records, to which plans are added.
    """

    def __init__(self, ids: Sequence[str], at: array[int], bodies: RecordBodies) -> None:
        self._ids = ids
        self._at = at
        self._bodies = bodies
        self.compactions = 0
        """The number of compactions so far."""
        self._pending: _Pending | None = None
        """The last compaction; None if there was none, or if its plan was written."""
        self._last_human = -1
        """The position of the last message of a person; -1 if none is live."""
        self._systems = set[int]()
        """The positions of system messages."""
        self._tokens: dict[int, int] = {}
        """The tokens of messages, by position. Only messages that were counted because of a compaction are included."""
        self.counted_tokens = 0
        """The tokens of the messages that the model saw right after the last compaction or clear, as counted here."""
        self._counted_messages = 0
        """The number of messages that `counted_tokens` covers; later messages are not counted yet."""

    def note_system(self, position: int) -> None:
        """Note that the message at a position is a system message."""
        self._systems.add(position)

    def note_person(self) -> None:
        """Note that the last message is a person's, and write the plan of the pending compaction."""
        self._last_human = len(self._ids) - 1
        self.write_pending()

    def forget_cleared(self) -> None:
        """Note that all messages so far were cleared."""
        self.counted_tokens = 0
        self._counted_messages = len(self._ids)
        self._last_human = -1

    def compact(self, event: CompactionEvent, *, cleared: int) -> bool:
        """Make a plan of a compaction, to be written later.

        Args:
            event: the compaction.
            cleared: the number of messages before the last clear.

        Returns:
            False if there is nothing that a plan could leave out.
        """
        self.write_pending()
        self.compactions += 1
        summary = event.summary.strip()
        live = range(cleared, len(self._ids))
        if self._systems.issuperset(live):
            return False
        kept_positions = self._kept_by(event, live)
        notice = summary.join(SUMMARY_TAGS) if summary else ""
        tokens_after = estimate_tokens(notice) + sum(self._tokens_of(position) for position in kept_positions)
        plan = Plan(
            id=f"imported-{self.compactions}",
            upto=self._ids[-1],
            keep=(),
            notice=Notice(notice),
            making=Making(
                strategy=IMPORTED,
                tokens_before=total(event.tokens_before) or self._seen_tokens(),
                tokens_after=tokens_after,
            ),
        )
        self._pending = _Pending(plan, kept_positions, live)
        self.counted_tokens = tokens_after
        self._counted_messages = len(self._ids)
        return True

    def write_pending(self) -> None:
        """Write the plan of the pending compaction, if there is one.

        A view always shows the last message of a person. So if this message is before the compaction, the plan keeps
        it.
        """
        if self._pending is None:
            return
        plan, kept_positions, live = self._pending
        self._pending = None
        if 0 <= self._last_human < live.stop:
            kept_positions = sorted({*kept_positions, self._last_human})
        notice_before = ""
        if plan.notice.text:
            kept_talk = [position for position in kept_positions if position not in self._systems]
            first_talk = kept_talk[0] if kept_talk else live.stop
            if first_talk < len(self._ids):
                notice_before = self._ids[first_talk]
        whole = replace(
            plan,
            keep=tuple(self._ids[position] for position in kept_positions),
            notice=replace(plan.notice, before=notice_before),
            left_out=LeftOut(len(live) - len(kept_positions)),
        )
        runs = keep_runs((position, self._ids[position]) for position in kept_positions)
        self._bodies.append(encode_control("plan", **whole.to_record(runs)))

    def _tokens_of(self, position: int) -> int:
        """Return the number of tokens of a message, as counted here. Each message is counted once."""
        known = self._tokens.get(position)
        if known is not None:
            return known
        message = decode(self._bodies[self._at[position]] + b"}")
        self._tokens[position] = count_message(message, _COUNTER)
        return self._tokens[position]

    def _seen_tokens(self) -> int:
        """Return the number of tokens that the model would see at this point of the session, as counted here."""
        following = range(self._counted_messages, len(self._ids))
        return self.counted_tokens + sum(self._tokens_of(position) for position in following)

    def _kept_by(self, event: CompactionEvent, live: range) -> list[int]:
        """Return the positions of the live messages that a compaction kept: instructions, and the named messages."""
        kept_positions = self._systems.intersection(live)
        positions = {self._ids[position]: position for position in live}
        kept_positions.update(range(positions.get(event.keep_from, live.stop), live.stop))
        kept_positions.update(positions[message_id] for message_id in event.keep if message_id in positions)
        for first, last in event.keep_runs:
            kept_positions.update(range(positions.get(first, live.start), positions.get(last, -1) + 1))
        return sorted(kept_positions)
