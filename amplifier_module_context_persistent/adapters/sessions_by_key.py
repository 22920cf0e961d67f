"""Sessions by the keys of a kit: opened at the first use and kept open, listed, deleted.

A key is a project and an id, both texts from strangers; a sub-agent's key has a subpath too. In a directory a session
is `PROJECT/sessions/ID/context-messages.jsonl`, as Amplifier stores its own; in a database it is the log `PROJECT/ID`.
So the directory may be `~/.amplifier/projects`, and `context-persistent` finds the sessions of all kits there.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
from collections.abc import Callable
from typing import Any, NamedTuple

from ..catalogue.index_snapshots import CatalogueSnapshots
from ..config import Config
from ..errors import DeleteError, LogUnreadableError
from ..log.contract import ReadableLog
from ..log.database_location import location_of, stored_name
from ..log.open_log import open_log
from ..log.open_reader import open_reader
from ..paths import LOG_NAME
from ..session.manager import PersistentContextManager
from ..session.open_session import check_names_no_place, checked_place
from ..session_ids import directory_name, id_of
from ..sessions.delete_log import delete_log
from ..sessions.session_files import SessionFile, files_in, session_files

logger = logging.getLogger(__name__)

_MOST_OPEN = 32
_TRIES = 5
_BELOW = "_+"
"""Between the names of a session and of its sub-agent: `+` is in no name that `directory_name` makes, and the `_` makes
it a sub-session for the commands."""


class SessionKey(NamedTuple):
    """A kit's name for a session."""

    project: str
    session_id: str
    subpath: str = ""

    @property
    def name(self) -> str:
        """The name of the session among the sessions of its project."""
        name = directory_name(self.session_id)
        return f"{name}{_BELOW}{directory_name(self.subpath)}" if self.subpath else name


class SessionsByKey:
    """Sessions in a directory or a database.

    Args:
        where: the directory that has a directory for each project, or the URL of a PostgreSQL database.
        options: options of each session's manager; `docs/configuration.md` lists them.

    Raises:
        ConfigError: `where` is neither; an unknown option, or a wrong value.
    """

    def __init__(self, where: str | os.PathLike[str], **options: Any) -> None:
        self.where = checked_place(where)
        check_names_no_place(options)
        self._is_stored = stored_name(self.where) is not None
        self._options = options
        self._config = Config.load(options, warn=logger.warning)
        self._open: dict[SessionKey, PersistentContextManager] = {}

    async def open(self, key: SessionKey) -> PersistentContextManager:
        """Return the manager of an existing or a new session. A new session's log is made for its first message."""
        manager = self._open.pop(key, None) or self._manager(key)
        self._open[key] = manager  # the last used session is at the end
        while len(self._open) > _MOST_OPEN:
            await self.let_go(next(iter(self._open)))
        return manager

    async def let_go(self, key: SessionKey) -> None:
        """Close a session. Do nothing if the session is not open."""
        manager = self._open.pop(key, None)
        if manager is not None:
            await manager.close()

    async def close(self) -> None:
        """Close all sessions. A session is opened again when it is used."""
        for key in list(self._open):
            await self.let_go(key)

    async def listed(self, project: str) -> list[SessionFile]:
        """Return the sessions of a project and of its sub-agents.

        The `id` of each has the form of `SessionKey.name`.
        """
        return await asyncio.to_thread(self._listed, project)

    async def subpaths(self, key: SessionKey, read_key: Callable[[ReadableLog], str]) -> list[str]:
        """List the subpaths of a session. `read_key` reads a subpath from its log if the log's name is shortened."""
        beginning = f"{key.name}{_BELOW}"
        below = [log for log in await self.listed(key.project) if log.id.startswith(beginning)]
        return [await self._id_of(log, log.id.removeprefix(beginning), read_key) for log in below]

    async def main(self, project: str, read_key: Callable[[ReadableLog], str]) -> list[tuple[str, SessionFile]]:
        """List the sessions of a project except sub-agents', with their ids. `read_key` is as in `subpaths`."""
        logs = [log for log in await self.listed(project) if _BELOW not in log.id]
        return [(await self._id_of(log, log.id, read_key), log) for log in logs]

    async def delete(self, key: SessionKey, check: Callable[[ReadableLog], None] | None = None) -> None:
        """Erase a session and its sub-agents' sessions. Do nothing if there is no such session.

        `check` is called with the log before the erasure. If `check` raises an exception, nothing is erased.
        """
        names = [key.name]
        if not key.subpath:
            beginning = f"{key.name}{_BELOW}"
            sub_agents = [log.id for log in await self.listed(key.project) if log.id.startswith(beginning)]
            # Sub-agents first and the session itself last: if a deletion fails, what is left still has its session.
            names = [*sorted(sub_agents, reverse=True), key.name]
        for name in names:
            await self._let_go_of_name(key.project, name)
        for name in names:
            await asyncio.to_thread(_delete, self._location(key.project, name), check)

    async def _let_go_of_name(self, project: str, name: str) -> None:
        """Close the open sessions of a project whose logs have this name."""
        for key in list(self._open):
            if key.project == project and key.name == name:
                await self.let_go(key)

    async def read(self, session: SessionFile, function: Callable[[ReadableLog], Any]) -> Any:
        """Open a session's log for reading, call a function with the log, and return the result."""
        return await asyncio.to_thread(_read, os.fspath(session.path), function)

    def _manager(self, key: SessionKey) -> PersistentContextManager:
        log = open_log(
            self._location(key.project, key.name),
            durability=self._config.durability,
            lock_timeout_s=self._config.lock_timeout_s,
            max_record_bytes=self._config.max_record_bytes,
            snapshots=CatalogueSnapshots(wait_s=0),
            marks_open=False,  # a kit deletes sessions that its other processes may have open
        )
        # a kit relies on it that messages are stored when a call returns; a mounted session may go on in memory,
        # since its person is told
        options = {"require_persistence": True} | dict(self._options)
        return PersistentContextManager(log=log, session_id=key.name, **options)

    def _location(self, project: str, name: str) -> str:
        if self._is_stored:
            return location_of(self.where, f"{directory_name(project)}/{name}")
        return os.path.join(self.where, directory_name(project), "sessions", name, LOG_NAME)

    def _listed(self, project: str) -> list[SessionFile]:
        if self._is_stored:
            return session_files(directory_name(project), storage=self.where)
        with contextlib.suppress(FileNotFoundError):
            return files_in(os.path.join(self.where, directory_name(project), "sessions"))
        return []

    async def _id_of(self, session: SessionFile, name: str, read_key: Callable[[ReadableLog], str]) -> str:
        known = id_of(name)
        return known if known is not None else str(await self.read(session, read_key))


def _read(location: str, function: Callable[[ReadableLog], Any]) -> Any:
    log = open_reader(location, snapshots=CatalogueSnapshots())
    try:
        log.follow()
        return function(log)
    finally:
        log.close()


def _delete(location: str, check: Callable[[ReadableLog], None] | None) -> None:
    def look(log: ReadableLog) -> int | None:
        if check is not None:
            check(log)
        return log.describe().size_bytes if log.describe().exists else None

    for attempt in range(_TRIES):
        size = _read(location, look)
        if size is None:
            return
        try:
            delete_log(location, size)
        except DeleteError:  # another process added to the log since
            if attempt + 1 == _TRIES:
                raise
        except LogUnreadableError:  # another process deleted the log
            if _read(location, lambda log: log.describe().exists):
                raise
        else:
            break
    if stored_name(location) is None:
        with contextlib.suppress(OSError):
            os.rmdir(os.path.dirname(location))
