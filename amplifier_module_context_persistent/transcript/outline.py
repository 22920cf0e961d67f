"""A session turn by turn: what each was about, how long it took, how its calls ended.

It takes one pass over the messages; where the catalogue has added them up, only the first ones of turns are read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import datetime
from itertools import chain
from typing import TYPE_CHECKING, Any

from ..messages.message import Message, calls_of, result_id_of
from ..messages.metadata import first_line, is_human, timestamp_of
from ..messages.normalize import tokens_of
from ..messages.outcome import ANSWERED, asking_calls, outcome_of
from ..tokens.counter import TokenCounter
from .calls import duration_s, instant_of_message
from .transcript import Transcript, Turn

if TYPE_CHECKING:
    from ..catalogue.figures import Figures


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
        from ..catalogue.database import CatalogueError  # whoever shows messages needs no figures
        from ..catalogue.figures import figures_of

        # without SQLite the messages are counted here
        with suppress(CatalogueError), figures_of(transcript.reader, counter, or_any=True) as found:
            return read_lines(transcript, found, {})
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
