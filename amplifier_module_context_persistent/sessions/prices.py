"""The prices of models: a table of our own, and the prices of the package `genai-prices` for many more models.

These are list prices in US dollars for the standard service, without discounts, batch prices, faster tiers or
surcharges for regions. Prices become outdated, so each price has an origin: its table, and the day on which it was
looked up. A user's own table replaces the prices of its models. The network is never used.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

from ..errors import ContextPersistentError
from ..tokens.model_names import is_name_of, plain_model_name, undated_name
from ..tokens.tariff_steps import TARIFF_STEPS

PRICES_AS_OF = "2026-11-23"
"""The day on which the prices of `DEFAULT_PRICES` were looked up."""

_MILLION = 1_000_000
_KEYS = ("input", "output", "cached", "write", "write_1h", "above", "above_input", "above_output")


class PricesError(ContextPersistentError, ValueError):
    """Raised if a table of prices cannot be read."""


@dataclass(frozen=True, slots=True)
class Price:
    """The prices of a model, in US dollars for a million tokens.

    Attributes:
        input: input that is neither read from the prompt cache nor written to it.
        output: output.
        cached: input that is read from the prompt cache.
        write: input that is written to the prompt cache.
        write_1h: input that is written to the prompt cache for an hour (at OpenAI for twelve hours).
        above: the number of input tokens above which a request has higher prices.
        above_input: the factor for all input prices of such a request.
        above_output: the factor for the output price of such a request.
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
        """Return the cost of one or several requests in US dollars.

        Args:
            uncached: input tokens that were neither read from the prompt cache nor written to it.
            cached: input tokens that were read from the prompt cache.
            written: input tokens that were written to the prompt cache, including `written_1h`.
            written_1h: input tokens that were written to it for an hour.
            output: output tokens.
            read: the input tokens of the largest request, to compare with `above`; by default of a single request.
        """
        read = uncached + cached + written if read is None else read
        times_input, times_output = (self.above_input, self.above_output) if read > self.above else (1.0, 1.0)
        put_in = uncached * self.input + cached * self.cached
        put_in += (written - written_1h) * self.write + written_1h * self.write_1h
        return (put_in * times_input + output * self.output * times_output) / _MILLION


@dataclass(frozen=True, slots=True)
class PriceOrigin:
    """The source of a price."""

    table: str
    """The table's name, with the version if the table is part of a package."""
    day: str
    """The day on which the price is valid or was looked up, such as `2026-11-23`; "" for a user's own table."""

    def __str__(self) -> str:
        return f"{self.table} as of {self.day}" if self.day else self.table


_LIST = PriceOrigin("list prices in US dollars", PRICES_AS_OF)
_OWN = PriceOrigin("prices as given", "")
_LONG = (2.0, 1.5)
"""The factors for input and output of requests above a price step; OpenAI and Google have the same factors."""


def _anthropic(base: float, output: float, read: float = 0.1) -> Price:
    return Price(base, output, base * read, base * 1.25, base * 2)


def _openai(base: float, output: float, read: float = 0.1) -> Price:
    return Price(base, output, base * read, base * 1.25, base * 2, _OPENAI_TOKENS, *_LONG)


def _writes_free(base: float, output: float, read: float = 0.1, above: int | None = None) -> Price:
    """Return the prices of a model that writes to the cache for the input price: OpenAI before GPT-5.6, Gemini."""
    if above is None:
        return Price(base, output, base * read, base, base)
    return Price(base, output, base * read, base, base, above, *_LONG)


_OPENAI_TOKENS, _GOOGLE_TOKENS = TARIFF_STEPS["gpt-5.5"], TARIFF_STEPS["gemini-2.5-pro"]

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
    "claude-haiku-5-5": Price(
        0.1,
        0.5,
        cached=0.01,
        write=0.125,
        write_1h=0.2,
        above=TARIFF_STEPS["claude-haiku-5-5"],
        above_input=5,
        above_output=5,
    ),
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
    "gpt-5.5": _writes_free(5, 30, above=_OPENAI_TOKENS),
    "gpt-5.4": _writes_free(2.5, 15, above=_OPENAI_TOKENS),
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
    "gemini-3.1-pro": _writes_free(2, 12, above=_GOOGLE_TOKENS),
    "gemini-3.1-pro-preview": _writes_free(2, 12, above=_GOOGLE_TOKENS),
    "gemini-3-pro-preview": _writes_free(2, 12, above=_GOOGLE_TOKENS),
    "gemini-2.5-pro": _writes_free(1.25, 10, above=_GOOGLE_TOKENS),
    "gemini-2.5-flash": _writes_free(0.3, 2.5),
    "gemini-2.5-flash-lite": _writes_free(0.1, 0.4),
}


