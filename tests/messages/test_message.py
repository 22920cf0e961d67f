"""Reading a message: its calls, what a result answers, its text."""

from typing import Any

import pytest

from amplifier_module_context_persistent.messages.message import (
    Call,
    call_arguments_of,
    calls_of,
    result_id_of,
    text_of,
    without_thinking,
)
from amplifier_module_context_persistent.messages.text import arguments_text
from tests.support.message_shapes import IMAGE, Message, block, call, result, says, text, user


@pytest.mark.parametrize(
    ("message", "calls"),
    [
        (user("a", tool_calls=[call()]), ()),
        (says("a"), ()),
        (says("", tool_calls=[call("a"), call("b")]), (Call("a", "bash"), Call("b", "bash"))),
        (says("", tool_calls=[{"id": 3, "function": {"name": "grep"}}]), (Call("3", "grep"),)),
        (says("", tool_calls=[{"id": "a"}]), (Call("a", "unknown"),)),
        (says([block("b"), block("a")], tool_calls=[call("a")]), (Call("a", "bash"), Call("b", "bash"))),
        (says([{"type": "tool_use", "id": "a", "name": "bash"}]), (Call("a", "bash"),)),
    ],
)
def test_calls_of_a_message(message: Message, calls: tuple[Call, ...]) -> None:
    """Those of `tool_calls` come first, each once, in whatever form they are."""
    assert calls_of(message) == calls


@pytest.mark.parametrize(
    ("message", "call_id"),
    [
        (user("a", tool_call_id="x"), None),
        (result("a"), "c1"),
        (result("a", tool_call_id=5), "5"),
        ({"role": "function", "content": "a", "name": "f"}, ""),
        ({"role": "tool", "content": "a", "tool_call_id": ""}, ""),
    ],
)
def test_the_call_that_a_result_answers(message: Message, call_id: str | None) -> None:
    """A result without an id answers no call."""
    assert result_id_of(message) == call_id


@pytest.mark.parametrize(
    ("content", "found"),
    [("a", "a"), (None, ""), ([text("a"), IMAGE, text("b"), "c"], "a\nb"), (3, ""), ([text(7)], "7")],
)
def test_the_text_of_a_message(content: Any, found: str) -> None:
    """The content, or its text blocks."""
    assert text_of(user(content)) == found


@pytest.mark.parametrize("kind", [["thinking"], {"a": 1}, None, 3, True])
def test_a_block_whose_type_is_no_string_is_of_no_kind(kind: Any) -> None:
    """What a tool or a provider put there stays as it is, and nothing fails on it."""
    message = says([{"type": kind, "id": "a", "text": "b"}, text("c")], tool_calls=[call("d")])
    assert calls_of(message) == (Call("d", "bash"),)
    assert text_of(message) == "c"
    assert without_thinking(message) is message


@pytest.mark.parametrize("arguments", ["[" * 100_000, "[" * 300 + "]" * 300, "{", "[1]"])
def test_arguments_that_no_log_may_hold_as_json_stay_text(arguments: str) -> None:
    """What is no object, or nested too deeply to be walked through, is an argument by itself."""
    asked = {"id": "c1", "function": {"name": "run", "arguments": arguments}}
    assert call_arguments_of(asked) == {"arguments": [1] if arguments == "[1]" else arguments}
    assert arguments_text(arguments) == arguments
    assert [call.id for call in calls_of({"role": "assistant", "tool_calls": [asked]})] == ["c1"]
