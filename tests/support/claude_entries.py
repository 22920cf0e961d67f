"""Entries of Claude Code's session files, as small as an importer takes them."""

from typing import Any

Entry = dict[str, Any]


def entry(kind: str, uuid: str, parent: str | None, **more: Any) -> Entry:
    return {
        "type": kind,
        "uuid": uuid,
        "parentUuid": parent,
        "isSidechain": False,
        "sessionId": "5f0e-1",
        "cwd": "/home/u/app",
        "gitBranch": "main",
        "version": "2.1.0",
        "timestamp": f"2026-03-01T10:00:{len(uuid) % 60:02}.000Z",
        **more,
    }


def says(uuid: str, parent: str | None, text: Any, **more: Any) -> Entry:
    return entry("user", uuid, parent, message={"role": "user", "content": text}, **more)


def answers(uuid: str, parent: str | None, message_id: str, *blocks: Any, **more: Any) -> Entry:
    message = {
        "id": message_id,
        "role": "assistant",
        "model": "claude-opus-4-5",
        "content": list(blocks),
        "stop_reason": more.pop("stop", None),
        "usage": {
            "input_tokens": 3,
            "cache_read_input_tokens": 900,
            "cache_creation_input_tokens": 97,
            "output_tokens": 5,
        },
    }
    return entry("assistant", uuid, parent, message=message, **more)


def text(value: str) -> Entry:
    return {"type": "text", "text": value}


def calls(call_id: str, name: str = "Read") -> Entry:
    return {"type": "tool_use", "id": call_id, "name": name, "input": {"path": call_id}}


def results(uuid: str, parent: str, *pairs: tuple[str, str], **more: Any) -> Entry:
    blocks = [{"type": "tool_result", "tool_use_id": call_id, "content": said} for call_id, said in pairs]
    return says(uuid, parent, blocks, **more)
