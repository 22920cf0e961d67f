"""What of a message is replaced, and what is a name that must stay."""

from __future__ import annotations

from typing import Any

import pytest

from amplifier_module_context_persistent.messages.replace_in_message import holds_in_names, redact_message

KEY = "sk-1"


def without_key(text: str) -> str:
    return text.replace(KEY, "[redacted]")


@pytest.mark.parametrize(
    ("message", "holds"),
    [
        ({"role": "user", "content": f"my {KEY}"}, False),
        ({"role": "user", "content": "x", KEY: 1}, True),
        ({"role": "tool", "content": "x", "tool_call_id": KEY}, True),
        ({"role": "tool", "content": "x", "name": f"of {KEY}"}, True),
        ({"role": "user", "content": [{"type": KEY, "text": "x"}]}, True),
        ({"role": "assistant", "content": "", "tool_calls": [{"id": KEY, "tool": "t", "arguments": {}}]}, True),
        ({"role": "assistant", "content": "", "tool_calls": [{"id": "c", "tool": KEY, "arguments": {}}]}, True),
    ],
    ids=["text", "key at the top", "id of a result", "name", "type of a block", "id of a call", "tool"],
)
def test_ids_names_and_keys_stay_and_are_told(message: dict[str, Any], holds: bool) -> None:
    """All else is replaced."""
    redacted = redact_message(message, without_key)
    assert holds_in_names(message, without_key) is holds
    assert (KEY in str(redacted)) is holds
    assert redact_message({"role": "user", "content": "clean"}, without_key) == {"role": "user", "content": "clean"}


def test_a_key_within_arguments_is_replaced_and_is_no_name() -> None:
    """Tools may have tables with any keys."""
    call = {"id": "c", "tool": "t", "arguments": {"headers": {KEY: "x", "plain": [KEY]}}}
    message = {"role": "assistant", "content": "", "tool_calls": [call]}
    assert not holds_in_names(message, without_key)
    (redacted,) = redact_message(message, without_key)["tool_calls"]
    assert redacted["arguments"] == {"headers": {"[redacted]": "x", "plain": ["[redacted]"]}}


def test_a_key_within_a_block_is_replaced_and_is_no_name() -> None:
    """A block of a kind that nobody knows may have tables, too."""
    message = {"role": "user", "content": [{"type": "chart", "rows": {KEY: 1, "plain": KEY}}]}
    assert not holds_in_names(message, without_key)
    assert KEY not in str(redact_message(message, without_key))
