"""A stored message as one text: nothing that it says is missing, and what recall asked is not searched."""

from typing import Any

import pytest
from hypothesis import given

from amplifier_module_context_persistent.messages.metadata import timestamp_of
from amplifier_module_context_persistent.messages.text import full_text
from tests.support import histories
from tests.support.messages import words_of

CALL = {"id": "c1", "tool": "bash", "arguments": {"command": "ls"}}
RECALL_CALL = {"id": "c2", "tool": "recall", "arguments": {"query": "lost words"}}


@pytest.mark.parametrize(
    ("message", "text"),
    [
        ({"role": "user", "content": "as it is \n"}, "as it is \n"),
        ({"role": "user", "content": None}, ""),
        ({"role": "user", "content": {"a": 1}}, '{"a":1}'),
        ({"role": "user", "content": [{"type": "text", "text": "a"}, "b", 3]}, "a\nb\n3"),
        ({"role": "assistant", "content": "", "tool_calls": [CALL]}, '[call bash c1] {"command":"ls"}'),
        (
            {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "bash", "input": {"a": "ü"}}]},
            '[call bash c1] {"a":"ü"}',
        ),
        (
            {"role": "assistant", "tool_calls": [{"id": "c", "function": {"name": "f", "arguments": '{"a": 1}'}}]},
            '[call f c] {"a": 1}',
        ),
        ({"role": "assistant", "tool_calls": ["no call", {"name": "no id"}]}, '"no call"\n{"name":"no id"}'),
        (
            {"role": "assistant", "content": "b", "thinking_block": {"type": "thinking", "thinking": "a"}},
            "b\n[thinking]\na",
        ),
        ({"role": "tool", "content": [{"type": "tool_result", "tool_call_id": "c", "output": [1]}]}, "[1]"),
        ({"role": "user", "content": [{"type": "odd", "x": "y"}]}, '{"type":"odd","x":"y"}'),
    ],
)
def test_messages_as_texts(message: dict[str, Any], text: str) -> None:
    """A string is itself; blocks, thinking and calls are written one below the other."""
    assert full_text(message) == (text, len(text))


def test_of_an_image_kind_and_size_are_told() -> None:
    """Its bytes are no text."""
    text, _ = full_text({"role": "user", "content": [histories.image_block()]})
    assert text == f"[image image/png, {len(histories.IMAGE_DATA)} characters of base64]"


def test_a_call_and_its_copy_in_the_content_are_written_once() -> None:
    """`tool_calls` names the calls of `content` too."""
    block = {"type": "tool_call", "id": "c1", "name": "bash", "input": {"command": "ls"}}
    text, _ = full_text({"role": "assistant", "content": [block], "tool_calls": [CALL]})
    assert text == '[call bash c1] {"command":"ls"}'


def test_calls_of_recall_stand_last_and_are_not_searched() -> None:
    """Else every search would find the call that asked for it."""
    text, searched = full_text({"role": "assistant", "content": "well", "tool_calls": [RECALL_CALL, CALL]})
    assert text[:searched] == 'well\n[call bash c1] {"command":"ls"}'
    assert text[searched:] == '\n[call recall c2] {"query":"lost words"}'


@given(histories.messages())
def test_every_word_of_a_message_is_in_its_text(history: list[dict[str, Any]]) -> None:
    """Whatever the message, its texts, results and arguments are there, arguments as JSON."""
    for message in history:
        text, _ = full_text(message)
        for said in words_of(message):
            assert said in text


def test_the_time_of_a_message() -> None:
    """It stands in the metadata, or in old messages at the top."""
    assert timestamp_of({"metadata": {"timestamp": "a"}, "timestamp": "b"}) == "a"
    assert timestamp_of({"timestamp": "b"}) == "b"
    assert timestamp_of({"timestamp": 3}) == ""
