"""Compute a log's figures: its turns, calls, requests, views and plans, as rows of the catalogue.

There are two passes. The first reads all records in the log's order, because hidden messages were paid for too. The
second reads the live messages in the order of the history.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import astuple, dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from heapq import nlargest
from typing import Any

from ..log.contract import ReadableLog
from ..log.record_line import CONTROL_HEAD, Message, decode
from ..messages.answer_usage import usage_of_message
from ..messages.message import calls_of, metadata_of, result_id_of, text_of
from ..messages.message_times import instant_of, timestamp_of
from ..messages.metadata import given_id, is_human, is_repair
from ..messages.normalize import tokens_of
from ..messages.outcome import ANSWERED, asking_calls, outcome_of
from ..tokens.counter import TokenCounter
from ..tokens.usage import ReportedUsage, usage_of_record
from .bill_id import bill_id
from .copy_id import copy_id

LARGEST = 10
"""The most messages that are listed as the largest."""
UNKNOWN_TOOL = "unknown"
PLAN_COUNTS = ("dropped", "budget_tokens", "target_tokens", "tokens_before", "tokens_after")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_MOST_TOKENS = 1 << 53

Row = tuple[Any, ...]
"""A row of a table, without its session."""


@dataclass(slots=True)
class Request:
    """A request that a provider reported."""

    usage: ReportedUsage | None
    """The usage to pay for; None if a fork copied the report, or if the answer has its own usage."""
    provider: str
    model: str
    time_us: int | None = None
    """The time at which the answer was stored; without an answer, the time of the request's view."""
    output_tokens: int | None = None
    is_output_estimated: bool = False
    """Whether the output tokens are our count, because the log does not have the provider's number."""
    answer_id: str = ""
    """The id of the answer; "" if there is none."""
    report: Row = (None, None, None, None, None)
    """The count of the view: actual and cached tokens, the error of the prediction, and the new ratio and overhead."""
    turn: int | None = None
    """The turn of the request's answer, or None if the answer is not live."""
    bill_id: str = ""
    """An id that is equal in all sessions that have the answer, or "" if nothing identifies the answer."""

    def row(self) -> Row:
        """Return the values of the request's row."""
        usage = self.usage
        requests, lacks_input = 1, False
        input_tokens: Row = (None, None, None, 0)
        if usage is not None:
            requests = usage.requests
            lacks_input = not usage.has_input
            input_tokens = (usage.uncached, usage.cached, usage.written, usage.written_1h)
        answer: Row = (self.turn, self.provider, self.model, self.time_us)
        output: Row = (self.output_tokens, self.is_output_estimated)
        return (*answer, *input_tokens, *output, *self.report, requests, lacks_input, self.bill_id)


_OF_VERSION = ("usage", "provider", "model", "time_us", "output_tokens", "is_output_estimated", "bill_id")
"""The fields of a request that a version of its answer gives."""


