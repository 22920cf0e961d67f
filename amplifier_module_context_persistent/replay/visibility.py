"""What a view shows of a history, message by message: kept as it was, elided, dropped, or covered by a summary. No I/O.

It is told from the view's messages alone, by their ids and by what they say; so it holds for every policy, and for a
view that was made again from its receipt.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from ..messages.message import Message, text_of
from ..messages.metadata import COMPACTION_SOURCE, metadata_of
from .evidence import parts_of

KEPT, ELIDED, DROPPED, SUMMARISED = "kept", "elided", "dropped", "summarised"
MARKS = (KEPT, ELIDED, DROPPED, SUMMARISED)
_SUMMARY = "<summary>"


@dataclass(frozen=True, slots=True)
class Run:
    """Neighbouring messages with the same mark: from `start` to before `stop`, counted from 0."""

    mark: str
    start: int
    stop: int


@dataclass(frozen=True, slots=True)
class Marks:
    """The mark of each of the `total` messages before a request."""

    total: int
    shown: Mapping[int, str] = field(default_factory=dict)
    """By position, those that the view holds: kept or elided."""
    summaries: Sequence[tuple[int, int]] = ()
    """Spans (start, stop) in which a summary replaces what the view does not show."""
    inserted: int = 0
    """Messages of the view that the history does not hold."""

    def of(self, position: int) -> str:
        """The mark of one message."""
        covered = any(start <= position < stop for start, stop in self.summaries)
        return self.shown.get(position, SUMMARISED if covered else DROPPED)

    def runs(self) -> list[Run]:
        """All messages in order, as runs."""
        edges = {0, self.total, *(edge for span in self.summaries for edge in span if edge <= self.total)}
        edges.update(edge for position in self.shown for edge in (position, position + 1))
        ordered = sorted(edges)
        runs: list[Run] = []
        for start, stop in pairwise(ordered):
            mark = self.of(start)
            if runs and runs[-1].mark == mark:
                start = runs.pop().start
            runs.append(Run(mark, start, stop))
        return runs

    def counts(self) -> dict[str, int]:
        """How many messages have each mark."""
        counts = dict.fromkeys(MARKS, 0)
        for run in self.runs():
            counts[run.mark] += run.stop - run.start
        return counts


@dataclass(frozen=True, slots=True)
class Compacted:
    """What a view lost against the one before it: messages newly elided, dropped or summarised."""

    elided: int
    dropped: int
    summarised: int
    tokens_before: int
    tokens_after: int


def lost(before: Marks, after: Marks, *, tokens_before: int, tokens_after: int) -> Compacted | None:
    """Tell what one view lost against another; None where it lost nothing."""
    elided = sum(mark == ELIDED and before.shown.get(position) == KEPT for position, mark in after.shown.items())
    gone = [after.of(position) for position in before.shown if position not in after.shown and position < after.total]
    if not elided and not gone:
        return None
    newly = [after.of(position) for position in range(before.total, after.total) if position not in after.shown]
    missing = gone + newly
    return Compacted(elided, missing.count(DROPPED), missing.count(SUMMARISED), tokens_before, tokens_after)


class Marker:
    """Marks the messages of a history by what its views show of them.

    Args:
        position_of: the position of a message by its id, or None.
        messages_at: the messages at positions, in the given order.
    """

    def __init__(
        self, position_of: Callable[[str], int | None], messages_at: Callable[[Sequence[int]], Iterable[Message]]
    ) -> None:
        self._place_of, self._messages_at = position_of, messages_at
        self._known: dict[int, tuple[Message, str]] = {}

    def mark(self, view: Sequence[Message], total: int) -> Marks:
        """Mark the first `total` messages by a view."""
        positions: list[int | None] = []
        for message in view:
            message_id = metadata_of(message).get("message_id")
            position = self._place_of(message_id) if isinstance(message_id, str) else None
            positions.append(position if position is not None and position < total else None)
        known, self._known = self._known, {}
        new: list[tuple[int, Message]] = []
        for position, message in zip(positions, view, strict=True):
            if position is None:
                continue
            if position in known and known[position][0] == message:
                self._known[position] = known[position]
            else:
                new.append((position, message))
        originals = self._messages_at([position for position, _ in new])
        for (position, message), original in zip(new, originals, strict=True):
            self._known[position] = message, KEPT if _says_all(message, original) else ELIDED
        return Marks(
            total,
            {position: mark for position, (_, mark) in sorted(self._known.items())},
            tuple(_summaries(view, positions, total)),
            sum(position is None for position in positions),
        )


def _says_all(message: Message, original: Message) -> bool:
    """Whether a message says all that another one says, be it in other words around it."""
    said = parts_of(message)
    return all(part in said or any(part in text for text in said) for part in parts_of(original) if part.strip())


def _summaries(view: Sequence[Message], positions: Sequence[int | None], total: int) -> Iterable[tuple[int, int]]:
    """The gaps that a summary fills."""
    for at, message in enumerate(view):
        if metadata_of(message).get("source") != COMPACTION_SOURCE or _SUMMARY not in text_of(message):
            continue
        before = [position for position in positions[:at] if position is not None]
        later = [position for position in positions[at:] if position is not None]
        start, stop = max(before, default=-1) + 1, min(later, default=total)
        if start < stop:
            yield start, stop
