"""Read the output of `claude -p --output-format stream-json`, which the Claude Agent SDK reads too: one message a line.

`system` with the subtype `init` describes the session. `assistant` and `user` have a message in Anthropic's form, and
the session's id in `session_id`; messages of a sub-agent have the call that started it in `parent_tool_use_id`.
`result` ends a run, with its cost. `stream_event` has pieces of a message that follows as a whole. Each message becomes
an entry in the form of Claude Code's transcripts, and is read like those. A prompt that was given as an argument is not
in the output.

Sources: docs of the Agent SDK, "Message types" (Python and TypeScript references, read 2026-11-26).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ....forms.anthropic_in_files import answered_calls
from . import claude_code
from .account import Account
from .events import Event
from .fields import mapping, session_name, text
from .source_file import Source

_KINDS = frozenset({"assistant", "user", "system", "result", "stream_event"})
NOT_CONVERSATIONAL = frozenset(
    {"stream_event", "rate_limit_event", "tool_progress", "auth_status", "keep_alive", "prompt_suggestion"}
)


def is_entry(entry: dict[str, Any]) -> bool:
    """Return whether an object is a message in Claude Code's stream format."""
    return text(entry.get("type")) in _KINDS and isinstance(entry.get("session_id"), str) and "payload" not in entry


def read(source: Source, account: Account) -> Iterator[Event]:
    """Yield the session, and its sub-agents.

    Raises:
        ImportRefusedError: the file holds two sessions.
    """
    yield from claude_code.read(source, account, as_entry=_Transcriber().entry)


class _Transcriber:
    """Makes entries in the form of a transcript from messages of a stream."""

    def __init__(self) -> None:
        self._compacted = False
        """Whether the last message said that the history was compacted."""

    def entry(self, line: dict[str, Any]) -> dict[str, Any] | None:
        """Return a message of the stream as an entry, or None for a message that is not part of the conversation."""
        kind = text(line.get("type"))
        if kind in NOT_CONVERSATIONAL:
            return None
        entry = {**line, "sessionId": line.get("session_id")}
        agent = text(line.get("parent_tool_use_id"))
        if agent:
            entry["isSidechain"] = True
            entry["agentId"] = session_name(agent)
        tool_result = line.get("tool_use_result")
        if isinstance(tool_result, dict):
            entry["toolUseResult"] = tool_result
        is_boundary = kind == "system" and line.get("subtype") == "compact_boundary"
        if kind == "system" and line.get("subtype") == "init":
            entry["version"] = text(line.get("claude_code_version"))
        elif is_boundary:
            details = mapping(line.get("compact_metadata"))
            entry["compactMetadata"] = {**details, "preTokens": details.get("pre_tokens")}
        elif kind == "user" and not answered_calls(mapping(line.get("message")).get("content")):
            is_written_by_program = line.get("isSynthetic") is True
            if is_written_by_program and self._compacted:
                entry["isCompactSummary"] = True
            else:
                entry["isMeta"] = is_written_by_program
        self._compacted = is_boundary
        return entry
