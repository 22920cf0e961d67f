"""Adding a log up: its turns, calls, requests, views and plans, as rows of the catalogue.

Two passes. The first takes all records in the log's order: hidden messages count where a provider was paid for them.
The second takes the live messages in theirs.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import astuple, dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from heapq import nlargest
from typing import TYPE_CHECKING, Any

from ..log.base import ReadableLog
from ..log.record_line import CONTROL_HEAD, Message, decode
from ..messages.message import calls_of, result_id_of, text_of
from ..messages.metadata import given_id, instant_of, is_human, is_repair, timestamp_of
from ..messages.normalize import tokens_of
from ..messages.outcome import ANSWERED, asking_calls, outcome_of
from ..tokens.counter import TokenCounter
from ..tokens.usage import ReportedUsage, usage_of_message, usage_of_record
from .bill_id import bill_id

if TYPE_CHECKING:
    pass

LARGEST = 10
"""So many messages at most are shown as the largest."""
UNKNOWN_TOOL = "unknown"
PLAN_COUNTS = ("dropped", "budget_tokens", "target_tokens", "tokens_before", "tokens_after")
_EPOCH, _MICROSECOND = datetime(1970, 1, 1, tzinfo=UTC), timedelta(microseconds=1)
_MOST_TOKENS = 1 << 53

Row = tuple[Any, ...]
"""A row of a table, without its session."""


@dataclass(slots=True)
class Request:
    """A request that a provider reported."""

    usage: ReportedUsage | None
    """What is paid for; None where nothing is: a fork copied the report, or the answer tells it itself."""
    provider: str
    model: str
    time_us: int | None = None
    """When its answer was stored; of one that nothing answers, when its view was made."""
    output_tokens: int | None = None
    is_output_estimated: bool = False
    """Whether the output was counted here, because the provider's number is not in the log."""
    answer_id: str = ""
    """The id of the message that answered it; empty if there is none."""
    report: Row = (None, None, None, None, None)
    """How the view was counted: actual and cached tokens, the error of the prediction, and what was learned of it."""
    turn: int | None = None
    """That of its answer, if that is live."""
    bill_id: str = ""
    """The same in all sessions that hold its answer; empty if nothing tells its answer from others."""

    def row(self) -> Row:
        """As a row."""
        paid = self.usage
        read = (paid.uncached, paid.cached, paid.written, paid.written_1h) if paid else (None, None, None, 0)
        names = (self.turn, self.provider, self.model, self.time_us)
        sums = (paid.requests, not paid.has_input) if paid else (1, False)
        return (*names, *read, self.output_tokens, self.is_output_estimated, *self.report, *sums, self.bill_id)


