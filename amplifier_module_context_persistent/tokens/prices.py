"""The prices of models, in one table; a table of one's own takes its place, model by model.

They are list prices in US dollars, for the usual service: without discounts, batch prices, faster tiers or surcharges
for regions. They go out of date: `PRICES_AS_OF` says when they were looked up.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import ContextPersistentError

PRICES_AS_OF = "2026-11"
_MILLION = 1_000_000
_KEYS = ("input", "output", "cached", "write", "write_1h", "above", "above_input", "above_output")
_SUFFIX = r"(?:[-@](?:latest|\d{4}-?\d{2}-?\d{2}|\d{3}))?(?:-v\d+)?(?::\w+)?(?:\[1m\])?"
"""What may follow a model's name: a date or a build, a version of a host's, a router's or agent's variant."""


class PricesError(ContextPersistentError, ValueError):
    """A table of prices cannot be read."""


@dataclass(frozen=True, slots=True)
class Price:
    """Prices of a million tokens: plain input, output, input read from the prompt cache, input written to it.

    `write_1h` is that of input written for an hour (at OpenAI for twelve). A request that reads more than `above`
    tokens costs the other prices times `above_input`, and its answer times `above_output`.
    """

    input: float
    output: float
    cached: float
    write: float
    write_1h: float
    above: float = float("inf")
    above_input: float = 1.0
    above_output: float = 1.0

    def cost(
        self, uncached: int, cached: int, written: int, written_1h: int, output: int, *, read: int | None = None
    ) -> float:
        """What one request cost, or several that read up to `read` each; `written` includes `written_1h`."""
        read = uncached + cached + written if read is None else read
        times_input, times_output = (self.above_input, self.above_output) if read > self.above else (1.0, 1.0)
        put_in = uncached * self.input + cached * self.cached
        put_in += (written - written_1h) * self.write + written_1h * self.write_1h
        return (put_in * times_input + output * self.output * times_output) / _MILLION


_OPENAI_LONG, _GOOGLE_LONG = (272_000, 2.0, 1.5), (200_000, 2.0, 1.5)


def _anthropic(base: float, output: float, read: float = 0.1) -> Price:
    return Price(base, output, base * read, base * 1.25, base * 2)


def _openai(base: float, output: float, read: float = 0.1) -> Price:
    return Price(base, output, base * read, base * 1.25, base * 2, *_OPENAI_LONG)


def _writes_free(base: float, output: float, read: float = 0.1, long: tuple[float, ...] = ()) -> Price:
    """Of models whose cache is written for the price of input: OpenAI's before GPT-5.6, and Gemini."""
    return Price(base, output, base * read, base, base, *long)


