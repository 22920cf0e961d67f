"""The sessions of a database that may be deleted as old: neither they nor their sub-agents' sessions are in use.

What `list` keeps of a session says whether it is in use, so that only the others have to be opened. Whoever deletes one
looks at its log again.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..catalogue.session_list_cache import Glances
from ..log.postgres.names import stored_heads  # its driver is an extra
from ..log.postgres.old_logs import logs_without_news
from ..messages.metadata import instant_of
from .find_session import SessionFile, possible_roots, root_of, stored_session

_ASKED = 10_000


def sessions_without_news(storage: str, since_s: float, project: str | None = None) -> list[SessionFile] | None:
    """The sessions that may have no message since a time, nor have their sub-agents', in groups.

    None if the server does not say what `list` keeps of them.

    Args:
        storage: a location without a log's name.
        since_s: the time, in seconds since 1970.
        project: only sessions of this project.

    Raises:
        LogUnreadableError: the database cannot be asked.
    """
    found = logs_without_news(storage, since_s, project)
    if found is None:
        return None
    in_use = {log.name for log in found if log.is_in_use}
    doubtful = [stored_session(storage, log.name, log.changed_s) for log in found if not log.is_in_use]
    in_use |= _existing_roots(storage, doubtful) - {log.name for log in found}
    in_use |= _in_use_by_list_entry([one for one in doubtful if one.modified_s >= since_s], since_s)
    others = [stored_session(storage, name, 0.0) for name in in_use]
    used = {one.path for one in others}
    groups = groups_of([*(one for one in doubtful if one.path not in used), *others])
    return [one for group in groups if used.isdisjoint(one.path for one in group) for one in group]


def groups_of(sessions: Iterable[SessionFile]) -> list[list[SessionFile]]:
    """Sessions, each together with its sub-agents' sessions by their ids."""
    groups: dict[tuple[str, str], list[SessionFile]] = {}
    roots: dict[str, set[str]] = {}
    for one in sorted(sessions, key=lambda session: (session.project, len(session.id), session.id)):
        known = roots.setdefault(one.project, set())
        root = root_of(one.id, known)
        if root is None:
            known.add(one.id)
        groups.setdefault((one.project, root or one.id), []).append(one)
    return list(groups.values())


def _existing_roots(storage: str, sessions: Iterable[SessionFile]) -> set[str]:
    """The names of the logs that are there of sessions whose sub-agents' some sessions may be."""
    asked = list({f"{one.project}/{root}" for one in sessions for root in possible_roots(one.id)})
    found: set[str] = set()
    for start in range(0, len(asked), _ASKED):
        found |= stored_heads(storage, asked[start : start + _ASKED]).keys()
    return found


def _in_use_by_list_entry(sessions: list[SessionFile], since_s: float) -> set[str]:
    """The names of the logs of sessions of which a list entry tells a message since a time, to the second."""
    glances, found = Glances(), set[str]()
    glances.expect(str(one.path) for one in sessions)
    for one in sessions:
        kept = glances.of(str(one.path))
        last = instant_of(kept.last_message) if kept is not None else None
        if last is not None and last.timestamp() >= since_s:
            found.add(f"{one.project}/{one.id}")
    return found
