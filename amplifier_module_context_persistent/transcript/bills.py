"""What providers billed for single requests, by the message that answered."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ..catalogue.requests import find_requests
from ..log.base import ReadableLog
from ..log.record import Message
from ..messages.metadata import given_id
from ..messages.usage import ReportedUsage, usage_of_message
from ..tokens.prices import Prices


@dataclass(frozen=True, slots=True)
class Billed:
    """The tokens of one request: read, of these from a prompt cache, and written; -1 where nobody says."""

    input_tokens: int = -1
    cached_tokens: int = -1
    output_tokens: int = -1
    model: str = ""
    cost: float = -1.0
    """In US dollars; -1 where the model has no price."""


NOTHING = Billed()


class Bills:
    """Tells what was billed for an answer.

    What a message says of its own request holds; else what the log's usage records say, added up where one message
    answered several requests.

    Args:
        log: the session's log.
        prices: prices of models.
        count: counts a message's tokens, for the output of requests whose provider did not report it.
    """

    def __init__(self, log: ReadableLog, prices: Prices, count: Callable[[Message], int]) -> None:
        self._prices = prices
        self._by_id: dict[str, Billed] = {}
        index = log.index
        is_plain = not index.control_counts.get("usage") and not index.generation  # each message speaks for itself
        for request in () if is_plain else find_requests(log.records(), count):
            if not request.message_id:
                continue
            billed = self._billed(request.usage, request.output_tokens)
            known = self._by_id.get(request.message_id)
            self._by_id[request.message_id] = billed if known is None else _added(known, billed)

    def of(self, message: Message) -> Billed:
        """What was billed for a message; `NOTHING` if nobody says."""
        own = usage_of_message(message)
        if own is not None:
            return self._billed(own, own.output or 0)
        return self._by_id.get(given_id(message) or "", NOTHING)

    def _billed(self, usage: ReportedUsage, output_tokens: int) -> Billed:
        price = self._prices.of(usage.model)
        read = usage.uncached, usage.cached, usage.written, usage.written_1h
        cost = price.cost(*read, output_tokens) if price is not None else -1.0
        return Billed(usage.input_tokens, usage.cached, output_tokens, usage.model, round(cost, 6))


def _added(one: Billed, other: Billed) -> Billed:
    costs = [bill.cost for bill in (one, other) if bill.cost >= 0]
    return Billed(
        one.input_tokens + other.input_tokens,
        one.cached_tokens + other.cached_tokens,
        one.output_tokens + other.output_tokens,
        other.model,
        sum(costs) if costs else -1.0,
    )
