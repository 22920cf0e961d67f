"""Read the output of `codex exec --json` before October 2025: convert its events to those of later versions.

The first line is an object with the settings, the second one has the prompt. Each other line is `{id, msg}`; `msg` is
an event of the program, with its `type`. A call has an event at its beginning and one at its end.

Sources: `event_processor_with_json_output.rs` and `protocol.rs` of openai/codex, June to September 2025.
"""

from __future__ import annotations

from typing import Any

from .fields import items, mapping, text

Event = dict[str, Any]

COUNTED = "thread.counted"
"""The type of an event that has the usage of the thread so far (`usage`), or that of the last request (`last`)."""
ENDED = "turn.ended"
"""The type of an event that ends a turn, and has no usage."""
_ENDS = frozenset({"task_complete", "turn_aborted", "error"})
_PASSING = ("_delta", "_section_break", "turn_diff", "background_event", "plan_update", "shutdown_complete")


def is_event(line: Event) -> bool:
    """Return whether a line is an event of this form."""
    return isinstance(line.get("msg"), dict) and isinstance(line["msg"].get("type"), str) and "id" in line


def is_settings(line: Event) -> bool:
    """Return whether a line has the settings of the program."""
    return "workdir" in line and "sandbox" in line and "msg" not in line


def as_later(line: Event, number: int) -> Event:
    """Return an event in the form of later versions; any other line unchanged.

    Args:
        line: the line of the file.
        number: its number.
    """
    if isinstance(line.get("prompt"), str) and len(line) == 1:
        return _completed("user_message", f"line{number}", text=line["prompt"])
    if not is_event(line):
        return line
    message = line["msg"]
    kind = message["type"]
    if kind == "session_configured":
        return {
            "type": "thread.started",
            "thread_id": text(message.get("session_id")),
            "model": text(message.get("model")),
        }
    if kind == "task_started":
        return {"type": "turn.started"}
    if kind == "agent_message":
        return _completed(kind, f"line{number}", text=text(message.get("message")))
    if kind in ("agent_reasoning", "agent_reasoning_raw_content"):
        return _completed("reasoning", f"line{number}", text=text(message.get("text")))
    if kind == "token_count":
        return _counted(message)
    if kind in _ENDS:
        return {"type": ENDED, "told": message}
    if kind.endswith(_PASSING):
        return {"type": "item.updated", "item": message}
    return _of_call(kind, message) or line


def _of_call(kind: str, message: Event) -> Event | None:
    """Return the event of a call's beginning or end; None for any other event."""
    name, _, when = kind.rpartition("_")
    read = _CALLS.get(name)
    if read is None or when not in ("begin", "end"):
        return None
    item = {"id": text(message.get("call_id")), **read(message, when)}
    return {"type": "item.completed" if when == "end" else "item.started", "item": item}


def _command(message: Event, when: str) -> Event:
    if when == "begin":
        return {"type": "command_execution", "command": " ".join(map(str, items(message.get("command"))))}
    streams = "".join(text(message.get(key)) for key in ("stdout", "stderr"))
    output = text(message.get("aggregated_output")) or streams or text(message.get("formatted_output"))
    return {"type": "command_execution", "aggregated_output": output, "exit_code": message.get("exit_code")}


def _patch(message: Event, when: str) -> Event:
    if when == "begin":
        return {"type": "file_change", "changes": message.get("changes")}
    output = "".join(text(message.get(key)) for key in ("stdout", "stderr"))
    status = "failed" if message.get("success") is False else "completed"
    return {"type": "file_change", "status": status, "output": output}


def _mcp_call(message: Event, when: str) -> Event:
    invocation = mapping(message.get("invocation"))
    call = {"type": "mcp_tool_call", **{key: invocation.get(key) for key in ("server", "tool", "arguments")}}
    if when == "begin":
        return call
    outcome = mapping(message.get("result"))
    if "Err" in outcome:
        return {**call, "status": "failed", "error": {"message": text(outcome["Err"])}}
    result = mapping(outcome.get("Ok"))
    status = "failed" if result.get("isError") is True else "completed"
    return {**call, "status": status, "result": result}


def _search(message: Event, when: str) -> Event:
    return {"type": "web_search", **({"query": message.get("query")} if when == "end" else {})}


_CALLS = {"exec_command": _command, "patch_apply": _patch, "mcp_tool_call": _mcp_call, "web_search": _search}


def _counted(message: Event) -> Event:
    info = mapping(message.get("info"))
    if info:
        return {"type": COUNTED, "usage": mapping(info.get("total_token_usage"))}
    return {"type": COUNTED, "last": {key: value for key, value in message.items() if key != "type"}}


def _completed(kind: str, item_id: str, **more: Any) -> Event:
    return {"type": "item.completed", "item": {"id": item_id, "type": kind, **more}}
