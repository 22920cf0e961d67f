"""The usage that the Agent Framework reports, by the names that the log uses."""

from __future__ import annotations

from typing import Any

import pytest

from amplifier_module_context_persistent.forms.agent_framework import usage
from amplifier_module_context_persistent.tokens.usage import read_usage


@pytest.mark.parametrize(
    ("provider", "reported", "counts"),
    [
        (
            "openai",
            {"input_token_count": 100, "output_token_count": 5, "cache_read_input_token_count": 60},
            (40, 60, 0),
        ),
        (
            "anthropic",
            {
                "input_token_count": 100,
                "output_token_count": 5,
                "cache_read_input_token_count": 60,
                "cache_creation_input_token_count": 30,
            },
            (100, 60, 30),
        ),
        ("openai", {"input_token_count": None, "output_token_count": 5}, (0, 0, 0)),
    ],
    ids=["cached within", "cached apart", "output alone"],
)
def test_counts_mean_the_same_for_every_service(
    provider: str, reported: dict[str, Any], counts: tuple[int, int, int]
) -> None:
    read = read_usage(usage(reported, provider=provider, requests=3))
    assert read is not None
    assert (read.uncached, read.cached, read.written) == counts
    assert (read.output, read.requests) == (5, 3)


@pytest.mark.parametrize("reported", [None, {}, {"total_token_count": 7}, {"input_token_count": None}, "7"])
def test_nothing_reported_is_no_usage(reported: Any) -> None:
    assert usage(reported, provider="openai", requests=1) == {}