class RecordPass:
    """The first pass over a log. The pass reads all records, and collects requests with their tokens, views, and plans.

    A `usage` record belongs to the next assistant message, unless that message has its own usage. If a reset writes a
    message into the log again, the message counts once, with the usage of its live version (else of its last version).
    Records that a fork copied do not count: they were paid for in the fork's origin.

    Args:
        count: counts a message's tokens, for requests whose output the provider did not report.
    """

    def __init__(self, count: Callable[[Message], int]) -> None:
        self._count = count
        self.requests: list[Request] = []
        self.views: list[Row] = []
        self.plans: list[Row] = []
        self.forked_from = ""
        """The id of the last message that a fork copied; a usage record right after it was copied too."""
        self._copies = False
        """Whether the last read message is the last message that the fork copied from its origin."""
        self._waiting: list[Request] = []
        """Requests that no message has answered yet."""
        self._passes: list[Request] = []
        """Compactions that the provider made within these requests."""
        self._met: dict[str, list[Request]] = {}
        """The requests that each assistant message answers according to `usage` records, by its id."""
        self._own: dict[str, list[Request]] = {}
        """The requests of each assistant message according to its own usage, by its id."""
        self._by_bill: dict[str, Request] = {}
        """The last request of each bill."""
        self.rewritten: set[str] = set()
        """The ids of answers of which the log has more than one version."""
        self._plan_ids: set[str] = set()
        self._tokens: dict[tuple[str, str], int] = {}
        """Tokens of the last view that others may continue, by plan and head text."""
        self._made_us: int | None = None
        """The time of the last view."""

    def run(self, log: ReadableLog) -> RecordPass:
        """Read all records of a log and return self."""
        for line in log.records():
            self._take(line)
        return self

    def _take(self, line: bytes) -> None:
        """Process the line of the next record. The line is parsed only if the record may count."""
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
        if message.get("role") != "assistant":
            return
        if message_id in self._met:
            self.rewritten.add(message_id)
            self.take_version(message)
            return
        time_us = _microseconds(timestamp_of(message))
        if usage_of_message(message) is not None:  # the usage records before it describe the same requests
            for request in (*self._waiting, *self._passes):
                request.usage = None
            self._waiting = []
            self._passes = []
            self.take_version(message)
        for number, request in enumerate((*self._waiting, *self._passes)):
            request.bill_id = bill_id(message, request.usage, number) if request.usage is not None else ""
        for request in self._waiting:
            request.answer_id = message_id
            if time_us is not None:
                request.time_us = time_us
            request.output_tokens = request.output_tokens or 0
        if self._waiting:
            last = self._waiting[-1]
            if last.usage is not None and last.usage.output is None:
                last.output_tokens = self._count(message)
                last.is_output_estimated = True
        if message_id:
            self._met[message_id] = [*self._waiting, *self._passes]
        self._waiting = []
        self._passes = []

    def take_version(self, message: Message) -> None:
        """Bill an answer by the own usage of a version of it.

        A version without usage changes nothing, unless the usage is in a sum that another answer reports.
        """
        own = usage_of_message(message)
        message_id = given_id(message) or ""
        if own is None:
            if _is_billed_elsewhere(message):
                for request in self._own.get(message_id, ()):
                    request.usage = None
            return
        for request in self._met.get(message_id, ()):
            request.usage = None
        requests = self._own.setdefault(message_id, []) if message_id else []
        usages = [own] if own.compaction is None else [own, own.compaction]
        time_us = _microseconds(timestamp_of(message))
        for number, usage in enumerate(usages):
            made = Request(usage, _text(own.provider), _text(own.model), time_us, usage.output)
            made.bill_id = bill_id(message, usage, number)
            if number == 0:
                made.answer_id = message_id
                made.is_output_estimated = usage.output is None
                made.output_tokens = self._count(message) if usage.output is None else usage.output
            if number < len(requests):
                for name in _OF_VERSION:
                    setattr(requests[number], name, getattr(made, name))
            else:
                requests.append(made)
                self.requests.append(made)
            self._withdraw_earlier(requests[number])
        for request in requests[len(usages) :]:
            request.usage = None

    def _withdraw_earlier(self, request: Request) -> None:
        """Let an earlier request of the same bill cost nothing.

        An importer may give an answer another id when its source has grown.
        """
        if not request.bill_id:
            return
        earlier = self._by_bill.get(request.bill_id)
        if earlier is not None and earlier is not request:
            earlier.usage = None
        self._by_bill[request.bill_id] = request

    def _add(self, usage: ReportedUsage | None, provider: Any, model: Any, time_us: int | None) -> Request:
        output_tokens = usage.output if usage is not None else None
        made = Request(usage, _text(provider), _text(model), time_us, output_tokens)
        self.requests.append(made)
        return made

    def _add_pass(self, usage: ReportedUsage | None, provider: Any, model: Any, time_us: int | None) -> None:
        """Add the compaction that a provider made within a request and billed separately, as another request."""
        if usage is not None and usage.compaction is not None:
            self._passes.append(self._add(usage.compaction, provider, model, time_us))

    def _take_report(self, record: Message) -> None:
        """Process a provider's report. A report that a fork copied, or without token counts, costs nothing."""
        usage = None if self._copies else usage_of_record(record)
        actual, predicted = record.get("actual_tokens"), record.get("predicted_tokens")
        actual_tokens = None
        error = None
        if isinstance(actual, int) and isinstance(predicted, int) and 0 < actual < _MOST_TOKENS:
            actual_tokens = actual
            error = float(f"{abs(min(predicted, _MOST_TOKENS) / actual - 1):.3g}")
        if usage is None and actual_tokens is None:
            return
        provider, model = record.get("provider"), record.get("model")
        request = self._add(usage, provider, model, self._made_us)
        self._add_pass(usage, provider, model, self._made_us)
        cached_tokens = _count_or_none(record.get("cached_tokens")) or 0
        ratio = _number(record.get("ratio"))
        overhead_tokens = _number(record.get("overhead_tokens"))
        request.report = (actual_tokens, cached_tokens, error, ratio, overhead_tokens)
        if usage is not None:
            self._waiting.append(request)

    def _take_plan(self, record: Message) -> None:
        plan_id = repr(record.get("id"))
        if plan_id in self._plan_ids:
            return  # a rewind writes the plan in force again
        self._plan_ids.add(plan_id)
        native = record.get("native")
        usage = usage_of_message(native) if isinstance(native, dict) else None
        if usage is not None:
            request = self._add(usage, usage.provider, usage.model, self._made_us)
            request.output_tokens = usage.output or 0
        cuts = record.get("cuts")
        summary = {key: record.get(key) for key in ("id", "strategy", "step")}
        summary |= {key: _count_or_none(record.get(key)) for key in PLAN_COUNTS}
        summary["shortened"] = len(cuts) if isinstance(cuts, dict) else 0
        self.plans.append((len(self.plans) + 1, json.dumps(summary)))

    def _take_receipt(self, record: Message) -> None:
        """Process a receipt. A view shares the tokens of the last view with the same plan and head text."""
        from ..view.receipts import Receipt  # this loads half of the package, and most logs are known

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
    """The figures of a turn."""

    number: int
    first_position: int
    messages: int = 0
    tokens: int = 0
    first_us: int | None = None
    last_us: int | None = None
    timed_position: int | None = None
    said_position: int | None = None
    copy_id: str = ""
    """The turn's id in all copies: the `copy_id` of the message that began the turn, a space, and the `copy_id` of its
    answer.

    Sessions may get equal questions in the same second, but their answers differ.
    """
    has_person: bool = False
    is_answered: bool = False

    def row(self) -> Row:
        """Return the values of the turn's row: all fields but the last two, which only the pass needs."""
        return astuple(self)[:-2]


