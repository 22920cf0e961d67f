"""A session turn by turn: what each was about, how long it took, how its calls ended.

It is told from what the session adds up to; of the messages only the first ones of turns are read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from ..catalogue.figures import Figures, figures_of
from ..messages.metadata import first_line, timestamp_of
from ..tokens.counter import TokenCounter
from .transcript import Transcript


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


def outline(transcript: Transcript, counter: TokenCounter) -> list[TurnLine]:
    """Read a session turn by turn; tokens are those of the catalogue, whatever counted them, where it has them.

    Raises:
        LogUnreadableError: the log's bytes changed while they were read.
        CatalogueError: Python has no SQLite.
    """
    with figures_of(transcript.reader, counter, or_any=True) as found:
        return read_lines(transcript, found, {})


@dataclass(frozen=True, slots=True)
class Course:
    """How a session went: its turns, how long they took together, its calls, those that failed and those left open."""

    turns: int
    duration_s: float | None
    """None if no message tells a time."""
    calls: int
    errors: int
    open_calls: int


def course_of(found: Figures) -> Course:
    """Say how a session went."""
    ((turns, took_us),) = found.rows("SELECT count(*), sum(last_us - first_us) FROM turns WHERE session = ?")
    ((calls, errors, left_open),) = found.rows(
        "SELECT count(position), total(failed), total(result_position IS NULL) FROM calls WHERE session = ?"
    )
    return Course(turns, took_us / 10**6 if took_us is not None else None, calls, int(errors), int(left_open))


def largest_turns(found: Figures, costs: Mapping[int, float], count: int) -> list[TurnLine]:
    """The turns with the most tokens; `time` and `line` are empty."""
    return [_line(row, costs) for row in found.rows(_TURNS.format("tokens DESC, turns.turn"), count)]


def read_lines(transcript: Transcript, found: Figures, costs: Mapping[int, float]) -> list[TurnLine]:
    """All turns, with when each began and what the person wrote first, which is read from the log.

    Args:
        transcript: the session.
        found: what it adds up to.
        costs: by the numbers of turns, what their requests cost.

    Raises:
        LogUnreadableError: the log's bytes changed while they were read.
    """
    rows, live = found.rows(_TURNS.format("turns.turn"), -1), transcript.reader.index.live
    lines = [_line(row, costs) for row in rows]
    wanted = [
        (line, position, name)
        for line, (timed, said, *_) in zip(lines, rows, strict=True)
        for name, position in (("time", timed), ("line", said))
        if position is not None and position < len(live)
    ]
    read = transcript.reader.read([live[position] for _, position, _ in wanted])
    for (line, _, name), message in zip(wanted, read, strict=True):
        setattr(line, name, timestamp_of(message) if name == "time" else first_line(message))
    return lines


_TURNS = """
SELECT timed_position, said_position, turns.turn, first_position, messages, tokens, last_us - first_us,
       count(calls.position), total(failed), total(calls.id IS NOT NULL AND result_position IS NULL)
FROM (SELECT * FROM turns WHERE session = ? ORDER BY {0} LIMIT ?) AS turns
LEFT JOIN calls ON calls.session = turns.session AND calls.turn = turns.turn
GROUP BY turns.turn ORDER BY {0}
"""


def _line(row: tuple[Any, ...], costs: Mapping[int, float]) -> TurnLine:
    _, _, turn, first, messages, tokens, took_us, calls, errors, left_open = row
    line = TurnLine(turn, first + 1, first + messages, calls=calls, errors=int(errors), tokens=tokens)
    line.open_calls, line.cost = int(left_open), costs.get(turn, 0.0)
    line.duration_s = took_us / 10**6 if took_us is not None else None
    return line