_PACKAGE_STEPS = {32_000, 100_000, 128_000, 199_999, 200_000, 256_000, 272_000, 512_000, 524_288}
"""The price steps in `genai-prices` 0.2.3. All are needed in advance: requests are added up before models are known."""


class PriceList:
    """The prices of models, by the name of the model.

    A model is found by its name, with or without a router's prefix (`anthropic/`, `us.anthropic.`) and with or without
    a date at the end. A name that only begins with a known name has no price, because it may be another model.

    Args:
        own: prices that replace the other prices of the same models.
    """

    def __init__(self, own: Mapping[str, Price] | None = None) -> None:
        self._rows: dict[str, tuple[Price, PriceOrigin]] = {}
        """The price of each model and its source, by the model's plain name. A user's own prices win."""
        for model, price in DEFAULT_PRICES.items():
            self._rows[plain_model_name(model)] = (price, _LIST)
        for model, price in (own or {}).items():
            self._rows[plain_model_name(model)] = (price, _OWN)
        self._names = sorted(self._rows, key=len, reverse=True)
        self._found: dict[str, tuple[Price, PriceOrigin] | None] = {}
        steps = {int(price.above) for price, _ in self._rows.values() if math.isfinite(price.above)}
        self.steps = sorted(steps | _PACKAGE_STEPS)
        """The numbers of input tokens above which requests of some model have other prices, sorted."""
        self.has_own = bool(own)

    @classmethod
    def load(cls, path: str | Path) -> PriceList:
        """Read a user's table of prices from a file.

        The file contains a JSON object. Its keys are models; each value is an object with `input`, `output` and, if
        they differ from the defaults, other attributes of `Price`.

        Raises:
            PricesError: the file cannot be read, or a price is not a number.
        """
        try:
            table = json.loads(Path(path).read_text(encoding="utf-8"))
        except OSError as error:
            raise PricesError(f"{path}: {error.strerror or error}") from error
        except (ValueError, RecursionError) as error:
            raise PricesError(f"{path}: this is no JSON: {error}") from error
        if not isinstance(table, dict):
            raise PricesError(f"{path}: this is no JSON object of models with prices")
        return cls({model: _price(model, entry) for model, entry in table.items()})

    def of(self, model: str) -> Price | None:
        """Return the prices of a model; None if the prices are unknown."""
        entry = self._look_up(model)
        if entry is None:
            return None
        price, _ = entry
        return price

    def described(self) -> str:
        """Return a text with the tables and days of the prices that were used so far."""
        used: dict[str, None] = {}
        for entry in self._found.values():
            if entry is not None:
                _, origin = entry
                used[str(origin)] = None
        if used:
            return "; ".join(used)
        return str(_OWN if self.has_own else _LIST)

    def origins(self) -> dict[str, dict[str, Any]]:
        """Return the prices that were used so far, by model, each with its `table` and its `day`.

        The prices are for a million tokens, with the keys of a user's own table. The keys that begin with `above` are
        left out for a model without a price step. `day` is "" for a user's own table.
        """
        origins: dict[str, dict[str, Any]] = {}
        for model, entry in sorted(self._found.items()):
            if entry is not None:
                price, origin = entry
                origins[model] = {**asdict(origin), **_prices_by_key(price)}
        return origins

    def unpriced(self) -> list[str]:
        """Return the models that were looked up so far and have no price, sorted."""
        return sorted(model for model, found in self._found.items() if not found)

    def _look_up(self, model: str) -> tuple[Price, PriceOrigin] | None:
        if model in self._found:
            return self._found[model]
        wanted = plain_model_name(model)
        for name in self._names:
            if is_name_of(wanted, name):
                self._found[model] = self._rows[name]
                break
        else:
            self._found[model] = _price_in_package(model)
        return self._found[model]


