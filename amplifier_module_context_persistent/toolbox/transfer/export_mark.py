"""The mark that an export to another agent writes into each record: the ids of its session and its message.

Agents ignore keys that they do not know, and keep the existing lines when they continue a session. So when the agent's
file is imported, the marks tell which messages are in a session here already, and which ones the agent added.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

MARK_KEY = "contextPersistent"


class ExportMark(NamedTuple):
    """The ids of the session and the message that a record was exported from."""

    session_id: str
    message_id: str
    """Empty if the record is not from a message of the session, such as a stand-in for a missing result."""


def write_mark(session_id: str, message_id: str | None) -> dict[str, Any]:
    """Return the key and the value that mark a record."""
    return {MARK_KEY: {"session": session_id, **({"message": message_id} if message_id else {})}}


def mark_of(record: Mapping[str, Any]) -> ExportMark | None:
    """Return the mark of a record, or None if it has no valid mark."""
    given = record.get(MARK_KEY)
    if not isinstance(given, dict):
        return None
    session_id, message_id = given.get("session"), given.get("message", "")
    if not (isinstance(session_id, str) and session_id and isinstance(message_id, str)):
        return None
    return ExportMark(session_id, message_id)


class ExportedPart:
    """The part of a file that an export wrote: the id of the session, and the number of the last marked line."""

    def __init__(self) -> None:
        self.session_id = ""
        self.last_line = 0

    def note(self, line: int, record: Mapping[str, Any]) -> str:
        """Note the mark of a line's record, and return the id of its message, or "" if it has none.

        A file has records of one session; marks of another session are ignored.
        """
        mark = mark_of(record) if MARK_KEY in record else None
        if mark is None or self.session_id not in ("", mark.session_id):
            return ""
        self.session_id, self.last_line = mark.session_id, line
        return mark.message_id
