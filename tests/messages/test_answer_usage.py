"""What a provider reported of the request that a message answered, and which reports are the beginning of a stream."""

from typing import Any

import pytest

from amplifier_module_context_persistent.messages.answer_usage import usage_of_message

PROSE = "The importer reads each line once, and remembers where its parent stood. " * 20  # some 280 tokens


def answer(content: Any, output_tokens: int, **more: Any) -> dict[str, Any]:
    usage = {"input_tokens": 1_000, "output_tokens": output_tokens}
    return {"role": "assistant", "content": content, "metadata": {"model": "m", "usage": usage}, **more}


def call(arguments: Any) -> list[dict[str, Any]]:
    return [{"id": "c", "tool": "write_file", "arguments": arguments}]


@pytest.mark.parametrize(
    ("message", "output"),
    [
        (answer(PROSE, 280), 280),
        (answer(PROSE, 1), None),
        (answer([{"type": "text", "text": PROSE}], 25), None),
        (answer([{"type": "thinking", "thinking": PROSE, "signature": "x"}], 8), None),
        (answer("", 1, tool_calls=call({"content": PROSE})), None),
        (answer("", 290, tool_calls=call({"content": PROSE})), 290),
        (answer([{"type": "tool_use", "id": "c", "name": "write", "input": {"content": PROSE}}], 1), None),
        (answer("Done.", 1), 1),
        (answer("-" * 4_000 + "\n" + " " * 900, 70), 70),
        (answer([{"type": "thinking", "thinking": "", "signature": "x" * 9_000}], 12), 12),
        (answer([{"type": "tool_result", "tool_use_id": "c", "content": PROSE}], 12), 12),
    ],
    ids=[
        "whole",
        "text",
        "block",
        "thinking",
        "call",
        "whole call",
        "call in a block",
        "short",
        "lines and indents",
        "signature",
        "what a server's tool gave",
    ],
)
def test_an_output_that_is_too_small_for_its_answer_is_unknown(message: dict[str, Any], output: int | None) -> None:
    """Streamed records name the usage of the stream's beginning; its input is right."""
    usage = usage_of_message(message)
    assert usage is not None
    assert (usage.output, usage.input_tokens) == (output, 1_000)


def test_what_the_program_said_itself_is_no_request() -> None:
    """No model was asked for an answer of `<synthetic>`, whatever usage it names."""
    message = answer("API Error: overloaded", 0)
    message["metadata"]["model"] = "<synthetic>"
    assert usage_of_message(message) is None
