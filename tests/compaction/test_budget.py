"""The budget of a request."""

import logging
from types import SimpleNamespace
from typing import Any

import pytest

from amplifier_module_context_persistent.compaction.request_limits import (
    SAFETY_MARGIN_TOKENS,
    ModelLimits,
    budget_tokens,
    read_window,
)
from amplifier_module_context_persistent.config import Config

MARGIN = SAFETY_MARGIN_TOKENS


@pytest.mark.parametrize(
    ("config", "explicit", "window", "budget"),
    [
        ({}, None, None, 200_000),
        ({"max_tokens": 500}, None, None, 500),
        ({}, 0, None, 0),
        ({}, 700, None, 700),
        ({}, 700, ModelLimits(100_000), 700),
        ({}, 900_000, ModelLimits(100_000), 900_000),  # the caller knows
        ({"max_tokens": 500}, 700, None, 500),  # a configured `max_tokens` is a cap
        ({"max_tokens": 500}, None, ModelLimits(100_000), 500),
        ({"max_tokens": 500_000}, None, ModelLimits(100_000), 100_000 - MARGIN),
        ({}, None, ModelLimits(100_000, 8_000), 92_000 - MARGIN),
        ({}, None, ModelLimits(1_000_000, 8_000), 992_000 - MARGIN),  # the default of `max_tokens` is none
        ({}, None, ModelLimits(100_000, 90_000), 50_000 - MARGIN),  # at most half is kept free for the answer
        ({"output_reserve_fraction": 0.5}, None, ModelLimits(100_000, 8_000), 96_000 - MARGIN),
        ({"output_reserve_fraction": 0}, None, ModelLimits(100_000, 8_000), 100_000 - MARGIN),
        ({}, None, ModelLimits(MARGIN), 200_000),  # nonsense
        ({"max_tokens": 500}, None, ModelLimits(3), 500),
    ],
)
def test_the_budget(config: dict[str, Any], explicit: int | None, window: ModelLimits | None, budget: int) -> None:
    """Explicit, else the window less answer and margin, else `max_tokens`, which caps them where it is configured."""
    assert budget_tokens(Config.load(config), explicit, window) == budget


@pytest.mark.parametrize(
    ("config", "explicit", "window", "budget"),
    [
        ({}, None, ModelLimits(1_000_000, 8_000), 272_000 - MARGIN),
        ({}, None, ModelLimits(200_000, 8_000), 192_000 - MARGIN),
        ({}, None, None, 200_000),
        ({"max_tokens": 500_000}, None, ModelLimits(1_000_000), 500_000),  # whoever says so pays for it
        ({}, 300_000, ModelLimits(1_000_000), 300_000),
    ],
)
def test_a_budget_stays_below_a_step_of_the_tariff(
    config: dict[str, Any], explicit: int | None, window: ModelLimits | None, budget: int
) -> None:
    """Above it whole requests cost more; what somebody asked for is theirs."""
    assert budget_tokens(Config.load(config), explicit, window, step_tokens=272_000) == budget


@pytest.mark.parametrize("explicit", [-1, 1.5, "1000", True, float("nan")])
def test_an_explicit_budget_is_a_number_of_tokens(explicit: Any) -> None:
    """Anything else is an error that says so."""
    with pytest.raises(ValueError, match=r"token_budget is .*; it must be a number of tokens, 0 or more"):
        budget_tokens(Config.load(), explicit, None)


@pytest.mark.parametrize(
    ("published", "window", "warnings"),
    [
        (SimpleNamespace(context_window=100, max_output_tokens=10), ModelLimits(100, 10), 0),
        ({"context_window": 100, "max_output_tokens": 10}, ModelLimits(100, 10), 0),
        ({"context_window": 100}, ModelLimits(100), 0),
        ({"context_window": 100, "max_output_tokens": 0}, ModelLimits(100), 0),
        ({"context_window": 100, "max_output_tokens": "many"}, ModelLimits(100), 1),
        ({"context_window": 100, "max_output_tokens": -5}, ModelLimits(100), 1),
        ({}, None, 0),
        ({"context_window": None}, None, 0),
        ({"context_window": 0}, None, 0),
        ({"context_window": -1}, None, 1),
        ({"context_window": True}, None, 1),
        ({"context_window": 1e6}, None, 1),
        ("nothing of the kind", None, 0),
    ],
)
def test_what_a_provider_publishes(
    published: Any, window: ModelLimits | None, warnings: int, caplog: pytest.LogCaptureFixture
) -> None:
    """Attributes or keys are read; what is unknown is that, and nonsense is ignored with a warning."""
    with caplog.at_level(logging.WARNING):
        assert read_window(published) == window
    assert len(caplog.records) == warnings


def test_a_window_without_room_is_ignored_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    """The budget is then that of `max_tokens`."""
    budget_tokens(Config.load(), None, ModelLimits(500))
    assert "the provider's window of 500 tokens leaves no room" in caplog.text
