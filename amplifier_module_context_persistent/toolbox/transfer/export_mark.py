"""The mark that an export to another agent leaves on each record: the session and the message that it was written from.

Agents ignore keys that they do not know, and keep the lines of a session that they go on with. So an import of the
agent's file knows which of its messages are in a session here already, and which ones the agent added.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

MARK_KEY = "contextPersistent"


class ExportMark(NamedTuple):
    """The session and the message that a record was written from."""

    session_id: str
    message_id: str
    """Empty if it is not a message of the session, such as a stand-in for a missing result."""


def write_mark(session_id: str, message_id: str | None) -> dict[str, Any]:
    """The key and value that mark a record."""
    return {MARK_KEY: {"session": session_id, **({"message": message_id} if message_id else {})}}


def mark_of(record: Mapping[str, Any]) -> ExportMark | None:
    """The mark on a record; None if there is none."""
    given = record.get(MARK_KEY)
    if not isinstance(given, dict):
        return None
    session_id, message_id = given.get("session"), given.get("message", "")
    if not (isinstance(session_id, str) and session_id and isinstance(message_id, str)):
        return None
    return ExportMark(session_id, message_id)


class ExportedPart:
    """The part of a file that an export wrote: from which session, and up to which line."""

    def __init__(self) -> None:
        self.session_id = ""
        self.last_line = 0

    def note(self, line: int, record: Mapping[str, Any]) -> str:
        """Note the mark on a line; the id of its message, empty if it has none.

        A file has records of one session; marks of another one are not believed.
        """
        mark = mark_of(record) if MARK_KEY in record else None
        if mark is None or self.session_id not in ("", mark.session_id):
            return ""
        self.session_id, self.last_line = mark.session_id, line
        return mark.message_id