def _price_in_package(model: str) -> tuple[Price, PriceOrigin] | None:
    """Return today's price of a model in `genai-prices`.

    The result is None if the price is unknown or the package is not installed.
    """
    if not model:
        return None
    try:  # the extra `cli` installs it; it is slow to import, and only needed for models that our own table lacks
        from importlib.metadata import version

        import genai_prices
    except ImportError:
        return None
    noon = datetime.now(UTC).replace(hour=12)  # some cost half at night; a bill must not depend on the hour
    for name in dict.fromkeys((model, model.rpartition("/")[2])):
        try:
            usage = genai_prices.Usage(input_tokens=1)
            calculation = genai_prices.calc_price(usage, name, genai_request_timestamp=noon)
        except LookupError:
            continue
        model_found = calculation.model
        if undated_name(name) != undated_name(model_found.id) and not _names_exactly(model_found.match, name):
            continue  # the package also matches the beginning of a name
        price = _price_of_package(calculation.model_price)
        origin = PriceOrigin(f"genai-prices {version('genai-prices')}", f"{noon:%Y-%m-%d}")
        return (price, origin) if price is not None else None
    return None


def _names_exactly(clause: Any, name: str) -> bool:
    """Return whether a rule by which the package recognises a model contains this name in full.

    For example, the rules of `gpt-5` contain `gpt-5-codex`.
    """
    if any(_names_exactly(alternative, name) for alternative in getattr(clause, "or_", ())):
        return True
    return getattr(clause, "equals", None) == name


def _price_of_package(package_price: Any) -> Price | None:
    """Convert a price of `genai-prices` to a `Price`.

    The result is None if the price has several steps, or if the input or output price is missing.
    """
    input_price, output_price = package_price.input_mtok, package_price.output_mtok
    if input_price is None or output_price is None:
        return None
    steps = set[int]()
    for price in (input_price, output_price):
        if isinstance(price, Decimal):
            continue  # the same price for any number of tokens
        if len(price.tiers) != 1:
            return None
        steps.add(price.tiers[0].start)
    if len(steps) > 1:
        return None
    cached_price = input_price if package_price.cache_read_mtok is None else package_price.cache_read_mtok
    write_price = input_price if package_price.cache_write_mtok is None else package_price.cache_write_mtok
    write_1h_price = getattr(package_price, "cache_write_1h_mtok", None)
    if write_1h_price is None:
        write_1h_price = write_price
    return Price(
        input=_usual(input_price),
        output=_usual(output_price),
        cached=_usual(cached_price),
        write=_usual(write_price),
        write_1h=_usual(write_1h_price),
        above=steps.pop() if steps else math.inf,
        above_input=_times(input_price),
        above_output=_times(output_price),
    )


def _usual(price: Any) -> float:
    return float(price if isinstance(price, Decimal) else price.base)


def _times(price: Any) -> float:
    """Return the factor of a price above its only step; 1.0 without a step."""
    if isinstance(price, Decimal) or not price.base:
        return 1.0
    return float(price.tiers[0].price / price.base)


def _prices_by_key(price: Price) -> dict[str, float]:
    """Return the prices with the keys of a user's table."""
    values = asdict(price)
    keys = _KEYS if math.isfinite(price.above) else _KEYS[:5]
    return {key: round(values[key], 6) for key in keys}


def _price(model: str, given: Any) -> Price:
    """Read the prices of a model in a user's table.

    Raises:
        PricesError: a price is missing or is not a number, or there is an unknown key.
    """
    prices = given if isinstance(given, dict) else {}
    numbers = {key: prices[key] for key in _KEYS if _is_price(prices.get(key))}
    has_other_keys = bool(prices.keys() - numbers.keys())
    if "input" not in numbers or "output" not in numbers or has_other_keys:
        raise PricesError(
            f"prices of {model!r}: give input and output, and if they differ {', '.join(_KEYS[2:])}, as numbers"
        )
    write = numbers.get("write", numbers["input"])
    defaults = {"cached": numbers["input"], "write": write, "write_1h": write}
    return Price(**{**defaults, **numbers})


def _is_price(value: Any) -> bool:
    return type(value) in (int, float) and 0 <= value < _MOST


_MOST = 1e15
"""The upper limit of a price and of a number of tokens. The limit also excludes NaN and infinity."""
