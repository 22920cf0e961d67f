"""Anthropic's Messages API: its messages and answers, read and written.

| Anthropic | canonical |
| --- | --- |
| `text` with `citations` | `text` with the same keys |
| `thinking`, `redacted_thinking` | the same |
| `image` with `source` | the same |
| `document`, `search_result`, `container_upload` | the same; views of other readers show a line |
| `tool_use` | a call; `caller` and other keys stay on it |
| `tool_result` in a user's message | a message of the role `tool`; `is_error` in its metadata |
| `server_tool_use`, `mcp_tool_use` and their results, `compaction`, unknown types | provider's items |
| `id`, `model`, `stop_reason`, `usage` of an answer | metadata |
| `system` of a request | a system message |

If messages are written for a request (not `exact`, see `write`), these are left out: thinking without a signature,
thinking at the end of an answer, and calls and results of server tools without their counterpart. Ids get the
provider's pattern.

Sources: platform.claude.com/docs/en/api/messages, .../build-with-claude/citations, .../pdf-support,
.../agents-and-tools/tool-use/server-tools, .../mcp-connector (read 2026-11); the types of the package `anthropic` 2.14.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..messages.media_blocks import IMAGE_TYPES, source_of
from ..messages.message import THINKING_BLOCKS, Message, call_arguments_of, call_name_of, is_block, metadata_of
from ..messages.text import block_text, blocks_without_calls
from ..messages.uncarried_blocks import original_of
from . import calls_among_blocks, mcp
from .anthropic_server_tools import SERVER_CALLS, SERVER_RESULTS, with_whole_pairs
from .block_text import as_blocks, result_blocks, words_or_line
from .calls_among_blocks import is_next_part, read_user_blocks, write_answer
from .canonical import (
    PLAIN_TEXT,
    answer,
    as_text,
    beside,
    call,
    call_id_in,
    form_of,
    is_fetchable,
    is_item,
    mapping,
    marked,
    numbered_parts,
    objects_in,
    refused,
    result,
    text,
    total,
    usage_of,
    without,
)

NAME = "anthropic"


KINDS = SERVER_CALLS | SERVER_RESULTS | {"search_result", "container_upload", "tool_reference", "compaction"}
"""Types of blocks that only Anthropic has."""

_SOURCES = frozenset({"text", "content", "url", "file"})

_OF_DOCUMENTS = frozenset({"type", "title", "context", "citations", "cache_control", "content"})
"""Keys of a document or a search result, apart from the keys of its source."""
_OF_SOURCES: Mapping[str, tuple[str, ...]] = {
    "base64": ("type", "media_type", "data"),
    "text": ("type", "media_type", "data"),
    "content": ("type", "content"),
    "url": ("type", "url"),
}
"""Keys of a document's source, by its type."""
_ENVELOPE = ("id", "type", "model", "stop_reason", "stop_sequence", "stop_details", "usage", "container")
_OURS_ON_A_CALL = frozenset({"id", "tool", "arguments", "name", "input", "type", "function", "visibility"})
_OURS_ON_A_BLOCK = frozenset({"visibility", "original"})
_FROM_MCP = frozenset({"resource", "link"})
_OF_MCP_ON_A_TEXT = frozenset({"annotations", "_meta", "meta", *_FROM_MCP})
"""Keys that Anthropic refuses in a result whose content came from an MCP tool."""


# -- reading -----------------------------------------------------------------------------------------------------------


def read(messages: Iterable[Mapping[str, Any]]) -> list[Message]:
    """Read messages and answers; an answer is a message with an envelope.

    Raises:
        RecordError: a message is malformed; the error says where.
    """
    return [canonical for message in messages for canonical in _read_one(message)]


