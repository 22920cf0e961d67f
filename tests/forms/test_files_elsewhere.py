"""Files that lie with one provider: their ids and addresses go back to it, and to nobody else."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from amplifier_module_context_persistent import (
    InMemoryContextManager,
    to_anthropic,
    to_bedrock,
    to_gemini,
    to_openai,
    to_openai_responses,
)
from tests.support.messages import Message

Writer = Callable[..., dict[str, Any]]
WRITERS: dict[str, Writer] = {
    "anthropic": to_anthropic,
    "openai_chat": to_openai,
    "openai_responses": to_openai_responses,
    "gemini": to_gemini,
    "bedrock": to_bedrock,
}
GOOGLES_FILE = "https://generativelanguage.googleapis.com/v1beta/files/file_1"
FILES: dict[str, tuple[Message, set[str]]] = {
    "Anthropic's document": (
        {"role": "user", "content": [{"type": "document", "source": {"type": "file", "file_id": "file_1"}}]},
        {"anthropic"},
    ),
    "Anthropic's image": (
        {"role": "user", "content": [{"type": "image", "source": {"type": "file", "file_id": "file_1"}}]},
        {"anthropic"},
    ),
    "OpenAI's file": (
        {"role": "user", "content": [{"type": "file", "file": {"file_id": "file_1"}}]},
        {"openai_chat", "openai_responses"},
    ),
    "OpenAI's image": (
        {"role": "user", "content": [{"type": "input_image", "file_id": "file_1", "detail": "auto"}]},
        {"openai_responses"},
    ),
    "a file in a bucket": (
        {"role": "user", "parts": [{"fileData": {"fileUri": "gs://file_1", "mimeType": "application/pdf"}}]},
        {"gemini"},
    ),
    "an image in a bucket": (
        {"role": "user", "parts": [{"fileData": {"fileUri": "gs://file_1", "mimeType": "image/png"}}]},
        {"gemini"},
    ),
    "Google's image": (
        {"role": "user", "parts": [{"fileData": {"fileUri": GOOGLES_FILE, "mimeType": "image/png"}}]},
        {"gemini"},
    ),
    "Google's document": (
        {"role": "user", "parts": [{"fileData": {"fileUri": GOOGLES_FILE, "mimeType": "application/pdf"}}]},
        {"gemini"},
    ),
}


def told_without_texts(body: Any) -> str:
    """A body as JSON, without the lines that tell of a file."""
    if isinstance(body, dict):
        return "".join(told_without_texts(value) for key, value in body.items() if key not in ("text", "type"))
    if isinstance(body, list):
        return "".join(map(told_without_texts, body))
    return "" if isinstance(body, str) and body.startswith("[") else json.dumps(body, default=repr)


@pytest.mark.parametrize(("message", "owners"), FILES.values(), ids=FILES)
async def test_a_file_is_sent_to_its_owner(message: Message, owners: set[str]) -> None:
    """The others get a line about it: they would refuse the request."""
    memory = InMemoryContextManager()
    (form,) = {next(iter(sorted(owners)))}
    await memory.add_message(message, form=form)
    view = await memory.get_messages_for_request()
    sent_to = {name for name, write in WRITERS.items() if "file_1" in told_without_texts(write(view))}
    assert sent_to == owners


async def test_a_public_address_is_sent_to_all_that_fetch() -> None:
    """Whichever form it came in."""
    part = {"fileData": {"fileUri": "https://example.com/file_1", "mimeType": "image/png"}}
    memory = InMemoryContextManager()
    await memory.add_message({"role": "user", "parts": [part]})
    view = await memory.get_messages_for_request()
    for write in (to_anthropic, to_openai, to_openai_responses, to_gemini):
        assert "https://example.com/file_1" in told_without_texts(write(view))


async def test_a_foreign_document_has_the_keys_that_anthropic_knows() -> None:
    """It refuses a request with others: "Extra inputs are not permitted"."""
    memory = InMemoryContextManager()
    call = {"role": "assistant", "content": "", "tool_calls": [{"id": "c", "tool": "read", "arguments": {}}]}
    blob = {"uri": "f://a.pdf", "blob": "JVBERi0xLjQK", "mimeType": "application/pdf"}
    result = {"role": "tool", "tool_call_id": "c", "content": [{"type": "resource", "resource": blob}]}
    pdf = {"fileData": {"fileUri": "https://example.com/a.pdf", "mimeType": "application/pdf"}}
    table = {"fileData": {"fileUri": "https://example.com/a.csv", "mimeType": "text/csv"}}
    said = {"document": {"format": "csv", "name": "a", "source": {"text": "a,b"}}}
    await memory.add_messages([{"role": "user", "content": "go"}, call, result])
    await memory.add_message({"role": "user", "parts": [pdf, table]})
    await memory.add_message({"role": "user", "content": [said, {"text": "read"}]}, form="bedrock")
    messages = to_anthropic(await memory.get_messages_for_request(), cache=False)["messages"]
    (given,) = messages[2]["content"][0]["content"]
    assert given.keys() == {"type", "title", "source"}
    assert messages[3]["content"][0]["source"] == {"type": "url", "url": "https://example.com/a.pdf"}
    assert messages[3]["content"][1]["type"] == "text"
    assert messages[4]["content"][0]["source"] == {"type": "text", "media_type": "text/plain", "data": "a,b"}
