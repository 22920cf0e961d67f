"""The request that asks for a summary."""

from amplifier_module_context_persistent.window.summary_request import PROMPT, flattened, instruction

MESSAGES = [
    {"role": "user", "content": "Look at a.py."},
    {"role": "assistant", "content": "", "tool_calls": [{"id": "c", "tool": "read", "arguments": {"path": "a.py"}}]},
    {"role": "tool", "tool_call_id": "c", "name": "read", "content": "begin " + "x" * 5000 + " end"},
    {"role": "assistant", "content": [{"type": "text", "text": "It is long."}]},
]


def test_the_instruction_is_no_human_message() -> None:
    """It is a reminder in a user's role."""
    assert instruction("Do it.") == {"role": "user", "content": "<system-reminder>\nDo it.\n</system-reminder>"}


def test_a_conversation_is_flattened_to_one_text() -> None:
    """Roles, texts, calls and results are in it, in order, and the instruction after them."""
    content = flattened(MESSAGES, PROMPT, 100_000)["content"]
    for part in ("[user]\nLook at a.py.", '[call read c] {"path":"a.py"}', "[tool read]\nbegin", "It is long.", PROMPT):
        at = content.index(part)
        content = content[at:]


def test_long_texts_are_shortened_to_what_there_is_room_for() -> None:
    """Their beginnings and ends stay, and short texts stay whole."""
    content = flattened(MESSAGES, "", 1_000)["content"]
    assert len(content) < 1_100
    assert "begin x" in content
    assert "x end" in content
    assert "It is long." in content


def test_where_not_even_the_shortest_fit_the_oldest_go() -> None:
    """The end of the conversation is what stays."""
    content = flattened(MESSAGES * 50, "", 300)["content"]
    assert content.endswith("It is long.\n</conversation>\n\n")
    assert len(content) < 350
    assert flattened(MESSAGES, "", 0)["content"] == "<conversation>\n\n</conversation>\n\n"
