"""Chat Completions as servers and kits around OpenAI's have them: what comes back out is what went in."""

from __future__ import annotations

import copy

import pytest

from amplifier_module_context_persistent import InMemoryContextManager, to_anthropic, to_openai
from tests.support.checker import anthropic_violations
from tests.support.foreign_messages import PNG_URL, Message

GO: Message = {"role": "user", "content": "go"}
RESULT: Message = {"role": "tool", "tool_call_id": "c1", "content": "a.py"}
CALL: Message = {"id": "c1", "type": "function", "function": {"name": "ls", "arguments": "{}"}}
SIGNED: Message = {**CALL, "extra_content": {"google": {"thought_signature": "c2ln"}}}
DETAILS = [{"type": "reasoning.encrypted", "data": "RW"}]

ADDED: dict[str, list[Message]] = {
    "reasoning_content": [
        {"role": "assistant", "content": None, "reasoning_content": "hm", "tool_calls": [CALL]},
        RESULT,
        {"role": "assistant", "content": "done", "reasoning_content": "well"},
    ],
    "reasoning_details": [{"role": "assistant", "content": "d", "reasoning": "hm", "reasoning_details": DETAILS}],
    "signatures of calls": [{"role": "assistant", "content": None, "tool_calls": [SIGNED]}, RESULT],
}
TAKEN: dict[str, list[Message]] = {
    "names": [{"role": "assistant", "content": "yes", "name": "ann"}, {"role": "user", "content": "x", "name": "bob"}],
    "another file": [
        {
            "role": "user",
            "content": [{"type": "file", "file": {"filename": "a.txt", "file_data": "data:text/plain;base64,aGk="}}],
        }
    ],
    "a refusal among parts": [{"role": "assistant", "content": [{"type": "refusal", "refusal": "no"}]}],
}


async def played(*messages: Message) -> tuple[list[Message], list[Message]]:
    """The view after messages were added, and the history in their form."""
    async with InMemoryContextManager() as memory:
        for message in messages:
            await memory.add_message(copy.deepcopy(message))
        return await memory.get_messages_for_request(), await memory.messages_as("openai_chat")


@pytest.mark.parametrize("messages", ADDED.values(), ids=ADDED)
async def test_what_a_compatible_server_adds_goes_back_if_it_is_asked_for(messages: list[Message]) -> None:
    """OpenAI's own server refuses it."""
    given = [GO, *messages, GO]
    view, history = await played(*given)
    assert history == given
    assert to_openai(view, reasoning=True)["messages"] == given
    plain = str(to_openai(view)["messages"])
    assert not [key for key in ("reasoning", "extra_content", "hm") if key in plain]
    assert anthropic_violations(to_anthropic(view)) == []


@pytest.mark.parametrize("messages", TAKEN.values(), ids=TAKEN)
async def test_what_openai_takes_goes_back(messages: list[Message]) -> None:
    """As it came."""
    given = [GO, *messages, GO]
    view, history = await played(*given)
    assert history == given
    assert to_openai(view)["messages"] == given


async def test_spoken_words_of_which_only_the_id_is_known() -> None:
    """As OpenAI's guide on audio sends them again."""
    view, history = await played(GO, {"role": "assistant", "audio": {"id": "audio_1"}}, GO)
    assert to_openai(view)["messages"][1] == {"role": "assistant", "audio": {"id": "audio_1"}}
    assert history[1]["audio"] == {"id": "audio_1"}
    assert anthropic_violations(to_anthropic(view)) == []


async def test_an_image_in_a_result_is_told_of() -> None:
    """A request has texts there alone."""
    image = {"type": "image_url", "image_url": {"url": PNG_URL}}
    result = {**RESULT, "content": [{"type": "text", "text": "one"}, image]}
    view, history = await played(GO, {"role": "assistant", "content": None, "tool_calls": [CALL]}, result)
    assert history[2] == result
    assert [part["text"] for part in to_openai(view)["messages"][2]["content"]] == [
        "one",
        "[image: image/png, 70 bytes]",
    ]
