"""Compute the statistics of a session: its tokens by kind, its compactions, the errors of token predictions.

Only live messages are counted: those that no clear or rewind has removed from the history. The statistics contain no
message content except the names of tools.

`outline` returns a line for each turn: its first words, its duration, the outcomes of its calls. Only the first
messages of a turn are read.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from ..catalogue.kept_figures import Figures, figures_of
from ..log.contract import ReadableLog
from ..messages.first_line import first_line
from ..messages.message_times import timestamp_of
from .request_costs import Bill
from .transcript import Transcript

if TYPE_CHECKING:
    from ..tokens.counter import TokenCounter


@dataclass(slots=True)
class HistoryShare:
    """A part of the history: the number of its messages, and their tokens."""

    messages: int = 0
    tokens: int = 0


@dataclass(slots=True)
class ToolShare:
    """The calls of a tool: the numbers of calls, of results and of failed calls, and the tokens of the results."""

    calls: int = 0
    results: int = 0
    errors: int = 0
    result_tokens: int = 0
    duration_s: float = 0.0
    """The sum of the seconds from calls to their results, for calls and results with times."""
    median_s: float | None = None
    """The median seconds of answered calls; None if no times are known."""


@dataclass(frozen=True, slots=True)
class SlowCall:
    """A slow call: the number of its message in the live history (from 1), its turn, its tool, and its duration."""

    place: int
    turn: int
    tool: str
    duration_s: float


@dataclass(frozen=True, slots=True)
class LargeMessage:
    """A large message: its number in the live history (from 1), its id, its role, and its tokens."""

    place: int
    message_id: str
    role: str
    tokens: int


@dataclass(slots=True)
class UsageReports:
    """The figures that providers reported about the views that they answered.

    `error_median` and `error_95` are the median and the 95th percentile of `|predicted / actual - 1|` (each to three
    digits) for the input tokens of requests; None without reports. `models` contains the corrections that were learned
    for the predictions of each model.
    """

    reports: int = 0
    actual_tokens: int = 0
    cached_tokens: int = 0
    error_median: float | None = None
    error_95: float | None = None
    models: dict[str, dict[str, float]] = field(default_factory=dict)

    @property
    def cached_share(self) -> float | None:
        """The share of the actual input tokens that was read from a prompt cache; None without reports."""
        return self.cached_tokens / self.actual_tokens if self.actual_tokens else None


@dataclass(slots=True)
class Views:
    """The views that models got, according to their receipts.

    A view is the list of messages of a request; a receipt is its record. A view continues an earlier view if it has the
    same plan (the record of a compaction) and the same head text (the system prompt). Then it begins with the tokens of
    the earlier view (`shared_tokens`), which a prompt cache can contain. All other views, and the first one, are
    `breaks`: no shared tokens are counted for them.
    """

    requests: int = 0
    tokens: int = 0
    shared_tokens: int = 0
    breaks: int = 0
    unbound: int = 0
    """The number of requests without some reasoning, left out because the messages before it had changed."""

    @property
    def shared_share(self) -> float | None:
        """The share of all tokens of views that a prompt cache could contain; None without views."""
        return self.shared_tokens / self.tokens if self.tokens else None


@dataclass(slots=True)
class Statistics:
    """The statistics of a session."""

    path: str
    tokenizer: str
    file_bytes: int
    total: HistoryShare = field(default_factory=HistoryShare)
    roles: dict[str, HistoryShare] = field(default_factory=dict)
    tools: dict[str, ToolShare] = field(default_factory=dict)
    turns: list[HistoryShare] = field(default_factory=list)
    largest: list[LargeMessage] = field(default_factory=list)
    slowest: list[SlowCall] = field(default_factory=list)
    plans: list[dict[str, Any]] = field(default_factory=list)
    usage: UsageReports = field(default_factory=UsageReports)
    views: Views = field(default_factory=Views)
    damage: int = 0

    def to_json(self) -> dict[str, Any]:
        """Return the statistics as plain JSON types."""
        plain = asdict(self)
        plain["usage"]["cached_share"] = self.usage.cached_share
        plain["views"]["shared_share"] = self.views.shared_share
        return plain


def statistics_of(reader: ReadableLog, figures: Figures, *, tokenizer: str, with_turns: bool = True) -> Statistics:
    """Compute the statistics of a session from its figures.

    Args:
        reader: the session's log.
        figures: the figures of the log.
        tokenizer: the name of the counter that counted the tokens.
        with_turns: whether to fill `turns`.

    Raises:
        LogUnreadableError: the log's bytes changed while they were read.
    """
    described = reader.describe()
    statistics = Statistics(described.location, tokenizer, described.size_bytes, damage=len(reader.index.damage))
    statistics.total = total_share(figures)
    roles = figures.rows("SELECT role, messages, tokens FROM shares WHERE session = ? ORDER BY rowid")
    statistics.roles = {role: HistoryShare(messages, tokens) for role, messages, tokens in roles}
    statistics.tools = _tools(figures)
    if with_turns:
        turns = figures.rows("SELECT messages, tokens FROM turns WHERE session = ? ORDER BY turn")
        statistics.turns = [HistoryShare(messages, tokens) for messages, tokens in turns]
    for number, message_id, role, tokens in figures.rows(_LARGEST):
        statistics.largest.append(LargeMessage(number, message_id, role, tokens))
    for number, turn, tool, duration_s in figures.rows(_SLOWEST, SLOWEST):
        statistics.slowest.append(SlowCall(number, turn, tool, duration_s))
    plans = figures.rows("SELECT summary FROM plans WHERE session = ? ORDER BY number")
    statistics.plans = [json.loads(summary) for (summary,) in plans]
    statistics.usage = _usage(figures)
    statistics.views = _views(figures)
    return statistics


def _tools(figures: Figures) -> dict[str, ToolShare]:
    """Return the calls of each tool, by the tool's name."""
    rows = figures.rows(
        "SELECT tool, count(position), count(result_position), sum(failed), sum(result_tokens),"
        " total(max(0, answered_us - called_us)) / 1e6 FROM calls WHERE session = ? GROUP BY tool ORDER BY tool"
    )
    medians = dict(figures.rows(_MEDIANS))
    return {
        tool: ToolShare(
            calls, results, errors=errors, result_tokens=tokens, duration_s=duration_s, median_s=medians.get(tool)
        )
        for tool, calls, results, errors, tokens, duration_s in rows
    }


