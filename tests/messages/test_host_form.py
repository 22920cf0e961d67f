"""Messages as a host writes them, and which are the same message."""

from typing import Any

import pytest

from amplifier_module_context_persistent.messages.host_form import as_hosts_write, same_content


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