class RecordPass:
    """The first pass: what was requested, handed out, planned and paid for.

    A `usage` record belongs to the next assistant message, unless that brings usage of its own. Messages that a reset
    stored again count once, and so do records that a fork copied: they were paid for in the session it came from.

    Args:
        count: counts a message's tokens, for the output of requests where the provider's number is not in the log.
    """

    def __init__(self, count: Callable[[Message], int]) -> None:
        self._count = count
        self.requests: list[Request] = []
        self.views: list[Row] = []
        self.plans: list[Row] = []
        self.forked_from = ""
        """The id of the last message that a fork copied; usage after it was copied too."""
        self._copies = False
        """Whether the last message was that one."""
        self._waiting: list[Request] = []
        """Those that no message has answered yet."""
        self._passes: list[Request] = []
        """The compactions within them."""
        self._met: set[str] = set()
        """The ids of assistant messages."""
        self._plan_ids: set[str] = set()
        self._tokens: dict[tuple[str, str], int] = {}
        """Of the last view that others may continue, by plan and head text."""
        self._made_us: int | None = None
        """When the last view was made."""

    def run(self, log: ReadableLog) -> RecordPass:
        """Take all records of a log."""
        for line in log.records():
            self._take(line)
        return self

    def _take(self, line: bytes) -> None:
        """Take the next record's line; it is parsed only if it may matter."""
        if not line.startswith(CONTROL_HEAD) and b'"assistant"' not in line:
            copied = self.forked_from.encode("utf-8", "replace")
            if not copied or copied not in line:
                self._copies = False
                return
        try:
            record = decode(line)
        except ValueError:
            return  # `verify` reports it
        kind = record.get("_record")
        if kind is None:
            self._take_message(record)
        elif kind == "header":
            self.forked_from = str(record.get("forked_from") or "")
        elif kind == "usage":
            self._take_report(record)
        elif kind == "plan":
            self._take_plan(record)
        elif kind == "view":
            self._take_receipt(record)

    def _take_message(self, message: Message) -> None:
        message_id = given_id(message) or ""
        self._copies = bool(self.forked_from) and message_id == self.forked_from
        if message.get("role") != "assistant" or message_id in self._met:
            return
        if message_id:
            self._met.add(message_id)
        time_us = _microseconds(timestamp_of(message))
        if (own := usage_of_message(message)) is not None:
            for request in (*self._waiting, *self._passes):
                request.usage = None
            self._waiting = [self._add(own, own.provider, own.model, time_us)]
            self._add_pass(own, own.provider, own.model, time_us)
        for number, request in enumerate((*self._waiting, *self._passes)):
            request.bill_id = bill_id(message, request.usage, number) if request.usage is not None else ""
        self._passes = []
        for request in self._waiting:
            request.answer_id = message_id
            request.time_us = request.time_us if time_us is None else time_us
            request.output_tokens = request.output_tokens or 0
        if self._waiting and (usage := self._waiting[-1].usage) is not None and usage.output is None:
            self._waiting[-1].output_tokens, self._waiting[-1].is_output_estimated = self._count(message), True
        self._waiting = []

    def _add(self, usage: ReportedUsage | None, provider: Any, model: Any, time_us: int | None) -> Request:
        output_tokens = usage.output if usage is not None else None
        made = Request(usage, _text(provider), _text(model), time_us, output_tokens)
        self.requests.append(made)
        return made

    def _add_pass(self, usage: ReportedUsage | None, provider: Any, model: Any, time_us: int | None) -> None:
        """Add a compaction that a provider made within a request, and bills beside it, as a request of its own."""
        if usage is not None and usage.compaction is not None:
            self._passes.append(self._add(usage.compaction, provider, model, time_us))

    def _take_report(self, record: Message) -> None:
        """Take what a provider reported; it is not paid for where a fork copied it, or it says nothing of tokens."""
        actual, predicted, cached = (record.get(f"{name}_tokens") for name in ("actual", "predicted", "cached"))
        usage = usage_of_record(record) if not self._copies else None
        report: Row = (None, _count_or_none(cached) or 0, None)
        if isinstance(actual, int) and isinstance(predicted, int) and 0 < actual < _MOST_TOKENS:
            report = (actual, report[1], float(f"{abs(min(predicted, _MOST_TOKENS) / actual - 1):.3g}"))
        elif usage is None:
            return
        request = self._add(usage, record.get("provider"), record.get("model"), self._made_us)
        self._add_pass(usage, record.get("provider"), record.get("model"), self._made_us)
        request.report = (*report, _number(record.get("ratio")), _number(record.get("overhead_tokens")))
        if usage is not None:
            self._waiting.append(request)

    def _take_plan(self, record: Message) -> None:
        name, cuts = repr(record.get("id")), record.get("cuts")
        if name in self._plan_ids:
            return  # a rewind writes the plan in force again
        self._plan_ids.add(name)
        native = record.get("native")
        if isinstance(native, dict) and (usage := usage_of_message(native)) is not None:
            request = self._add(usage, usage.provider, usage.model, self._made_us)
            request.output_tokens = usage.output or 0
        summary = {key: record.get(key) for key in ("id", "strategy", "step")}
        summary |= {key: _count_or_none(record.get(key)) for key in PLAN_COUNTS}
        summary["shortened"] = len(cuts) if isinstance(cuts, dict) else 0
        self.plans.append((len(self.plans) + 1, json.dumps(summary)))

    def _take_receipt(self, record: Message) -> None:
        """A view continues the last one with the same plan and head text; then that one's tokens are its beginning."""
        from ..view.receipts import Receipt  # it loads half of the package, and most logs are known already

        try:
            receipt = Receipt.from_record(record)
        except ValueError:
            return  # `views` counts it
        line = receipt.plan, receipt.head
        shared = min(self._tokens.get(line, 0), receipt.tokens)
        if not receipt.extras:
            self._tokens[line] = receipt.tokens
        self._made_us = _microseconds(receipt.time)
        self.views.append(tuple(min(count, _MOST_TOKENS) for count in (receipt.tokens, shared, receipt.unbound)))


@dataclass(slots=True)
class _Turn:
    """A turn as it is added up."""

    number: int
    first_position: int
    messages: int = 0
    tokens: int = 0
    first_us: int | None = None
    last_us: int | None = None
    timed_position: int | None = None
    said_position: int | None = None
    has_person: bool = False


@dataclass(slots=True)
class _Call:
    """A call, or a result that answers none."""

    turn: int
    position: int | None
    tool: str
    called_us: int | None = None
    result_position: int | None = None
    answered_us: int | None = None
    failed: bool = False
    result_tokens: int = 0


