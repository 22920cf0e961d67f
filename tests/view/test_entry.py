"""What a message is to the engine."""

from typing import Any

import pytest

from amplifier_module_context_persistent.messages.message import Call
from amplifier_module_context_persistent.view.entry import classify
from tests.support.messages import Message


def user(content: Any = "hello", **metadata: Any) -> Message:
    return {"role": "user", "content": content, "metadata": {"message_id": "m1", **metadata}}


def count(message: Message) -> int:
    return 1 + len(str(message.get("content")))


def test_a_message_is_counted_as_it_would_be_sent() -> None:
    """Blank blocks do not count, and a message of them alone counts nothing."""
    entry = classify(3, user([{"type": "text", "text": ""}, {"type": "text", "text": "a"}]), count)
    assert entry.tokens == count(user([{"type": "text", "text": "a"}]))
    assert (entry.ordinal, entry.id, entry.form.plain, entry.form.blank) == (3, "m1", False, False)
    blank = classify(4, user(""), count)
    assert (blank.tokens, blank.form.blank, blank.calls) == (0, True, ())


def test_calls_and_results_are_known() -> None:
    """A call's names, and which call a result answers, whether or not it says the tool's name."""
    calls = {"role": "assistant", "content": None, "tool_calls": [{"id": "c", "tool": "bash", "arguments": {}}]}
    assert classify(0, calls, count).calls == (Call("c", "bash"),)
    result = {"role": "tool", "content": "", "tool_call_id": "c"}
    entry = classify(1, result, count)
    assert (entry.result_of, entry.form.named, entry.form.blank) == ("c", False, False)
    assert classify(1, {**result, "name": "bash"}, count).form.named


@pytest.mark.parametrize(
    ("metadata", "pinned", "source"),
    [
        ({"pinned": True}, True, None),
        ({"critical": True, "source": "hook"}, True, "hook"),
        ({"pinned": 1, "source": 5}, False, None),
    ],
)
def test_pins_and_sources(metadata: Message, pinned: bool, source: str | None) -> None:
    """A pin is `true`, a source is a text."""
    entry = classify(0, user(**metadata), count)
    assert (entry.pinned, entry.origin.source) == (pinned, source)


def test_a_message_in_no_log_has_no_id() -> None:
    """Plans name what is in the log only."""
    assert classify(-1, user(), count).id == ""
    assert classify(0, {"role": "user", "content": "a", "metadata": {"message_id": 3}}, count).id == ""


@pytest.mark.parametrize(("role", "instructs"), [("system", True), ("developer", True), ("user", False)])
def test_who_instructs(role: str, instructs: bool) -> None:
    """System text is what the system and the developer say."""
    assert classify(0, {"role": role, "content": "a"}, count).instructs is instructs
