"""Play a session in its own rhythm: its messages and requests in order, and the wait before each of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime

from ...messages.message_times import instant_of, timestamp_of
from ...sessions.transcript import LiveMessage, Transcript, Turn
from .api import Seen


@dataclass(frozen=True, slots=True)
class Step:
    """One event: a message (`placed`) was added, or a request (`seen`) was made, after `place` earlier messages."""

    turn: int
    place: int
    at: datetime | None
    placed: LiveMessage | None = None
    seen: Seen | None = None


def timeline(transcript: Transcript, turns: Iterable[Turn], seen: Iterable[Seen] = ()) -> Iterator[Step]:
    """Merge the messages of adjacent turns with requests, and yield the steps in order.

    A request comes before the message that answered it; requests after the last message come at the end.
    """
    waiting = iter(seen)
    request = next(waiting, None)
    number = 0
    for turn in turns:
        number = turn.number
        for position, placed in enumerate(transcript.placed(turn.start, turn.stop), turn.start):
            while request is not None and request.place <= position:
                yield Step(number, request.place, instant_of(request.time), seen=request)
                request = next(waiting, None)
            yield Step(number, position, instant_of(timestamp_of(placed.message)), placed=placed)
    while request is not None:
        yield Step(number, request.place, instant_of(request.time), seen=request)
        request = next(waiting, None)


class Pace:
    """Computes the wait before each step, so that a session is played in its own rhythm.

    Args:
        speed: a factor; 2 plays twice as fast.
        max_pause_s: the longest pause in seconds; None for no limit.
    """

    def __init__(self, speed: float = 1.0, max_pause_s: float | None = None) -> None:
        self._speed = speed
        self._max_pause_s = max_pause_s
        self._before: datetime | None = None

    def pause_s(self, step: Step) -> float:
        """Return the seconds since the message before; 0 before a request, which follows at once."""
        before, at = self._before, step.at
        if at is None or step.placed is None:
            return 0.0
        if before is None:
            self._before = at
            return 0.0
        self._before = max(before, at)
        passed_s = max(0.0, (at - before).total_seconds() / self._speed)
        return passed_s if self._max_pause_s is None else min(passed_s, self._max_pause_s)
