"""Results of MCP tools: read and written.

A result is a `CallToolResult`, or its content in a message of the role `tool`.

| MCP | canonical |
| --- | --- |
| `text` | the same |
| `image`, `audio` with `data` and `mimeType` | `image`, `audio` |
| `resource` with `text` | `text`; `uri` and `mimeType` are beside it |
| `resource` with `blob` | `image`, `document`, `audio` or `video`, by its type |
| `resource_link` | `text` that names it; its keys are beside it |
| `structuredContent`, if there is no other content | `text` with the JSON |
| `structuredContent` beside content, `_meta` | `metadata.form.beside`: the specification has the content say the same |
| `isError` | in the metadata |

Sources: modelcontextprotocol.io/specification/2025-11-25/server/tools, .../schema#calltoolresult (read 2026-11).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

from ..messages.media_blocks import source_of
from ..messages.message import Message, as_json, metadata_of, parsed
from ..messages.uncarried_blocks import original_of
from ..tokens.media import type_of_image
from .block_text import result_blocks, words_or_line
from .canonical import (
    base64_source,
    beside,
    form_of,
    item_block,
    kind_of_type,
    mapping,
    marked,
    medium,
    objects_in,
    refused,
    text,
    text_block,
    without,
)

NAME = "mcp"
KINDS = frozenset({"resource", "resource_link"})
"""Types of blocks that only MCP has."""
_TYPE_KEYS = ("mimeType", "mime_type")
_KEPT = frozenset({"resource", "link"})
ON_RESULTS = frozenset({"structuredContent", "isError"})
"""Keys that only MCP has on a result."""


def read(messages: Iterable[Mapping[str, Any]]) -> list[Message]:
    """Read results: messages of the role `tool` with the content or with the keys of a `CallToolResult`.

    Raises:
        RecordError: a result is malformed or does not name its call; the error says where.
    """
    return [_read_one(message) for message in messages]


def _read_one(message: Mapping[str, Any]) -> Message:
    call_id = message.get("tool_call_id")
    if message.get("role", "tool") == "tool" and not isinstance(call_id, str):
        remedy = "add it: {'role': 'tool', 'tool_call_id': ..., **result}"
        raise refused(".tool_call_id", "is missing: a result of an MCP tool does not name its call", remedy)
    content: Any = message.get("content")
    form_keys = without(message, "content", "role", "tool_call_id", "name", "metadata", "isError", "timestamp")
    structured = message.get("structuredContent")
    if structured is not None and not content:
        content = [text_block(as_json(structured), structured=True)]
        del form_keys["structuredContent"]
    elif isinstance(content, list):
        content = [read_block(block) for block in objects_in(content, ".content")]
    rest = {key: value for key, value in message.items() if key not in ("content", *form_keys, *ON_RESULTS)}
    metadata = dict(mapping(message.get("metadata")))
    if message.get("isError") is True:
        metadata["is_error"] = True
    whole = {"role": "tool", **rest, "content": content, "metadata": metadata}
    return marked(whole, NAME, beside=form_keys)


def read_block(block: Mapping[str, Any]) -> Message:
    """Return a block of a result's content in canonical form."""
    kind = block.get("type")
    if kind in ("image", "audio") and isinstance(block.get("data"), str):
        media_type = text(block.get("mimeType")) or text(block.get("mime_type"))
        if not media_type and kind == "image":
            media_type = type_of_image(block["data"])
        source = base64_source(block["data"], media_type or f"{kind}/*")
        return medium(str(kind), source, **without(block, "type", "data", *_TYPE_KEYS))
    if kind == "resource_link":
        return text_block(_link(block), link=without(block, "type"))
    resource = block.get("resource")
    if kind == "resource" and isinstance(resource, Mapping):
        rest = without(resource, "text", "blob")
        more = without(block, "type", "resource")
        words = resource.get("text")
        if isinstance(words, str):
            return text_block(words, resource=rest, **more)
        blob = resource.get("blob")
        if isinstance(blob, str):
            media_type = text(resource.get("mimeType"))
            source = base64_source(blob, media_type or "application/octet-stream")
            return medium(kind_of_type(media_type), source, text(resource.get("uri")), resource=rest, **more)
    return item_block(block)


def bare_content(content: Any) -> Any:
    """Return the content of a result without the keys that are only needed to write this form again, for importers."""
    if not isinstance(content, list):
        return content
    return [block if _KEPT.isdisjoint(block) else without(block, *_KEPT) for block in content]


def _link(block: Mapping[str, Any]) -> str:
    """Return a link as one line: its name, its description and its address."""
    name = text(block.get("title")) or text(block.get("name"))
    details = [text(block.get("description")), text(block.get("mimeType")), text(block.get("uri"))]
    in_one_line = [" ".join(detail.split()) for detail in details if detail]
    described = ", ".join(in_one_line)
    if name and described:
        return f"[link to {name}: {described}]"
    return f"[link to {name or described}]"


def write(messages: Iterable[Message], *, exact: bool = False) -> list[Message]:
    """Write results as `CallToolResult`s, with the id of their call under `tool_call_id`; leave out other messages.

    Args:
        messages: canonical messages in order.
        exact: has no effect here.
    """
    return [_write_one(message) for message in messages if message["role"] in ("tool", "function")]


def _write_one(message: Message) -> Message:
    is_own_form = form_of(message) == NAME
    blocks = list(result_blocks(message))
    content = [write_block(block, is_own_form=is_own_form) for block in blocks]
    result: Message = {"role": "tool", "tool_call_id": message.get("tool_call_id"), "content": content}
    structured = [block for block in blocks if is_own_form and block.get("structured") is True]
    if structured:
        with suppress(ValueError):  # a view has shortened the result
            result |= {"structuredContent": parsed(text(structured[0].get("text"))), "content": []}
    elif is_own_form and isinstance(message.get("content"), str):
        result["content"] = message["content"]
    if metadata_of(message).get("is_error") is True:
        result["isError"] = True
    if is_own_form:
        result |= beside(message)
    return result


def write_block(block: Mapping[str, Any], *, is_own_form: bool) -> Message:
    """Return a result's block in MCP's form.

    With `is_own_form`, the block was read from MCP, and is written back unchanged.
    """
    original = original_of(block)
    source = source_of(original)
    if is_own_form:
        link = original.get("link")
        if isinstance(link, Mapping):
            return {"type": "resource_link", **link}
    more: Message = {}
    if is_own_form:
        more = without(original, "type", "text", "source", "title", "resource", "original", "visibility", "structured")
    resource = mapping(original.get("resource"))
    if is_own_form and resource:
        if source is not None and source.data:
            return {"type": "resource", "resource": {**resource, "blob": source.data}, **more}
        return {"type": "resource", "resource": {**resource, "text": text(original.get("text"))}, **more}
    if source is not None and source.data and source.kind in ("image", "audio"):
        return {"type": source.kind, "data": source.data, "mimeType": source.media_type, **more}
    if original.get("type") == "text":
        return {"type": "text", "text": text(original.get("text")), **more}
    return dict(original) if is_own_form else {"type": "text", "text": words_or_line(block)}
