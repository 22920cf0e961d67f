"""Find the parent of a sub-agent's session in its log, for a parent that is not among the given sessions.

If the parent is among them, the ids are enough (`find_session.root_of`). Without the parent, an id proves nothing,
because ids of other kits contain a `_`, too.
"""

from __future__ import annotations

import json
from pathlib import Path

from ..log.file_handle import first_line

_MOST_BYTES = 1 << 16


def noted_parent(session_id: str, path: str | Path) -> str | None:
    """Return the id of the parent session that a sub-agent's log names; None if it names none, or is a fork.

    Args:
        session_id: the session's id, which begins with the parent's id.
        path: the path of the log's file. For a log in a database, the result is None.
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
