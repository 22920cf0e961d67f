"""The short forms of sessions' ids: as commands show them in terminals, and take them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable

from ...sessions.find_session import is_short_id_of

LEAST_ID = 8
"""So many characters an id has at least that is shortened."""
_LONG_ID = re.compile(r"[0-9a-f]{8}(?:-|[0-9a-f]{8})", re.IGNORECASE)
"""An id that begins as UUIDs and hashes do. The beginning of any other one could be taken for a whole id."""


def shortest_ids(ids: Iterable[str]) -> dict[str, str]:
    """For each id that is shortened the shortest name; for another one, such as `quote-123`, the whole id.

    The shortest name is the beginning that no other one has, but for those that begin with it. For a sub-agent's it is
    the beginning of its parent's and its own part, where that is shorter.
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
    """An id in the short form that it has beside others, without a look at them: it may be another one's, too."""
    if not _LONG_ID.match(session_id):
        return session_id
    head, mark, tail = session_id.partition("_")
    return f"{head[:LEAST_ID]}{mark}{tail}"
