"""Parts of messages for other formats: results with their calls, tool definitions, images, JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from ...messages.message import Message, call_arguments_of, call_name_of, calls_of, result_id_of
from ...messages.metadata import metadata_of
from .session_view import SessionView

NO_RESULT = "[interrupted: this call has no result]"


def to_json(value: Any) -> str:
    """JSON on one line, in ASCII where a text is no valid Unicode."""
    try:
        encoded = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        encoded.encode("utf-8")
    except UnicodeEncodeError:
        encoded = json.dumps(value, separators=(",", ":"))
    return encoded


def paired(view: SessionView) -> Iterator[Message]:
    """The messages so that each call has one result right after it: missing ones stand in, others are left out."""
    waiting: dict[str, str] = {}
    for _, message in view.messages():
        call_id = result_id_of(message)
        if call_id is not None:
            if call_id in waiting:
                del waiting[call_id]
                yield message
            continue
        yield from _stand_ins(waiting)
        waiting = {call.id: call.name for call in calls_of(message)}
        yield message
    yield from _stand_ins(waiting)


def _stand_ins(waiting: Mapping[str, str]) -> Iterator[Message]:
    for call_id, name in waiting.items():
        yield {"role": "tool", "tool_call_id": call_id, "name": name, "content": NO_RESULT}


def calls_with_arguments(message: Message) -> list[tuple[str, str, dict[str, Any]]]:
    """The calls of a message: id, tool, arguments."""
    wanted = {call.id for call in calls_of(message)}
    found: dict[str, tuple[str, str, dict[str, Any]]] = {}
    listed, content = message.get("tool_calls"), message.get("content")
    for call in [*(listed if isinstance(listed, list) else []), *(content if isinstance(content, list) else [])]:
        call_id = str(call.get("id") or call.get("tool_call_id") or "") if isinstance(call, dict) else ""
        if call_id in wanted:
            found.setdefault(call_id, (call_id, call_name_of(call), call_arguments_of(call)))
    return list(found.values())


def blocks_of(message: Message) -> list[dict[str, Any]]:
    """The content blocks of a message without its calls; a text is one block."""
    content = message.get("content")
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    found = []
    for block in content if isinstance(content, list) else []:
        if isinstance(block, str):
            found.append({"type": "text", "text": block})
        elif isinstance(block, dict) and block.get("type") not in ("tool_call", "tool_use"):
            found.append(block)
    return found


def text_block(block: Mapping[str, Any]) -> str:
    """A block as text: its text, or what it is where it has none."""
    if isinstance(block.get("text"), str):
        return str(block["text"])
    if block.get("type") == "image":
        return "[image]"
    return to_json(dict(block))


def image_url(block: Mapping[str, Any]) -> str:
    """The URL of an image block, its data within it; empty where it has neither."""
    source = block.get("source")
    given = source if isinstance(source, dict) else {}
    if isinstance(given.get("data"), str):
        return f"data:{given.get('media_type') or 'image/png'};base64,{given['data']}"
    return str(given.get("url") or "")


def tool_definitions(tools: list[dict[str, Any]], *, openai: bool) -> list[dict[str, Any]]:
    """Tool definitions in OpenAI's or Anthropic's form."""
    made = []
    for tool in tools:
        inner = tool.get("function")
        function = inner if isinstance(inner, dict) else tool
        schema = function.get("parameters") or function.get("input_schema") or {"type": "object", "properties": {}}
        name, described = function.get("name"), function.get("description")
        if not isinstance(name, str):
            continue
        more = {"description": described} if isinstance(described, str) else {}
        if openai:
            made.append({"type": "function", "function": {"name": name, **more, "parameters": schema}})
        else:
            made.append({"name": name, **more, "input_schema": schema})
    return made


def model_of(view: SessionView) -> str:
    """The model of the session: the source's, else that of its first answer."""
    given = view.source.get("model")
    if isinstance(given, str):
        return given
    for _, message in view.messages():
        if isinstance(model := metadata_of(message).get("model"), str):
            return model
    return ""
