"""The parts of one message: its calls, its text, its blocks. Nothing is mutated.

Calls are in `tool_calls`, as `tool_call` / `tool_use` blocks in `content`, or in both; `calls_of` reads every form
that Amplifier and providers use.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

import orjson

from ..log.record_limits import is_too_deep
from ..log.record_line import may_be_rounded

Message = dict[str, Any]

_SORTED = json.JSONEncoder(sort_keys=True, default=str).encode  # `json.dumps` would make an encoder for every value
_COMPACT = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=str).encode

CALL_BLOCKS = frozenset({"tool_call", "tool_use"})
ORIGINAL = "original"
"""The key in a text block of a view for the original block that the text describes (`messages/uncarried_blocks.py`)."""
THINKING_BLOCKS = frozenset({"thinking", "redacted_thinking", "reasoning"})
_MOST_DEPTH = 100  # for JSON in a text: functions that walk through it are recursive


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call: its id, the tool's name, and `asks`, a digest that calls with equal name and arguments share."""

    id: str
    name: str
    asks: bytes = field(default=b"", compare=False, repr=False)


UNNAMED = "unknown"
"""The tool name for a call that has none, since every provider refuses an empty name."""


def calls_of(message: Mapping[str, Any]) -> tuple[Call, ...]:
    """Return the calls of a message in order: first those in `tool_calls`, then those that are only in `content`."""
    return tuple(_call(call_id, call) for call_id, call in given_calls(message).items())


def given_calls(message: Mapping[str, Any]) -> dict[str, Message]:
    """Return the calls of a message by id, each in the form in which the message has it."""
    if message.get("role") != "assistant":
        return {}
    listed = message.get("tool_calls")
    candidates = [*listed] if isinstance(listed, list) else []
    candidates += blocks_of(message, CALL_BLOCKS)
    calls: dict[str, Message] = {}
    for call in candidates:
        call_id = call_id_of(call) if isinstance(call, dict) else None
        if call_id is not None:
            calls.setdefault(call_id, call)
    return calls


def result_id_of(message: Mapping[str, Any]) -> str | None:
    """Return the id of the call that a result answers, "" if it names none; None if the message is not a result."""
    if message.get("role") not in ("tool", "function"):
        return None
    call_id = message.get("tool_call_id")
    return "" if call_id is None else str(call_id)


def texts_of(message: Message) -> list[str]:
    """Return the texts of a message that can be shortened: its content if that is a text, else its blocks' texts."""
    content = message.get("content")
    if isinstance(content, str):
        return [content]
    return [text for _, text in text_places(content)]


def text_places(content: Any) -> list[tuple[int, str]]:
    """Return the positions and texts of the blocks whose text can be shortened."""
    if not isinstance(content, list):
        return []
    places = list[tuple[int, str]]()
    for position, block in enumerate(content):
        kind = block.get("type") if isinstance(block, dict) else None
        if kind not in ("text", "tool_result") or _is_line(block):
            continue
        text = block.get("text" if kind == "text" else "output")
        if isinstance(text, str):
            places.append((position, text))
    return places


def _is_line(block: Mapping[str, Any]) -> bool:
    """Return whether a text block is only a line that describes another block."""
    text = block.get("text")
    return ORIGINAL in block and isinstance(text, str) and text.startswith("[") and text.endswith("]")


def blocks_of(message: Mapping[str, Any], kinds: frozenset[str]) -> list[Message]:
    """Return the content blocks whose type is one of `kinds`."""
    content = message.get("content")
    if not isinstance(content, list):
        return []
    return [block for block in content if is_block(block, kinds)]


def is_block(value: Any, kinds: Collection[str]) -> bool:
    """Return whether a value is a content block whose type is one of `kinds`."""
    if not isinstance(value, dict):
        return False
    kind = value.get("type")
    return isinstance(kind, str) and kind in kinds


def text_of(message: Mapping[str, Any]) -> str:
    """Return the text of a message: its content, or its text blocks joined by newlines."""
    content = message.get("content")
    if isinstance(content, str):
        return content
    return "\n".join(str(block.get("text", "")) for block in blocks_of(message, frozenset({"text"})))


