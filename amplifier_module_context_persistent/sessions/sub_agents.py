"""Whose sub-agent a session is, if the session that started it is not among those that are looked at.

Ids tell it of the others (`find_session.root_of`). Without the parent an id does not: other kits' ids have a `_`, too.
"""

from __future__ import annotations

import json
from pathlib import Path

from ..log.file_handle import first_line

_MOST_BYTES = 1 << 16


def noted_parent(session_id: str, path: str | Path) -> str | None:
    """The session that a sub-agent's log names as its parent; None if the log names none, or is a fork.

    Args:
        session_id: the session's id; it begins with the parent's.
        path: the log's file. Logs in a database are not asked.
    """
    if "_" not in session_id:
        return None
    try:
        header = json.loads(first_line(path, _MOST_BYTES))
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(header, dict) or "forked_from" in header:
        return None
    parent = header.get("parent_id")
    if not isinstance(parent, str) or not parent:
        return None
    return parent if session_id.startswith((f"{parent}-", f"{parent}_")) else None
