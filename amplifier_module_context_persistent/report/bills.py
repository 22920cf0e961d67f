"""What providers billed for the requests of the page, by the message that answered."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ..log.base import ReadableLog
from ..log.record import Message
from ..messages.usage import ReportedUsage
from ..sums.requests import find_requests
from ..transcript.cost import Prices
from .history import History


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

Bills = Mapping[int, Billed]
"""By the position of the message that answered."""


def bills_of(
    log: ReadableLog, history: History, prices: Prices, count: Callable[[Message], int], shown: Callable[[str], str]
) -> Bills:
    """Find what was billed for the answers on the page.

    What a message says of its own request holds; else what the log's usage records say, added up where one message
    answered several requests. `shown` is how the page shows names and ids.
    """
    positions = {message_id: position for position, message_id in enumerate(history.ids)}
    bills: dict[int, Billed] = {}
    index = log.index
    is_plain = not index.control_counts.get("usage") and not index.generation  # each message speaks for itself
    for request in () if is_plain else find_requests(log.records(), count):
        position = positions.get(shown(request.message_id))
        if position is not None:
            billed = _billed(request.usage, request.output_tokens, prices, shown)
            bills[position] = _added(bills[position], billed) if position in bills else billed
    for position, usage in history.usages.items():  # also of messages that have no id in the file
        bills[position] = _billed(usage, usage.output or 0, prices, shown)
    return bills


def _billed(usage: ReportedUsage, output_tokens: int, prices: Prices, shown: Callable[[str], str]) -> Billed:
    price = prices.of(usage.model)
    cost = price.cost(usage, output_tokens) if price is not None else -1.0
    return Billed(usage.input_tokens, usage.cached, output_tokens, shown(usage.model), round(cost, 6))


def _added(one: Billed, other: Billed) -> Billed:
    costs = [bill.cost for bill in (one, other) if bill.cost >= 0]
    return Billed(
        one.input_tokens + other.input_tokens,
        one.cached_tokens + other.cached_tokens,
        one.output_tokens + other.output_tokens,
        other.model,
        sum(costs) if costs else -1.0,
    )
