"""Find the logs of one place that hold the same session, such as a copy of a log that a person made.

A deletion of such a copy does not erase the session: the session is still in its place, so no list of erasures may say
that it was deleted. The log in the directory with the session's own id is the session, and its deletion is noted. A
*place* is this home, or a directory of projects that has its own list of erasures.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from ...log.database_location import stored_name
from ...paths import LOG_NAME
from ...sessions.find_session import session_files, sessions_below
from .erased_session_names import names_at_start, session_id_at_start
from .erasure_list import lists_of


class CopiesBeside:
    """The sessions of the places of some logs, by the names in their first lines. Each place is read once.

    Args:
        without: logs that do not count, because they are erased together.
    """

    def __init__(self, without: Iterable[str] = ()) -> None:
        self._without = {os.path.realpath(log) for log in without}
        self._by_place: dict[Path | None, dict[str, list[str]]] = {}
        """For each place (None for this home) the paths of its logs, by each name of their sessions."""

    def of(self, log: str) -> list[str]:
        """Return the paths of the other logs in a log's place that hold the same session; none for a database."""
        if stored_name(log) is not None:
            return []
        logs_by_name = self._logs_by_name(_place_of(log))
        own = os.path.realpath(log)
        copies = dict[str, None]()
        for name in _names_of(log):
            for other in logs_by_name.get(name, ()):
                real = os.path.realpath(other)
                if real != own and real not in self._without:
                    copies[other] = None
        return list(copies)

    def _logs_by_name(self, place: Path | None) -> dict[str, list[str]]:
        if place not in self._by_place:
            logs_by_name = defaultdict[str, list[str]](list)
            for session in session_files() if place is None else sessions_below(place):
                path = os.fspath(session.path)
                for name in _names_of(path):
                    logs_by_name[name].append(path)
            self._by_place[place] = logs_by_name
        return self._by_place[place]


def are_beside(one: str, other: str) -> bool:
    """Tell whether two logs' files are sessions in one directory of projects."""
    first, second = Path(os.path.realpath(one)), Path(os.path.realpath(other))
    if not first.name == second.name == LOG_NAME or min(len(first.parents), len(second.parents)) < 4:
        return False
    return first.parents[3] == second.parents[3]


def is_under_own_id(log: str) -> bool:
    """Tell whether a log's file is where the session that it was begun for has its log, and not a copy elsewhere."""
    path = Path(os.path.abspath(log))
    with suppress(OSError):
        return path.name == LOG_NAME and path.parent.name == session_id_at_start(log)
    return False


def _place_of(log: str) -> Path | None:
    """Return the directory of projects with a log if it has its own list of erasures, else None for this home."""
    has_own_list = len(lists_of(log)) > 1
    return Path(os.path.abspath(log)).parents[3] if has_own_list else None


def _names_of(log: str) -> list[str]:
    """Return the names of a log's session; none if its first line cannot be read or gives none."""
    with suppress(OSError, ValueError):
        return names_at_start(log) or []
    return []
