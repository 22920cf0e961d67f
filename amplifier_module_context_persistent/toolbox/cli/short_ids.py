"""Shorten sessions' ids, for terminals; commands accept the short forms too."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence

from ...session_ids import is_short_id_of

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
    of_sub_agents = [full for full in known if "_" in full]
    short = {}
    for place, full in enumerate(known):
        if not _LONG_ID.match(full):
            short[full] = full
            continue
        short[full] = _shortest_beginning(known, place)
        if "_" in full:
            parent, _, own_part = full.partition("_")
            name = f"{parent[:LEAST_ID]}_{own_part}"
            is_shorter = len(name) < len(short[full])
            if is_shorter and sum(is_short_id_of(other, name) for other in of_sub_agents) == 1:
                short[full] = name
    return short


def _shortest_beginning(ids: Sequence[str], place: int) -> str:
    """Return the shortest beginning of the id at a place that no other id has, apart from ids that begin with it."""
    full = ids[place]
    neighbours = [ids[place - 1]] if place > 0 else []
    for other in ids[place + 1 :]:
        if not other.startswith(full):
            neighbours.append(other)
            break
    shared = max((len(os.path.commonprefix([full, other])) for other in neighbours), default=0)  # noqa: RUF071 - texts are compared, not paths
    return full[: max(LEAST_ID, shared + 1)]


def short_id(session_id: str) -> str:
    """Return the short form of an id, made from this id alone. Another session may have the same short form."""
    if not _LONG_ID.match(session_id):
        return session_id
    head, mark, tail = session_id.partition("_")
    return f"{head[:LEAST_ID]}{mark}{tail}"
