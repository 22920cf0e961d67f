"""Messages of the Microsoft Agent Framework, as their `to_dict` writes them.

| content | canonical |
| --- | --- |
| `text`, `text_reasoning`, `function_call` of an assistant | one answer |
| `function_result` | a message of the role `tool` for each |
| `text`, `data` and `uri` of others | one message with texts, images, documents |

The framework reports the usage of all requests of a response as one sum, which is stored with the last answer
(`usage`).

A message is given back unchanged (`whole_body`); content that is not in the table is only in its body. Messages that a
view has changed are written anew (`write`).

Source: `agent_framework/_types.py` (1.23); `_chat_client.py` of `agent-framework-anthropic` for its counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..messages.message import Message, as_json, call_arguments_of, call_name_of, given_calls, parsed, text_of
from .canonical import UNKNOWN_TOOL, items, mapping, medium, source_from_url, text, text_block, usage_of
from .whole_body import can_be_stored, for_people, with_body

NAME = "agent_framework"
_CACHED_APART = ("anthropic", "aws.bedrock")
"""The services whose input count does not include the tokens that were read from or written to their caches."""
_ROLES = {"user": "user", "system": "system", "developer": "developer"}


def read_message(message: Mapping[str, Any]) -> list[Message]:
    """Read a message, given as plain JSON, and return its canonical messages."""
    results = list[Message]()
    others = list[Mapping[str, Any]]()
    for content in map(mapping, items(message.get("contents"))):
        if content.get("type") == "function_result":
            results.append(_result(content))
        else:
            others.append(content)
    messages = results
    role = text(message.get("role"))
    if others or not results:
        if role == "assistant":
            messages.append(_answer(others))
        elif role in _ROLES:
            messages.append({"role": _ROLES[role], "content": _content_of(others)})
    if not can_be_stored(messages):
        messages = [for_people(f"[{role or 'message'}]")]
    return with_body(messages, dict(message), NAME)


def write(messages: Iterable[Message]) -> list[dict[str, Any]]:
    """Write canonical messages as the framework's."""
    return [_written(message) for message in messages]


def usage(reported: Any, *, provider: str, requests: int) -> dict[str, Any]:
    """Return the framework's `UsageDetails` under the names that the log uses; empty if nothing was reported.

    Args:
        reported: the details.
        provider: the service, as the framework's client names it.
        requests: the number of requests in the sum.
    """
    counts = mapping(reported)
    read = counts.get("input_token_count")
    output = counts.get("output_token_count")
    if type(read) is not int and type(output) is not int:
        return {}
    read_key = "cache_read_tokens"
    write_key = "cache_write_tokens"
    if provider in _CACHED_APART:
        read_key = "cache_read_input_tokens"
        write_key = "cache_creation_input_tokens"
    cache = {
        read_key: counts.get("cache_read_input_token_count"),
        write_key: counts.get("cache_creation_input_token_count"),
    }
    return usage_of(input_tokens=read, output_tokens=output, requests=max(1, requests), **cache)


def _result(content: Mapping[str, Any]) -> Message:
    output = content.get("result")
    words = output if isinstance(output, str) else as_json(output)
    result: Message = {"role": "tool", "tool_call_id": content.get("call_id"), "content": words}
    if content.get("exception"):
        result["metadata"] = {"is_error": True}
    return result


def _answer(contents: Sequence[Mapping[str, Any]]) -> Message:
    """Return an answer with its texts, thinking and calls; a single text becomes the content."""
    blocks: list[Message] = []
    calls: list[Message] = []
    for content in contents:
        kind = content.get("type")
        words = text(content.get("text"))
        if kind == "text":
            blocks.append(text_block(words))
        elif kind == "text_reasoning" and words:
            blocks.append({"type": "thinking", "thinking": words})
        elif kind == "function_call":
            name = text(content.get("name")) or UNKNOWN_TOOL
            calls.append({"id": content.get("call_id"), "tool": name, "arguments": _arguments(content)})
    answer: Message = {"role": "assistant", "content": blocks}
    if len(blocks) == 1 and isinstance(blocks[0].get("text"), str):
        answer["content"] = blocks[0]["text"]
    if calls:
        answer["tool_calls"] = calls
    return answer


def _arguments(content: Mapping[str, Any]) -> dict[str, Any]:
    arguments = content.get("arguments")
    try:
        value = parsed(arguments) if isinstance(arguments, str) else arguments
    except ValueError:  # the model wrote invalid JSON; the body has the original
        return {}
    return value if isinstance(value, dict) else {}


def _content_of(contents: Sequence[Mapping[str, Any]]) -> Any:
    """Return the contents of a message as blocks; a single text as a string."""
    blocks: list[Message] = []
    for content in contents:
        kind = text(content.get("type"))
        if kind == "text":
            blocks.append(text_block(text(content.get("text"))))
        elif kind in ("data", "uri"):
            family, _, _ = text(content.get("media_type")).partition("/")
            if family not in ("image", "audio", "video"):
                family = "document"
            blocks.append(medium(family, source_from_url(text(content.get("uri")))))
        else:
            blocks.append(text_block(f"[{kind or 'content'}]"))
    if len(blocks) == 1 and blocks[0]["type"] == "text":
        return blocks[0]["text"]
    return blocks


def _written(message: Message) -> dict[str, Any]:
    words = text_of(message)
    role = message["role"]
    if role in ("tool", "function"):
        result = {"type": "function_result", "call_id": message.get("tool_call_id"), "result": words}
        return {"type": "message", "role": "tool", "contents": [result]}
    contents: list[dict[str, Any]] = []
    if words.strip():
        contents.append({"type": "text", "text": words})
    for call_id, call in given_calls(message).items():
        name = call_name_of(call) or UNKNOWN_TOOL
        arguments = call_arguments_of(call)
        contents.append({"type": "function_call", "call_id": call_id, "name": name, "arguments": arguments})
    return {"type": "message", "role": role, "contents": contents}
