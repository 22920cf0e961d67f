"""Compute the cost of a session: the tokens that providers reported, times the prices of their models.

Every request in the log counts, also requests that a clear or a rewind has hidden, because they were paid for. The
usage of an imported message counts too. The cost of a request is never guessed: if its model has no price, or its input
tokens were not reported, only the number of such requests is given. If the output tokens were not reported, they are
counted from the answer, and the cost is marked as an estimate.

A bill is a sum of requests with their tokens and their cost.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

from ..catalogue.kept_figures import Figures
from ..log.base import ReadableLog
from ..log.record_line import Message
from ..messages.answer_usage import usage_of_message
from ..messages.metadata import given_id
from ..tokens.usage import ReportedUsage
from .prices import PriceList

TOKENS = ("uncached_tokens", "cached_tokens", "written_tokens", "written_1h_tokens", "output_tokens")
"""The columns of a request's tokens, each of which has its own price."""


@dataclass(slots=True)
class Bill:
    """A number of requests, and the sums of their tokens and of their costs in US dollars."""

    requests: int = 0
    uncached_tokens: int = 0
    cached_tokens: int = 0
    written_tokens: int = 0
    output_tokens: int = 0
    cost: float = 0.0
    unpriced_requests: int = 0
    """The number of requests whose model has no price; `cost` does not include them."""
    unreported_requests: int = 0
    """The number of requests whose input tokens were not reported; `cost` does not include them."""
    estimated_outputs: int = 0
    """The number of requests whose output tokens were counted from the answer, because they were not reported."""
    estimated_cost: float = 0.0
    """The part of `cost` for the outputs that were counted from the answers."""

    @property
    def has_cost(self) -> bool:
        """Whether the cost of at least one request is known."""
        return self.requests > self.unpriced_requests + self.unreported_requests

    @property
    def has_input(self) -> bool:
        """Whether the input tokens of at least one request are known."""
        return self.requests > self.unreported_requests

    @property
    def is_estimated(self) -> bool:
        """Whether a part of `cost` is an estimate."""
        return self.estimated_cost > 0

    @property
    def input_tokens(self) -> int:
        """All input tokens: read from a prompt cache, written to it, and neither."""
        return self.uncached_tokens + self.cached_tokens + self.written_tokens

    def add(self, other: Bill) -> None:
        """Add another bill to this one."""
        for name in self.__slots__:
            setattr(self, name, getattr(self, name) + getattr(other, name))

    def to_json(self) -> dict[str, Any]:
        """Return the bill as plain JSON types."""
        rounded = {"cost": round(self.cost, 6), "estimated_cost": round(self.estimated_cost, 6)}
        return {**asdict(self), **rounded, "input_tokens": self.input_tokens, "is_estimated": self.is_estimated}


