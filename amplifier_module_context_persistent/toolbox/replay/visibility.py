"""Visibility: for each message of a history, whether a view keeps, elides or drops it, or replaces it by a summary.

To elide a message is to show a shortened form of it. Only the view's messages are compared, by their ids and texts. So
this works for every policy, and for a view that was rebuilt from its receipt. `annotate` puts a view beside its history
for people to read.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby, pairwise

from ...compaction.why_shown import count_unshown
from ...log.index import Index
from ...messages.message import Message, metadata_of, text_of
from ...messages.metadata import COMPACTION_SOURCE
from ...messages.text import full_text
from ...search.tool_names import tools_of
from ...sessions.call_of_result import CallLookup
from ...sessions.transcript import LiveMessage, Transcript
from ...sessions.view_rebuild import PlacedReceipt
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
    """The messages in the view, by position: kept or elided."""
    summaries: Sequence[tuple[int, int]] = ()
    """Spans (start, stop) of messages that a summary replaces in the view."""
    inserted: int = 0
    """The number of messages of the view that the history does not contain."""

    def of(self, position: int) -> str:
        """Return the mark of the message at a position."""
        if position in self.shown:
            return self.shown[position]
        is_summarised = any(start <= position < stop for start, stop in self.summaries)
        return SUMMARISED if is_summarised else DROPPED

    def runs(self) -> list[Run]:
        """Return all messages in order, as runs with the same mark."""
        edges = {0, self.total}
        for start, stop in self.summaries:
            edges.update(edge for edge in (start, stop) if edge <= self.total)
        for position in self.shown:
            edges.update((position, position + 1))
        runs: list[Run] = []
        for start, stop in pairwise(sorted(edges)):
            mark = self.of(start)
            if runs and runs[-1].mark == mark:
                start = runs.pop().start
            runs.append(Run(mark, start, stop))
        return runs

    def counts(self) -> dict[str, int]:
        """Return the number of messages with each mark."""
        counts = dict.fromkeys(MARKS, 0)
        for run in self.runs():
            counts[run.mark] += run.stop - run.start
        return counts


@dataclass(frozen=True, slots=True)
class Compacted:
    """The losses of a view compared with the view before: messages that are newly elided, dropped or summarised."""

    elided: int
    dropped: int
    summarised: int
    tokens_before: int
    tokens_after: int
    lacking: int = 0
    """The number of dropped messages with a path, a name or an id that the view does not show."""


def lost(
    before: Marks,
    after: Marks,
    view: Sequence[Message],
    marker: Marker,
    *,
    tokens_before: int = 0,
    tokens_after: int = 0,
) -> Compacted | None:
    """Return the losses of a view against an earlier view, or None if nothing was lost.

    Args:
        before: the marks of the earlier view.
        after: the marks of the view.
        view: the view's messages.
        marker: the marker that made the marks.
        tokens_before: the size of the earlier view.
        tokens_after: the size of the view.
    """
    elided = 0
    for position, mark in after.shown.items():
        if mark == ELIDED and before.shown.get(position) == KEPT:
            elided += 1
    no_longer_shown = [position for position in before.shown if position not in after.shown and position < after.total]
    if not elided and not no_longer_shown:
        return None
    never_shown = [position for position in range(before.total, after.total) if position not in after.shown]
    left_out = no_longer_shown + never_shown
    dropped = [position for position in left_out if after.of(position) == DROPPED]
    return Compacted(
        elided=elided,
        dropped=len(dropped),
        summarised=len(left_out) - len(dropped),
        tokens_before=tokens_before,
        tokens_after=tokens_after,
        lacking=count_unshown(view, marker.messages_at(dropped)),
    )


class Marker:
    """Marks each message of a history as kept, elided, dropped or summarised, by comparing it with a view.

    Args:
        position_of: returns the position of a message by its id, or None.
        messages_at: returns the messages at positions, in the given order.
    """

    def __init__(
        self, position_of: Callable[[str], int | None], messages_at: Callable[[Sequence[int]], Iterable[Message]]
    ) -> None:
        self._place_of = position_of
        self.messages_at = messages_at
        self._known: dict[int, tuple[Message, str]] = {}

    def mark(self, view: Sequence[Message], total: int) -> Marks:
        """Return the marks of the first `total` messages for a view."""
        positions = [self._position_of(message, total) for message in view]
        marked_before = self._known
        self._known = {}
        new: list[tuple[int, Message]] = []
        for position, message in zip(positions, view, strict=True):
            if position is None:
                continue
            if position in marked_before and marked_before[position][0] == message:
                self._known[position] = marked_before[position]
            else:
                new.append((position, message))
        originals = self.messages_at([position for position, _ in new])
        for (position, message), original in zip(new, originals, strict=True):
            mark = KEPT if _says_all(message, original) else ELIDED
            self._known[position] = (message, mark)
        return Marks(
            total,
            shown={position: mark for position, (_, mark) in sorted(self._known.items())},
            summaries=tuple(_summaries(view, positions, total)),
            inserted=positions.count(None),
        )

    def _position_of(self, message: Message, total: int) -> int | None:
        """Return the position of a view's message among the first `total` of the history, or None."""
        message_id = metadata_of(message).get("message_id")
        if not isinstance(message_id, str):
            return None
        position = self._place_of(message_id)
        if position is None or position >= total:
            return None
        return position


