"""Find the logs of one place that hold the same session, such as a copy of a log that a person made.

A deletion of such a copy does not erase the session: the session is still in its place, so no list of erasures may say
that it was deleted. The log in the directory with the session's own id is the session, and its deletion is noted. A
*place* is this home, or a directory of projects that has its own list of erasures.

A second import of a source, under another id, is a session of its own. Its deletion is noted by its log's id alone, so
that the first import stays, and can be continued from its source.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Iterable
from contextlib import closing, suppress
from pathlib import Path
from uuid import NAMESPACE_URL, uuid5

from ....erasures.erasure_list import lists_of
from ....errors import LogError
from ....log.contract import ReadableLog
from ....log.database_location import stored_name
from ....log.open_reader import open_reader
from ....paths import LOG_NAME
from ....sessions.session_files import session_files, sessions_below
from ....sessions.transcript import log_id_in
from .erased_session_names import header_at_start, names_at_start, names_of
from .message_names import names_in_stored


class CopiesBeside:
    """The sessions in the same places as given logs, by the names in their first lines. Each place is read once.

    Args:
        without: logs that do not count, because they are erased together.
    """

    def __init__(self, without: Iterable[str] = ()) -> None:
        self._without = {os.path.realpath(log) for log in without}
        self._by_place: dict[Path | None, dict[str, list[str]]] = {}
        """The paths of logs, by the place of the logs (None for this home) and by each name of their sessions."""

    def of(self, log: str) -> list[str]:
        """Return the paths of the other logs in a log's place that hold the same session; none for a database."""
        if stored_name(log) is not None:
            return []
        logs_by_name = self._logs_by_name(_place_of(log))
        own = os.path.realpath(log)
        copies = dict[str, None]()
        names = _names_of(log)
        if any(name.startswith("message:") for name in logs_by_name):  # of a log without a header
            names = [*names, *_names_of_messages(log)]
        for name in names:
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
    """Return whether two logs are files of sessions in one directory of projects."""
    first, second = Path(os.path.realpath(one)), Path(os.path.realpath(other))
    are_logs = first.name == LOG_NAME and second.name == LOG_NAME
    are_deep_enough = len(first.parents) > 3 and len(second.parents) > 3
    return are_logs and are_deep_enough and first.parents[3] == second.parents[3]


def is_under_own_id(log: str) -> bool:
    """Return whether a log is in the directory of the session for which it was begun, and not a copy elsewhere."""
    path = Path(os.path.abspath(log))
    with suppress(OSError):
        return path.name == LOG_NAME and path.parent.name == header_at_start(log).get("session_id")
    return False


def is_second_import(log: str, copies: Iterable[str]) -> bool:
    """Return whether a log is an import under an id that a person chose, and another import of its source exists.

    Args:
        log: the log's file, which is under its own id.
        copies: the paths of the other logs of the same session or source.
    """
    with suppress(OSError):
        header = header_at_start(log)
        source = header.get("source")
        if not isinstance(source, dict) or not source.get("key"):
            return False
        own_id = str(source.get("session_id") or uuid5(NAMESPACE_URL, str(source["key"])))
        if str(header.get("session_id")).startswith(own_id):
            return False
        log_id = log_id_in([header])
        others = [other for other in copies if is_under_own_id(other)]
        return any(log_id_in([header_at_start(other)]) != log_id for other in others)
    return False


def _place_of(log: str) -> Path | None:
    """Return the directory of projects that has a log, if it has its own list of erasures; None for this home."""
    has_own_list = len(lists_of(log)) > 1
    return Path(os.path.abspath(log)).parents[3] if has_own_list else None


def _names_of(log: str) -> list[str]:
    """Return the names by which a log's session is recognised: those of its header, else those of its messages.

    The list is empty if the log cannot be read.
    """
    with suppress(OSError, ValueError, LogError):
        names = names_at_start(log)
        if names is not None:
            return names
        return _read_names(log, names_of)  # the first line is damaged, or no header
    return []


def _names_of_messages(log: str) -> list[str]:
    """Return the names by which a log's messages are recognised; an empty list if the log cannot be read."""
    with suppress(OSError, ValueError, LogError):
        return _read_names(log, names_in_stored)
    return []


def _read_names(log: str, names_in: Callable[[ReadableLog], list[str]]) -> list[str]:
    with closing(open_reader(log)) as reader:
        reader.follow()
        return names_in(reader)