@dataclass(slots=True)
class Cost:
    """The cost of a session: the total, and the bill of each model."""

    total: Bill = field(default_factory=Bill)
    models: dict[str, Bill] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return the cost as plain JSON types."""
        return {
            **self.total.to_json(),
            "models": {name: bill.to_json() for name, bill in self.models.items()},
        }


def sums_by_model(prices: PriceList) -> tuple[str, str]:
    """Return the SQL columns that add up requests, and the SQL expressions to group requests by.

    All requests of a group have the same prices. `bill_of` makes a bill of the columns.
    """
    read = "uncached_tokens + cached_tokens + written_tokens"
    step = " + ".join(["0", *(f"(({read}) / requests > {tokens})" for tokens in prices.steps)])
    sums = ", ".join(f"sum(ifnull({column}, 0))" for column in TOKENS)
    estimated = "sum(is_output_estimated), sum(is_output_estimated * ifnull(output_tokens, 0))"
    return (
        f"model, is_input_unknown, sum(requests), max(({read}) / requests), {estimated}, {sums}",
        f"model, is_input_unknown, {step}",
    )


def bill_of(
    prices: PriceList,
    model: str,
    is_input_unknown: int,
    requests: int,
    read: int,
    estimated: int,
    estimated_tokens: int,
    *tokens: int,
) -> Bill:
    """Return the bill of a group of requests; the arguments are the columns of `sums_by_model`."""
    uncached, cached, written, _, output = tokens
    if is_input_unknown:
        return Bill(requests, output_tokens=output, unreported_requests=requests, estimated_outputs=estimated)
    bill = Bill(requests, uncached, cached, written, output, estimated_outputs=estimated)
    if (price := prices.of(model)) is None:
        bill.unpriced_requests = requests
        return bill
    bill.cost = price.cost(*tokens, read=read)
    bill.estimated_cost = price.cost(0, 0, 0, 0, estimated_tokens, read=read)
    return bill


def cost_of(figures: Figures, prices: PriceList) -> Cost:
    """Return the cost of all requests in a log."""
    found = Cost()
    columns, group = sums_by_model(prices)
    rows = figures.rows(
        f"SELECT {columns}"
        f" FROM requests WHERE session = ? AND uncached_tokens IS NOT NULL GROUP BY {group} ORDER BY min(rowid)"
    )
    for model, *sums in rows:
        bill = bill_of(prices, model, *sums)
        found.models.setdefault(model, Bill()).add(bill)
        found.total.add(bill)
    return found


def bills_by_turn(figures: Figures, prices: PriceList) -> dict[int, Bill]:
    """Return the bill of each turn whose cost is known, by the number of the turn."""
    bills: dict[int, Bill] = {}
    columns, group = sums_by_model(prices)
    rows = figures.rows(
        f"SELECT turn, {columns}"
        " FROM requests WHERE session = ? AND turn IS NOT NULL AND uncached_tokens IS NOT NULL"
        f" GROUP BY turn, {group}"
    )
    for turn, *sums in rows:
        if (bill := bill_of(prices, *sums)).has_cost:
            bills.setdefault(turn, Bill()).add(bill)
    return bills


@dataclass(frozen=True, slots=True)
class RequestBill:
    """The tokens of one request: all input, the part of it from a prompt cache, and output; -1 if unknown."""

    input_tokens: int = -1
    cached_tokens: int = -1
    output_tokens: int = -1
    model: str = ""
    cost: float = -1.0
    """The cost in US dollars; -1 if it is unknown, as for a model without a price."""
    is_estimated: bool = False
    """Whether the output tokens were counted from the answer, because they were not reported."""


NOTHING = RequestBill()


class Bills:
    """The billed requests of answers.

    The usage in a message itself has priority over the usage records of the log. If one message answered several
    requests, their usage records are added up.

    Args:
        log: the session's log.
        prices: the prices of models.
        count: counts a message's tokens, for requests whose provider did not report the output tokens.
    """

    def __init__(self, log: ReadableLog, prices: PriceList, count: Callable[[Message], int]) -> None:
        from ..catalogue.compute_figures import RecordPass  # most costs are in the catalogue

        self._prices, self._count = prices, count
        self._by_id: dict[str, RequestBill] = {}
        for request in RecordPass(count).run(log).requests:
            if request.answer_id and request.usage is not None:
                billed = self._billed(
                    request.usage, request.output_tokens or 0, is_estimated=request.is_output_estimated
                )
                known = self._by_id.get(request.answer_id)
                self._by_id[request.answer_id] = billed if known is None else _added(known, billed)

    def of(self, message: Message) -> RequestBill:
        """Return the billed request that a message answers; `NOTHING` if no usage was reported."""
        own = usage_of_message(message)
        if own is not None:
            output_tokens = self._count(message) if own.output is None else own.output
            return self._billed(own, output_tokens, is_estimated=own.output is None)
        return self._by_id.get(given_id(message) or "", NOTHING)

    def _billed(self, usage: ReportedUsage, output_tokens: int, *, is_estimated: bool) -> RequestBill:
        if not usage.has_input:
            return RequestBill(output_tokens=output_tokens, model=usage.model, is_estimated=is_estimated)
        price = self._prices.of(usage.model)
        counts = usage.uncached, usage.cached, usage.written, usage.written_1h
        read = usage.input_tokens // usage.requests
        cost = price.cost(*counts, output_tokens, read=read) if price is not None else -1.0
        return RequestBill(usage.input_tokens, usage.cached, output_tokens, usage.model, round(cost, 6), is_estimated)


def _added(one: RequestBill, other: RequestBill) -> RequestBill:
    """Return the sum of two requests. An unknown number (-1) counts as 0 if the other one is known."""
    costs = [bill.cost for bill in (one, other) if bill.cost >= 0]
    known = [bill for bill in (one, other) if bill.input_tokens >= 0]
    input_tokens, cached_tokens = -1, -1
    if known:
        input_tokens = sum(bill.input_tokens for bill in known)
        cached_tokens = sum(bill.cached_tokens for bill in known)
    return RequestBill(
        input_tokens,
        cached_tokens,
        one.output_tokens + other.output_tokens,
        other.model,
        sum(costs) if costs else -1.0,
        one.is_estimated or other.is_estimated,
    )