def usage(reported: Any) -> dict[str, Any]:
    """Return Anthropic's usage under the names that the log uses; the three input counts do not overlap."""
    report = mapping(reported)
    if not report:
        return {}
    read_tokens = report.get("cache_read_input_tokens")
    kinds = mapping(report.get("cache_creation"))
    return usage_of(
        input_tokens=total(report.get("input_tokens"), read_tokens),
        output_tokens=report.get("output_tokens"),
        cache_read_tokens=read_tokens,
        cache_write_tokens=report.get("cache_creation_input_tokens"),
        cache_write_5m_tokens=kinds.get("ephemeral_5m_input_tokens") or None,
        cache_write_1h_tokens=kinds.get("ephemeral_1h_input_tokens") or None,
    )


def answer_parts(blocks: Iterable[Mapping[str, Any]]) -> tuple[list[Message], list[Message]]:
    """Return the content blocks and the calls of an answer, from its blocks.

    Raises:
        RecordError: a call has no id.
    """
    content, calls, _ = calls_among_blocks.split_calls(blocks, _read_call, _read_block)
    return content, calls


def user_parts(blocks: Iterable[Mapping[str, Any]]) -> tuple[list[Message], list[Message]]:
    """Return the content blocks that are not results, and the results as messages, from the blocks of a user's message.

    The results have no mark (`metadata.form`).

    Raises:
        RecordError: a result has no id of its call, or its content is malformed.
    """
    spoken: list[Message] = []
    results: list[Message] = []
    for position, block in enumerate(blocks):
        if block.get("type") == "tool_result":
            results.append(_bare_result(position, block))
        else:
            spoken.append(dict(block))
    return spoken, results


def _read_one(message: Mapping[str, Any]) -> list[Message]:
    if message.get("role") == "assistant":
        return [_read_answer(message)]
    content = message.get("content")
    if not isinstance(content, list):
        return [dict(message)]
    return _read_user_message(message, objects_in(content, ".content"))


def _read_answer(message: Mapping[str, Any]) -> Message:
    content = message.get("content")
    facts: dict[str, Any] = {
        "model": text(message.get("model")),
        "stop_reason": text(message.get("stop_reason")),
        "usage": usage(message.get("usage")),
    }
    if isinstance(content, list):
        blocks = objects_in(content, ".content")
        read_answer = calls_among_blocks.read_answer(blocks, _read_call, _read_block, **facts)
    else:
        read_answer = answer(content, (), **facts)
    if "usage" in message:
        read_answer["metadata"] = {"provider": NAME, **metadata_of(read_answer)}
    metadata = {**metadata_of(message), **metadata_of(read_answer)}
    rest = without(message, *_ENVELOPE, "role", "content", "metadata")
    whole = {**read_answer, **rest, "metadata": metadata}
    other_keys = without(message, "content", "role", "metadata", "type", "model", "usage", "stop_reason", *rest)
    return marked(whole, NAME, beside=other_keys)


def _read_block(block: Mapping[str, Any]) -> Message:
    """Return a block of an answer without the null `file_id` of its citations, which requests must not have."""
    cited = block.get("citations")
    if not isinstance(cited, list):
        return dict(block)
    return {**block, "citations": [_without_no_file(citation) for citation in cited]}


def _without_no_file(citation: Any) -> Any:
    if not isinstance(citation, Mapping) or citation.get("file_id") is not None:
        return citation
    return {key: value for key, value in citation.items() if key != "file_id"}


def _read_call(position: int, block: Mapping[str, Any]) -> Message | None:
    if block.get("type") != "tool_use":
        return None
    call_id = call_id_in(block, "id", f".content[{position}]", of="call")
    more = without(block, "type", "id", "name", "input")
    return call(call_id, text(block.get("name")), block.get("input"), **more)