DEFAULT_PRICES: Mapping[str, Price] = {
    # Claude docs, "Pricing" and "Models overview"; a relay's page of 2026-11-10 for Fable 5.2. Looked up 2026-11-23.
    "claude-fable-5-2": _anthropic(8, 40, 0.025),
    "claude-fable-5-1": _anthropic(10, 50, 0.025),
    "claude-mythos-5-1": _anthropic(10, 50, 0.025),
    "claude-fable-5": _anthropic(10, 50),
    "claude-mythos-5": _anthropic(10, 50),
    "claude-opus-5-5": _anthropic(4, 20, 0.05),
    "claude-opus-5": _anthropic(5, 25),
    "claude-opus-4-8": _anthropic(5, 25),
    "claude-opus-4-7": _anthropic(5, 25),
    "claude-opus-4-6": _anthropic(5, 25),
    "claude-opus-4-5": _anthropic(5, 25),
    "claude-opus-4-1": _anthropic(15, 75),
    "claude-opus-4": _anthropic(15, 75),
    "claude-sonnet-5-5": _anthropic(2, 10, 0.05),
    "claude-sonnet-5": _anthropic(2, 10),
    "claude-sonnet-4-6": _anthropic(3, 15),
    "claude-sonnet-4-5": _anthropic(3, 15),
    "claude-sonnet-4": _anthropic(3, 15),
    "claude-3-7-sonnet": _anthropic(3, 15),
    "claude-3-5-sonnet": _anthropic(3, 15),
    "claude-haiku-5-5": Price(0.1, 0.5, 0.01, 0.125, 0.2, 100_000, 5, 5),
    "claude-haiku-4-5": _anthropic(1, 5),
    "claude-3-5-haiku": _anthropic(0.8, 4),
    # OpenAI docs, "Pricing" and the models' pages; writing costs from GPT-5.6 on. Looked up 2026-11-23.
    "gpt-6.2-astra": _openai(8, 40, 0.05),
    "gpt-6.2-sol": _openai(2, 10, 0.05),
    "gpt-6.1-sol": _openai(2, 10, 0.05),
    "gpt-6.1-terra": _openai(1, 5, 0.05),
    "gpt-6-astra": _openai(10, 50),
    "gpt-6-sol": _openai(2, 10),
    "gpt-6-luna": _openai(0.1, 0.5),
    "gpt-5.6-sol": _openai(4, 20),
    "gpt-5.6-terra": _openai(2, 12),
    "gpt-5.6-luna": _openai(0.2, 1.2),
    "gpt-5.5": _writes_free(5, 30, long=_OPENAI_LONG),
    "gpt-5.4": _writes_free(2.5, 15, long=_OPENAI_LONG),
    "gpt-5.4-mini": _writes_free(0.75, 4.5),
    "gpt-5.4-nano": _writes_free(0.2, 1.25),
    "gpt-5.3-codex": _writes_free(1.75, 14),
    "gpt-5.2": _writes_free(1.75, 14),
    "gpt-5.1": _writes_free(1.25, 10),
    "gpt-5": _writes_free(1.25, 10),
    "gpt-5-mini": _writes_free(0.25, 2),
    "gpt-5-nano": _writes_free(0.05, 0.4),
    "gpt-4.1": _writes_free(2, 8, 0.25),
    "gpt-4.1-mini": _writes_free(0.4, 1.6, 0.25),
    "gpt-4.1-nano": _writes_free(0.1, 0.4, 0.25),
    "gpt-4o": _writes_free(2.5, 10, 0.5),
    "gpt-4o-mini": _writes_free(0.15, 0.6, 0.5),
    "o4-mini": _writes_free(1.1, 4.4, 0.25),
    # Gemini API docs, "Pricing": text, implicit caching; until 2026-11-30 (4 Argon) and 2026-12-31 (3.8 Flash).
    "gemini-4-argon": _writes_free(2, 10, 0.05),
    "gemini-3.8-flash": _writes_free(0.75, 3.75),
    "gemini-3.5-flash": _writes_free(1.5, 9),
    "gemini-3.1-pro": _writes_free(2, 12, long=_GOOGLE_LONG),
    "gemini-3.1-pro-preview": _writes_free(2, 12, long=_GOOGLE_LONG),
    "gemini-3-pro-preview": _writes_free(2, 12, long=_GOOGLE_LONG),
    "gemini-2.5-pro": _writes_free(1.25, 10, long=_GOOGLE_LONG),
    "gemini-2.5-flash": _writes_free(0.3, 2.5),
    "gemini-2.5-flash-lite": _writes_free(0.1, 0.4),
}


class PriceList:
    """Prices by model.

    A model is found by its name, with or without what routers put before it (`anthropic/`, `us.anthropic.`) and with or
    without a date after it. A name that only begins like a known one has no price: it may be another model.

    Args:
        own: prices that take the place of the defaults, model by model.
    """

    def __init__(self, own: Mapping[str, Price] | None = None) -> None:
        self._prices = {_name(model): price for model, price in {**DEFAULT_PRICES, **(own or {})}.items()}
        self._names = sorted(self._prices, key=len, reverse=True)
        self._found: dict[str, Price | None] = {}
        self.steps = sorted({int(price.above) for price in self._prices.values() if price.above < float("inf")})
        """The numbers of tokens above which requests have other prices."""
        self.has_own = bool(own)

    @classmethod
    def load(cls, path: str | Path) -> PriceList:
        """Read a table: a JSON object of models, each with `input`, `output` and, if they differ, the others.

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
        if model not in self._found:
            self._found[model] = self._find(_name(model))
        return self._found[model]

    def _find(self, wanted: str) -> Price | None:
        for name in self._names:
            if re.fullmatch(rf"(?:.*[/.])?{re.escape(name)}{_SUFFIX}", wanted):
                return self._prices[name]
        return None


@functools.cache
def list_price(model: str) -> Price | None:
    """The list price of a model; None if it is not known."""
    return PriceList().of(model)


def _name(model: str) -> str:
    """A model's name for comparison: routers write the dots of versions as hyphens, or the other way round."""
    return re.sub(r"(?<=\d)\.(?=\d)", "-", model.lower())


def _price(model: str, given: Any) -> Price:
    given = given if isinstance(given, dict) else {}
    numbers = {key: given[key] for key in _KEYS if type(given.get(key)) in (int, float) and 0 <= given[key] < _MOST}
    if "input" not in numbers or "output" not in numbers or given.keys() - numbers.keys():
        raise PricesError(
            f"prices of {model!r}: give input and output, and if they differ {', '.join(_KEYS[2:])}, as numbers"
        )
    write = numbers.get("write", numbers["input"])
    return Price(**{"cached": numbers["input"], "write": write, "write_1h": write, **numbers})


_MOST = 1e15
"""What neither a price nor a number of tokens exceeds; NaN and infinity are excluded with it."""
