"""Late system text: system messages after the beginning of a conversation, which providers refuse or misplace.

A view shows them as reminders in a user's message (`messages/system_reminder.py`), if the log's rules say so
(`view/rules_of_log.py` `late_system_of`).
"""

from __future__ import annotations

from ..log.index import DEVELOPER, SYSTEM, Index


def conversation_start(index: Index) -> int:
    """Return the position of the first live message that is not system text; the history's length if there is none."""
    for position, ordinal in enumerate(index.live):
        if index.columns.roles[ordinal] not in (SYSTEM, DEVELOPER):
            return position
    return len(index.live)
