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

from ...compaction.reasons import count_unshown
from ...log.index import Index
from ...messages.message import Message, text_of
from ...messages.metadata import COMPACTION_SOURCE, metadata_of
from ...messages.text import full_text
from ...search.tool_names import tools_of
from ...sessions.calls import CallLookup
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
    """Spans (start, stop) in which a summary replaces what the view does not show."""
    inserted: int = 0
    """The number of messages of the view that the history does not contain."""

    def of(self, position: int) -> str:
        """Return the mark of the message at a position."""
        covered = any(start <= position < stop for start, stop in self.summaries)
        return self.shown.get(position, SUMMARISED if covered else DROPPED)

    def runs(self) -> list[Run]:
        """Return all messages in order, as runs with the same mark."""
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
        """Return the number of messages with each mark."""
        counts = dict.fromkeys(MARKS, 0)
        for run in self.runs():
            counts[run.mark] += run.stop - run.start
        return counts


@dataclass(frozen=True, slots=True)
class Compacted:
    """The losses of a view against the view before it: messages newly elided, dropped or summarised."""

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
    elided = sum(mark == ELIDED and before.shown.get(position) == KEPT for position, mark in after.shown.items())
    gone = [position for position in before.shown if position not in after.shown and position < after.total]
    if not elided and not gone:
        return None
    gone += [position for position in range(before.total, after.total) if position not in after.shown]
    dropped = [position for position in gone if after.of(position) == DROPPED]
    summarised, lacks = len(gone) - len(dropped), count_unshown(view, marker.messages_at(dropped))
    return Compacted(elided, len(dropped), summarised, tokens_before, tokens_after, lacks)


class Marker:
    """Marks the messages of a history by comparing them with its views.

    Args:
        position_of: returns the position of a message by its id, or None.
        messages_at: returns the messages at positions, in the given order.
    """

    def __init__(
        self, position_of: Callable[[str], int | None], messages_at: Callable[[Sequence[int]], Iterable[Message]]
    ) -> None:
        self._place_of, self.messages_at = position_of, messages_at
        self._known: dict[int, tuple[Message, str]] = {}

    def mark(self, view: Sequence[Message], total: int) -> Marks:
        """Return the marks of the first `total` messages for a view."""
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
        originals = self.messages_at([position for position, _ in new])
        for (position, message), original in zip(new, originals, strict=True):
            self._known[position] = message, KEPT if _says_all(message, original) else ELIDED
        return Marks(
            total,
            {position: mark for position, (_, mark) in sorted(self._known.items())},
            tuple(_summaries(view, positions, total)),
            sum(position is None for position in positions),
        )


def _says_all(message: Message, original: Message) -> bool:
    """Return whether a message contains every text of its original, perhaps inside longer texts."""
    said = parts_of(message)
    return all(part in said or any(part in text for text in said) for part in parts_of(original) if part.strip())


def _summaries(view: Sequence[Message], positions: Sequence[int | None], total: int) -> Iterable[tuple[int, int]]:
    """Yield the spans (start, stop) of the history that summaries in the view replace."""
    for at, message in enumerate(view):
        if metadata_of(message).get("source") != COMPACTION_SOURCE or _SUMMARY not in text_of(message):
            continue
        before = [position for position in positions[:at] if position is not None]
        later = [position for position in positions[at:] if position is not None]
        start, stop = max(before, default=-1) + 1, min(later, default=total)
        if start < stop:
            yield start, stop


INSERTED = "inserted"
"""The mark of a message that is not in the history: a system text, a notice, a summary, a stand-in for a result."""


