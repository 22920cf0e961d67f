"""Messages that exist only in views."""

from amplifier_module_context_persistent.messages.metadata import is_human
from amplifier_module_context_persistent.view.arrangement import INTERRUPTED, inserted_message, stand_in


def test_what_is_inserted_says_so() -> None:
    """No person wrote it, whatever its role, and each one is an object of its own."""
    message = inserted_message("user", "left out")
    assert (message["role"], message["content"]) == ("user", "left out")
    assert not is_human(message)
    assert message["metadata"] is not inserted_message("user", "left out")["metadata"]


def test_a_stand_in_answers_its_call() -> None:
    """It names the call and the tool, and tells what happened."""
    message = stand_in("c1", "bash")
    assert (message["role"], message["tool_call_id"], message["name"]) == ("tool", "c1", "bash")
    assert message["content"] == INTERRUPTED
