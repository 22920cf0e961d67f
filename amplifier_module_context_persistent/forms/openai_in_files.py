"""Messages and items of OpenAI's APIs in the shapes that files have.

A file may be damaged, or its program may leave keys out. So this module reads more than the forms accept, for example a
call without an id, or a text instead of a list. Keys that only OpenAI needs, such as the ids and the status of items,
are left out, because the provider never continues a session from a file.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..messages.message import Message, as_json, is_block, metadata_of
from ..messages.uncarried_blocks import line_about
from . import chat_parts, openai_chat, openai_responses, responses_calls
from .canonical import (
    blocks_of,
    call,
    id_text,
    item_block,
    items,
    mapping,
    marked,
    parsed_call,
    parsed_calls,
    plain_content,
    text,
    text_block,
)
from .openai_responses import ON_SERVER
from .responses_calls import CALLS, OUTPUTS, read_call
from .responses_parts import PARTS, read_part
from .responses_reasoning import reasoning_block

_SEARCH_CALL, _SEARCH_OUTPUT, _MCP_OUTPUT = "tool_search_call", "tool_search_output", "mcp_tool_call_output"
_MORE = frozenset({_SEARCH_CALL, _SEARCH_OUTPUT, _MCP_OUTPUT})
"""Types of items that are read as calls and outputs of functions, because such items are not sent again."""
KINDS = CALLS | OUTPUTS | ON_SERVER | {"message", "reasoning"}
"""Types of items that become messages or parts of messages."""
_SPOKEN = frozenset({"input_audio", "output_audio", "audio"})
"""Types of parts that may have a `transcript`, as in the items of the Realtime API."""
_OF_ANSWER = CALLS | ON_SERVER | {"reasoning"}
_TEXTS = ("text", "input_text", "output_text")
_OWN_PARTS = chat_parts.PARTS | PARTS
_SURE = CALLS | OUTPUTS | {"reasoning"}


def is_sure(message: Mapping[str, Any]) -> bool:
    """Return whether a message or item can only be OpenAI's."""
    if "role" not in message:
        return text(message.get("type")) in _SURE
    return any(text(mapping(part).get("type")) in _OWN_PARTS for part in items(message.get("content")))


def is_of_answer(item: Mapping[str, Any], kind: str) -> bool:
    """Return whether an item is a part of an answer. For the arguments see `read_item`."""
    return kind in _OF_ANSWER or (kind == "message" and item.get("role") == "assistant")


def words_of_agent(item: Mapping[str, Any]) -> str:
    """Return the text that one agent of Codex sends to another; "" if only the provider can read it."""
    content = item.get("content")
    if isinstance(content, str):
        return content.strip()
    texts = [text(mapping(part).get("text")) for part in items(content)]
    return "\n".join(filter(None, texts)).strip()


def is_older_call(message: Mapping[str, Any]) -> bool:
    """Return whether an answer has a call in the older form of Chat Completions, which gives calls no id."""
    return bool(mapping(message.get("function_call"))) and not items(message.get("tool_calls"))


def read_content(content: Any) -> list[Message]:
    """Return the content of a message of either API as blocks."""
    return [block for part in blocks_of(content) for block in _blocks_of_part(part)]


def _blocks_of_part(part: Message) -> list[Message]:
    """Return a part as blocks: spoken words as text, and then the sound if the file has it."""
    transcript = text(part.get("transcript")) if part.get("type") in _SPOKEN else ""
    if not transcript:
        return [_read_part(part)]
    has_sound = bool(text(mapping(part.get("input_audio")).get("data")))
    if has_sound:
        return [text_block(transcript), _read_part(part)]
    return [text_block(transcript)]


def read_item(item: Mapping[str, Any], kind: str) -> tuple[list[Message], list[Message]]:
    """Return the content blocks and the calls of an item that is a part of an answer.

    Args:
        item: the item, as `as_function` returns it.
        kind: its type (`kind_of`).
    """
    if kind == "message":
        return read_content(item.get("content")), []
    whole = _completed(item, kind)
    if kind == "function_call":  # nearly all calls
        return [], [call(whole["call_id"], text(whole.get("name")), whole.get("arguments", "{}"))]
    if kind in CALLS:
        return [], [parsed_call(read_call(whole, kind))]
    if kind == "reasoning":
        thought = reasoning_block(whole)
        return _reasoning(text(thought["thinking"]), thought["content"]), []
    return [item_block(whole)], []


