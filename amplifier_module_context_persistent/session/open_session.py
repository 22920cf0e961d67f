"""Open a session in a directory or a database, by an id that another program chose."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from ..errors import ConfigError
from ..log.database_location import refuse_other_url, stored_name
from ..session_ids import directory_name
from .manager import PersistentContextManager

_PROJECT = "sessions"
"""The default project of sessions in a database; this project must not depend on the working directory."""


def open_session(
    session_id: str, where: str | os.PathLike[str] | None = None, **options: Any
) -> PersistentContextManager:
    """Open a new or existing session as a context manager, for an `async with` statement.

    Args:
        session_id: any text; it is made into a safe name of a directory, or of a log in a database (`session_ids`).
        where: a directory that has a directory for each session, or the URL of a PostgreSQL database; by default the
            place in which Amplifier keeps the sessions of this project.
        options: the configuration's keys; `docs/configuration.md` lists them.

    Raises:
        ConfigError: an unknown option, or a wrong value.
        TypeError: the id is not a text.
    """
    name = directory_name(session_id)
    if where is None:
        return PersistentContextManager(session_id=name, **options)
    check_names_no_place(options)
    place = checked_place(where)
    if stored_name(place) is None:
        return PersistentContextManager(session_id=name, storage_path=place, **options)
    project = options.pop("project", _PROJECT)
    return PersistentContextManager(session_id=name, storage=place, project=project, **options)


def checked_place(where: object) -> str:
    """Return a place of sessions as the absolute path of a directory, or as the URL of a PostgreSQL database.

    Raises:
        ConfigError: the place is neither a directory nor such a URL.
    """
    place = os.fspath(where) if isinstance(where, str | os.PathLike) else None
    if not isinstance(place, str) or not place or "\0" in place:
        quoted_place = f"{where!r:.80}" if isinstance(where, str) else type(where).__name__
        raise ConfigError(f"a place of sessions is a directory or a postgresql:// URL, not {quoted_place}")
    refuse_other_url(place)
    if stored_name(place) is not None:
        return place
    return os.path.abspath(os.path.expanduser(place))


def check_names_no_place(options: Mapping[str, Any]) -> None:
    """Refuse options that name another place than the given one.

    Raises:
        ConfigError: an option names another place.
    """
    for key in ("transcript_path", "storage_path", "storage"):
        if options.get(key) is not None:
            raise ConfigError(f"{key}: the place is given already; leave out one of the two")
