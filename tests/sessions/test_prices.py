"""Where prices are from, and that the steps of tariffs which a session heeds are those of the prices."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime
from typing import Any

import pytest

from amplifier_module_context_persistent.sessions.prices import DEFAULT_PRICES, PRICES_AS_OF, Price, PriceList
from amplifier_module_context_persistent.tokens.tariff_steps import TARIFF_STEPS, tariff_step
from tests.support.sweeps import proof

KNOWN_DIFFERENCES = {
    # Claude docs, "Claude Sonnet 4.5" (read 2026-11-26): its context window has 200,000 tokens. The package keeps the
    # higher prices above them, which a beta with a million had.
    "claude-sonnet-4-5",
}
"""Models for which our rows and the package differ, with our source."""


def test_a_model_that_our_rows_lack_has_the_price_of_the_package() -> None:
    """And each price says its table and its day."""
    prices, days = PriceList(), {f"{datetime.now(UTC):%Y-%m-%d}"}
    assert prices.of("grok-4") == Price(3, 15, 0.75, 3, 3)
    assert prices.of("x-ai/grok-4") == prices.of("grok-4")
    assert prices.of("gpt-5-mini") == DEFAULT_PRICES["gpt-5-mini"]
    assert prices.of("no-such-model") is None
    origins = prices.origins()
    assert origins["gpt-5-mini"] == {
        "table": "list prices in US dollars",
        "day": PRICES_AS_OF,
        "input": 0.25,
        "output": 2,
        "cached": 0.025,
        "write": 0.25,
        "write_1h": 0.25,
    }
    assert prices.unpriced() == ["no-such-model"]
    assert origins["grok-4"]["table"].startswith("genai-prices 0.")
    days.add(f"{datetime.now(UTC):%Y-%m-%d}")  # another one at midnight
    assert origins["grok-4"]["day"] in days
    assert "no-such-model" not in origins
    assert "; list prices in US dollars as of " in prices.described()


@pytest.mark.parametrize("name", ["gpt-5-codex", "gpt-5.1-codex-max", "gpt-5.2-codex", "openai/gpt-5.2-codex"])
def test_a_name_that_the_package_gives_a_model_besides_has_its_price(name: str) -> None:
    pytest.importorskip("genai_prices")
    found, model = PriceList().of(name), PriceList().of(name.rpartition("/")[2].partition("-codex")[0])
    assert found is not None
    assert model is not None
    assert (found.input, found.output) == (model.input, model.output)


def test_a_price_of_the_package_that_has_a_step_costs_more_above_it() -> None:
    """As the package bills the same request."""
    genai_prices = pytest.importorskip("genai_prices")
    model = "gemini-1.5-pro"
    price = PriceList().of(model)
    assert price is not None
    for tokens in (100_000, 300_000):
        usage = genai_prices.Usage(input_tokens=tokens, output_tokens=1_000)
        theirs = genai_prices.calc_price(usage, model).total_price
        assert price.cost(tokens, 0, 0, 0, 1_000) == pytest.approx(float(theirs))


def test_an_own_table_takes_the_place_of_both() -> None:
    """A bill says that the prices were given."""
    prices = PriceList({"grok-4": Price(1, 2, 1, 1, 1), "gpt-5-mini": Price(3, 4, 3, 3, 3)})
    assert prices.of("grok-4") == Price(1, 2, 1, 1, 1)
    assert prices.of("gpt-5-mini") == Price(3, 4, 3, 3, 3)
    assert prices.described() == "prices as given"


def test_a_session_heeds_the_steps_of_the_prices() -> None:
    """The small table that it reads has every step, and no other."""
    assert {name: price.above for name, price in DEFAULT_PRICES.items() if price.above < float("inf")} == TARIFF_STEPS
    assert tariff_step("us.anthropic.claude-haiku-5-5-20261001-v1:0") == 100_000
    assert tariff_step("gpt-5.5-codex") == float("inf")


def test_requests_are_added_up_between_the_steps_of_the_package() -> None:
    """A step that is missing would let requests with two prices be billed as one."""
    data = pytest.importorskip("genai_prices.data")
    steps = {tier.start for price in _all_prices(data) for value in vars(price).values() for tier in _tiers(value)}
    assert steps - set(PriceList().steps) == set()


def test_our_rows_differ_from_the_package_only_with_a_source() -> None:
    """A price that changes in one of the two is looked up."""
    genai_prices = pytest.importorskip("genai_prices")
    noon = datetime.fromisoformat(f"{PRICES_AS_OF}T12:00:00Z")  # the package knows prices by their days
    differing = set()
    for name, price in DEFAULT_PRICES.items():
        for tokens in (50_000, 400_000):
            usage = genai_prices.Usage(input_tokens=tokens, output_tokens=1_000)
            try:
                theirs = genai_prices.calc_price(usage, name, genai_request_timestamp=noon)
            except LookupError:
                continue
            if price.cost(tokens, 0, 0, 0, 1_000) != pytest.approx(float(theirs.total_price)):
                differing.add(name)
    assert differing == KNOWN_DIFFERENCES


@proof
def test_looking_a_price_up_asks_no_network_and_starts_no_thread() -> None:
    """The package could update itself; that is never started."""
    script = (
        "import socket, threading\n"
        "def refuse(*arguments, **options): raise AssertionError('network')\n"
        "socket.socket.connect = socket.create_connection = socket.getaddrinfo = refuse\n"
        "from amplifier_module_context_persistent.sessions.prices import PriceList\n"
        "assert PriceList().of('grok-4') is not None\n"
        "assert threading.active_count() == 1, threading.enumerate()\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def _all_prices(data: Any) -> list[Any]:
    given = [model.prices for provider in data.providers for model in provider.models]
    listed = [price for prices in given for price in (prices if isinstance(prices, list) else [prices])]
    return [getattr(price, "prices", price) for price in listed]


def _tiers(price: Any) -> list[Any]:
    return list(getattr(price, "tiers", []))