def read_output(item: Mapping[str, Any], kind: str) -> tuple[str, Any, bool]:
    """Return the call's id, the result's content, and whether the call failed, from the output of a call.

    The content is a text, blocks, or any other value that the file has. For the arguments see `read_item`.
    """
    call_id = id_text(item.get("call_id"))
    output = item.get("output")
    if isinstance(output, str):  # nearly all outputs are texts
        has_failed = item.get("status") == "failed" or metadata_of(item).get("is_error") is True
        return call_id, output, has_failed
    failed = mapping(output).get("success") is False
    if isinstance(output, dict):
        output = output.get("content", output)
    if isinstance(output, list):
        output = blocks_of(output)
    message = responses_calls.read_output({**item, "call_id": call_id, "output": output}, kind)
    failed = failed or metadata_of(message).get("is_error") is True
    content = message["content"]
    if isinstance(content, list):
        return call_id, plain_content([_bare(block) for block in content]), failed
    return call_id, content, failed


def read_chat_answer(message: Mapping[str, Any]) -> tuple[list[Message], list[Message]]:
    """Return the content blocks and the calls of an answer of Chat Completions. A call without an id gets the id ""."""
    calls = [mapping(call) for call in items(message.get("tool_calls"))]
    chat_message = {**message, "content": blocks_of(message.get("content")), "tool_calls": calls}
    [answer] = openai_chat.read([chat_message])
    read_calls = parsed_calls(answer).get("tool_calls", [])
    if is_older_call(message):
        read_calls = [{**call, "id": ""} for call in read_calls]
    blocks = read_content(answer["content"])
    spoken = text(mapping(message.get("audio")).get("transcript"))
    if spoken and message.get("content"):  # the form has the words of the text alone
        blocks.append(text_block(spoken))
    return blocks, read_calls


def of_provider(message: Message) -> Message:
    """Return an answer. If it has items that only OpenAI understands, it gets the mark of OpenAI's form."""
    content = message["content"]
    has_items = isinstance(content, list) and any(is_block(block, ON_SERVER) for block in content)
    return marked(message, openai_responses.NAME) if has_items else message


def with_items_as_text(message: Message) -> Message:
    """Return an answer for another provider's agent: calls that OpenAI's server ran become text, with their results.

    A generated image becomes one line.
    """
    content = message["content"]
    if not isinstance(content, list) or not any(is_block(block, ON_SERVER) for block in content):
        return message
    blocks = [_as_text(block) if is_block(block, ON_SERVER) else block for block in content]
    return {**message, "content": blocks}


def _as_text(item: Message) -> Message:
    line = line_about(item)
    if item["type"] == "image_generation_call":
        return text_block(line)
    return text_block(f"{line}\n{as_json(item)}")


def _read_part(part: Message) -> Message:
    words = part.get("text")
    if len(part) == 2 and isinstance(words, str) and part.get("type") in _TEXTS:  # nearly all parts are like this
        return text_block(words)
    if not isinstance(part.get("type"), str):
        return text_block(words) if isinstance(words, str) else part
    return _bare(read_part(chat_parts.read_part(part)))


def _bare(block: Message) -> Message:
    """Return a block without the keys that are only needed to write the block in its own form again."""
    if block["type"] == "text":
        return text_block(text(block.get("text")))
    if "part" not in block:
        return block
    return {key: value for key, value in block.items() if key != "part"}


def as_function(item: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a tool search or the output of an MCP tool as a function's call or output; any other item unchanged."""
    kind = text(item.get("type"))
    if kind not in _MORE or not text(item.get("call_id")):
        return item
    if kind == _SEARCH_CALL:
        function_call = {
            "type": "function_call",
            "name": "tool_search",
            "arguments": as_json(mapping(item.get("arguments"))),
        }
        return {"call_id": item["call_id"], **function_call}
    output = mapping(item.get("output"))
    if kind == _SEARCH_OUTPUT:
        return {"type": "function_call_output", "call_id": item["call_id"], "output": as_json(items(item.get("tools")))}
    failed = {}
    if output.get("isError") is True or output.get("is_error") is True:
        failed = {"status": "failed"}
    return {**item, **failed, "type": "function_call_output"}


def _completed(item: Mapping[str, Any], kind: str) -> Mapping[str, Any]:
    """Return an item in the shape that the API gives it.

    Files also have `id` in place of `call_id`, text in place of a list, and `summary` in place of `arguments`.
    """
    if kind == "reasoning":
        return {**item, **{key: blocks_of(item.get(key)) for key in ("summary", "content")}}
    if kind not in CALLS:
        return item
    completed = {**item, "call_id": id_text(item.get("call_id")) or id_text(item.get("id"))}
    summary = item.get("summary")
    if item.get("arguments") is None and isinstance(summary, str):
        completed["arguments"] = {"summary": summary}
    return completed


def _reasoning(summary: str, state: list[Any]) -> list[Message]:
    """Return reasoning as hosts store it: the summary as text, with the encrypted state and the item's id beside it."""
    if not summary and not any(state):
        return []
    thought: Message = {"type": "thinking", "thinking": summary, "signature": None}
    if any(state):
        thought["content"] = state
    return [thought]
