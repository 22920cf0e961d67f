"""The cost of a session: the tokens that providers reported, times the prices of their models.

Every request in the log counts, also requests that a clear or a rewind has hidden: they were paid for. The usage of an
imported message counts too. A request whose model has no price, or whose input nobody reported, is counted and named,
never guessed. If nobody reported the output, its tokens are counted here: then the cost is marked as an estimate.
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
"""The columns of a request that have prices."""


@dataclass(slots=True)
class Bill:
    """Requests and the sum of their tokens and costs."""

    requests: int = 0
    uncached_tokens: int = 0
    cached_tokens: int = 0
    written_tokens: int = 0
    output_tokens: int = 0
    cost: float = 0.0
    unpriced_requests: int = 0
    """Requests whose model has no price; they are not in `cost`."""
    unreported_requests: int = 0
    """Requests whose input nobody reported; `cost` does not include them."""
    estimated_outputs: int = 0
    """Requests whose output was counted here, because nobody reported it."""
    estimated_cost: float = 0.0
    """The part of `cost` that is for these outputs."""

    @property
    def has_cost(self) -> bool:
        """Whether the cost of a request is known."""
        return self.requests > self.unpriced_requests + self.unreported_requests

    @property
    def has_input(self) -> bool:
        """Whether it is known what a request read."""
        return self.requests > self.unreported_requests

    @property
    def is_estimated(self) -> bool:
        """Whether `cost` is an estimate."""
        return self.estimated_cost > 0

    @property
    def input_tokens(self) -> int:
        """All that was read."""
        return self.uncached_tokens + self.cached_tokens + self.written_tokens

    def add(self, other: Bill) -> None:
        """Add another bill."""
        for name in self.__slots__:
            setattr(self, name, getattr(self, name) + getattr(other, name))

    def to_json(self) -> dict[str, Any]:
        """As plain JSON types."""
        rounded = {"cost": round(self.cost, 6), "estimated_cost": round(self.estimated_cost, 6)}
        return {**asdict(self), **rounded, "input_tokens": self.input_tokens, "is_estimated": self.is_estimated}


@dataclass(slots=True)
class Cost:
    """The cost of a session: total and by model."""

    total: Bill = field(default_factory=Bill)
    models: dict[str, Bill] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """As plain JSON types."""
        return {
            **self.total.to_json(),
            "models": {name: bill.to_json() for name, bill in self.models.items()},
        }


def sums_by_model(prices: PriceList) -> tuple[str, str]:
    """Columns that add requests up, and what to group them by so that all of a group have the same prices."""
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
    """The bill of requests as `sums_by_model` adds them up."""
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
    """The cost of the requests that a log records."""
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
    """The bill of each turn that has a cost, by its number."""
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
    """The tokens of one request: read, the part read from a prompt cache, and written; -1 if nobody says."""

    input_tokens: int = -1
    cached_tokens: int = -1
    output_tokens: int = -1
    model: str = ""
    cost: float = -1.0
    """In US dollars; -1 if the model has no price."""
    is_estimated: bool = False
    """Whether the output was counted here, because nobody reported it."""


NOTHING = RequestBill()


class Bills:
    """Finds the billed request of an answer.

    A message's own usage counts first; else the log's usage records, added up if one message answered several
    requests.

    Args:
        log: the session's log.
        prices: prices of models.
        count: counts a message's tokens, for the output of requests whose provider did not report it.
    """

    def __init__(self, log: ReadableLog, prices: PriceList, count: Callable[[Message], int]) -> None:
        from ..catalogue.compute_figures import RecordPass  # most costs are kept

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
        """The billed request of a message; `NOTHING` if nobody reported it."""
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
    """The bill of two requests together; an unknown number is -1, and counts as 0 beside a known one."""
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
