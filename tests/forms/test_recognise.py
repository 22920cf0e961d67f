"""Recognising the form of a message by its shape."""

from __future__ import annotations

from pathlib import Path

import pytest

from amplifier_module_context_persistent import PersistentContextManager
from amplifier_module_context_persistent.errors import RecordError
from amplifier_module_context_persistent.forms.recognise import FORMS, is_plain, shape_of
from tests.support.foreign_messages import Message
from tests.support.sweeps import proof

TEXTS = ([], [{"type": "text", "text": "one"}], [{"type": "text", "text": "one"}, {"type": "text", "text": ""}])


@pytest.mark.parametrize("role", ["user", "assistant", "tool", "system", "developer"])
@pytest.mark.parametrize("before", ["", *FORMS])
def test_blocks_of_text_are_amplifiers_own_after_any_form(role: str, before: str) -> None:
    for content in TEXTS:
        message = {"role": role, "content": content, "metadata": {"turn": 1}}
        assert is_plain(message)
        assert shape_of(message, before) is None


@pytest.mark.parametrize(
    "block",
    [
        {"text": "one"},
        {"type": "input_text", "text": "one"},
        {"type": "text", "text": "one", "citations": []},
        {"type": "text", "text": ["one"]},
        {"type": "text"},
        "one",
    ],
)
def test_other_blocks_are_looked_at(block: object) -> None:
    assert not is_plain({"role": "user", "content": [{"type": "text", "text": "a"}, block]})


@proof(quick=1)
@pytest.mark.parametrize(
    "event",
    [
        {"type": "response.output_text.delta", "delta": "x", "item_id": "msg_1"},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "x"}},
        {"type": "message_start", "message": {"role": "assistant", "content": []}},
        {"type": "error", "error": {"type": "overloaded_error", "message": "busy"}},
    ],
)
async def test_an_event_of_a_stream_is_no_message(event: Message, tmp_path: Path) -> None:
    """It is refused with a word, also in a list: a provider would refuse every later request for it."""
    async with PersistentContextManager(tmp_path / "log.jsonl") as memory:
        with pytest.raises(RecordError, match="is an event of a stream, or an error; add the final message"):
            await memory.add_message(event)
        with pytest.raises(RecordError, match="is an event of a stream"):
            await memory.set_messages([{"role": "user", "content": "go"}, event])
        assert await memory.get_messages() == []