def without_thinking(message: Message) -> Message:
    """Return a message without an assistant's thinking and all copies of it.

    A message without any is returned itself.
    """
    if message.get("role") != "assistant":
        return message
    changes: Message = {}
    for key, empty in (("content", ""), ("content_blocks", [])):
        blocks = message.get(key)
        if not isinstance(blocks, list):
            continue
        spoken = [block for block in blocks if not is_block(block, THINKING_BLOCKS)]
        if len(spoken) < len(blocks):
            changes[key] = spoken or empty
    if not changes and "thinking_block" not in message:
        return message
    return {key: changes.get(key, value) for key, value in message.items() if key != "thinking_block"}


def _call(call_id: str, call: Mapping[str, Any]) -> Call:
    name = call_name_of(call)
    sorted_json = _SORTED([name, call_arguments_of(call)])
    return Call(call_id, name, blake2b(sorted_json.encode(), digest_size=8).digest())


def call_id_of(call: Mapping[str, Any]) -> str | None:
    """Return the id of a call in any form; None if the call has none."""
    call_id = call.get("id") or call.get("tool_call_id")
    if not call_id or not isinstance(call_id, str | int):
        return None
    return str(call_id)


def call_name_of(call: Mapping[str, Any]) -> str:
    """Return the name of the tool that is called; `UNNAMED` if the call has none."""
    return given_name_of(call) or UNNAMED


def given_name_of(call: Mapping[str, Any]) -> str:
    """Return the name of the tool in a call, unchanged; "" if the call has no name."""
    name = call.get("tool") or call.get("name")
    if not name:
        function = call.get("function")
        name = function.get("name") if isinstance(function, dict) else None
    return name if isinstance(name, str) else ""


def given_arguments_of(call: Mapping[str, Any]) -> Any:
    """Return the arguments of a call, unchanged: usually an object, sometimes an object's JSON text."""
    function = call.get("function")
    return function.get("arguments") if isinstance(function, dict) else call.get("arguments", call.get("input"))


def as_json(value: Any) -> str:
    """Return a value as compact JSON; types that JSON lacks are written as strings."""
    return _COMPACT(value)


def call_arguments_of(call: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a call as an object.

    JSON text is parsed. Empty text becomes an empty object, and any other value is put under the key `arguments`.
    """
    arguments = given_arguments_of(call)
    if isinstance(arguments, str):
        if not arguments.strip():
            return {}
        try:
            arguments = parsed(arguments)
        except ValueError:
            return {"arguments": arguments}
    if arguments is None:
        return {}
    return arguments if isinstance(arguments, dict) else {"arguments": arguments}


def _no_number(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


_STANDARD = json.JSONDecoder(parse_constant=_no_number)


def parsed(text: str) -> Any:
    """Return the value of a JSON text.

    Raises:
        ValueError: the text is not JSON, or it is nested too deeply.
    """
    content = text.encode("utf-8", "surrogatepass")
    try:
        value = _parsed(text, content)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    if is_too_deep(content, value, _MOST_DEPTH):
        raise ValueError("nested too deeply")
    return value


def _parsed(text: str, content: bytes) -> Any:
    """Parse with `orjson`, or with the standard library if `orjson` refuses the text or would round its numbers."""
    try:
        value = orjson.loads(content)
    except orjson.JSONDecodeError:
        return _STANDARD.decode(text)
    return _STANDARD.decode(text) if may_be_rounded(content, value) else value


def strings_in(value: Any) -> Iterator[str]:
    """Yield the strings in a JSON value, without the keys."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        items = value.values() if isinstance(value, dict) else value
        for item in items:
            yield from strings_in(item)


def metadata_of(message: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a message's metadata; an empty mapping for a message without metadata."""
    metadata = message.get("metadata")
    if type(metadata) is dict:  # much faster than the other test
        return metadata
    return metadata if isinstance(metadata, Mapping) else {}