def _read_user_message(message: Mapping[str, Any], blocks: Sequence[Mapping[str, Any]]) -> list[Message]:
    """Return a user's message as canonical messages: one for each result and one for each run of other blocks."""
    parts = read_user_blocks(blocks, _read_result, dict, **without(message, "content", "metadata"))
    own_metadata = metadata_of(message)
    for number, part in enumerate(parts):
        parts[number] = marked({**part, "metadata": {**_metadata(own_metadata, number), **metadata_of(part)}}, NAME)
    return numbered_parts(parts, NAME) or [{**message, "content": []}]


def _metadata(given: Mapping[str, Any], number: int) -> Mapping[str, Any]:
    """Return the metadata of a part of a message; from the second part on, the message id ends with a number."""
    message_id = given.get("message_id")
    if number == 0 or not isinstance(message_id, str):
        return given
    return {**given, "message_id": f"{message_id}-{number + 1}"}


def _read_result(position: int, block: Mapping[str, Any]) -> Message | None:
    if block.get("type") != "tool_result":
        return None
    more = without(block, "type", _id_key(block), "content", "output", "is_error")
    return marked(_bare_result(position, block), NAME, beside=more)


def _bare_result(position: int, block: Mapping[str, Any]) -> Message:
    """Return the result in a block as a message without a mark."""
    where = f".content[{position}]"
    call_id = call_id_in(block, _id_key(block), where, of="result")
    content = _result_content(block.get("content", block.get("output")), f"{where}.content")
    return result(call_id, content, failed=block.get("is_error") is True)


def _id_key(block: Mapping[str, Any]) -> str:
    """Return the key of a result's block that has the id of the call; Amplifier has another one than Anthropic."""
    return "tool_call_id" if "tool_use_id" not in block and "tool_call_id" in block else "tool_use_id"


def _result_content(content: Any, where: str) -> Any:
    """Return the content of a result: a text, or blocks.

    Raises:
        RecordError: the content is neither.
    """
    if content is None or isinstance(content, str):
        return content or ""
    if isinstance(content, Mapping):
        content = [content] if "type" in content else as_text(content)
    if isinstance(content, list):
        return [_read_inner(inner) for inner in objects_in(content, where)]
    if not isinstance(content, str):
        raise refused(where, f"{type(content).__name__} is no content", "give a text or a list of blocks")
    return content


def _read_inner(block: Mapping[str, Any]) -> Message:
    """Return a block of a result; blocks of MCP tools are read too, so that other providers get their words."""
    if text(block.get("type")) in mcp.KINDS:
        return mcp.read_block(block)
    return dict(block)


# -- writing -----------------------------------------------------------------------------------------------------------


def write(messages: Iterable[Message], *, exact: bool = False, goes_on: bool = False) -> list[Message]:
    """Write canonical messages as Anthropic's.

    Args:
        messages: canonical messages in order, without system messages at the beginning.
        exact: whether to write them unchanged, for a reader of the history. Else they are written as a request accepts
            them.
        goes_on: whether the last message is an answer that paused. Its server call without a result is then kept.
    """
    written: list[Message] = []
    before: Message | None = None
    for message in messages:
        new = _write_one(message, exact=exact)
        if new is None:
            continue
        last = written[-1] if written else None
        are_both_user = last is not None and last["role"] == new["role"] == "user"
        if last is not None and before is not None and are_both_user and _joins(before, message, exact=exact):
            last["content"] = [*as_blocks(last["content"]), *as_blocks(new["content"])]
        else:
            written.append(new)
        before = message
    return written if exact else with_whole_pairs(written, goes_on=goes_on)


def system_text(message: Message) -> str:
    """Return the text of a system message."""
    texts = [block_text(block) for block in blocks_without_calls(message)]
    return "\n".join(text for text in texts if text.strip())


def _joins(before: Message, message: Message, *, exact: bool) -> bool:
    """Return whether a message is merged into the user's message before it.

    Two parts of one Anthropic message are always merged. Two results of tools are merged in a request only.
    """
    if is_next_part(before, message):
        return True
    return not exact and _is_result(before) and _is_result(message)


def _is_result(message: Message) -> bool:
    return message.get("role") in ("tool", "function")


