"""Open a session by its id, wherever it is kept, with an id that another program chose."""

from __future__ import annotations

import os
from typing import Any

from ..log.database_location import stored_name
from ..session_ids import directory_name
from .manager import PersistentContextManager

_PROJECT = "sessions"
"""The project of sessions in a database, unless `project` names one: it must not depend on the working directory."""


def open_session(
    session_id: str, where: str | os.PathLike[str] | None = None, **options: Any
) -> PersistentContextManager:
    """Open a session, new or not, as a context manager; use it in an `async with` statement.

    Args:
        session_id: any text: it becomes a safe name of a directory, or of a log in a database (`session_ids`).
        where: a directory, which holds a directory for each session; or the URL of a PostgreSQL database; else where
            Amplifier keeps the sessions of this project.
        options: the configuration's keys; `docs/configuration.md` lists them.

    Raises:
        ConfigError: an unknown option, or a wrong value.
    """
    if where is None:
        place: dict[str, Any] = {}
    elif stored_name(os.fspath(where)) is not None:
        place = {"storage": os.fspath(where), "project": options.pop("project", _PROJECT)}
    else:
        place = {"storage_path": os.path.abspath(os.path.expanduser(where))}
    return PersistentContextManager(session_id=directory_name(session_id), **place, **options)
