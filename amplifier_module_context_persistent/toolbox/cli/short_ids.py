"""Shorten sessions' ids, for terminals; commands accept the short forms too."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable

from ...sessions.find_session import is_short_id_of

LEAST_ID = 8
"""The least number of characters of a shortened id."""
_LONG_ID = re.compile(r"[0-9a-f]{8}(?:-|[0-9a-f]{8})", re.IGNORECASE)
"""An id that begins as UUIDs and hashes do. A shortened form of any other id could be read as a whole id."""


def shortest_ids(ids: Iterable[str]) -> dict[str, str]:
    """Return the shortest form of each id; ids such as `quote-123` are not shortened.

    The shortest form is a beginning that no other id has, apart from ids that begin with the whole id. For a
    sub-agent's id it is the beginning of the parent's id and the sub-agent's own part, if this is shorter.
    """
    known = sorted(set(ids))
    short = {}
    for at, full in enumerate(known):
        after = next((other for other in known[at + 1 :] if not other.startswith(full)), "")
        neighbours = (known[at - 1] if at else "", after)
        shared = max(len(os.path.commonprefix([full, other])) for other in neighbours)  # noqa: RUF071 - no paths
        short[full] = full[: max(LEAST_ID, shared + 1)] if _LONG_ID.match(full) else full
    parts = [full for full in known if "_" in full]
    for full in parts:
        head, _, tail = full.partition("_")
        name = f"{head[:LEAST_ID]}_{tail}"
        if (
            _LONG_ID.match(full)
            and len(name) < len(short[full])
            and sum(is_short_id_of(other, name) for other in parts) == 1
        ):
            short[full] = name
    return short


def short_id(session_id: str) -> str:
    """Return the short form of an id without comparing other ids, so that it may not be unique."""
    if not _LONG_ID.match(session_id):
        return session_id
    head, mark, tail = session_id.partition("_")
    return f"{head[:LEAST_ID]}{mark}{tail}"