def is_own(message: Message) -> bool:
    """Return whether a message is in Anthropic's form, so that all of its blocks may be sent back."""
    return form_of(message) == NAME


def _write_one(message: Message, *, exact: bool) -> Message | None:
    role = message.get("role")
    if role in ("tool", "function"):
        return {"role": "user", "content": [_write_result(message, exact=exact)]}
    if role == "assistant":
        blocks = _answer_blocks(message, exact=exact)
    else:
        blocks = _blocks_without_thinking(blocks_without_calls(message), message, exact=exact)
    if not blocks and not exact:
        return None
    content: Any = blocks
    was_text = isinstance(message.get("content"), str) and not message.get("tool_calls")
    is_single_text = len(blocks) == 1 and blocks[0].keys() == PLAIN_TEXT
    keeps_list = not was_text and (exact or is_own(message))
    if is_single_text and not keeps_list:
        content = blocks[0]["text"]
    elif exact and not blocks:
        content = message.get("content")
    return {"role": "assistant" if role == "assistant" else "user", "content": content}


def _answer_blocks(message: Message, *, exact: bool) -> list[Message]:
    content_blocks = blocks_without_calls(message)
    thinking = message.get("thinking_block")
    has_thinking = any(is_block(block, THINKING_BLOCKS) for block in content_blocks)
    if isinstance(thinking, dict) and not has_thinking:
        content_blocks = [thinking, *content_blocks]
    blocks = write_answer(
        message,
        NAME,
        lambda call_id, call: _write_call(call_id, call, message),
        lambda block: _answer_block(block, message, exact=exact),
        given=content_blocks,
    )
    if not exact:
        while blocks and is_block(blocks[-1], THINKING_BLOCKS):  # "the final block cannot be thinking"
            blocks.pop()
    return blocks


def _write_call(call_id: str, call: Message, message: Message) -> Message:
    use: Message = {"type": "tool_use", "id": call_id, "name": call_name_of(call), "input": call_arguments_of(call)}
    if is_own(message):
        use |= {key: value for key, value in call.items() if key not in _OURS_ON_A_CALL}
    return use


def _answer_block(block: Message, message: Message, *, exact: bool) -> Message | None:
    original = original_of(block)
    if exact and is_own(message):
        return dict(original)
    if is_block(original, SERVER_CALLS | SERVER_RESULTS) and form_of(message) in ("", NAME):
        return dict(original)
    if source_of(original) is not None or original.get("type") == "search_result":  # from a user or a tool
        return {"type": "text", "text": words_or_line(block)}
    return _block(block, message, exact=exact)


def _blocks_without_thinking(blocks: Iterable[Message], message: Message, *, exact: bool) -> list[Message]:
    """Return the blocks of a user's or a tool's message, without thinking."""
    spoken = [block for block in blocks if not is_block(block, THINKING_BLOCKS)]
    written = [_block(block, message, exact=exact) for block in spoken]
    return [block for block in written if block is not None]


def _block(block: Message, message: Message, *, exact: bool) -> Message | None:
    """Return a block as Anthropic accepts it. Return None for an empty block, and for thinking without a signature."""
    original = original_of(block)
    kind = original.get("type")
    form = form_of(message)
    is_own_form = is_own(message)
    if exact and is_own_form:
        if not _FROM_MCP.isdisjoint(original):
            return mcp.write_block(original, is_own_form=True)
        return {key: value for key, value in original.items() if key not in _OURS_ON_A_BLOCK}
    if kind == "thinking":
        signature = text(original.get("signature"))
        if not signature:
            return None
        return {"type": kind, "thinking": original.get("thinking") or "", "signature": signature}
    if kind == "redacted_thinking":
        return {"type": kind, "data": str(original.get("data") or "")}
    if kind == "reasoning":
        return None
    is_foreign = form not in ("", NAME)
    if kind in ("document", "search_result") and _is_anthropic_source(original.get("source"), form):
        return _document(original, is_foreign=is_foreign)
    if kind in KINDS and not is_foreign:
        return dict(original)
    if is_own_form and is_item(original):
        return dict(original)
    marks = {}
    if "cache_control" in original:
        marks["cache_control"] = original["cache_control"]
    medium = _medium(original, form)
    if medium is not None:
        return {**medium, **marks}
    if kind == "text" and is_own_form and isinstance(original.get("text"), str):
        return {key: value for key, value in original.items() if key not in _OURS_ON_A_BLOCK | _OF_MCP_ON_A_TEXT}
    words = words_or_line(block)
    return {"type": "text", "text": words, **marks} if words.strip() else None


