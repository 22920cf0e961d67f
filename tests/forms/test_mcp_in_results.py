"""What an MCP tool gave, put into a result of Anthropic's as a caller without another thought does."""

from __future__ import annotations

import copy

import pytest

from amplifier_module_context_persistent import InMemoryContextManager, to_anthropic, to_openai
from tests.support.checker import anthropic_violations
from tests.support.foreign_messages import PDF, Message

CALL: Message = {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "ls", "input": {}}]}
TEXT = {"type": "resource", "resource": {"uri": "f://a.md", "mimeType": "text/markdown", "text": "EMBEDDED words"}}
BLOB = {"type": "resource", "resource": {"uri": "f://a.pdf", "mimeType": "application/pdf", "blob": PDF}}
LINK = {"type": "resource_link", "uri": "reports://q3", "name": "q3"}
DOCUMENT = {
    "type": "document",
    "source": {"type": "base64", "media_type": "application/pdf", "data": PDF},
    "title": "f://a.pdf",
}


@pytest.mark.parametrize(
    ("block", "sent", "told"),
    [
        (TEXT, {"type": "text", "text": "EMBEDDED words"}, "EMBEDDED words"),
        (BLOB, DOCUMENT, "[PDF: f://a.pdf, application/pdf"),
        (LINK, {"type": "text", "text": "[link to q3: reports://q3]"}, "[link to q3: reports://q3]"),
    ],
    ids=["text", "blob", "link"],
)
async def test_every_model_is_shown_what_it_takes(block: Message, sent: Message, told: str) -> None:
    """And the history has it as it was added."""
    result = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": [block]}]}
    given = [{"role": "user", "content": "go"}, CALL, result]
    async with InMemoryContextManager() as memory:
        await memory.add_messages(copy.deepcopy(given))
        view = await memory.get_messages_for_request()
        assert await memory.messages_as("anthropic") == given
    body = to_anthropic(view, cache=False)
    assert body["messages"][2]["content"][0]["content"] == [sent]
    assert anthropic_violations(body) == []
    assert to_openai(view)["messages"][2]["content"].startswith(told)


async def test_an_object_in_place_of_content_is_its_json() -> None:
    """A tool's value that nobody made a text of."""
    result = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": {"rows": [1]}}]}
    async with InMemoryContextManager() as memory:
        await memory.add_messages([{"role": "user", "content": "go"}, CALL, result])
        body = to_anthropic(await memory.get_messages_for_request(), cache=False)
    assert body["messages"][2]["content"][0]["content"] == '{"rows":[1]}'