def _says_all(message: Message, original: Message) -> bool:
    """Return whether a message contains every text of its original, perhaps inside longer texts."""
    shown_parts = parts_of(message)
    for part in parts_of(original):
        if not part.strip() or part in shown_parts:
            continue
        if not any(part in text for text in shown_parts):
            return False
    return True


def _summaries(view: Sequence[Message], positions: Sequence[int | None], total: int) -> Iterable[tuple[int, int]]:
    """Yield the spans (start, stop) of the history that summaries in the view replace."""
    for number, message in enumerate(view):
        if metadata_of(message).get("source") != COMPACTION_SOURCE or _SUMMARY not in text_of(message):
            continue
        shown_before = [position for position in positions[:number] if position is not None]
        shown_later = [position for position in positions[number:] if position is not None]
        start = max(shown_before, default=-1) + 1
        stop = min(shown_later, default=total)
        if start < stop:
            yield start, stop


INSERTED = "inserted"
"""The mark of a message that is not in the history: a system text, a notice, a summary, a stand-in for a result."""


@dataclass(frozen=True, slots=True)
class ShownMessage:
    """A message of a view.

    `placed.number` counts from 1 in the history of that time; it is 0 if the history lacks the message.
    """

    placed: LiveMessage
    mark: str
    """`kept`, `elided` or `inserted`."""
    shown_chars: int
    original_chars: int


@dataclass(frozen=True, slots=True)
class UnseenRun:
    """Neighbouring messages of the history that a view leaves out, from number `first` to `last`, counted from 1."""

    first: int
    last: int
    mark: str

    def __len__(self) -> int:
        return self.last - self.first + 1


class PastPositions:
    """The positions of messages in an earlier history, by id; the ids of the last view are cached.

    Args:
        live: the earlier history, as ordinals of the index.
        index: the log's index, which finds messages by id.
    """

    def __init__(self, live: Sequence[int], index: Index) -> None:
        self._live = live
        self._index = index
        self._known: dict[str, int | None] = {}
        self._by_ordinal: dict[int, int] | None = None

    def learn(self, view: Sequence[Message]) -> None:
        """Look up the messages of a view, all new messages at once, and forget messages of earlier views."""
        ids = dict.fromkeys(str(metadata_of(message).get("message_id", "")) for message in view)
        known = {message_id: self._known[message_id] for message_id in ids if message_id in self._known}
        new = [message_id for message_id in ids if message_id and message_id not in known]
        ordinals = self._index.find_all(new)
        for message_id in new:
            known[message_id] = self.at(ordinals.get(message_id))
        self._known = known

    def of(self, message_id: str) -> int | None:
        """Return the position of a message, from 0, or None if the history did not contain the message."""
        if message_id in self._known:
            return self._known[message_id]
        return self.at(self._index.find(message_id))

    def count_to(self, message_id: str) -> int:
        """Return the number of messages up to and including a message; 0 if the history did not contain the message."""
        position = self.of(message_id)
        return 0 if position is None else position + 1

    def at(self, ordinal: int | None) -> int | None:
        """Return the position of the message with an ordinal, or None if the history did not contain the message."""
        if ordinal is None:
            return None
        position = bisect_left(self._live, ordinal)  # correct unless a reset changed the order
        if position < len(self._live) and self._live[position] == ordinal:
            return position
        if self._by_ordinal is None:
            self._by_ordinal = {ordinal: position for position, ordinal in enumerate(self._live)}
        return self._by_ordinal.get(ordinal)


