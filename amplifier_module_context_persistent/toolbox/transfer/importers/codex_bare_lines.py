"""Read Codex rollouts of mid-2025 and before, whose entries have no envelope (`{timestamp, type, payload}`).

The first line is `{id, timestamp, instructions, git}`. The other lines are items of the Responses API, without times;
`{"record_type": "state"}` lines are marks of the program. The directory is only in the first user message, an
`<environment_context>`.

The first version of the program, of April to June 2025, wrote `rollout-*.json`: one document `{session, items}`, whose
`session` is such a first line.

Sources: `rollout.rs` of openai/codex, June to August 2025 (for example at 89a151f), `save-rollout.ts` of April 2025;
sources of readers of these files.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ....forms.openai_in_files import KINDS
from .fields import items, mapping, text

_OF_SESSION = frozenset({"id", "timestamp", "instructions", "git"})
_DIRECTORY = re.compile(r"<environment_context>\s*(?:<cwd>|Current working directory: )(?P<path>[^<\n]+)")


def is_mark(line: Mapping[str, Any]) -> bool:
    """Return whether a line without an envelope can only be a rollout's: its first line, or a mark of the program."""
    return line.get("record_type") == "state" or _is_session(line)


def is_item(line: Mapping[str, Any]) -> bool:
    """Return whether a line is an item without an envelope."""
    kind = text(line.get("type"))
    if kind not in KINDS or "payload" in line:
        return False
    return kind != "message" or isinstance(line.get("role"), str)


def with_envelope(line: dict[str, Any]) -> dict[str, Any]:
    """Return a line with an envelope; the line itself if it has one, or if it is no line of a rollout."""
    if "payload" in line:
        return line
    kind = ""
    if _is_session(line):
        kind = "session_meta"
    elif is_item(line):
        kind = "response_item"
    return {"timestamp": line.get("timestamp"), "type": kind, "payload": line} if kind else line


def entries_of_document(document: object) -> list[Any]:
    """Return the entries of a rollout that is one document: its session in an envelope, then its items.

    Return [] for any other document.
    """
    fields = mapping(document)
    session = mapping(fields.get("session"))
    listed = items(fields.get("items"))
    if not (isinstance(session.get("id"), str) and "timestamp" in session and listed):
        return []
    return [{"timestamp": session["timestamp"], "type": "session_meta", "payload": session}, *listed]


def directory_in(context: str) -> str:
    """Return the directory of the session in an `<environment_context>`, or "" if there is none."""
    found = _DIRECTORY.match(context)
    return found["path"].strip() if found else ""


def _is_session(line: Mapping[str, Any]) -> bool:
    has_texts = isinstance(line.get("id"), str) and isinstance(line.get("timestamp"), str)
    return has_texts and "instructions" in line and line.keys() <= _OF_SESSION
