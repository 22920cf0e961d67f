"""Messages and their parts in the shapes that providers accept."""

from typing import Any

from tests.support.messages import Message

IMAGE: Message = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBO"}}


def text(words: Any) -> Message:
    return {"type": "text", "text": words}


def block(call_id: str = "c1", **more: Any) -> Message:
    return {"type": "tool_call", "id": call_id, "name": "bash", "input": {"command": "ls"}, **more}


def call(call_id: Any = "c1", **more: Any) -> Message:
    return {"id": call_id, "tool": "bash", "arguments": {"command": "ls"}, **more}


def user(content: Any, **more: Any) -> Message:
    return {"role": "user", "content": content, **more}


def says(content: Any = "", **more: Any) -> Message:
    return {"role": "assistant", "content": content, **more}


def result(content: Any, **more: Any) -> Message:
    return {"role": "tool", "tool_call_id": "c1", "name": "bash", "content": content, **more}
