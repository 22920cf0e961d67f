"""Usage as providers and agents report it, in one form."""

from __future__ import annotations

from typing import Any

import pytest

from amplifier_module_context_persistent.messages.usage import ReportedUsage, usage_of_message, usage_of_record


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        # the host's: cached tokens are within the input, written ones are not
        (
            {"input_tokens": 100, "cache_read_tokens": 60, "cache_write_tokens": 5, "output_tokens": 7},
            (40, 60, 5, 7),
        ),
        # a first call: nothing of what was read is in the input
        ({"input_tokens": 2, "cache_write_tokens": 161_165}, (2, 0, 161_165, None)),
        # more cached than input: it is counted apart
        ({"input_tokens": 3, "cache_read_tokens": 90}, (3, 90, 0, None)),
        # Anthropic's: all three apart
        (
            {"input_tokens": 4, "cache_read_input_tokens": 50, "cache_creation_input_tokens": 6, "output_tokens": 8},
            (4, 50, 6, 8),
        ),
        # OpenAI's
        ({"prompt_tokens": 50, "completion_tokens": 9, "prompt_tokens_details": {"cached_tokens": 20}}, (30, 20, 0, 9)),
        # pi's and Gemini's
        ({"input": 10, "output": 2, "cacheRead": 30, "cacheWrite": 4}, (10, 30, 4, 2)),
        ({"input": 40, "output": 2, "cached": 30}, (10, 30, 0, 2)),
        # a report of nothing but output
        ({"output_tokens": 5}, (0, 0, 0, 5)),
    ],
)
def test_every_form_is_read_apart(usage: dict[str, Any], expected: tuple[int, int, int, int | None]) -> None:
    """What was read plainly, from the cache, into the cache, and written by the model."""
    for message in ({"metadata": {"usage": usage, "model": "m"}}, {"usage": usage, "model": "m"}):
        found = usage_of_message(message)
        assert found is not None
        assert (found.uncached, found.cached, found.written, found.output) == expected
        assert found.input_tokens == sum(expected[:3])
        assert found.model == "m"


@pytest.mark.parametrize(
    "usage",
    [
        None,
        [],
        {},
        "12",
        {"input_tokens": "12"},
        {"input_tokens": -1},
        {"input_tokens": True},
        {"input_tokens": 10**30},
    ],
)
def test_what_is_no_report_is_none(usage: Any) -> None:
    """Damaged or foreign values are not taken for numbers."""
    assert usage_of_message({"usage": usage}) is None


def test_a_record_is_read() -> None:
    """The actual tokens of a record hold the cached and the written ones; older records lack the last two."""
    record = {"provider": "p", "model": "m", "actual_tokens": 100, "cached_tokens": 60}
    assert usage_of_record(record) == ReportedUsage(40, 60, 0, None, "p", "m")
    newer = {**record, "cache_write_tokens": 30, "output_tokens": 5}
    assert usage_of_record(newer) == ReportedUsage(10, 60, 30, 5, "p", "m")


@pytest.mark.parametrize("actual", [0, None, "x", -5, 1 << 40, 10**30])
def test_a_refusal_reports_nothing(actual: Any) -> None:
    """A record of a refused view has no tokens."""
    assert usage_of_record({"actual_tokens": actual}) is None


def test_impossible_shares_are_held_within_the_whole() -> None:
    """A record that claims more cached tokens than were read does not give negative ones."""
    found = usage_of_record({"actual_tokens": 10, "cached_tokens": 50, "cache_write_tokens": 50})
    assert found == ReportedUsage(0, 10, 0)
