"""Find out which sessions belong to a session as those of its sub-agents, so that they are deleted with it.

A sub-agent's log, or the host's `metadata.json` beside it, names the parent session. If neither does, as for logs of
earlier versions, the id decides, but only if it has the form that hosts give (`is_named_by_host`): ids of other kits
are chosen by people, and `alice_smith` is no sub-agent of `alice`. A fork is a session of its own, whatever its id is,
and so is a branch of an imported session. Both a branch and an imported sub-agent name that session as their
parent. Only the sub-agent's id has a `_`.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ....errors import LogError
from ....log.database_location import split_location, stored_name
from ....paths import LOG_NAME
from ....sessions.session_files import SessionFile
from ....sessions.sub_agents import is_named_by_host, possible_roots
from ....sessions.transcript import Transcript
from ..host_files.files_beside_log import read_metadata
from .erased_session_names import header_at_start


@dataclass(frozen=True, slots=True)
class Origin:
    """The origin of a session, from its log and the host's metadata."""

    is_fork: bool = False
    parent: str = ""
    """The id of the session of which this is a sub-agent's; empty if nothing tells it."""
    is_imported: bool = False

    def may_be_sub_agent(self, session_id: str) -> bool:
        """Return whether the session may be a sub-agent's: it is neither a fork nor a branch."""
        is_branch = self.is_imported and "_" not in session_id  # it has no message of its parent's, else it is a fork
        return not self.is_fork and not is_branch


def origin_of(log: str | Path) -> Origin:
    """Return the origin of a session; an empty one if its log is missing or cannot be read."""
    header = _header_of(log)
    is_stored = stored_name(str(log)) is not None
    metadata: dict[str, Any] = {} if is_stored else read_metadata(Path(log).parent)
    if "forked_from" in header or "forked_from_turn" in metadata:
        return Origin(is_fork=True)
    noted_parents = (header.get("parent_id"), metadata.get("parent_id"))
    parent = next((noted_id for noted_id in noted_parents if isinstance(noted_id, str) and noted_id), "")
    return Origin(parent=parent, is_imported="imported_from" in header)


def _header_of(log: str | Path) -> dict[str, Any]:
    try:
        header = dict(header_at_start(str(log))) if stored_name(str(log)) is None else {}
        if header:
            return header
        with Transcript(log) as transcript:
            return dict(transcript.header)
    except (LogError, OSError, ValueError):
        return {}


class Families:
    """The sessions of one project, and the parent of each sub-agent's session.

    Args:
        logs: the log of each session, by the session's id. If a log is missing, the id tells the parent.
        roots: the ids of sessions that never count as a sub-agent's session.
    """

    def __init__(self, logs: Mapping[str, str | Path], roots: Collection[str] = ()) -> None:
        self._logs = logs
        self._roots = roots
        self._parents: dict[str, str] = {}

    def line_of(self, session_id: str) -> list[str]:
        """Return the ids of a session, of its parent, and so on; the last one is the session it belongs to."""
        line = [session_id]
        while parent := self._parent_of(line[-1]):
            if parent in line:  # logs that name each other belong to nobody
                return [session_id]
            line.append(parent)
        return line

    def _parent_of(self, session_id: str) -> str:
        """Return the id of the parent session, if it is among these sessions; else ""."""
        if session_id not in self._parents:
            self._parents[session_id] = self._find_parent(session_id)
        return self._parents[session_id]

    def _find_parent(self, session_id: str) -> str:
        if session_id in self._roots:
            return ""
        log = self._logs[session_id]
        parents = [parent for parent in possible_roots(session_id) if parent in self._logs]
        if not parents and stored_name(str(log)) is not None:  # each log would have to be opened
            return ""
        origin = origin_of(log)
        if not origin.may_be_sub_agent(session_id):
            return ""
        if origin.parent in self._logs and origin.parent != session_id:
            return origin.parent
        return next((parent for parent in parents if is_named_by_host(session_id, parent)), "")


def sub_agents_of(logs: Iterable[str], candidates: Sequence[SessionFile]) -> list[SessionFile]:
    """Return the sessions of the sub-agents of sessions, and of their sub-agents.

    Args:
        logs: the logs of the sessions; they may be gone.
        candidates: the sessions to choose from.
    """
    families = _families_of(logs, (str(session.path) for session in candidates))
    return [session for session in candidates if _is_below(families, str(session.path))]


def belongs_to_any(log: str, logs: Iterable[str]) -> bool:
    """Return whether a log is the log of a sub-agent of a session in `logs`. The log may be missing."""
    return _is_below(_families_of(logs, [log]), log)


Found = Mapping[str, tuple[Families, Collection[str]]]
"""The families of the sessions in each place, and the ids of the sessions whose sub-agents are looked for."""


def _families_of(logs: Iterable[str], others: Iterable[str]) -> Found:
    """Return the families of the places of logs. `others` are the logs that may belong to sub-agents."""
    roots = dict[str, dict[str, str | Path]]()
    for log in logs:
        place, session_id = _place_and_id(log)
        if session_id:
            roots.setdefault(place, {})[session_id] = log
    known = {place: dict(of_place) for place, of_place in roots.items()}
    for log in others:
        place, session_id = _place_and_id(log)
        if place in known:
            known[place].setdefault(session_id, log)
    return {place: (Families(known[place], of_place), of_place) for place, of_place in roots.items()}


def _is_below(found: Found, log: str) -> bool:
    place, session_id = _place_and_id(log)
    if place not in found:
        return False
    families, roots = found[place]
    return session_id not in roots and families.line_of(session_id)[-1] in roots


def _place_and_id(log: str) -> tuple[str, str]:
    """Return the place of a session, in which its sub-agents' sessions are too, and its id; "" for a single file."""
    name = stored_name(log)
    if name is not None:
        project, _, session_id = name.rpartition("/")
        return f"{split_location(log)[0]}#{project}", session_id
    path = Path(os.path.abspath(log))
    return (str(path.parents[1]), path.parent.name) if path.name == LOG_NAME else ("", "")
