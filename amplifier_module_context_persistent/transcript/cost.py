"""What a session cost: the tokens that providers reported, times the prices of their models.

Every request in the log counts, also those that a clear or a rewind has hidden: they were paid for. An imported
message's own usage counts too. A request whose model has no price is counted and named, never guessed.

The default prices are list prices in US dollars, without discounts, batch prices or surcharges for long input. They go
out of date: `PRICES_AS_OF` says when they were looked up, and a table of one's own takes their place.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from ..catalogue.figures import Figures
from ..errors import ContextPersistentError
from ..messages.usage import ReportedUsage

PRICES_AS_OF = "2026-03"
_MILLION = 1_000_000
_KEYS = ("input", "output", "cached", "write")
_SUFFIX = r"(?:[-@](?:latest|\d{4}-?\d{2}-?\d{2}|\d{3}))?(?:-v\d+)?(?::\w+)?"
"""What may follow a model's name: a date or a build, a version of a host's, a variant of a router's."""


class PricesError(ContextPersistentError, ValueError):
    """A table of prices cannot be read."""


@dataclass(frozen=True, slots=True)
class Price:
    """Prices of a million tokens: plain input, output, input read from the prompt cache, input written to it."""

    input: float
    output: float
    cached: float
    write: float

    def cost(self, usage: ReportedUsage, output_tokens: int) -> float:
        """What one request cost."""
        return self.of_tokens(usage.uncached, usage.cached, usage.written, output_tokens)

    def of_tokens(self, uncached: int, cached: int, written: int, output: int) -> float:
        """What so many tokens cost."""
        read = uncached * self.input + cached * self.cached + written * self.write
        return (read + output * self.output) / _MILLION


def _anthropic(base: float, output: float) -> Price:
    return Price(base, output, base / 10, base * 1.25)


DEFAULT_PRICES: Mapping[str, Price] = {
    "claude-opus-4-6": _anthropic(5, 25),
    "claude-opus-4-5": _anthropic(5, 25),
    "claude-opus-4-1": _anthropic(15, 75),
    "claude-opus-4": _anthropic(15, 75),
    "claude-sonnet-4-6": _anthropic(3, 15),
    "claude-sonnet-4-5": _anthropic(3, 15),
    "claude-sonnet-4": _anthropic(3, 15),
    "claude-3-7-sonnet": _anthropic(3, 15),
    "claude-3-5-sonnet": _anthropic(3, 15),
    "claude-haiku-4-5": _anthropic(1, 5),
    "claude-3-5-haiku": _anthropic(0.8, 4),
    "gpt-5": Price(1.25, 10, 0.125, 1.25),
    "gpt-5-mini": Price(0.25, 2, 0.025, 0.25),
    "gpt-5-nano": Price(0.05, 0.4, 0.005, 0.05),
    "gpt-4.1": Price(2, 8, 0.5, 2),
    "gpt-4.1-mini": Price(0.4, 1.6, 0.1, 0.4),
    "gpt-4.1-nano": Price(0.1, 0.4, 0.025, 0.1),
    "gpt-4o": Price(2.5, 10, 1.25, 2.5),
    "gpt-4o-mini": Price(0.15, 0.6, 0.075, 0.15),
    "o4-mini": Price(1.1, 4.4, 0.275, 1.1),
    "gemini-2.5-pro": Price(1.25, 10, 0.125, 1.25),
    "gemini-2.5-flash": Price(0.3, 2.5, 0.03, 0.3),
}


