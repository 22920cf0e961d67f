"""A session turn by turn: what each was about, how long it took, how its calls ended.

It takes one pass over the messages; where a checkpoint notes what they come to, only the first ones of turns are read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from heapq import nlargest
from itertools import accumulate, chain
from operator import sub
from typing import Any, TypeVar

from ..messages.command_outcome import asking_calls
from ..messages.message import Message, calls_of, result_id_of
from ..messages.metadata import first_line, is_human, timestamp_of
from ..messages.outcome import ANSWERED, outcome_of
from ..sums.summary import Summary, tokens_of
from ..sums.turn_rows import NOWHERE
from ..tokens.counter import TokenCounter
from .calls import duration_s, instant_of_message
from .transcript import Transcript, Turn


@dataclass(slots=True)
class TurnLine:
    """A turn at a glance; its messages are `first` to `last`, counted from 1."""

    number: int
    first: int
    last: int
    time: str = ""
    """When it began, as its first message with a time says."""
    duration_s: float | None = None
    line: str = ""
    """The first line that the person wrote."""
    calls: int = 0
    errors: int = 0
    """Calls that failed or were rejected."""
    open_calls: int = 0
    """Calls that no message answers."""
    tokens: int = 0
    cost: float = 0.0
    """Of its requests, as far as they were reported and their models have prices."""

    def to_json(self) -> dict[str, Any]:
        """As plain JSON types."""
        return asdict(self)


def outline(
    transcript: Transcript, counter: TokenCounter | None, turns: Sequence[Turn] | None = None
) -> list[TurnLine]:
    """Read a session turn by turn.

    Args:
        transcript: the session.
        counter: counts tokens; without it they are 0.
        turns: the turns to read; by default all.

    Raises:
        LogUnreadableError: the log's bytes changed while they were read.
    """
    if turns is None and counter is not None:
        from ..sums.add_up import noted_sum  # whoever shows messages needs no sums

        if (summary := noted_sum(transcript.reader, counter)) is not None:
            return read_lines(transcript, TurnTable(summary, {}))
    lines: list[TurnLine] = []
    open_calls: dict[str, list[tuple[TurnLine, bool]]] = {}
    for turn in transcript.turns() if turns is None else turns:
        line = TurnLine(turn.number, turn.start + 1, turn.stop)
        lines.append(line)
        start: datetime | None = None
        for message in transcript.messages(turn.start, turn.stop):
            _count(line, message, open_calls)
            line.tokens += tokens_of(message, counter) if counter is not None else 0
            instant = instant_of_message(message)
            if start is None and instant is not None:
                start, line.time = instant, timestamp_of(message)
            if (took := duration_s(start, instant)) is not None:
                line.duration_s = max(took, line.duration_s or 0.0)
    for line, _ in chain.from_iterable(open_calls.values()):
        line.open_calls += 1
    return lines


class TurnTable:
    """A session turn by turn by its sum, but for what its messages say; no more is made of a turn than is asked for.

    Args:
        messages: the sum of its live messages.
        costs: by rows of the sum, what their requests cost.
    """

    def __init__(self, messages: Summary, costs: Mapping[int, float]) -> None:
        self.rows, shift = messages.rows.as_turns()
        self.costs = _by_turn(costs, shift)
        self.open_calls = _by_turn(messages.open_by_row(), shift)
        self._ends = list(accumulate(self.rows.messages))

    def __len__(self) -> int:
        return len(self.rows)

    def line(self, turn: int) -> TurnLine:
        """A turn by its position, from 0; `time` and `line` are empty."""
        rows, end = self.rows, self._ends[turn]
        line = TurnLine(turn + 1, end - rows.messages[turn] + 1, end)
        line.duration_s = rows.duration_s(turn)
        line.calls, line.errors, line.tokens = rows.calls[turn], rows.errors[turn], rows.tokens[turn]
        line.open_calls, line.cost = self.open_calls.get(turn, 0), self.costs.get(turn, 0.0)
        return line

    def total_duration_s(self) -> float | None:
        """How long all turns took together; None if no message tells a time."""
        timed = any(at != NOWHERE for at in self.rows.time_at)
        return sum(map(sub, self.rows.last_us, self.rows.first_us)) / 10**6 if timed else None

    def largest(self, count: int) -> list[TurnLine]:
        """The turns with the most tokens."""
        return list(map(self.line, nlargest(count, range(len(self)), key=self.rows.tokens.__getitem__)))


N = TypeVar("N", int, float)


def _by_turn(given: Mapping[int, N], shift: int) -> dict[int, N]:
    """What is given by row, by turn: row 0 belongs to the first turn."""
    found: dict[int, N] = {}
    for row, number in given.items():
        turn = max(0, row - shift)
        found[turn] = found[turn] + number if turn in found else number
    return found


def read_lines(transcript: Transcript, table: TurnTable) -> list[TurnLine]:
    """All turns, with when each began and what the person wrote first, which is read from the log.

    Raises:
        LogUnreadableError: the log's bytes changed while they were read.
    """
    rows, live, lines = table.rows, transcript.reader.index.live, list(map(table.line, range(len(table))))
    wanted = [
        (line, line.first - 1 + at, name)
        for line, *places in zip(lines, rows.time_at, rows.line_at, strict=True)
        for name, at in zip(("time", "line"), places, strict=True)
        if at != NOWHERE
    ]
    read = transcript.reader.read([live[position] for _, position, _ in wanted])
    for (line, _, name), message in zip(wanted, read, strict=True):
        setattr(line, name, timestamp_of(message) if name == "time" else first_line(message))
    return lines


def _count(line: TurnLine, message: Message, open_calls: dict[str, list[tuple[TurnLine, bool]]]) -> None:
    """Count a message; `open_calls` are the calls that wait, by id, with their turns, and whether they ask.

    A result answers the last call with its id that has none.
    """
    calls = calls_of(message)
    asking = asking_calls(message) if calls else ()
    for call in calls:
        line.calls += 1
        open_calls.setdefault(call.id, []).append((line, call.id in asking))
    call_id = result_id_of(message)
    if call_id is not None:
        waiting = open_calls.get(call_id)
        of, asks = waiting.pop() if waiting else (line, False)
        of.errors += outcome_of(message, asks=asks) != ANSWERED
    elif not line.line and is_human(message):
        line.line = first_line(message)