def _views(figures: Figures) -> Views:
    """Return the figures of the views. A view that shares no tokens with an earlier one is a break."""
    ((requests, tokens, shared_tokens, breaks, unbound),) = figures.rows(
        "SELECT count(*), total(tokens), total(shared_tokens), total(shared_tokens = 0), total(unbound > 0)"
        " FROM views WHERE session = ?"
    )
    return Views(int(requests), int(tokens), int(shared_tokens), int(breaks), int(unbound))


def total_share(figures: Figures) -> HistoryShare:
    """Return the number of all live messages, and their tokens."""
    ((messages, tokens),) = figures.rows("SELECT total(messages), total(tokens) FROM turns WHERE session = ?")
    return HistoryShare(int(messages), int(tokens))


_LARGEST = "SELECT position + 1, message_id, role, tokens FROM large WHERE session = ? ORDER BY tokens DESC, position"
SLOWEST = 5
_SLOWEST = """
SELECT position + 1, turn, tool, (answered_us - called_us) / 1e6 AS took FROM calls
WHERE session = ? AND position IS NOT NULL AND took > 0 ORDER BY took DESC, position, rowid LIMIT ?
"""


def _usage(figures: Figures) -> UsageReports:
    ((actual, cached),) = figures.rows(
        "SELECT total(actual_tokens), total(reported_cached_tokens) FROM requests"
        " WHERE session = ? AND actual_tokens IS NOT NULL"
    )
    ((count,),) = figures.rows("SELECT count(error) FROM requests WHERE session = ?")
    usage = UsageReports(count, int(actual), int(cached))
    if count:
        usage.error_median = (_error_at(figures, (count - 1) // 2) + _error_at(figures, count // 2)) / 2
        usage.error_95 = _error_at(figures, min(count - 1, int(0.95 * count)))
    learned = figures.rows(
        "SELECT provider, model, ratio, overhead_tokens FROM requests WHERE rowid IN"
        " (SELECT max(rowid) FROM requests WHERE session = ? AND error IS NOT NULL GROUP BY provider, model)"
        " ORDER BY rowid"
    )
    usage.models = {
        f"{provider or '?'} {model or '?'}": {"ratio": ratio, "overhead_tokens": overhead}
        for provider, model, ratio, overhead in learned
    }
    return usage


def _error_at(figures: Figures, rank: int) -> float:
    """Return the prediction error with this rank; rank 0 is the smallest error."""
    query = "SELECT error FROM requests WHERE session = ? AND error IS NOT NULL ORDER BY error LIMIT 1 OFFSET ?"
    ((error,),) = figures.rows(query, rank)
    return float(error)


@dataclass(slots=True)
class TurnLine:
    """A line of an outline: a turn. Its messages have the numbers `first` to `last`, from 1."""

    number: int
    first: int
    last: int
    time: str = ""
    """The time of the first message of the turn that has a time; "" if none has."""
    duration_s: float | None = None
    line: str = ""
    """The first line of the user's message."""
    calls: int = 0
    errors: int = 0
    """The number of calls that failed or were rejected."""
    open_calls: int = 0
    """The number of calls without a result."""
    tokens: int = 0
    cost: float = 0.0
    """The cost in US dollars of the requests whose tokens were reported and whose models have prices."""
    is_cost_estimated: bool = False
    """Whether a part of `cost` is an estimate, because the output tokens of a request were not reported."""

    def to_json(self) -> dict[str, Any]:
        """Return the line as plain JSON types."""
        return asdict(self)


def outline(transcript: Transcript, counter: TokenCounter) -> list[TurnLine]:
    """Return a line for each turn of a session, with tokens of the given counter.

    Raises:
        LogUnreadableError: the log's bytes changed while they were read.
        CatalogueError: Python has no SQLite.
    """
    with figures_of(transcript.reader, counter) as figures:
        return with_first_lines(transcript, figures, {})


@dataclass(frozen=True, slots=True)
class SessionCourse:
    """The course of a session: the numbers of turns, calls, failed calls and calls without a result."""

    turns: int
    duration_s: float | None
    """The sum of the seconds that the turns took; None if no message has a time."""
    calls: int
    errors: int
    open_calls: int


def course_of(figures: Figures) -> SessionCourse:
    """Return the course of a session."""
    [(turns, took_us)] = figures.rows("SELECT count(*), sum(last_us - first_us) FROM turns WHERE session = ?")
    [(calls, errors, open_calls)] = figures.rows(
        "SELECT count(position), total(failed), total(result_position IS NULL) FROM calls WHERE session = ?"
    )
    return SessionCourse(
        turns=turns,
        duration_s=took_us / 10**6 if took_us is not None else None,
        calls=calls,
        errors=int(errors),
        open_calls=int(open_calls),
    )


def largest_turns(figures: Figures, bills: Mapping[int, Bill], count: int) -> list[TurnLine]:
    """Return the turns with the most tokens, at most `count`. Their `time` and `line` are empty."""
    return [_line(row, bills) for row in figures.rows(_TURNS.format("tokens DESC, turns.turn"), count)]


def with_first_lines(transcript: Transcript, figures: Figures, bills: Mapping[int, Bill]) -> list[TurnLine]:
    """Return all turns, each with its time and its first line, which are read from the log.

    Args:
        transcript: the session.
        figures: the figures of the session.
        bills: the bills of turns, by the number of the turn.

    Raises:
        LogUnreadableError: the log's bytes changed while they were read.
    """
    live = transcript.reader.index.live
    lines = list[TurnLine]()
    timed, lines_of_persons = dict[int, TurnLine](), dict[int, TurnLine]()
    for row in figures.rows(_TURNS.format("turns.turn"), -1):
        line = _line(row, bills)
        lines.append(line)
        timed_position, said_position, *_ = row
        if timed_position is not None and timed_position < len(live):
            timed[timed_position] = line
        if said_position is not None and said_position < len(live):
            lines_of_persons[said_position] = line
    positions = sorted({*timed, *lines_of_persons})
    messages = transcript.reader.read([live[position] for position in positions])
    for position, message in zip(positions, messages, strict=True):
        if position in timed:
            timed[position].time = timestamp_of(message)
        if position in lines_of_persons:
            lines_of_persons[position].line = first_line(message)
    return lines


_MEDIANS = """
SELECT tool, avg(took) / 1e6 FROM (
    SELECT tool, took, row_number() OVER (PARTITION BY tool ORDER BY took) AS place,
        count(*) OVER (PARTITION BY tool) AS many
    FROM (SELECT tool, max(0, answered_us - called_us) AS took FROM calls WHERE session = ?)
    WHERE took IS NOT NULL
) WHERE place IN ((many + 1) / 2, (many + 2) / 2) GROUP BY tool
"""
_TURNS = """
SELECT timed_position, said_position, turns.turn, first_position, messages, tokens, last_us - first_us,
       count(calls.position), total(failed), total(calls.rowid IS NOT NULL AND result_position IS NULL)
FROM (SELECT * FROM turns WHERE session = ? ORDER BY {0} LIMIT ?) AS turns
LEFT JOIN calls ON calls.session = turns.session AND calls.turn = turns.turn
GROUP BY turns.turn ORDER BY {0}
"""


def _line(row: tuple[Any, ...], bills: Mapping[int, Bill]) -> TurnLine:
    _, _, turn, first, messages, tokens, took_us, calls, errors, left_open = row
    line = TurnLine(turn, first + 1, first + messages, calls=calls, errors=int(errors), tokens=tokens)
    line.open_calls = int(left_open)
    bill = bills.get(turn)
    if bill is not None:
        line.cost = bill.cost
        line.is_cost_estimated = bill.is_estimated
    if took_us is not None:
        line.duration_s = took_us / 10**6
    return line
