"""A view beside the history that it was made from: what is as it was, what is shortened, what is left out between."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby

from ..messages.message import Message
from ..messages.metadata import metadata_of
from ..messages.text import full_text
from ..search.tool_names import tools_of
from ..transcript.calls import CallLookup
from ..transcript.rebuild import Noted
from ..transcript.transcript import Placed, Transcript
from .visibility import ELIDED, Marker, Marks

INSERTED = "inserted"
"""The mark of a message that the history does not hold: a head text, a notice, a summary, a stand-in for a result."""


@dataclass(frozen=True, slots=True)
class ShownMessage:
    """A message of a view. Its number is that in the history as it was then, from 1; 0 if the history lacks it."""

    placed: Placed
    mark: str
    """`kept`, `elided` or `inserted`."""
    shown_chars: int
    original_chars: int


@dataclass(frozen=True, slots=True)
class Gap:
    """Neighbouring messages of the history that a view leaves out: `first` to `last`, from 1; dropped or summarised."""

    first: int
    last: int
    mark: str

    def __len__(self) -> int:
        return self.last - self.first + 1


def marker_of(transcript: Transcript, noted: Noted) -> tuple[Marker, dict[int, int]]:
    """A marker for the history that a request stood in, and the positions of its records by their ordinals."""
    live, index = noted.live, transcript.book.index
    positions = {ordinal: position for position, ordinal in enumerate(live)}

    def place_of(message_id: str) -> int | None:
        ordinal = index.find(message_id)
        return positions.get(ordinal) if ordinal is not None else None

    return Marker(place_of, lambda wanted: transcript.reader.read([live[position] for position in wanted])), positions


def annotate(transcript: Transcript, number: int, view: Sequence[Message]) -> list[ShownMessage | Gap]:
    """Say of each message of a request's view where it is from, and between them what is left out.

    Args:
        transcript: the session.
        number: the request's number, from 1.
        view: its view, as `Transcript.view` rebuilt it.

    Raises:
        LogUnreadableError: the log's bytes changed while they were read.
    """
    noted = transcript.requests()[number - 1]
    live, index = noted.live, transcript.book.index
    marker, positions = marker_of(transcript, noted)
    upto = index.find(noted.receipt.upto) if noted.receipt.upto else None
    marks = marker.mark(view, positions[upto] + 1 if upto in positions else 0)
    calls = CallLookup(transcript.reader)
    found: list[ShownMessage | Gap] = []
    reached = 0
    for message in view:
        ordinal = index.find(str(metadata_of(message).get("message_id", "")))
        position = positions.get(ordinal) if ordinal is not None else None
        if position is None or position not in marks.shown:
            found.append(ShownMessage(Placed(0, message, tuple), INSERTED, len(full_text(message)[0]), 0))
            continue
        found += _gaps(marks, reached, position)
        reached = max(reached, position + 1)
        placed = Placed(
            position + 1,
            message,
            partial(tools_of, transcript.reader, live, position, message),
            partial(calls.ending, live, position, message),
        )
        (original,) = transcript.reader.read([live[position]])
        lengths = len(full_text(message)[0]), len(full_text(original)[0])
        found.append(ShownMessage(placed, marks.shown[position], *lengths))
    return [*found, *_gaps(marks, reached, marks.total)]


def shortening(shown: ShownMessage) -> str:
    """What a view shows of a message, if that is not all of it."""
    if shown.mark == ELIDED and shown.shown_chars < shown.original_chars:
        return f"ELIDED: {shown.shown_chars:,} of {shown.original_chars:,} characters"
    return shown.mark.upper() if shown.mark in (INSERTED, ELIDED) else ""


def _gaps(marks: Marks, start: int, stop: int) -> Iterator[Gap]:
    """What is left out between two positions."""
    absent = [(position, marks.of(position)) for position in range(start, stop) if position not in marks.shown]
    for mark, run in groupby(absent, key=lambda pair: pair[1]):
        positions = [position for position, _ in run]
        yield Gap(positions[0] + 1, positions[-1] + 1, mark)