class MessagePass:
    """The second pass: turns, calls and their results, over the live messages.

    Args:
        count: counts a message's tokens.
        requests: those of the first pass; they learn in which turn they were answered.
    """

    def __init__(self, count: Callable[[Message], int], requests: Iterable[Request]) -> None:
        self._count = count
        self.turns = [_Turn(1, 0)]
        self.calls: list[_Call] = []
        self.shares: dict[str, list[int]] = {}
        """Messages and their tokens, by role; and before them the first turn with one."""
        self.large: list[tuple[int, int, str, str]] = []
        """Tokens, negated positions, ids and roles."""
        self._open: dict[str, list[tuple[_Call, bool]]] = {}
        """Calls without a result, and whether they ask something."""
        self._answered: dict[str, list[Request]] = {}
        for request in requests:
            self._answered.setdefault(request.answer_id, []).append(request)

    def run(self, log: ReadableLog) -> MessagePass:
        """Take all live messages of a log."""
        for position, message in enumerate(log.read(log.index.live)):
            self._take(position, message)
        return self

    def _take(self, position: int, message: Message) -> None:
        human, tokens = is_human(message), self._count(message)
        if human and self.turns[-1].has_person:
            self.turns.append(_Turn(self.turns[-1].number + 1, position))
        turn, us = self.turns[-1], None if is_repair(message) else _microseconds(timestamp_of(message))
        self._take_calls(message, position, tokens, us)
        if human and turn.said_position is None and result_id_of(message) is None and text_of(message).strip():
            turn.said_position = position
        if us is not None:
            if turn.first_us is None or turn.last_us is None:
                turn.first_us, turn.last_us, turn.timed_position = us, us, position
            turn.last_us = max(turn.last_us, us)
        role, message_id = _text(message.get("role")), given_id(message) or ""
        share = self.shares.setdefault(role, [turn.number, 0, 0])
        share[1] += 1
        share[2] += tokens
        self.large = nlargest(LARGEST, [*self.large, (tokens, -position, _text(message_id), role)])
        turn.has_person = turn.has_person or human
        turn.messages += 1
        turn.tokens += tokens
        for request in self._answered.get(message_id, ()) if message_id and role == "assistant" else ():
            request.turn = turn.number

    def _take_calls(self, message: Message, position: int, tokens: int, us: int | None) -> None:
        """Add a message's calls; let a result answer the last call with its id that has none."""
        turn = self.turns[-1].number
        if calls := calls_of(message):
            asking = asking_calls(message)
            for call in calls:
                self.calls.append(_Call(turn, position, _text(call.name), us))
                self._open.setdefault(call.id, []).append((self.calls[-1], call.id in asking))
        call_id = result_id_of(message)
        if call_id is None:
            return
        waiting = self._open.get(call_id) if call_id else None
        if waiting:
            answered, asks = waiting.pop()
        else:
            answered, asks = _Call(turn, None, _text(message.get("name") or UNKNOWN_TOOL)), False
            self.calls.append(answered)
        answered.result_position, answered.answered_us, answered.result_tokens = position, us, tokens
        answered.failed = outcome_of(message, asks=asks) != ANSWERED


@dataclass(frozen=True, slots=True)
class FigureRows:
    """What a log adds up to."""

    rows: list[tuple[str, Row]]
    """Each with its table, one table after the other."""
    is_fork: bool

    @classmethod
    def of(cls, log: ReadableLog, counter: TokenCounter) -> FigureRows:
        """Add a log up.

        Raises:
            LogUnreadableError: its bytes changed while they were read.
        """
        count = partial(tokens_of, counter=counter)
        records = RecordPass(count).run(log)
        messages = MessagePass(count, records.requests).run(log)
        shares = sorted((first, role, *share) for role, (first, *share) in messages.shares.items())
        tables: dict[str, Iterable[Row]] = {
            "turns": [astuple(turn)[:-1] for turn in messages.turns if turn.messages],
            "shares": [share[1:] for share in shares],
            "large": [(-negated, *named, tokens) for tokens, negated, *named in messages.large],
            "calls": map(astuple, messages.calls),
            "requests": (request.row() for request in records.requests),
            "views": records.views,
            "plans": records.plans,
        }
        return cls([(table, row) for table, rows in tables.items() for row in rows], bool(records.forked_from))


def _count_or_none(value: Any) -> int | None:
    """A count that a record gives; None for what is none, as another program may have written it."""
    return value if type(value) is int and 0 <= value < _MOST_TOKENS else None


def _number(value: Any) -> float:
    return float(value) if isinstance(value, int | float) and abs(value) < _MOST_TOKENS else 0.0


def _microseconds(time: str) -> int | None:
    """A time as microseconds since 1970."""
    instant = instant_of(time)
    return (instant - _EPOCH) // _MICROSECOND if instant is not None else None


def _text(value: Any) -> str:
    """A text that SQLite can hold."""
    return str(value if value is not None else "").encode("utf-8", "replace").decode()
