"""Messages of Pydantic AI, as its `ModelMessagesTypeAdapter` writes them as JSON.

| part | canonical |
| --- | --- |
| `system-prompt` | a message of the role `system` |
| `user-prompt` | one of `user`: texts, images, documents |
| `tool-return`, and other parts that name a tool | one of `tool` |
| other parts with content, such as `retry-feedback` | a message of `user` that no person wrote |
| `text`, `thinking`, `tool-call` of a response | one answer, with the usage of its request |

A message is given back unchanged (`whole_body`); parts that are not in the table are only in its body. Messages that a
view has changed are written anew (`write`), without signatures.

Source: `pydantic_ai/messages.py` (2.68).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any

from ..messages.json_fields import present
from ..messages.message import Message, as_json, call_arguments_of, call_name_of, given_calls, parsed, text_of
from .canonical import UNKNOWN_TOOL, base64_source, items, mapping, medium, source_from_url, text, text_block, usage_of
from .whole_body import can_be_stored, for_people, with_body

NAME = "pydantic_ai"
_URLS = {"image-url": "image", "document-url": "document", "audio-url": "audio", "video-url": "video"}


def read_message(message: Mapping[str, Any], **facts: Any) -> list[Message]:
    """Read a message of Pydantic AI (plain JSON), and return canonical messages.

    `facts` are stored in the mark of the first message.
    """
    parts = [mapping(part) for part in items(message.get("parts"))]
    if message.get("kind") == "response":
        messages = [_answer(parts, message)]
    else:
        messages = [read for read in map(_message_of, parts) if read is not None]
    if not can_be_stored(messages):
        messages = [for_people(f"[{text(message.get('kind')) or 'message'}]")]
    return with_body(messages, dict(message), NAME, **facts)


def write(messages: Iterable[Message]) -> list[dict[str, Any]]:
    """Write canonical messages as messages of Pydantic AI.

    Each answer becomes a message of the kind `response`. All messages between two answers become the parts of one
    message of the kind `request`. Messages without any part are left out.
    """
    written: list[dict[str, Any]] = []
    names: dict[str, str] = {}
    for is_answer, group in groupby(messages, lambda message: message["role"] == "assistant"):
        if is_answer:
            written += [{"kind": "response", "parts": _answer_parts(message, names)} for message in group]
        else:
            written.append({"kind": "request", "parts": [_request_part(message, names) for message in group]})
    return [message for message in written if message["parts"]]


def _message_of(part: Mapping[str, Any]) -> Message | None:
    """Return a part of a request as a message; None if the part is empty."""
    kind = part.get("part_kind")
    content = part.get("content")
    if kind == "system-prompt":
        return {"role": "system", "content": text(content)}
    if kind == "user-prompt":
        return {"role": "user", "content": content if isinstance(content, str) else _blocks(content)}
    if content is None:
        return None
    words = content if isinstance(content, str) else as_json(content)
    tool = part.get("tool_name")
    if not tool:
        return {"role": "user", "content": words, "metadata": {"source": NAME}}
    result: Message = {"role": "tool", "tool_call_id": part.get("tool_call_id"), "name": tool, "content": words}
    if kind == "retry-prompt" or part.get("outcome") in ("failed", "denied", "retried"):
        result["metadata"] = {"is_error": True}
    return result


def _blocks(content: Any) -> list[Message]:
    blocks: list[Message] = []
    for item in items(content):
        if isinstance(item, str):
            blocks.append(text_block(item))
            continue
        kind = text(mapping(item).get("kind"))
        if kind in _URLS:
            blocks.append(medium(_URLS[kind], source_from_url(text(item.get("url")))))
        elif kind == "binary":
            media_type = text(item.get("media_type"))
            family = media_type.partition("/")[0]
            block_kind = family if family in ("image", "audio", "video") else "document"
            blocks.append(medium(block_kind, base64_source(text(item.get("data")), media_type)))
        else:
            blocks.append(text_block(text(mapping(item).get("content")) or f"[{kind or 'item'}]"))
    return blocks


def _answer(parts: Sequence[Mapping[str, Any]], message: Mapping[str, Any]) -> Message:
    """Return an answer with its texts, thinking and calls; a single text becomes the content."""
    blocks: list[Message] = []
    calls: list[Message] = []
    for part in parts:
        kind = part.get("part_kind")
        words = text(part.get("content"))
        if kind == "text" and words:
            blocks.append(text_block(words))
        elif kind == "thinking" and words:
            thinking: Message = {"type": "thinking", "thinking": words}
            if text(part.get("signature")):
                thinking["signature"] = part["signature"]
            blocks.append(thinking)
        elif kind == "tool-call":
            name = text(part.get("tool_name")) or UNKNOWN_TOOL
            arguments = _arguments(part.get("args"))
            calls.append({"id": part.get("tool_call_id"), "tool": name, "arguments": arguments})
    answer: Message = {"role": "assistant", "content": blocks}
    if len(blocks) == 1 and isinstance(blocks[0].get("text"), str):
        answer["content"] = blocks[0]["text"]
    if calls:
        answer["tool_calls"] = calls
    answer["metadata"] = present(
        provider=text(message.get("provider_name")),
        model=text(message.get("model_name")),
        usage=_usage(mapping(message.get("usage"))),
    )
    return answer


def _usage(reported: Mapping[str, Any]) -> dict[str, Any]:
    """Return the usage of a request; empty if none was reported. Pydantic AI's input includes cache writes."""
    read = reported.get("input_tokens")
    written = reported.get("cache_write_tokens")
    if type(read) is not int or not (read or reported.get("output_tokens")):
        return {}
    if type(written) is int:
        read = max(0, read - written)
    return usage_of(
        input_tokens=max(0, read),
        output_tokens=reported.get("output_tokens"),
        cache_read_tokens=reported.get("cache_read_tokens"),
        cache_write_tokens=written,
    )


def _arguments(arguments: Any) -> dict[str, Any]:
    try:
        value = parsed(arguments) if isinstance(arguments, str) else arguments
    except ValueError:  # the model wrote invalid JSON; the body has the original
        return {}
    return value if isinstance(value, dict) else {}


def _answer_parts(message: Message, names: dict[str, str]) -> list[dict[str, Any]]:
    """Return the parts of an answer, and note the names of its calls in `names`."""
    words = text_of(message)
    parts: list[dict[str, Any]] = []
    if words.strip():
        parts.append({"part_kind": "text", "content": words})
    for call_id, call in given_calls(message).items():
        name = call_name_of(call) or UNKNOWN_TOOL
        names[call_id] = name
        arguments = call_arguments_of(call)
        parts.append({"part_kind": "tool-call", "tool_name": name, "args": arguments, "tool_call_id": call_id})
    return parts


def _request_part(message: Message, names: Mapping[str, str]) -> dict[str, Any]:
    words = text_of(message)
    if message["role"] in ("tool", "function"):
        call_id = str(message.get("tool_call_id"))
        name = text(message.get("name")) or names.get(call_id, UNKNOWN_TOOL)
        return {"part_kind": "tool-return", "tool_name": name, "content": words, "tool_call_id": call_id}
    kind = "system-prompt" if message["role"] in ("system", "developer") else "user-prompt"
    return {"part_kind": kind, "content": words}