def marker_of(transcript: Transcript, noted: PlacedReceipt, index: Index) -> tuple[Marker, PastPositions]:
    """Return a marker for the history at the time of a request, and the positions of its messages."""
    positions = PastPositions(noted.live, index)

    def messages_at(wanted: Sequence[int]) -> Iterable[Message]:
        return transcript.reader.read([noted.live[position] for position in wanted])

    return Marker(positions.of, messages_at), positions


def annotate(transcript: Transcript, number: int, view: Sequence[Message]) -> list[ShownMessage | UnseenRun]:
    """Return the messages of a request's view with their marks, and between these the runs that the view leaves out.

    Args:
        transcript: the session.
        number: the request's number, from 1.
        view: the request's view, as `Transcript.view` rebuilt it.

    Raises:
        LogUnreadableError: the log's bytes changed while they were read.
    """
    noted = transcript.request(number).noted
    marker, positions = marker_of(transcript, noted, transcript.book.index)
    positions.learn(view)
    marks = marker.mark(view, positions.count_to(noted.receipt.upto))
    calls = CallLookup(transcript.reader)
    pieces: list[ShownMessage | UnseenRun] = []
    reached = 0
    for message in view:
        shown_chars = len(full_text(message)[0])
        position = positions.of(str(metadata_of(message).get("message_id", "")))
        if position is None or position not in marks.shown:
            pieces.append(ShownMessage(LiveMessage(0, message, tuple), INSERTED, shown_chars, original_chars=0))
            continue
        pieces += _gaps(marks, reached, position)
        reached = max(reached, position + 1)
        placed = LiveMessage(
            position + 1,
            message,
            partial(tools_of, transcript.reader, noted.live, position, message),
            partial(calls.outcome_of_result, noted.live, position, message),
        )
        (original,) = transcript.reader.read([noted.live[position]])
        original_chars = len(full_text(original)[0])
        pieces.append(ShownMessage(placed, marks.shown[position], shown_chars, original_chars))
    pieces += _gaps(marks, reached, marks.total)
    return pieces


def shortening(shown_message: ShownMessage) -> str:
    """Return a label for a message that is elided or inserted, with the part shown; "" for a kept message."""
    if shown_message.mark == ELIDED and shown_message.shown_chars < shown_message.original_chars:
        return f"ELIDED: {shown_message.shown_chars:,} of {shown_message.original_chars:,} characters"
    return shown_message.mark.upper() if shown_message.mark in (INSERTED, ELIDED) else ""


def _gaps(marks: Marks, start: int, stop: int) -> Iterator[UnseenRun]:
    """Yield the runs of messages left out between two positions; some others may be shown elsewhere in the view."""
    if start >= stop:
        return
    shown_positions = _shown_between(marks, start, stop)
    edges = {start, stop}
    for position in shown_positions:
        edges.update((position, position + 1))
    for span in marks.summaries:
        edges.update(edge for edge in span if start < edge < stop)
    left_out = [
        Run(marks.of(first), first, last) for first, last in pairwise(sorted(edges)) if first not in shown_positions
    ]
    for mark, neighbours in groupby(left_out, key=lambda run: run.mark):
        runs = list(neighbours)
        yield UnseenRun(first=runs[0].start + 1, last=runs[-1].stop, mark=mark)


def _shown_between(marks: Marks, start: int, stop: int) -> set[int]:
    """Return the positions from `start` to before `stop` that the view shows."""
    if stop - start < len(marks.shown):
        return {position for position in range(start, stop) if position in marks.shown}
    return {position for position in marks.shown if start <= position < stop}
