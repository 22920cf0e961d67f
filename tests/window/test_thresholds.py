"""When a plan is wanted, and when it is worth it."""

from typing import Any

import pytest

from amplifier_module_context_persistent.config import Config
from amplifier_module_context_persistent.window.thresholds import matters, needs_plan


@pytest.mark.parametrize(
    ("config", "tokens", "messages", "wanted"),
    [
        ({}, 799, 10, False),
        ({}, 800, 10, True),
        ({"compact_threshold": 1.0}, 999, 10, False),
        ({"max_messages": 10}, 1, 10, False),
        ({"max_messages": 10}, 1, 11, True),
    ],
)
def test_a_plan_is_wanted_at_the_threshold(config: dict[str, Any], tokens: int, messages: int, wanted: bool) -> None:
    """Of a budget of 1,000 tokens, or over the messages that are allowed."""
    given = Config.load({"compact_threshold": 0.8, **config})
    assert needs_plan(given, tokens=tokens, messages=messages, budget_tokens=1_000) is wanted


@pytest.mark.parametrize(("tokens", "wanted"), [(649, False), (650, True)])
def test_a_turn_begins_with_a_plan_earlier(tokens: int, wanted: bool) -> None:
    """Half of the way from the target to the threshold: a plan in the middle of a tool loop would end its reasoning."""
    given = Config.load({"compact_threshold": 0.8, "target_usage": 0.5})
    assert needs_plan(given, tokens=tokens, messages=1, budget_tokens=1_000, begins_turn=True) is wanted
    assert not needs_plan(given, tokens=tokens, messages=1, budget_tokens=1_000)


@pytest.mark.parametrize(
    ("config", "tokens", "messages", "enough"),
    [
        ({}, 99, 0, False),
        ({}, 100, 0, True),
        ({}, 0, 1_000, False),
        ({"max_messages": 50}, 0, 4, False),
        ({"max_messages": 50}, 0, 5, True),
        ({"compact_min_gain": 0.0}, 0, 0, False),
        ({"compact_min_gain": 0.0}, 1, 0, True),
    ],
)
def test_a_gain_has_a_least_size(config: dict[str, Any], tokens: int, messages: int, enough: bool) -> None:
    """A tenth of the budget here, or of the messages that are allowed; never nothing."""
    given = Config.load({"compact_min_gain": 0.1, **config})
    assert matters(given, tokens=tokens, messages=messages, budget_tokens=1_000) is enough
