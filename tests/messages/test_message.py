"""Reading a message: its calls, what a result answers, its text."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from amplifier_module_context_persistent.messages.answer_usage import usage_of_message
from amplifier_module_context_persistent.messages.host_form import as_hosts_write, same_content
from amplifier_module_context_persistent.messages.message import (
    Call,
    call_arguments_of,
    calls_of,
    result_id_of,
    text_of,
    without_thinking,
)
from amplifier_module_context_persistent.messages.message_times import timestamp_of
from amplifier_module_context_persistent.messages.text import arguments_text, full_text
from amplifier_module_context_persistent.tokens.usage import ReportedUsage, usage_of_record
from tests.support import histories
from tests.support.message_shapes import IMAGE, Message, block, call, result, says, text, user
from tests.support.messages import words_of


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


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ('{"n":18446744073709551616,"m":-9223372036854775809}', {"n": 2**64, "m": -(2**63) - 1}),
        ('{"half":"\\ud800"}', {"half": "\ud800"}),
        ('{"n":NaN}', {"arguments": '{"n":NaN}'}),
        ("[" * 150 + "]" * 150, {"arguments": "[" * 150 + "]" * 150}),
    ],
    ids=["beyond 64 bits", "half a pair", "not a number", "deep"],
)
def test_arguments_in_text_are_read_exactly(written: str, read: Any) -> None:
    """What is no JSON, or too deep, stays a text."""
    assert call_arguments_of({"id": "a", "function": {"name": "f", "arguments": written}}) == read


def test_a_host_drops_thinking_copies_and_none_at_any_depth() -> None:
    """All else stays, and the message itself is not changed."""
    message = {
        "role": "assistant",
        "content": [{"type": "text", "text": "a", "visibility": None}, None],
        "thinking_block": {"type": "thinking"},
        "content_blocks": [1],
        "name": None,
        "tool_calls": [{"id": "c", "arguments": {"x": None, "y": [None, 1]}}],
    }
    assert as_hosts_write(message) == {
        "role": "assistant",
        "content": [{"type": "text", "text": "a"}],
        "tool_calls": [{"id": "c", "arguments": {"y": [1]}}],
    }
    assert message["name"] is None


@pytest.mark.parametrize(
    ("other", "same"),
    [
        ({"role": "user", "content": "a"}, True),
        ({"role": "user", "content": "a", "metadata": {"message_id": "m9"}, "timestamp": "t"}, True),
        ({"role": "user", "content": "a", "name": None, "thinking_text": "x"}, True),
        ({"role": "user", "content": "b"}, False),
        ({"role": "assistant", "content": "a"}, False),
        ({"role": "user", "content": "a", "name": "b"}, False),
    ],
)
def test_what_a_host_adds_or_drops_makes_no_difference(other: dict[str, Any], same: bool) -> None:
    """Ids, times and metadata are not compared; role and content are."""
    assert same_content({"role": "user", "content": "a", "metadata": {"message_id": "m1"}}, other) is same


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
        ({"role": "assistant", "tool_calls": ["no call", {"name": "no id"}]}, 'no call\n{"name":"no id"}'),
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
        assert (found.uncached, found.cached, found.written, found.output) == expected
        assert (found.input_tokens, found.model) == (sum(expected[:3]), "m")


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
