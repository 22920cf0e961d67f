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
from typing import Any, NamedTuple, TypeVar

from ..catalogue.kept_figures import Figures
from ..log.contract import ReadableLog
from ..log.record_line import Message
from ..messages.answer_usage import usage_of_message
from ..messages.metadata import given_id
from ..tokens.usage import ReportedUsage
from .prices import PriceList

TOKENS = ("uncached_tokens", "cached_tokens", "written_tokens", "written_1h_tokens", "output_tokens")
"""The columns of a request's tokens, each of which has its own price."""
UNKNOWN_TOKENS = -1
UNKNOWN_COST = -1.0
Number = TypeVar("Number", int, float)


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
    """The number of requests whose output tokens were counted from the answer, because the provider did not report
    them."""
    estimated_cost: float = 0.0
    """The part of `cost` for the outputs that were counted from the answers."""
    source_cost: float = 0.0
    """The cost in US dollars as the sources of imports counted it; never a part of `cost`."""
    source_cost_requests: int = 0
    """The number of requests in `source_cost`."""

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
        """All input tokens: those read from a prompt cache, those written to a cache, and the rest."""
        return self.uncached_tokens + self.cached_tokens + self.written_tokens

    def add(self, other: Bill) -> None:
        """Add another bill to this one."""
        for name in self.__slots__:
            setattr(self, name, getattr(self, name) + getattr(other, name))

    def to_json(self) -> dict[str, Any]:
        """Return the bill as plain JSON types."""
        rounded = {
            "cost": round(self.cost, 6),
            "estimated_cost": round(self.estimated_cost, 6),
            "source_cost": round(self.source_cost, 6),
        }
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


class RequestSums(NamedTuple):
    """The requests of one model with equal prices, added up.

    The fields are the columns of `sums_by_model`, in order.
    """

    model: str
    is_input_unknown: int
    requests: int
    largest_input_tokens: int
    """The input tokens of the largest request. This number decides whether a higher price applies."""
    estimated_outputs: int
    estimated_output_tokens: int
    uncached_tokens: int
    cached_tokens: int
    written_tokens: int
    written_1h_tokens: int
    output_tokens: int
    source_cost: float
    source_cost_requests: int


def sums_by_model(prices: PriceList) -> tuple[str, str]:
    """Return the SQL columns that add up requests, and the SQL expressions to group requests by.

    All requests of a group have the same prices. The columns are the fields of `RequestSums`.
    """
    input_tokens = "(uncached_tokens + cached_tokens + written_tokens) / requests"
    price_steps = " + ".join(["0", *(f"({input_tokens} > {tokens})" for tokens in prices.steps)])
    sums = ", ".join(f"sum(ifnull({column}, 0))" for column in TOKENS)
    estimated = "sum(is_output_estimated), sum(is_output_estimated * ifnull(output_tokens, 0))"
    of_source = "total(source_cost), ifnull(sum(iif(source_cost IS NULL, 0, requests)), 0)"
    return (
        f"model, is_input_unknown, sum(requests), max({input_tokens}), {estimated}, {sums}, {of_source}",
        f"model, is_input_unknown, {price_steps}",
    )


def bill_of(prices: PriceList, sums: RequestSums) -> Bill:
    """Return the bill of a group of requests."""
    bill = Bill(
        requests=sums.requests,
        output_tokens=sums.output_tokens,
        estimated_outputs=sums.estimated_outputs,
        source_cost=sums.source_cost,
        source_cost_requests=sums.source_cost_requests,
    )
    if sums.is_input_unknown:
        bill.unreported_requests = sums.requests
        return bill
    bill.uncached_tokens = sums.uncached_tokens
    bill.cached_tokens = sums.cached_tokens
    bill.written_tokens = sums.written_tokens
    price = prices.of(sums.model)
    if price is None:
        bill.unpriced_requests = sums.requests
        return bill
    bill.cost = price.cost(
        sums.uncached_tokens,
        sums.cached_tokens,
        sums.written_tokens,
        sums.written_1h_tokens,
        sums.output_tokens,
        read=sums.largest_input_tokens,
    )
    bill.estimated_cost = price.cost(0, 0, 0, 0, sums.estimated_output_tokens, read=sums.largest_input_tokens)
    return bill


def cost_of(figures: Figures, prices: PriceList) -> Cost:
    """Return the cost of all requests in a log."""
    cost = Cost()
    columns, group = sums_by_model(prices)
    rows = figures.rows(
        f"SELECT {columns}"
        f" FROM requests WHERE session = ? AND uncached_tokens IS NOT NULL GROUP BY {group} ORDER BY min(rowid)"
    )
    for row in rows:
        sums = RequestSums._make(row)
        bill = bill_of(prices, sums)
        cost.models.setdefault(sums.model, Bill()).add(bill)
        cost.total.add(bill)
    return cost


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
        bill = bill_of(prices, RequestSums._make(sums))
        if bill.has_cost:
            bills.setdefault(turn, Bill()).add(bill)
    return bills


@dataclass(frozen=True, slots=True)
class RequestBill:
    """The tokens of one request: all input, the part of it from a prompt cache, and output; -1 if unknown."""

    input_tokens: int = UNKNOWN_TOKENS
    cached_tokens: int = UNKNOWN_TOKENS
    output_tokens: int = UNKNOWN_TOKENS
    model: str = ""
    cost: float = UNKNOWN_COST
    """The cost in US dollars; -1 if the cost is unknown, as for a model without a price."""
    is_estimated: bool = False
    """Whether the output tokens were counted from the answer, because the provider did not report them."""


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
        from ..catalogue.record_pass import RecordPass  # most costs are in the catalogue

        self._prices = prices
        self._count = count
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
        cost = UNKNOWN_COST
        price = self._prices.of(usage.model)
        if price is not None:
            # A usage may be the sum of several requests; the size of one decides whether a higher price applies.
            tokens_of_one = usage.input_tokens // usage.requests
            cost = price.cost(
                usage.uncached, usage.cached, usage.written, usage.written_1h, output_tokens, read=tokens_of_one
            )
        return RequestBill(
            input_tokens=usage.input_tokens,
            cached_tokens=usage.cached,
            output_tokens=output_tokens,
            model=usage.model,
            cost=round(cost, 6),
            is_estimated=is_estimated,
        )


def _added(earlier: RequestBill, later: RequestBill) -> RequestBill:
    """Return the sum of two requests. An unknown number counts as 0 if the other request has the number."""
    return RequestBill(
        input_tokens=_sum_of_known(earlier.input_tokens, later.input_tokens),
        cached_tokens=_sum_of_known(earlier.cached_tokens, later.cached_tokens),
        output_tokens=earlier.output_tokens + later.output_tokens,
        model=later.model,
        cost=_sum_of_known(earlier.cost, later.cost),
        is_estimated=earlier.is_estimated or later.is_estimated,
    )


def _sum_of_known(one: Number, other: Number) -> Number:
    """Return the sum of two numbers, each of which is negative if it is unknown."""
    if one < 0:
        return other
    if other < 0:
        return one
    return one + other
