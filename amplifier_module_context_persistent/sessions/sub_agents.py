"""Find the sessions of sub-agents, and the parent of each.

For figures and filters the ids are enough if the parent is among the given sessions (`root_of`). Without the parent, an
id proves nothing, because ids of other kits contain a `_`, too; then the log has to name the parent (`noted_parent`).

What is deleted with a session is decided more strictly (`is_named_by_host`): by the parent that the log or the host's
metadata names, and by the id alone only if the id has the form that hosts give.
"""

from __future__ import annotations

import json
import re
from collections.abc import Container, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from ..log.file_handle import first_line

if TYPE_CHECKING:
    from .session_files import SessionFile

_MOST_BYTES = 1 << 16
_CALL = re.compile("-[0-9a-f]{16}_.")
"""The end of an id that a host gives: an id of the call, and the agent's name."""
_UUID = re.compile("[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def root_of(session_id: str, roots: Container[str]) -> str | None:
    """Return the id of a sub-agent's parent session; None if the session has no parent among `roots`.

    The id of a sub-agent's session consists of its parent's id, `-` or `_`, and a text. There is a `_` in the text or
    before it, because the host takes every id with a `_` for a sub-session. A fork or a branch is a session of its own,
    even if its id has this form; only its log says so.

    Args:
        session_id: the id of the session.
        roots: the ids of possible parents.
    """
    return next((root for root in possible_roots(session_id) if root in roots), None)


def is_named_by_host(session_id: str, parent: str) -> bool:
    """Return whether an id has the form that hosts give the session of a parent's sub-agent.

    It is the parent's id, `-`, 16 hexadecimal digits, `_` and the agent's name; or, if the parent's id is a UUID as
    hosts give it, the parent's id, `-` or `_`, and a text with a `_` in it or before it.
    """
    rest = session_id.removeprefix(parent)
    if rest == session_id:
        return False
    if _CALL.match(rest):
        return True
    return _UUID.fullmatch(parent) is not None and rest.startswith(("-", "_")) and "_" in rest


def with_sub_agents(session: SessionFile, others: Iterable[SessionFile]) -> list[SessionFile]:
    """Return a session and its sub-agents' sessions.

    Args:
        session: the session of the main agent.
        others: the sessions among which sub-agents are looked for.
    """
    family = [session]
    for other in others:
        is_candidate = other.project == session.project and other.id != session.id
        if is_candidate and root_of(other.id, {session.id}) == session.id:
            family.append(other)
    return family


def possible_roots(session_id: str) -> Iterator[str]:
    """Return an iterator over the possible ids of a session's parent, derived from its own id; shortest first."""
    for at, sign in enumerate(session_id):
        rest = session_id[at:]
        if sign in "-_" and "_" in rest:
            yield session_id[:at]


def noted_parent(session_id: str, path: str | Path) -> str | None:
    """Return the id of the parent session that a sub-agent's log names; None if the log names none, or is a fork.

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
