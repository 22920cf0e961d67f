"""Amazon Bedrock's Converse API, whose messages Strands stores: read and written.

| Bedrock | canonical |
| --- | --- |
| `text` | `text` |
| `image`, `document`, `audio`, `video` with `format` and `source` | the same kind; `bytes` are kept in base64 |
| `reasoningContent` | `thinking` with its signature, or `redacted_thinking` |
| `toolUse` | a call; one that the service runs is a provider's item, with its result |
| `toolResult` | a message of the role `tool`; `status: error` in its metadata; `json` is text |
| `guardContent`, `citationsContent` with text | `text`; their other keys are beside it, under their names |
| `cachePoint`, `searchResult`, unknown blocks | provider's items |
| `system` of a request | a system message |
| `stopReason`, `usage` of an answer | metadata |

In a request the names of documents follow the rules of the service: "alphanumeric characters, whitespace characters,
hyphens, parentheses, and square brackets", no two spaces together, 200 characters (.../API_runtime_DocumentBlock.html;
underscores are accepted too, github.com/strands-agents/harness-sdk/issues/3019), and each name once ("Messages can't
contain duplicate document names", github.com/maximhq/bifrost/issues/7003, 2026-09). A message with a document has a
text (.../API_runtime_Message.html), and a result has no audio (.../API_runtime_ToolResultContentBlock.html).

Sources: docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ContentBlock.html, .../API_runtime_Converse.html;
strandsagents.com, Messages (read 2026-11).
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterable, Mapping
from typing import Any

from ..messages.media_blocks import source_of
from ..messages.message import THINKING_BLOCKS, Message, call_arguments_of, call_name_of, is_block, metadata_of, parsed
from ..messages.uncarried_blocks import original_of
from .block_text import result_blocks, words_or_line
from .calls_among_blocks import read_answer, read_user_blocks, write_answer
from .canonical import (
    as_text,
    base64_source,
    beside,
    call,
    call_id_in,
    form_of,
    is_item,
    item_block,
    items,
    mapping,
    marked,
    medium,
    numbered_parts,
    objects_in,
    part_number,
    part_of,
    refused,
    result,
    text,
    text_block,
    total,
    usage_of,
    without,
)

NAME = "bedrock"
_MEDIA = frozenset({"image", "document", "audio", "video"})
_SOURCES = frozenset({"bytes", "text", "s3Location"})
"""Keys of a medium's source that other forms have too."""
_ON_SERVER = "server_tool_use"
"""The type of a call to a tool that the service runs (.../API_runtime_ToolUseBlock.html)."""
_BYTES = frozenset({"bytes", "redactedContent"})
_CITED, _GUARDED = "citationsContent", "guardContent"
_OF_DOCUMENTS = frozenset({"context", "citations"})
"""Keys that Bedrock's documents share with other providers' documents."""
_NOT_IN_NAMES = re.compile(r"[^a-zA-Z0-9_()\[\]-]+")
_NAME_CHARS = 200
BLOCKS = frozenset(
    {
        *("text", "toolUse", "toolResult", "reasoningContent", "cachePoint", "guardContent", "citationsContent"),
        *("searchResult", *_MEDIA),
    }
)
"""The keys of blocks; a block has exactly one of them."""
_TYPES = {
    **{name: f"image/{name}" for name in ("png", "jpeg", "gif", "webp")},
    **{name: f"audio/{name}" for name in ("wav", "mp3", "ogg", "flac", "opus", "aac", "m4a")},
    **{name: f"video/{name}" for name in ("mp4", "webm", "mkv", "mov", "mpeg", "mpg", "wmv", "flv")},
    "pdf": "application/pdf",
    "txt": "text/plain",
    "md": "text/markdown",
    "csv": "text/csv",
    "html": "text/html",
    "three_gp": "video/3gpp",
    "doc": "application/msword",
    "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "xls": "application/vnd.ms-excel",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}
_FORMATS = {media_type: name for name, media_type in _TYPES.items()} | {"image/jpg": "jpeg"}


# -- reading -----------------------------------------------------------------------------------------------------------


def read(messages: Iterable[Mapping[str, Any]]) -> list[Message]:
    """Read messages of Bedrock, and return canonical messages.

    Raises:
        RecordError: a message is malformed; the error says where.
    """
    return [canonical for message in messages for canonical in _read_one(message)]


def read_response(response: Mapping[str, Any]) -> list[Message]:
    """Read the answer of `converse`.

    Raises:
        RecordError: the response has no message.
    """
    message = mapping(response.get("output")).get("message")
    if not isinstance(message, Mapping):
        raise refused(".output.message", "is missing", "give the whole answer of `converse`")
    messages = _read_one(message)
    facts = {
        "provider": NAME,
        "model": text(response.get("modelId")),
        "stop_reason": text(response.get("stopReason")),
        "usage": usage(response.get("usage")),
    }
    last = messages[-1]
    metadata = {**metadata_of(last), **{key: value for key, value in facts.items() if value}}
    return [*messages[:-1], {**last, "metadata": metadata}]


def usage(reported: Any) -> dict[str, Any]:
    """Return Bedrock's usage under the names that the log uses; the three input counts do not overlap."""
    report = mapping(reported)
    read_tokens = report.get("cacheReadInputTokens")
    return usage_of(
        input_tokens=total(report.get("inputTokens"), read_tokens),
        output_tokens=report.get("outputTokens"),
        cache_read_tokens=read_tokens,
        cache_write_tokens=report.get("cacheWriteInputTokens"),
    )


def _read_one(message: Mapping[str, Any]) -> list[Message]:
    content = message.get("content")
    if not isinstance(content, list):
        content = [as_text(content or "")]
    blocks = objects_in(content, ".content")
    rest = without(message, "content", "metadata")
    if message.get("role") == "assistant":
        parts = [read_answer(blocks, _read_call, _read_block)]
    else:
        parts = read_user_blocks(blocks, _read_result, _read_block, **rest) or [{**rest, "content": []}]
    metadata = _with_known_usage(mapping(message.get("metadata")))
    messages = list[Message]()
    for part in parts:
        whole = {**rest, **part, "metadata": {**metadata, **metadata_of(part)}}
        messages.append(marked(whole, NAME))
    return numbered_parts(messages, NAME)


def _with_known_usage(metadata: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return metadata with the usage under the log's names; Strands stores it under the service's names."""
    reported = metadata.get("usage")
    if "inputTokens" not in mapping(reported):
        return metadata
    return {**metadata, "usage": usage(reported)}


def _read_call(position: int, block: Mapping[str, Any]) -> Message | None:
    tool_use = block.get("toolUse")
    if not isinstance(tool_use, Mapping) or tool_use.get("type") == _ON_SERVER:
        return None
    call_id = call_id_in(tool_use, "toolUseId", f".content[{position}].toolUse", of="call")
    rest = without(tool_use, "toolUseId", "name", "input")
    more = {"beside": rest} if rest else {}
    return call(call_id, text(tool_use.get("name")), tool_use.get("input"), **more)


def _read_result(position: int, block: Mapping[str, Any]) -> Message | None:
    tool_result = block.get("toolResult")
    if not isinstance(tool_result, Mapping):
        return None
    where = f".content[{position}].toolResult"
    call_id = call_id_in(tool_result, "toolUseId", where, of="result")
    blocks = [_read_block(inner) for inner in objects_in(items(tool_result.get("content")), f"{where}.content")]
    read_result = result(call_id, blocks, failed=tool_result.get("status") == "error")
    other_keys = without(tool_result, "toolUseId", "content")
    return marked(read_result, NAME, beside={key: value for key, value in other_keys.items() if value != "error"})


def _read_block(block: Mapping[str, Any]) -> Message:
    if isinstance(block.get("text"), str):
        return text_block(block["text"], **without(block, "type", "text"))
    if "json" in block and block.keys() == {"json"}:
        return text_block(as_text(block["json"]), json=True)
    reasoning = block.get("reasoningContent")
    if isinstance(reasoning, Mapping):
        return _read_reasoning(reasoning)
    wrapped = _read_wrapped(block)
    if wrapped is not None:
        return wrapped
    for kind, value in block.items():
        if kind in _MEDIA:
            has_source = isinstance(value, Mapping) and not _SOURCES.isdisjoint(mapping(value.get("source")))
            return _read_medium(kind, value) if has_source else item_block(block)
    return item_block(block)


def _read_wrapped(block: Mapping[str, Any]) -> Message | None:
    """Return the text of a block with citations or of a block for a guardrail; None for any other block."""
    if block.keys() == {_CITED}:
        cited = mapping(block[_CITED])
        pieces = [mapping(piece) for piece in items(cited.get("content"))]
        if pieces and all(piece.keys() == {"text"} and isinstance(piece["text"], str) for piece in pieces):
            rest = without(cited, "content") if len(pieces) == 1 else dict(cited)
            return text_block("".join(piece["text"] for piece in pieces), **{_CITED: rest})
    if block.keys() == {_GUARDED}:
        guarded = mapping(mapping(block[_GUARDED]).get("text"))
        if block[_GUARDED].keys() == {"text"} and isinstance(guarded.get("text"), str):
            return text_block(guarded["text"], **{_GUARDED: without(guarded, "text")})
    return None


def _write_wrapped(block: Mapping[str, Any], words: str) -> Message | None:
    """Return the block from which `_read_wrapped` took a text; None for any other text."""
    cited = block.get(_CITED)
    if isinstance(cited, Mapping):
        pieces = items(cited.get("content"))
        is_unchanged = "".join(text(mapping(piece).get("text")) for piece in pieces) == words
        return {_CITED: {**cited, "content": pieces if is_unchanged else [{"text": words}]}}
    guarded = block.get(_GUARDED)
    if isinstance(guarded, Mapping):
        return {_GUARDED: {"text": {"text": words, **guarded}}}
    return None


def _read_medium(kind: str, value: Mapping[str, Any]) -> Message:
    source = value["source"]
    name = text(value.get("name"))
    short_type = text(value.get("format"))
    media_type = _TYPES.get(short_type, short_type)
    more = without(value, "source", "name", "format")
    data = source.get("bytes")
    if isinstance(data, str):
        return medium(kind, base64_source(data, media_type), name, **more)
    words = source.get("text")
    if isinstance(words, str):
        return medium(kind, {"type": "text", "media_type": media_type or "text/plain", "data": words}, name, **more)
    place = mapping(source.get("s3Location"))
    address: Message = {"type": "url", "url": text(place.get("uri")), "media_type": media_type}
    other_keys = without(place, "uri")
    if other_keys:
        address["location"] = other_keys
    return medium(kind, address, name, **more)


def _read_reasoning(value: Mapping[str, Any]) -> Message:
    readable = mapping(value.get("reasoningText"))
    if not readable:
        return {"type": "redacted_thinking", "data": text(value.get("redactedContent"))}
    block: Message = {"type": "thinking", "thinking": text(readable.get("text"))}
    if isinstance(readable.get("signature"), str):
        block["signature"] = readable["signature"]
    return block


# -- writing -----------------------------------------------------------------------------------------------------------


def write(messages: Iterable[Message], *, exact: bool = False) -> list[Message]:
    """Write canonical messages as Bedrock's; in a request, adjacent messages of one role are merged.

    Args:
        messages: canonical messages in order, without system messages at the beginning.
        exact: whether to write them unchanged, for a reader of the history. Else they are written as a request accepts
            them.
    """
    written: list[Message] = []
    for message in messages:
        blocks = _blocks_of(message, exact=exact)
        role = "assistant" if message["role"] == "assistant" else "user"
        if not blocks and not exact:
            continue
        may_join = not exact or part_number(message) > 0
        joins = may_join and bool(written) and written[-1]["role"] == role
        if joins:
            written[-1]["content"] += blocks
        else:
            written.append({"role": role, "content": blocks})
    return written if exact else _with_usable_documents(written)


def _is_own(message: Message) -> bool:
    return form_of(message) == NAME


def _blocks_of(message: Message, *, exact: bool) -> list[Message]:
    if message["role"] in ("tool", "function"):
        return [_write_result(message, exact=exact)]
    written = write_answer(message, NAME, _write_call, lambda block: _block(block, message))
    while written and not exact and "reasoningContent" in written[-1]:
        written.pop()
    return written


def _write_call(call_id: str, call: Message) -> Message:
    use = {"toolUseId": call_id, "name": call_name_of(call), "input": call_arguments_of(call)}
    return {"toolUse": {**use, **mapping(call.get("beside"))}}


def _write_result(message: Message, *, exact: bool) -> Message:
    content = list[Message]()
    for block in result_blocks(message):
        written = _block(block if exact else _text_of_audio(block), message)
        if written is not None:
            content.append(written)
    result: Message = {"toolUseId": message.get("tool_call_id"), "content": content}
    if metadata_of(message).get("is_error") is True:
        result["status"] = "error"
    if _is_own(message):
        result |= beside(message)
    return {"toolResult": result}


def _text_of_audio(block: Message) -> Message:
    """Return one line of text for audio, which results cannot contain; any other block unchanged."""
    source = source_of(original_of(block))
    if source is None or source.kind != "audio":
        return block
    return text_block(words_or_line(block))


def _block(block: Mapping[str, Any], message: Message) -> Message | None:
    """Return a block in the form that Bedrock accepts; None for an empty block and for thinking without a signature."""
    original = original_of(block)
    is_own_form = _is_own(message)
    if is_block(original, THINKING_BLOCKS):
        return _write_reasoning(original, is_own_form=is_own_form)
    medium = _write_medium(original, is_own_form=is_own_form)
    if medium is not None:
        return medium
    if is_own_form and is_item(original):
        return {key: with_bytes(item, key) for key, item in part_of(original).items()}
    words = words_or_line(block)
    if is_own_form and original.get("json") is True:
        try:
            return {"json": parsed(words)}
        except ValueError:  # a view has shortened the text
            return {"text": words}
    if not words.strip():
        return None
    if is_own_form:
        wrapped = _write_wrapped(original, words)
        if wrapped is not None:
            return wrapped
    if is_own_form and original is block:
        return {"text": words, **without(original, "type", "text", "original", "json", "visibility")}
    return {"text": words}


def _write_reasoning(block: Mapping[str, Any], *, is_own_form: bool) -> Message | None:
    kind = block.get("type")
    if kind == "redacted_thinking" and is_own_form:
        return {"reasoningContent": {"redactedContent": decoded_bytes(text(block.get("data")))}}
    signature = text(block.get("signature"))
    if kind != "thinking" or not (signature or is_own_form):
        return None
    readable = {"text": text(block.get("thinking"))}
    if signature:
        readable["signature"] = signature
    return {"reasoningContent": {"reasoningText": readable}}


def _write_medium(block: Mapping[str, Any], *, is_own_form: bool) -> Message | None:
    source = source_of(block)
    if source is None:
        return None
    source_fields = mapping(block.get("source"))
    media_type = source.media_type or text(source_fields.get("media_type"))
    form = _FORMATS.get(media_type, "")
    if not form:
        return None
    if source.data:
        body: Message = {"bytes": decoded_bytes(source.data)}
    elif source.text:
        body = {"text": source.text}
    elif source.url.startswith("s3://"):
        body = {"s3Location": {"uri": source.url, **mapping(source_fields.get("location"))}}
    else:
        return None
    more = without(block, "type", "source", "title", "cache_control", "original", "visibility", "detail")
    if source.kind != "document":
        return {source.kind: {"format": form, "source": body, **(more if is_own_form else {})}}
    if not is_own_form:
        more = {key: value for key, value in more.items() if key in _OF_DOCUMENTS}
    return {"document": {"format": form, "name": source.name or "document", "source": body, **more}}


def _with_usable_documents(messages: list[Message]) -> list[Message]:
    """Return the messages with document names that the service accepts, all different, and a text beside documents."""
    seen: set[str] = set()
    return [{**message, "content": _usable_blocks(message["content"], seen)} for message in messages]


def _usable_blocks(blocks: list[Message], seen: set[str]) -> list[Message]:
    usable = [_with_usable_name(block, seen) for block in blocks]
    if any("text" in block for block in usable):
        return usable
    for block in usable:
        if "document" in block:
            return [*usable, {"text": f"[document: {block['document']['name']}]"}]
    return usable


def _with_usable_name(block: Message, seen: set[str]) -> Message:
    """Return a document with a unique name, or a result with such documents; any other block unchanged.

    Args:
        block: a block in Bedrock's form.
        seen: the names so far; the new name is added.
    """
    result = block.get("toolResult")
    if isinstance(result, dict):
        return {"toolResult": {**result, "content": [_with_usable_name(inner, seen) for inner in result["content"]]}}
    document = block.get("document")
    if not isinstance(document, dict):
        return block
    plain = _name_of_document(text(document.get("name")), text(document.get("format")))
    name = plain
    number = 1
    while name.casefold() in seen:
        number += 1
        name = f"{plain[: _NAME_CHARS - 10]}-{number}"
    seen.add(name.casefold())
    return {**block, "document": {**document, "name": name}}


def _name_of_document(name: str, form: str) -> str:
    """Return a document's name as the service accepts it, without the ending that its format already gives."""
    plain = _NOT_IN_NAMES.sub(" ", name.removesuffix(f".{form}"))
    return " ".join(plain.split())[:_NAME_CHARS].strip() or "document"


def with_bytes(value: Any, key: str = "") -> Any:
    """Return a value of a provider's item, under a key, with bytes in place of the base64 text that a log stores."""
    if isinstance(value, dict):
        return {name: with_bytes(item, name) for name, item in value.items()}
    if isinstance(value, list):
        return [with_bytes(item) for item in value]
    if key in _BYTES and isinstance(value, str):
        return decoded_bytes(value)
    return value


def decoded_bytes(data: str) -> Any:
    """Return the bytes of a base64 text; the text itself if the text is not base64."""
    try:
        return base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return data
