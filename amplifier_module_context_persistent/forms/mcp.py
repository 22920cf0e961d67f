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
from typing import Any

from ..messages.media_blocks import source_of
from ..messages.message import Message, as_json, parsed
from ..messages.metadata import metadata_of
from ..messages.uncarried_blocks import original_of
from ..tokens.media import type_of_image
from .block_text import result_blocks, told
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
    told_of = without(message, "content", "role", "tool_call_id", "name", "metadata", "isError", "timestamp")
    structured = message.get("structuredContent")
    if structured is not None and not content:
        content = [text_block(as_json(structured), structured=True)]
        del told_of["structuredContent"]
    elif isinstance(content, list):
        content = [read_block(block) for block in objects_in(content, ".content")]
    rest = {key: item for key, item in message.items() if key not in ("content", *told_of, *ON_RESULTS)}
    failed = {"is_error": True} if message.get("isError") is True else {}
    whole = {"role": "tool", **rest, "content": content, "metadata": {**mapping(message.get("metadata")), **failed}}
    return marked(whole, NAME, beside=told_of)


def read_block(block: Mapping[str, Any]) -> Message:
    """Return a block of a result's content in canonical form."""
    kind = block.get("type")
    if kind in ("image", "audio") and isinstance(block.get("data"), str):
        named = text(block.get("mimeType")) or text(block.get("mime_type"))
        media_type = named or (type_of_image(block["data"]) if kind == "image" else "") or f"{kind}/*"
        return medium(
            str(kind), base64_source(block["data"], media_type), **without(block, "type", "data", *_TYPE_KEYS)
        )
    if kind == "resource_link":
        return text_block(_link(block), link=without(block, "type"))
    if kind == "resource" and isinstance(resource := block.get("resource"), Mapping):
        more = without(block, "type", "resource")
        rest = without(resource, "text", "blob")
        if isinstance(said := resource.get("text"), str):
            return text_block(said, resource=rest, **more)
        if isinstance(blob := resource.get("blob"), str):
            media_type = text(resource.get("mimeType"))
            source = base64_source(blob, media_type or "application/octet-stream")
            return medium(kind_of_type(media_type), source, text(resource.get("uri")), resource=rest, **more)
    return item_block(block)


def bare_content(content: Any) -> Any:
    """Return the content of a result without the keys that only this form needs to write it again, for importers."""
    if not isinstance(content, list):
        return content
    return [without(block, *_KEPT) if not _KEPT.isdisjoint(block) else block for block in content]


def _link(block: Mapping[str, Any]) -> str:
    """Return a link as one line: its name, its description and its address."""
    name = text(block.get("title")) or text(block.get("name"))
    details = [text(block.get("description")), text(block.get("mimeType")), text(block.get("uri"))]
    told_of = ", ".join(" ".join(detail.split()) for detail in details if detail)
    return f"[link to {name}: {told_of}]" if name and told_of else f"[link to {name or told_of}]"


def write(messages: Iterable[Message], *, exact: bool = False) -> list[Message]:
    """Write results as `CallToolResult`s, with the id of their call under `tool_call_id`; leave out other messages.

    Args:
        messages: canonical messages in order.
        exact: has no effect here.
    """
    return [_write_one(message) for message in messages if message["role"] in ("tool", "function")]


def _write_one(message: Message) -> Message:
    own = form_of(message) == NAME
    kept = beside(message) if own else {}
    blocks = [block for one in result_blocks(message) if (block := write_block(one, own=own)) is not None]
    written: Message = {"role": "tool", "tool_call_id": message.get("tool_call_id"), "content": blocks}
    structured = [block for block in result_blocks(message) if own and block.get("structured") is True]
    if structured:
        try:
            written |= {"content": [], "structuredContent": parsed(text(structured[0].get("text")))}
        except ValueError:  # a view has shortened the result
            written |= {"content": blocks}
    elif isinstance(message.get("content"), str) and own:
        written["content"] = message["content"]
    failed = {"isError": True} if metadata_of(message).get("is_error") is True else {}
    return {**written, **failed, **kept}


def write_block(block: Mapping[str, Any], *, own: bool) -> Message | None:
    """Return a result's block in MCP's form; with `own`, a block that was read from MCP is written back unchanged."""
    original = original_of(block)
    if own and isinstance(link := original.get("link"), Mapping):
        return {"type": "resource_link", **link}
    resource = mapping(original.get("resource"))
    more = without(original, "type", "text", "source", "title", "resource", "original", "visibility", "structured")
    source = source_of(original)
    if own and resource and source is not None and source.data:
        return {"type": "resource", "resource": {**resource, "blob": source.data}, **more}
    if own and resource:
        return {"type": "resource", "resource": {**resource, "text": text(original.get("text"))}, **more}
    if source is not None and source.data and source.kind in ("image", "audio"):
        return {"type": source.kind, "data": source.data, "mimeType": source.media_type, **(more if own else {})}
    if original.get("type") == "text":
        said = text(original.get("text"))
        return {"type": "text", "text": said, **(more if own else {})}
    return dict(original) if own else {"type": "text", "text": told(block)}
