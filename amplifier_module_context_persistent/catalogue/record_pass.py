"""The first pass over a log for its figures: the records of requests, reports and plans, and the answers."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from ..log.contract import ReadableLog
from ..log.record_line import CONTROL_HEAD, Message, decode
from ..messages.answer_usage import usage_of_message
from ..messages.message import metadata_of
from ..messages.message_times import timestamp_of
from ..messages.metadata import given_id
from ..tokens.usage import ReportedUsage, usage_of_record
from .bill_id import bill_id
from .storable_values import MOST_TOKENS, Row, count_or_none, microseconds, number_or_zero, storable_text

PLAN_COUNTS = ("dropped", "budget_tokens", "target_tokens", "tokens_before", "tokens_after")


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
        if usage is None:
            requests = 1
            lacks_input = False
            source_cost = None
            input_tokens: Row = (None, None, None, 0)
        else:
            requests = usage.requests
            lacks_input = not usage.has_input
            source_cost = usage.source_cost
            input_tokens = (usage.uncached, usage.cached, usage.written, usage.written_1h)
        answer: Row = (self.turn, self.provider, self.model, self.time_us)
        output: Row = (self.output_tokens, self.is_output_estimated)
        return (*answer, *input_tokens, *output, *self.report, requests, lacks_input, self.bill_id, source_cost)


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
        time_us = microseconds(timestamp_of(message))
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
                _bill_nothing(self._own.get(message_id, ()))
            return
        _bill_nothing(self._met.get(message_id, ()))
        requests = self._own.setdefault(message_id, []) if message_id else []
        usages = [own] if own.compaction is None else [own, own.compaction]
        for number, usage in enumerate(usages):
            request = self._request_of_version(message, own, usage, number)
            is_of_earlier_version = number < len(requests)
            if is_of_earlier_version:
                for name in _OF_VERSION:
                    setattr(requests[number], name, getattr(request, name))
            else:
                requests.append(request)
                self.requests.append(request)
            self._withdraw_earlier(requests[number])
        _bill_nothing(requests[len(usages) :])

    def _request_of_version(self, message: Message, own: ReportedUsage, usage: ReportedUsage, number: int) -> Request:
        """Return a request that the own usage of an answer bills.

        Args:
            message: the answer.
            own: its own usage.
            usage: the part of it that this request bills: the usage itself, or that of a compaction.
            number: 0 for the usage itself, 1 for that of a compaction.
        """
        time_us = microseconds(timestamp_of(message))
        request = Request(usage, storable_text(own.provider), storable_text(own.model), time_us, usage.output)
        request.bill_id = bill_id(message, usage, number)
        if number == 0:
            request.answer_id = given_id(message) or ""
            request.is_output_estimated = usage.output is None
            request.output_tokens = self._count(message) if usage.output is None else usage.output
        return request

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
        request = Request(usage, storable_text(provider), storable_text(model), time_us, output_tokens)
        self.requests.append(request)
        return request

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
        if isinstance(actual, int) and isinstance(predicted, int) and 0 < actual < MOST_TOKENS:
            actual_tokens = actual
            error = float(f"{abs(min(predicted, MOST_TOKENS) / actual - 1):.3g}")
        if usage is None and actual_tokens is None:
            return
        provider, model = record.get("provider"), record.get("model")
        request = self._add(usage, provider, model, self._made_us)
        self._add_pass(usage, provider, model, self._made_us)
        cached_tokens = count_or_none(record.get("cached_tokens")) or 0
        ratio = number_or_zero(record.get("ratio"))
        overhead_tokens = number_or_zero(record.get("overhead_tokens"))
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
        summary |= {key: count_or_none(record.get(key)) for key in PLAN_COUNTS}
        summary["shortened"] = len(cuts) if isinstance(cuts, dict) else 0
        self.plans.append((len(self.plans) + 1, json.dumps(summary)))

    def _take_receipt(self, record: Message) -> None:
        """Process a receipt. A view shares the tokens of the last view with the same plan and head text."""
        from ..view.receipts import Receipt  # this loads half of the package, and most logs are known

        try:
            receipt = Receipt.from_record(record)
        except ValueError:
            return  # `views` counts it
        line = receipt.plan, receipt.hashes.head
        shared = min(self._tokens.get(line, 0), receipt.tokens)
        if not receipt.extras:
            self._tokens[line] = receipt.tokens
        self._made_us = microseconds(receipt.time)
        self.views.append(tuple(min(count, MOST_TOKENS) for count in (receipt.tokens, shared, receipt.unbound)))


def _is_billed_elsewhere(message: Message) -> bool:
    """Return whether the usage of an answer is in the sum that another answer reports.

    Copilot CLI reports the usage of a whole run at its end; until then each answer has its own (`copilot_cli.py`).
    """
    imported = metadata_of(message).get("imported")
    return isinstance(imported, dict) and "usage" in imported


def _bill_nothing(requests: Iterable[Request]) -> None:
    for request in requests:
        request.usage = None
