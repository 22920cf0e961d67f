"""Entries of Claude Code's session files, which the Claude Agent SDK hands to a session store.

| an entry | canonical messages |
| --- | --- |
| `user`, `assistant` with a `message` | what its `message` (Anthropic Messages) says |
| any other one (titles, modes, summaries, progress) | one line of the role `system`, which is not sent to models |

Each entry is given back unchanged (`whole_body`). Its `uuid` is the id of its first message.

Sources: `SessionStoreEntry` in the SDK's `types.py` (0.2), and files of Claude Code 2.1.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ..errors import RecordError
from ..messages.message import Message, metadata_of
from . import anthropic
from .canonical import mapping, text, unmarked
from .whole_body import bodies_in, can_be_stored, for_people, with_body

NAME = "claude_code"
_SAYS = ("customTitle", "aiTitle", "summary", "content", "lastPrompt", "tag", "mode")
"""The keys under which an entry without a message may have its text."""
_OF_ANTHROPIC = frozenset({"id", "type", "role", "model", "content", "stop_reason", "usage"})
"""Keys of a message that become part of the readable message; all other keys are only in its stored body."""


def read_entry(entry: Mapping[str, Any], **facts: Any) -> list[Message]:
    """Read an entry of Claude Code (plain JSON), and return its canonical messages.

    `facts` are stored in the mark of the first message.
    """
    metadata: Message = {}
    if entry.get("isMeta") is True or entry.get("isCompactSummary") is True:
        metadata["source"] = NAME
    time = text(entry.get("timestamp"))
    if time:
        metadata["timestamp"] = time
    parts = [{**part, "metadata": {**metadata_of(part), **metadata}} for part in _parts_of(entry)]
    entry_id = text(entry.get("uuid"))
    if entry_id:
        for number, part in enumerate(parts):
            part["metadata"]["message_id"] = entry_id if number == 0 else f"{entry_id}#{number}"
    return with_body(parts, dict(entry), NAME, **facts)


def entries_in(messages: Iterable[Message]) -> Iterator[dict[str, Any]]:
    """Yield the entries of Claude Code that a history was made from, unchanged.

    An entry of which a purge removed a part is left out.
    """
    return (body for _, body in bodies_in(messages, NAME) if isinstance(body, dict))


def _parts_of(entry: Mapping[str, Any]) -> list[Message]:
    message = mapping(entry.get("message"))
    if entry.get("type") in ("user", "assistant") and message.get("role") in ("user", "assistant"):
        anthropic_message = {key: value for key, value in message.items() if key in _OF_ANTHROPIC}
        try:
            parts = [unmarked(part) for part in anthropic.read([anthropic_message])]
        except RecordError:  # malformed: stored as an entry that is not sent to models
            parts = []
        if can_be_stored(parts):
            return parts
    for key in _SAYS:
        words = text(entry.get(key))
        if words:
            return [for_people(words)]
    return [for_people(f"[{text(entry.get('type')) or 'entry'}]")]