def _is_anthropic_source(source: Any, form: str) -> bool:
    """Return whether Anthropic accepts the source of a document or search result.

    Args:
        source: the `source` field of the block, of any JSON type.
        form: the form of its message; a file id is of use only to the provider that gave it.
    """
    if isinstance(source, str):
        return bool(source)
    fields = mapping(source)
    kind = fields.get("type")
    media_type = fields.get("media_type")
    if kind == "base64":
        return bool(media_type == "application/pdf")
    if form in ("", NAME):
        return kind in _SOURCES
    if kind == "url":
        return is_fetchable(text(fields.get("url"))) and media_type in (None, "", "application/pdf")
    return kind in ("text", "content")


def _document(block: Mapping[str, Any], *, is_foreign: bool) -> Message:
    """Return a document or search result. If it is from another provider, keep only the keys that Anthropic knows."""
    if not is_foreign:
        return {key: value for key, value in block.items() if key not in _OURS_ON_A_BLOCK | _FROM_MCP}
    written: Message = {key: value for key, value in block.items() if key in _OF_DOCUMENTS}
    source = block.get("source")
    if isinstance(source, Mapping):
        written["source"] = {key: source[key] for key in _OF_SOURCES[source["type"]] if key in source}
        if source["type"] == "text":
            written["source"]["media_type"] = "text/plain"
    return written


def _medium(block: Mapping[str, Any], form: str) -> Message | None:
    """Return the block for an image or PDF of any form; None for a medium that Anthropic does not accept.

    Args:
        block: the medium.
        form: the form of its message; a file id is of use only to the provider that gave it.
    """
    source = source_of(block)
    file_source = block.get("source")
    if source is None or source.kind not in ("image", "document"):
        return None
    is_image = source.kind == "image"
    types = IMAGE_TYPES if is_image else ("application/pdf",)
    body: Message
    if source.data and source.media_type in types:
        body = {"type": "base64", "media_type": source.media_type, "data": source.data}
    elif is_fetchable(source.url) and (is_image or source.media_type in ("", "application/pdf")):
        body = {"type": "url", "url": source.url}
    elif isinstance(file_source, dict) and file_source.get("type") == "file" and form in ("", NAME):
        body = file_source
    else:
        return None
    written: Message = {"type": source.kind, "source": body}
    if source.name and not is_image:
        written["title"] = source.name
    return written


def _write_result(message: Message, *, exact: bool) -> Message:
    is_own_form = is_own(message)
    blocks = _blocks_without_thinking(result_blocks(message), message, exact=exact)
    content: Any = blocks
    is_stored_list = isinstance(message.get("content"), list)
    keeps_shape = is_own_form or (exact and not form_of(message))
    may_be_text = not (is_stored_list and keeps_shape)
    if may_be_text and all(block.keys() == PLAIN_TEXT for block in blocks):
        content = "\n".join(block["text"] for block in blocks)
    written: Message = {"type": "tool_result", "tool_use_id": message.get("tool_call_id"), "content": content}
    if metadata_of(message).get("is_error") is True:
        written["is_error"] = True
    if is_own_form:
        written.update(beside(message))
    return written
