"""The mark that an export or a fork to another agent writes into each record: the ids of its log, session and message.

Agents ignore keys that they do not know, and keep the existing lines when they continue a session. So when the agent's
file is imported, the marks tell which messages are in a session here already, and which ones the agent added. And the
log's id tells which erasures are about the file.

A fork is a session of its own, so its marks have the log's id only.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from ...messages.json_fields import present

MARK_KEY = "contextPersistent"


class ExportMark(NamedTuple):
    """The ids of the log, the session and the message that a record was exported from."""

    log_id: str
    """Empty if the log's header has no id, or if an earlier version wrote the record."""
    session_id: str
    """Empty if the record is in a fork, which is another session."""
    message_id: str
    """The id of the message. It is "" if the record is not from a message, such as a stand-in for a missing result."""


def write_mark(log_id: str, session_id: str = "", message_id: str | None = None) -> dict[str, Any]:
    """Return the key and the value that mark a record; empty if there is nothing to mark it with."""
    mark = present(session=session_id, message=message_id, log=log_id)
    return {MARK_KEY: mark} if mark else {}


def mark_of(record: Mapping[str, Any]) -> ExportMark | None:
    """Return the mark that an export put into a record, or None if the record has no valid mark."""
    mark = record.get(MARK_KEY)
    if not isinstance(mark, dict):
        return None
    log_id, session_id, message_id = mark.get("log", ""), mark.get("session", ""), mark.get("message", "")
    if not (isinstance(log_id, str) and isinstance(session_id, str) and isinstance(message_id, str)):
        return None
    if not log_id and not session_id:
        return None
    return ExportMark(log_id, session_id, message_id)


class ExportedPart:
    """The part of a file that an export wrote: the id of the session, and the number of the last marked line."""

    def __init__(self) -> None:
        self.session_id = ""
        self.last_line = 0
        self.log_ids: dict[str, None] = {}
        """The ids of the logs that records are from, in their order; a fork of a fork has those of its own log only."""

    def note(self, line: int, record: Mapping[str, Any]) -> str:
        """Note the export's mark in a line's record, and return the id of the message, or "" without a mark.

        A file has records of one session; the session in a mark of another one is ignored.
        """
        mark = mark_of(record) if MARK_KEY in record else None
        if mark is None:
            return ""
        if mark.log_id:
            self.log_ids[mark.log_id] = None
        if not mark.session_id or self.session_id not in ("", mark.session_id):
            return ""
        self.session_id = mark.session_id
        self.last_line = line
        return mark.message_id
