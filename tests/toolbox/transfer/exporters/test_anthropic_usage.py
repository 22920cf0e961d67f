"""What an answer's request cost, in the form that Anthropic reports."""

from amplifier_module_context_persistent.toolbox.transfer.exporters.claude_code import anthropic_usage


def answer(**usage: int) -> dict:
    return {"role": "assistant", "content": "ok", "metadata": {"usage": usage}}


def test_cache_writes_are_told_by_how_long_they_are_kept() -> None:
    """Their sum is told as well; none of it is part of the input."""
    told = anthropic_usage(
        answer(
            input_tokens=10, output_tokens=3, cache_read_tokens=4, cache_write_tokens=7, cache_write_5m_tokens=5,
            cache_write_1h_tokens=2,
        )
    )  # fmt: skip
    assert told["cache_creation"] == {"ephemeral_5m_input_tokens": 5, "ephemeral_1h_input_tokens": 2}
    assert (told["cache_creation_input_tokens"], told["cache_read_input_tokens"], told["output_tokens"]) == (7, 4, 3)


def test_what_nobody_counted_by_time_is_not_told_by_time() -> None:
    assert "cache_creation" not in anthropic_usage(answer(input_tokens=10, output_tokens=3, cache_write_tokens=7))
