"""The usage that each provider reports, under the names of the log: no count is left out, and none is counted twice."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from amplifier_module_context_persistent.forms import anthropic, bedrock, gemini, openai_chat

Usage = dict[str, Any]
REPORTED: dict[str, tuple[Callable[[Any], Usage], Usage, Usage]] = {
    "Anthropic": (
        anthropic.usage,
        {
            "input_tokens": 10,
            "cache_read_input_tokens": 700,
            "cache_creation_input_tokens": 60,
            "cache_creation": {"ephemeral_5m_input_tokens": 20, "ephemeral_1h_input_tokens": 40},
            "output_tokens": 5,
        },
        {
            "input_tokens": 710,
            "output_tokens": 5,
            "cache_read_tokens": 700,
            "cache_write_tokens": 60,
            "cache_write_5m_tokens": 20,
            "cache_write_1h_tokens": 40,
        },
    ),
    "Bedrock": (
        bedrock.usage,
        {"inputTokens": 10, "cacheReadInputTokens": 700, "cacheWriteInputTokens": 60, "outputTokens": 5},
        {"input_tokens": 710, "output_tokens": 5, "cache_read_tokens": 700, "cache_write_tokens": 60},
    ),
    "Gemini": (
        gemini.usage,
        {
            "promptTokenCount": 700,
            "toolUsePromptTokenCount": 30,
            "cachedContentTokenCount": 600,
            "candidatesTokenCount": 5,
            "thoughtsTokenCount": 40,
        },
        {"input_tokens": 730, "output_tokens": 45, "cache_read_tokens": 600},
    ),
    "Gemini of the SDK": (
        gemini.usage,
        {
            "prompt_token_count": 700,
            "tool_use_prompt_token_count": 30,
            "cached_content_token_count": 600,
            "candidates_token_count": 5,
            "thoughts_token_count": 40,
        },
        {"input_tokens": 730, "output_tokens": 45, "cache_read_tokens": 600},
    ),
    "Chat Completions": (
        openai_chat.usage,
        {
            "prompt_tokens": 700,
            "prompt_tokens_details": {"cached_tokens": 600},
            "completion_tokens": 45,
            "completion_tokens_details": {"reasoning_tokens": 40},
        },
        {"input_tokens": 700, "output_tokens": 45, "cache_read_tokens": 600},
    ),
    "Responses": (
        openai_chat.usage,
        {
            "input_tokens": 700,
            "input_tokens_details": {"cached_tokens": 600},
            "output_tokens": 45,
            "output_tokens_details": {"reasoning_tokens": 40},
        },
        {"input_tokens": 700, "output_tokens": 45, "cache_read_tokens": 600},
    ),
}


@pytest.mark.parametrize("provider", REPORTED)
def test_every_count_of_a_usage_is_read(provider: str) -> None:
    """Thinking and what tools put into a prompt are paid for, too."""
    read, reported, expected = REPORTED[provider]
    assert read(reported) == expected


@pytest.mark.parametrize("provider", REPORTED)
@pytest.mark.parametrize("reported", [None, {}, [], "many", 3])
def test_what_is_no_usage_has_no_counts(provider: str, reported: Any) -> None:
    read, _, _ = REPORTED[provider]
    assert read(reported) == {}


@pytest.mark.parametrize("provider", REPORTED)
def test_a_count_that_is_no_number_is_left_out(provider: str) -> None:
    """And hides no other."""
    read, reported, expected = REPORTED[provider]
    for key in reported:
        others = read({**reported, key: "many"})
        assert {name: count for name, count in others.items() if count > expected[name]} == {}
        assert others
