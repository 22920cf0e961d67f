"""Canonical messages: Amplifier's own form, how the other forms build it, and the facts that are stored beside it.

A canonical message has `role`, `content` (a text or a list of blocks) and, of an answer, `tool_calls` (`{id, tool,
arguments}`); a result has the role `tool` and `tool_call_id`. Blocks are `text`, `image` (`{type, source}`),
`thinking`, `redacted_thinking`, `reasoning`; and these, for which Amplifier has no block:

- `document`, `audio`, `video`: the same shape as an image, with `title` for a file's name. Their `source` is
  `{type: base64, media_type, data}`, `{type: url, url}`, `{type: text, media_type, data}` or `{type: file, file_id}`.
- *provider's items*: blocks that only the provider that made them understands (server tools and their results,
  encrypted state, blocks that nobody knows yet). They stay in the content unchanged; an item without a `type` gets the
  type `part`.

The *mark* (`metadata.form`) names the form that a message came in, and has the facts for which a canonical message has
no place:

| key | value |
| --- | --- |
| `name` | the form: `anthropic`, `openai_chat`, `openai_responses`, `gemini`, `bedrock`, `mcp` |
| `guessed` | true if the shape does not say so clearly |
| `part` | `[number, count]`, if one foreign message became several and this is one of them |
| `calls_at` | positions of the calls among the content blocks, if they are not at the end |
| `beside` | keys of the foreign message that have no other place |
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..errors import RecordError
from ..messages.message import (
    CALL_BLOCKS,
    THINKING_BLOCKS,
    Message,
    as_json,
    call_id_of,
    call_name_of,
    given_arguments_of,
    metadata_of,
    parsed,
)
from ..messages.metadata import FORM_KEY
from ..tokens.media import MEDIUM_KINDS

FOREIGN = frozenset({"anthropic", "openai_chat", "openai_responses", "gemini", "bedrock", "mcp"})
"""The names of the foreign forms."""
UNKNOWN_TOOL = "unknown"
"""The tool name for a call that names no tool."""
PART = "part"
"""The type for a provider's item that has no type."""
_OWN_KINDS = CALL_BLOCKS | THINKING_BLOCKS | MEDIUM_KINDS.keys() | {"text", "tool_result"}
PLAIN_TEXT = frozenset({"type", "text"})
_GOOGLES_FILES = "https://generativelanguage.googleapis.com/"
"""The start of addresses of uploaded files, which only their owner can read (ai.google.dev/api/files, read 2026-11)."""


def mapping(value: Any) -> Mapping[str, Any]:
    """Return a value if it is an object, else an empty mapping."""
    if type(value) is dict:
        return value
    if value is None:  # much faster than the next test
        return {}
    return value if isinstance(value, Mapping) else {}


def items(value: Any) -> list[Any]:
    """Return a value if it is a list, else an empty list."""
    return value if isinstance(value, list) else []


def text(value: Any) -> str:
    """Return a value if it is a string, else ""."""
    return value if isinstance(value, str) else ""


def id_text(value: Any) -> str:
    """Return an id as a text, since some programs use numbers; "" if the value is neither."""
    if isinstance(value, str):
        return value
    return str(value) if type(value) is int else ""


def without(value: Mapping[str, Any], *keys: str) -> Message:
    """Return an object without some keys, and without all keys whose value is None."""
    return {key: item for key, item in value.items() if key not in keys and item is not None}


# -- the mark ----------------------------------------------------------------------------------------------------------