@dataclass(slots=True)
class _Call:
    """The figures of a call, or of a result that answers no call."""

    turn: int
    position: int | None
    tool: str
    called_us: int | None = None
    result_position: int | None = None
    answered_us: int | None = None
    failed: bool = False
    result_tokens: int = 0
    copy_id: str = ""
    """An id that is equal in all sessions that have a copy of the call, or "" if nothing identifies the call."""


class MessagePass:
    """The second pass: turns, calls and results, over the live messages.

    Args:
        count: counts a message's tokens.
        records: the first pass. Each of its requests gets the turn of its answer, and the usage of the live version.
    """

    def __init__(self, count: Callable[[Message], int], records: RecordPass) -> None:
        self._count = count
        self._records = records
        self.turns = [_Turn(1, 0)]
        self.calls: list[_Call] = []
        self.shares: dict[str, list[int]] = {}
        """The first turn with a message, the number of messages and their tokens, by role."""
        self.large: list[tuple[int, int, str, str]] = []
        """The largest messages: tokens, negated position, id and role."""
        self._open: dict[str, list[tuple[_Call, bool]]] = {}
        """Calls without a result so far, by id, each with whether its command asks a question (exit code 1 is then an
        answer)."""
        self._answered: dict[str, list[Request]] = {}
        for request in records.requests:
            self._answered.setdefault(request.answer_id, []).append(request)

    def run(self, log: ReadableLog) -> MessagePass:
        """Read all live messages of a log and return self."""
        for position, message in enumerate(log.read(log.index.live)):
            self._take(position, message)
        return self

    def rows_of_shares(self) -> list[Row]:
        """Return a row for each role: the role, its messages and their tokens, in the order of their first turns."""
        in_order = sorted((first_turn, role) for role, (first_turn, _, _) in self.shares.items())
        rows: list[Row] = []
        for _, role in in_order:
            _, messages, tokens = self.shares[role]
            rows.append((role, messages, tokens))
        return rows

    def rows_of_large(self) -> list[Row]:
        """Return a row for each of the largest messages: position, id, role and tokens."""
        return [(-negated, message_id, role, tokens) for tokens, negated, message_id, role in self.large]

    def _take(self, position: int, message: Message) -> None:
        """Process the next live message."""
        is_persons = is_human(message)
        tokens = self._count(message)
        us = None if is_repair(message) else _microseconds(timestamp_of(message))
        role = _text(message.get("role"))
        message_id = given_id(message) or ""
        if is_persons and self.turns[-1].has_person:
            self.turns.append(_Turn(self.turns[-1].number + 1, position))
        turn = self.turns[-1]
        self._identify(turn, message, is_persons=is_persons)
        self._take_calls(message, position, tokens, us)
        if is_persons and turn.said_position is None and result_id_of(message) is None and text_of(message).strip():
            turn.said_position = position
        if us is not None:
            if turn.first_us is None or turn.last_us is None:
                turn.first_us = us
                turn.last_us = us
                turn.timed_position = position
            turn.last_us = max(turn.last_us, us)
        turn.has_person = turn.has_person or is_persons
        turn.messages += 1
        turn.tokens += tokens
        share = self.shares.setdefault(role, [turn.number, 0, 0])
        share[1] += 1
        share[2] += tokens
        self.large = nlargest(LARGEST, [*self.large, (tokens, -position, _text(message_id), role)])
        if message_id and role == "assistant":
            if message_id in self._records.rewritten:
                self._records.take_version(message)
            for request in self._answered.get(message_id, ()):
                request.turn = turn.number

    def _identify(self, turn: _Turn, message: Message, *, is_persons: bool) -> None:
        """Set the id that a turn shares with its copies: the id of the person's message, else of the first message.

        The id of the first answer is added. The message is not yet counted in the turn.
        """
        begins_turn = not turn.messages or (is_persons and not turn.has_person)
        if begins_turn:
            turn.copy_id = copy_id(message)
            turn.is_answered = False
        elif turn.copy_id and not turn.is_answered and message.get("role") == "assistant":
            turn.copy_id = f"{turn.copy_id} {copy_id(message)}"
            turn.is_answered = True

    def _take_calls(self, message: Message, position: int, tokens: int, us: int | None) -> None:
        """Add a message's calls, or the result that the message is. A result answers the last open call with its id."""
        turn = self.turns[-1].number
        calls = calls_of(message)
        if calls:
            asking = asking_calls(message)
            id_in_copies = copy_id(message)
            for number, call in enumerate(calls):
                call_copy_id = f"{id_in_copies} {number}" if id_in_copies else ""
                self.calls.append(_Call(turn, position, _text(call.name), us, copy_id=call_copy_id))
                self._open.setdefault(call.id, []).append((self.calls[-1], call.id in asking))
        call_id = result_id_of(message)
        if call_id is None:
            return
        unanswered = self._open.get(call_id) if call_id else None
        if unanswered:
            answered, asks = unanswered.pop()
        else:
            tool = _text(message.get("name") or UNKNOWN_TOOL)
            answered = _Call(turn, None, tool, copy_id=copy_id(message))
            asks = False
            self.calls.append(answered)
        answered.result_position = position
        answered.answered_us = us
        answered.result_tokens = tokens
        answered.failed = outcome_of(message, asks=asks) != ANSWERED


