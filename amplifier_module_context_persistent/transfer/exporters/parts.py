"""Parts that several formats of others need: tool definitions, the session's model and name."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ...messages.metadata import instant_of, metadata_of, timestamp_of
from ...messages.text import well_formed
from ...paths import session_id_of
from .session_view import SessionView


def session_name(view: SessionView) -> str:
    """What the session is called: its id, else that of its directory, else the name of its file. Never a path."""
    path = view.transcript.path
    given = view.session_id or session_id_of(path) or Path(path).stem
    return well_formed(given.replace("\\", "/").rstrip("/").rpartition("/")[2]) or "session"


def first_time(view: SessionView) -> datetime:
    """When the session began, for what says no time: its first message that says one, its header, its file; or now."""
    times = (timestamp_of(message) for _, message in view.messages())
    for text in (next(filter(None, times), ""), str(view.transcript.header.get("created") or "")):
        if (instant := instant_of(text)) is not None:
            return instant
    path = Path(view.transcript.path)
    return datetime.fromtimestamp(path.stat().st_mtime, UTC) if path.is_file() else datetime.now(UTC)


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