def mark_of(message: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a message's mark; an empty mapping without one."""
    return mapping(metadata_of(message).get(FORM_KEY))


def form_of(message: Mapping[str, Any]) -> str:
    """Return the name of the form that a message came in; "" for Amplifier's own form."""
    name = mark_of(message).get("name")
    if isinstance(name, str) and name in FOREIGN:
        return name
    return ""


def beside(message: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the keys of the foreign message for which the canonical message has no place."""
    return mapping(mark_of(message).get("beside"))


def marked(message: Message, name: str, **facts: Any) -> Message:
    """Return a message with a mark; empty facts are left out."""
    present = {key: value for key, value in facts.items() if value not in (None, {}, [], "", False)}
    mark = {**mark_of(message), "name": name, **present}
    return {**message, "metadata": {**metadata_of(message), FORM_KEY: mark}}


def unmarked(message: Message) -> Message:
    """Return a message without its mark, for importers, whose records have other fields for the origin of a message."""
    unmarked_message = {key: value for key, value in message.items() if key != "metadata"}
    metadata = {key: value for key, value in metadata_of(message).items() if key != FORM_KEY}
    if metadata:
        unmarked_message["metadata"] = metadata
    return unmarked_message


def numbered_parts(parts: Sequence[Message], name: str) -> list[Message]:
    """Return the parts of one foreign message, numbered in their marks (`metadata.form`).

    A mark gets the part's number, from 0, and the number of parts. A single part stays unchanged.

    Args:
        parts: the canonical messages that one foreign message was converted to.
        name: the name of the form.
    """
    if len(parts) < 2:
        return list(parts)
    return [marked(part, name, part=[number, len(parts)]) for number, part in enumerate(parts)]


def part_number(message: Mapping[str, Any]) -> int:
    """Return the number that `numbered_parts` gave a message, from 0; -1 if it is the whole foreign message."""
    part = mark_of(message).get("part")
    if not isinstance(part, list) or not part:
        return -1
    number = part[0]
    return number if type(number) is int else -1


# -- blocks ------------------------------------------------------------------------------------------------------------


def text_block(words: str, **more: Any) -> Message:
    """Return a text as a content block."""
    return {"type": "text", "text": words, **more}


def medium(kind: str, source: Mapping[str, Any], name: str = "", **more: Any) -> Message:
    """Return a block for an image, document, audio or video; `name` is the name of its file."""
    block: Message = {"type": kind, "source": dict(source)}
    if name:
        block["title"] = name
    return {**block, **more}


def base64_source(data: str, media_type: str) -> Message:
    """Return the source of a medium whose body is in the message."""
    return {"type": "base64", "media_type": media_type, "data": data}


def source_from_url(url: str) -> Message:
    """Return the source of a medium at an address; a `data:` address becomes base64 with its media type."""
    head, comma, data = url.partition(",")
    if comma and head.startswith("data:") and head.endswith(";base64"):
        return base64_source(data, head.removeprefix("data:").removesuffix(";base64"))
    return {"type": "url", "url": url}


def url_of(source: Mapping[str, Any]) -> str:
    """Return the address of a source, a `data:` address if the source has the body; "" if there is neither."""
    if source.get("type") == "base64":
        return f"data:{text(source.get('media_type'))};base64,{text(source.get('data'))}"
    return text(source.get("url"))


def is_fetchable(url: str) -> bool:
    """Return whether every provider can fetch an address; objects in buckets and files uploaded to Google are not."""
    return url.startswith(("http://", "https://")) and not url.startswith(_GOOGLES_FILES)


def kind_of_type(media_type: str) -> str:
    """Return `image`, `audio`, `video` or `document` for a media type."""
    first = media_type.partition("/")[0].lower()
    return first if first in ("image", "audio", "video") else "document"


def item_block(part: Mapping[str, Any]) -> Message:
    """Return a provider's item as a content block: unchanged, but with a `type`."""
    return dict(part) if isinstance(part.get("type"), str) else {"type": PART, **part}


def is_item(block: Mapping[str, Any]) -> bool:
    """Return whether a block is a provider's item: not a text, medium, thinking, call or result."""
    kind = block.get("type")
    return not (isinstance(kind, str) and kind in _OWN_KINDS)


def part_of(block: Mapping[str, Any]) -> Message:
    """Return the item from which `item_block` made a block."""
    if block.get("type") != PART:
        return dict(block)
    return {key: value for key, value in block.items() if key != "type"}


# -- calls and results -------------------------------------------------------------------------------------------------


def call(call_id: str, name: str, arguments: Any, **more: Any) -> Message:
    """Return a call in canonical form.

    Arguments in JSON are parsed; arguments that are no object are put under `arguments`.
    """
    if isinstance(arguments, str):
        arguments = _object_in(arguments)
    if arguments is None:
        arguments = {}
    elif type(arguments) is not dict and not isinstance(arguments, Mapping):
        arguments = {"arguments": arguments}
    return {"id": call_id, "tool": name or UNKNOWN_TOOL, "arguments": arguments, **more}


def _object_in(arguments: str) -> Any:
    """Return the JSON object in a text; {} for a blank text, and the text itself if the text is no object."""
    if not arguments.strip():
        return {}
    try:
        value = parsed(arguments)
    except ValueError:
        return arguments
    return value if isinstance(value, dict) else arguments


def parsed_calls(message: Message) -> Message:
    """Return a message with its calls in Amplifier's shape, with parsed arguments.

    A message without calls is returned itself.
    """
    calls = message.get("tool_calls")
    if not isinstance(calls, list) or not calls:
        return message
    parsed = [parsed_call(call) if isinstance(call, dict) else call for call in calls]
    return {**message, "tool_calls": parsed}


def parsed_call(given: Message) -> Message:
    """Return a call in Amplifier's shape, with parsed arguments."""
    return call(call_id_of(given) or "", call_name_of(given), given_arguments_of(given))


def result(call_id: str, content: Any, *, failed: bool = False, name: str = "") -> Message:
    """Return a result: a message of the role `tool` with the content that a call returned.

    Args:
        call_id: the id of the call; the result's `tool_call_id`.
        content: a text, or a list of blocks.
        failed: whether the call failed.
        name: the name of the tool; "" if it is not known.
    """
    message: Message = {"role": "tool", "tool_call_id": call_id}
    if name:
        message["name"] = name
    message["content"] = content
    if failed:
        message["metadata"] = {"is_error": True}
    return message


def answer(content: Any, calls: Sequence[Message], calls_at: Sequence[int] = (), **metadata: Any) -> Message:
    """Return an answer: a message of the role `assistant` with content and calls.

    Args:
        content: a text or blocks.
        calls: the calls of the answer.
        calls_at: the positions of the calls among the foreign blocks.
        metadata: more metadata of the answer; empty values are left out.
    """
    present = {key: value for key, value in metadata.items() if value not in (None, "", {})}
    block_count = len(content) if isinstance(content, list) else int(bool(content))
    positions_at_end = list(range(block_count, block_count + len(calls)))
    if calls_at and list(calls_at) != positions_at_end:
        present[FORM_KEY] = {"calls_at": list(calls_at)}
    message: Message = {"role": "assistant", "content": content}
    if calls:
        message["tool_calls"] = list(calls)
    if present:
        message["metadata"] = present
    return message


def in_places(blocks: Sequence[Message], calls: Sequence[Message], places: Any) -> list[Message]:
    """Return blocks and calls in the order in which their provider gave them. Without `places`, calls are last."""
    calls_last = [*blocks, *calls]
    if not calls or not isinstance(places, list) or len(places) != len(calls):
        return calls_last
    are_ascending = places == sorted(set(places))
    if not are_ascending or places[-1] >= len(calls_last):
        return calls_last
    ordered = list(blocks)
    for place, call in zip(places, calls, strict=True):
        ordered.insert(place, call)
    return ordered


def blocks_of(content: Any) -> list[Message]:
    """Return content of any kind as blocks; a text becomes a block, None and "" become no block.

    A single block becomes a list, nested lists are flattened, and other values become their JSON. `objects_in` refuses
    such values instead.
    """
    if isinstance(content, list):
        for item in content:
            if type(item) is not dict:
                return [_block_of(inner) for inner in _flat(content) if inner is not None]
        return list(content)
    if isinstance(content, bool) or content in (None, "", {}):
        return []
    return [_block_of(content)]


def _block_of(value: Any) -> Message:
    return value if isinstance(value, dict) else text_block(as_text(value))


def _flat(listed: list[Any]) -> Iterator[Any]:
    """Yield the items of a list, with nested lists flattened."""
    waiting = [iter(listed)]
    while waiting:
        item = next(waiting[-1], _END)
        if item is _END:
            waiting.pop()
        elif isinstance(item, list):
            waiting.append(iter(item))
        else:
            yield item


_END = object()


def plain_content(blocks: list[Message]) -> Any:
    """Return content blocks; a single text block becomes a string."""
    only = blocks[0] if len(blocks) == 1 else {}
    if only.keys() == PLAIN_TEXT and only["type"] == "text" and isinstance(only["text"], str):
        return only["text"]
    return blocks if blocks else ""


def as_text(value: Any) -> str:
    """Return a value as text: a string unchanged, anything else as JSON."""
    return value if isinstance(value, str) else as_json(value)


def usage_of(**counts: Any) -> dict[str, Any]:
    """Return usage under the log's names. Values that are not numbers are left out.

    `input_tokens` includes tokens that were read from a cache (`cache_read_tokens`), but not tokens that were written
    to a cache (`cache_write_tokens`; of these, for five minutes `cache_write_5m_tokens` and for an hour
    `cache_write_1h_tokens`).
    """
    return {key: value for key, value in counts.items() if type(value) in (int, float) and value >= 0}


def total(*counts: Any) -> int | None:
    """Return the sum of the whole numbers among the given values; None if none of them is a whole number."""
    numbers = [count for count in counts if type(count) is int]
    if not numbers:
        return None
    return sum(numbers)


# -- what is malformed -------------------------------------------------------------------------------------------------


def refused(where: str, problem: str, remedy: str) -> RecordError:
    """Return the error for a malformed message.

    Args:
        where: the path of the malformed part in the message, such as `.content[0]`.
        problem: what is wrong.
        remedy: what the caller can do.
    """
    return RecordError(f"message{where}: {problem}; {remedy}")


def call_id_in(block: Mapping[str, Any], key: str, where: str, *, of: str) -> str:
    """Return the id under a key of a call or result.

    Raises:
        RecordError: the id is missing.
    """
    call_id = block.get(key)
    if isinstance(call_id, str):
        return call_id
    finding = "is missing" if call_id is None else f"is {type(call_id).__name__}, no text"
    raise refused(f"{where}.{key}", finding, f"a {of} needs the id of its call")


def objects_in(content: Any, where: str) -> list[Mapping[str, Any]]:
    """Return the blocks of a list; a string in the list becomes a text block.

    Raises:
        RecordError: an item is neither an object nor a string.
    """
    blocks: list[Mapping[str, Any]] = []
    for number, block in enumerate(content):
        if isinstance(block, str):
            block = text_block(block)
        if not isinstance(block, Mapping):
            raise refused(f"{where}[{number}]", f"{type(block).__name__} is no block", "give an object, or a text")
        blocks.append(block)
    return blocks