@dataclass(frozen=True, slots=True)
class FigureRows:
    """The figures of a log, as rows."""

    rows: list[tuple[str, Row]]
    """The rows with the names of their tables, one table after the other."""
    is_fork: bool

    @classmethod
    def of(cls, log: ReadableLog, counter: TokenCounter) -> FigureRows:
        """Compute the figures of a log.

        Raises:
            LogUnreadableError: its bytes changed while they were read.
        """
        count = partial(tokens_of, counter=counter)
        records = RecordPass(count).run(log)
        messages = MessagePass(count, records).run(log)
        tables: dict[str, Iterable[Row]] = {
            "turns": [turn.row() for turn in messages.turns if turn.messages],
            "shares": messages.rows_of_shares(),
            "large": messages.rows_of_large(),
            "calls": map(astuple, messages.calls),
            "requests": (request.row() for request in records.requests),
            "views": records.views,
            "plans": records.plans,
        }
        rows_with_table: list[tuple[str, Row]] = []
        for table, rows in tables.items():
            rows_with_table += [(table, row) for row in rows]
        return cls(rows_with_table, bool(records.forked_from))


def _is_billed_elsewhere(message: Message) -> bool:
    """Return whether the usage of an answer is in the sum that another answer reports.

    Copilot CLI reports the usage of a whole run at its end; until then each answer has its own (`copilot_cli.py`).
    """
    imported = metadata_of(message).get("imported")
    return isinstance(imported, dict) and "usage" in imported


def _count_or_none(value: Any) -> int | None:
    """Return a count from a record, or None if the value is not a count.

    Another program may have written the record.
    """
    return value if type(value) is int and 0 <= value < _MOST_TOKENS else None


def _number(value: Any) -> float:
    return float(value) if isinstance(value, int | float) and abs(value) < _MOST_TOKENS else 0.0


def _microseconds(time: str) -> int | None:
    """Return a time in microseconds since 1970, or None for a text that is not a time."""
    instant = instant_of(time)
    return (instant - _EPOCH) // _MICROSECOND if instant is not None else None


def _text(value: Any) -> str:
    """Return a value as a text that SQLite can store."""
    return str(value if value is not None else "").encode("utf-8", "replace").decode()
