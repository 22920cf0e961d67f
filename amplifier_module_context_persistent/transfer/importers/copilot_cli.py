"""Sessions of GitHub Copilot CLI: `~/.copilot/session-state/<id>/events.jsonl`.

A line is `{type, data, id, timestamp, parentId}`. Confirmed by public readers of the format: `session.start`,
`user.message`, `assistant.message` with `toolRequests`, `tool.execution_start` and `tool.execution_complete`, and
`agentId` on what sub-agents do. Other events are kept as metadata.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from .account import Account
from .events import Event, Kept, MessageRead, SessionStart
from .fields import (
    as_text,
    assistant,
    call,
    items,
    mapping,
    metadata,
    named,
    result,
    session_name,
    text,
    text_block,
    thinking_block,
    usage_of,
    user,
)
from .source import Source, SourceObject, objects_of, one_session

_NOT_CONVERSATIONAL = frozenset(
    {"assistant.turn_start", "assistant.turn_end", "tool.execution_start", "tool.execution_progress", "session.idle"}
)
_TALK = frozenset({"user.message", "system.message", "assistant.message", "tool.execution_complete"})
_HEADS = ("session.", "user.", "assistant.", "tool.", "system.", "subagent.", "hook.", "abort", "skill.")


@dataclass(slots=True)
class _CopilotFile:
    entries: dict[str, list[SourceObject]] = field(default_factory=dict)
    """By sub-agent, empty for the session itself, the lines that matter."""
    facts: dict[str, Any] = field(default_factory=dict)
    session_id: str = ""


def read(source: Source, account: Account) -> Iterator[Event]:
    """Yield the session and its sub-agents."""
    file = _CopilotFile()
    for at in objects_of(source, account):
        agent = text(at.value.get("agentId"))
        if at.value.get("type") == "session.start" and not agent:
            one_session(at.number, file.session_id, text(mapping(at.value.get("data")).get("sessionId")))
        if _take(file, at.value, account):
            file.entries.setdefault(agent, []).append(at)
    model = ""
    for agent in sorted(file.entries):
        if agent:
            yield SessionStart("subagent", session_name(agent), dict(file.facts))
        else:
            yield SessionStart("session", "", file.facts, file.session_id)
        for number, entry in file.entries[agent]:
            data = mapping(entry.get("data"))
            model = text(data.get("newModel")) or text(data.get("selectedModel")) or model
            yield _event(number, entry, data, model)


def is_entry(entry: dict[str, Any]) -> bool:
    """Whether an object is an event of this format."""
    return isinstance(entry.get("data"), dict) and text(entry.get("type")).startswith(_HEADS)


def _take(file: _CopilotFile, entry: dict[str, Any], account: Account) -> bool:
    """Note an event; whether it becomes a message or is kept."""
    kind, data = text(entry.get("type")), mapping(entry.get("data"))
    if kind in _NOT_CONVERSATIONAL:
        account.skip(kind)
        return False
    if kind == "session.start":
        file.session_id = file.session_id or text(data.get("sessionId"))
        context = mapping(data.get("context"))
        facts = {**named(data, version="copilotVersion"), **named(context, cwd="cwd", git_branch="branch")}
        file.facts = {**facts, **file.facts}
    says = kind != "assistant.message" or data.get("content") or data.get("toolRequests") or data.get("reasoningText")
    if kind in _TALK and says and (kind != "user.message" or data.get("content")):
        account.map(kind)
    else:
        account.keep(kind or "without a type")
    return True


def _event(number: int, entry: dict[str, Any], data: dict[str, Any], model: str) -> Event:
    kind, time = text(entry.get("type")), entry.get("timestamp")
    message_id = text(entry.get("id")) or f"copilot-{number}"
    if kind in ("user.message", "system.message") and (said := text(data.get("content"))):
        attached = items(data.get("attachments"))
        source = "copilot:system" if kind == "system.message" else text(data.get("source")) or None
        source = None if source == "user" else source
        given = metadata(message_id, time, source=source, imported={"attachments": attached} if attached else {})
        return MessageRead(user(said, given), number)
    if kind == "tool.execution_complete":
        failed = data.get("success") is False
        given = mapping(data.get("result"))
        output = given.get("content") if given else data.get("result")
        if output is None:
            output = mapping(data.get("error")).get("message", "")
        told = metadata(message_id, time, is_error=True if failed else None)
        return MessageRead(result(text(data.get("toolCallId")), as_text(output), told), number)
    if kind == "assistant.message":
        thought, said = text(data.get("reasoningText")), text(data.get("content"))
        blocks = [*([thinking_block(thought)] if thought else []), *([text_block(said)] if said else [])]
        asked = [mapping(one) for one in items(data.get("toolRequests"))]
        calls = [call(text(one.get("toolCallId")), text(one.get("name")), one.get("arguments")) for one in asked]
        usage = usage_of(input_tokens=data.get("inputTokens"), output_tokens=data.get("outputTokens"))
        named = text(data.get("model")) or model
        told = metadata(message_id, time, provider="github-copilot", model=named, usage=usage)
        message = assistant(blocks, [one for one in calls if one["id"]], told)
        if message is not None:
            return MessageRead(message, number)
    return Kept(entry, number, kind)
