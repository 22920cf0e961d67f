"""Find sessions of a database that are old enough to be deleted, because neither they nor their sub-agents are in use.

The entry that `list` stores for a session (its list entry) contains the time of the last message. So only sessions
whose list entry shows no recent message have to be opened. A caller checks a session's log again before it deletes it.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..catalogue.session_list_cache import Glances
from ..log.postgres.list_logs import stored_heads  # its driver is an extra
from ..log.postgres.old_logs import logs_without_news
from ..messages.message_times import instant_of
from .session_files import SessionFile, stored_session
from .sub_agents import possible_roots, root_of

_ASKED = 10_000


def sessions_unused_since(storage: str, since_s: float, project: str | None = None) -> list[SessionFile] | None:
    """Return the sessions that probably have no message since a time, nor do their sub-agents' sessions.

    A session and its sub-agents' sessions are adjacent in the result. It is None if the server does not provide list
    entries.

    Args:
        storage: the location of the database, without a log's name.
        since_s: the time, in seconds since 1970.
        project: return only sessions of this project; None for all projects.

    Raises:
        LogUnreadableError: the database cannot be queried.
    """
    logs = logs_without_news(storage, since_s, project)
    if logs is None:
        return None
    candidates = [stored_session(storage, log.name, log.changed_s) for log in logs if not log.is_in_use]
    names_in_use = {log.name for log in logs if log.is_in_use}
    names_in_use |= _existing_roots(storage, candidates) - {log.name for log in logs}
    written_since = [session for session in candidates if session.modified_s >= since_s]
    names_in_use |= _in_use_by_list_entry(written_since, since_s)

    in_use = [stored_session(storage, name, 0.0) for name in names_in_use]
    paths_in_use = {session.path for session in in_use}
    unused = [session for session in candidates if session.path not in paths_in_use]
    sessions = list[SessionFile]()
    for group in groups_of([*unused, *in_use]):
        if paths_in_use.isdisjoint(session.path for session in group):
            sessions.extend(group)
    return sessions


def groups_of(sessions: Iterable[SessionFile]) -> list[list[SessionFile]]:
    """Group sessions: return one list for each session that has no parent, followed by its sub-agents' sessions."""
    groups: dict[tuple[str, str], list[SessionFile]] = {}
    roots: dict[str, set[str]] = {}
    for member in sorted(sessions, key=lambda session: (session.project, len(session.id), session.id)):
        known = roots.setdefault(member.project, set())
        root = root_of(member.id, known)
        if root is None:
            known.add(member.id)
        groups.setdefault((member.project, root or member.id), []).append(member)
    return list(groups.values())


def _existing_roots(storage: str, sessions: Iterable[SessionFile]) -> set[str]:
    """Return the names of the existing logs that, by their ids, may be the parents of these sessions."""
    candidates: set[str] = set()
    for session in sessions:
        candidates.update(f"{session.project}/{root}" for root in possible_roots(session.id))
    names = list(candidates)
    existing: set[str] = set()
    for start in range(0, len(names), _ASKED):
        existing |= stored_heads(storage, names[start : start + _ASKED]).keys()
    return existing


def _in_use_by_list_entry(sessions: list[SessionFile], since_s: float) -> set[str]:
    """Return the names of the logs whose list entry shows a message since a time.

    The server compares only days, this function compares seconds.
    """
    glances = Glances()
    glances.expect(str(session.path) for session in sessions)
    in_use: set[str] = set()
    for session in sessions:
        glance = glances.of(str(session.path))
        last = instant_of(glance.last_message) if glance is not None else None
        if last is not None and last.timestamp() >= since_s:
            in_use.add(f"{session.project}/{session.id}")
    return in_use