@dataclass(frozen=True, slots=True)
class ShownMessage:
    """A message of a view; `placed.number` counts from 1 in the history of that time, 0 if it is not there."""

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
        self._live, self._index = live, index
        self._known: dict[str, int | None] = {}
        self._by_ordinal: dict[int, int] | None = None

    def learn(self, view: Sequence[Message]) -> None:
        """Look up the messages of a view, all the new ones at once, and forget all other messages."""
        ids = [str(metadata_of(message).get("message_id", "")) for message in view]
        known = {message_id: self._known[message_id] for message_id in ids if message_id in self._known}
        new = [message_id for message_id in dict.fromkeys(ids) if message_id and message_id not in known]
        ordinals = self._index.find_all(new)
        self._known = known | {message_id: self.at(ordinals.get(message_id)) for message_id in new}

    def of(self, message_id: str) -> int | None:
        """Return the position of a message, from 0, or None if the history did not contain the message."""
        return self._known[message_id] if message_id in self._known else self.at(self._index.find(message_id))

    def count_to(self, message_id: str) -> int:
        """Return the number of messages up to and including this one; 0 if the history did not contain it."""
        position = self.of(message_id)
        return 0 if position is None else position + 1

    def at(self, ordinal: int | None) -> int | None:
        """Return the position of the message with an ordinal, or None if the history did not contain it."""
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
    live, positions = noted.live, PastPositions(noted.live, index)
    return Marker(positions.of, lambda wanted: transcript.reader.read([live[at] for at in wanted])), positions


def annotate(transcript: Transcript, number: int, view: Sequence[Message]) -> list[ShownMessage | UnseenRun]:
    """Return the messages of a request's view with their marks, and between them the runs that the view leaves out.

    Args:
        transcript: the session.
        number: the request's number, from 1.
        view: the request's view, as `Transcript.view` rebuilt it.

    Raises:
        LogUnreadableError: the log's bytes changed while they were read.
    """
    found_request = transcript.request(number)
    noted, live = found_request.noted, found_request.noted.live
    marker, positions = marker_of(transcript, noted, transcript.book.index)
    positions.learn(view)
    marks = marker.mark(view, positions.count_to(noted.receipt.upto))
    calls = CallLookup(transcript.reader)
    found: list[ShownMessage | UnseenRun] = []
    reached = 0
    for message in view:
        position = positions.of(str(metadata_of(message).get("message_id", "")))
        if position is None or position not in marks.shown:
            found.append(ShownMessage(LiveMessage(0, message, tuple), INSERTED, len(full_text(message)[0]), 0))
            continue
        found += _gaps(marks, reached, position)
        reached = max(reached, position + 1)
        placed = LiveMessage(
            position + 1,
            message,
            partial(tools_of, transcript.reader, live, position, message),
            partial(calls.outcome_of_result, live, position, message),
        )
        (original,) = transcript.reader.read([live[position]])
        lengths = len(full_text(message)[0]), len(full_text(original)[0])
        found.append(ShownMessage(placed, marks.shown[position], *lengths))
    return [*found, *_gaps(marks, reached, marks.total)]


def shortening(shown: ShownMessage) -> str:
    """Return a label for a message that is elided or inserted, with the part shown; "" for a kept message."""
    if shown.mark == ELIDED and shown.shown_chars < shown.original_chars:
        return f"ELIDED: {shown.shown_chars:,} of {shown.original_chars:,} characters"
    return shown.mark.upper() if shown.mark in (INSERTED, ELIDED) else ""


def _gaps(marks: Marks, start: int, stop: int) -> Iterator[UnseenRun]:
    """Yield the runs of messages left out between two positions; some others may be shown elsewhere in the view."""
    if start >= stop:
        return
    few = range(start, stop) if stop - start < len(marks.shown) else marks.shown
    shown = {position for position in few if start <= position < stop and position in marks.shown}
    edges = {start, stop, *shown, *(position + 1 for position in shown)}
    edges.update(edge for span in marks.summaries for edge in span if start < edge < stop)
    runs = [(first, last, marks.of(first)) for first, last in pairwise(sorted(edges)) if first not in shown]
    for mark, neighbours in groupby(runs, key=lambda run: run[2]):
        joined = list(neighbours)
        yield UnseenRun(joined[0][0] + 1, joined[-1][1], mark)
