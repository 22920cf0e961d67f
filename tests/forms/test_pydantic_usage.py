"""What a response of Pydantic AI says of its request is counted, and it comes back as it was."""

from typing import Any

import pytest

from amplifier_module_context_persistent.forms.pydantic_ai import NAME, read_message
from amplifier_module_context_persistent.forms.whole_body import bodies_in
from amplifier_module_context_persistent.messages.answer_usage import usage_of_message


def response(usage: dict[str, Any]) -> dict[str, Any]:
    parts = [{"part_kind": "text", "content": "Done."}]
    named = {"model_name": "claude-sonnet-4-5", "provider_name": "anthropic"}
    return {"kind": "response", "parts": parts, "usage": usage, **named}


@pytest.mark.parametrize(
    ("reported", "counts"),
    [
        ({"input_tokens": 1_000, "output_tokens": 40}, (1_000, 0, 0, 40)),
        (
            {"input_tokens": 1_000, "cache_read_tokens": 600, "cache_write_tokens": 300, "output_tokens": 40},
            (100, 600, 300, 40),
        ),
        ({"input_tokens": 0, "output_tokens": 0}, None),
        ({}, None),
        ({"input_tokens": "many"}, None),
    ],
    ids=["plain", "cached", "not reported", "empty", "malformed"],
)
def test_its_usage_is_that_of_the_answer(reported: dict[str, Any], counts: tuple[int, ...] | None) -> None:
    """Its input includes what was read from the cache and what was written to it."""
    given = response(reported)
    (message,) = read_message(given)
    usage = usage_of_message(message)
    told = (usage.uncached, usage.cached, usage.written, usage.output) if usage is not None else None
    assert told == counts
    assert usage is None or usage.model == "claude-sonnet-4-5"
    assert [body for _, body in bodies_in([message], NAME)] == [given]