class Prices:
    """Prices by model.

    A model is found by its name, with or without what routers put before it (`anthropic/`, `us.anthropic.`) and with or
    without a date after it. A name that only begins like a known one has no price: it may be another model.

    Args:
        own: prices that take the place of the defaults, model by model.
    """

    def __init__(self, own: Mapping[str, Price] | None = None) -> None:
        self._prices = {_name(model): price for model, price in {**DEFAULT_PRICES, **(own or {})}.items()}
        self.has_own = bool(own)

    @classmethod
    def load(cls, path: str | Path) -> Prices:
        """Read a table: a JSON object of models, each with `input`, `output` and, if they differ, `cached` and `write`.

        Raises:
            PricesError: it cannot be read, or a price is no number.
        """
        try:
            table = json.loads(Path(path).read_text(encoding="utf-8"))
        except OSError as error:
            raise PricesError(f"{path}: {error.strerror or error}") from error
        except (ValueError, RecursionError) as error:
            raise PricesError(f"{path}: this is no JSON: {error}") from error
        if not isinstance(table, dict):
            raise PricesError(f"{path}: this is no JSON object of models with prices")
        return cls({model: _price(model, given) for model, given in table.items()})

    def of(self, model: str) -> Price | None:
        """The price of a model; None if it is not known."""
        wanted = _name(model)
        names = sorted(self._prices, key=len, reverse=True)
        found = next((name for name in names if re.fullmatch(rf"(?:.*[/.])?{re.escape(name)}{_SUFFIX}", wanted)), None)
        return self._prices[found] if found is not None else None


def _name(model: str) -> str:
    """A model's name for comparison: routers write the dots of versions as hyphens, or the other way round."""
    return re.sub(r"(?<=\d)\.(?=\d)", "-", model.lower())


def _price(model: str, given: Any) -> Price:
    given = given if isinstance(given, dict) else {}
    numbers = {key: given[key] for key in _KEYS if type(given.get(key)) in (int, float) and given[key] >= 0}
    if "input" not in numbers or "output" not in numbers or given.keys() - numbers.keys():
        raise PricesError(
            f"prices of {model!r}: give input and output, and if they differ cached and write, as numbers"
        )
    return Price(numbers["input"], numbers["output"], *(numbers.get(key, numbers["input"]) for key in _KEYS[2:]))


@dataclass(slots=True)
class Bill:
    """Requests and what they come to."""

    requests: int = 0
    uncached_tokens: int = 0
    cached_tokens: int = 0
    written_tokens: int = 0
    output_tokens: int = 0
    cost: float = 0.0
    unpriced_requests: int = 0
    """Requests whose model has no price; they are not in `cost`."""

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
        return {**asdict(self), "input_tokens": self.input_tokens, "cost": round(self.cost, 6)}


@dataclass(slots=True)
class Cost:
    """What a session cost, in all and by model."""

    total: Bill = field(default_factory=Bill)
    models: dict[str, Bill] = field(default_factory=dict)
    estimated_outputs: int = 0

    def to_json(self) -> dict[str, Any]:
        """As plain JSON types."""
        return {
            **self.total.to_json(),
            "models": {name: bill.to_json() for name, bill in self.models.items()},
            "estimated_outputs": self.estimated_outputs,
        }


def cost_of(figures: Figures, prices: Prices) -> Cost:
    """Say what the requests cost that a log's records tell of."""
    found = Cost()
    rows = figures.rows(
        "SELECT model, count(*), sum(uncached_tokens), sum(cached_tokens), sum(written_tokens),"
        " sum(ifnull(output_tokens, 0)), sum(is_output_estimated)"
        " FROM requests WHERE session = ? AND uncached_tokens IS NOT NULL GROUP BY model ORDER BY min(id)"
    )
    for model, requests, uncached, cached, written, output, estimated in rows:
        price = prices.of(model)
        cost = price.of_tokens(uncached, cached, written, output) if price is not None else 0.0
        bill = Bill(requests, uncached, cached, written, output, cost, requests if price is None else 0)
        found.models[model] = bill
        found.total.add(bill)
        found.estimated_outputs += estimated
    return found


def costs_by_turn(figures: Figures, prices: Prices) -> dict[int, float]:
    """What the requests of each turn cost, by its number, as far as their models have prices."""
    costs: dict[int, float] = {}
    rows = figures.rows(
        "SELECT turn, model, sum(uncached_tokens), sum(cached_tokens), sum(written_tokens), sum(output_tokens)"
        " FROM requests WHERE session = ? AND turn IS NOT NULL AND uncached_tokens IS NOT NULL GROUP BY turn, model"
    )
    for turn, model, *tokens in rows:
        if (price := prices.of(model)) is not None:
            costs[turn] = costs.get(turn, 0.0) + price.of_tokens(*tokens)
    return costs
