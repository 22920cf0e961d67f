"""Notice changes of logs. One check covers all logs that an event loop watches, so idle logs cost little.

A log file has changed if it is another file, or has another size or time. A log in a database has changed if its row
has changed. The checks run on a thread of `aiofiles`, because a network disk may block them.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import asynccontextmanager, suppress
from functools import cache
from typing import Any, TypeAlias, TypeVar
from weakref import WeakKeyDictionary

from ..errors import LogUnreadableError
from ..installation import needed_packages
from ..log.database_location import split_location, stored_name

T = TypeVar("T")

FILES_S, DATABASES_S = 0.1, 1.0
"""The intervals at which files and databases are checked."""

Stamp: TypeAlias = tuple[int | str, ...]
"""A value that differs after each change of a log; () if the log does not exist or cannot be accessed."""


def on_thread(function: Callable[..., T]) -> Callable[..., Awaitable[T]]:
    """Return an awaitable version of a blocking function. It runs the function on a thread.

    Raises:
        DependencyError: `aiofiles` is not installed; the host may have updated this package without it.
    """
    called: Callable[..., Awaitable[T]] = _wrap()(function)
    return called


@cache
def _wrap() -> Callable[..., Any]:
    with needed_packages():
        from aiofiles.os import wrap

    wraps: Callable[..., Any] = wrap
    return wraps


class LogWatch:
    """A watch on one log."""

    def __init__(self, place: str, watched: _Watched) -> None:
        self._place = place
        self._watched = watched
        self._stamp: Stamp | None = None
        """The stamp after the last change; None before the first check, whose result is treated as a change."""

    async def change(self) -> None:
        """Wait until the log has changed since the last call; the first call returns after the first check."""
        self._stamp = await self._watched.change(self._place, self._stamp)


@asynccontextmanager
async def watching(place: str) -> AsyncIterator[LogWatch]:
    """Watch a log on the running event loop, until the end of the `async with` block.

    Args:
        place: the path of the log's file, or its location in a database.
    """
    is_stored = stored_name(place) is not None
    loops = _DATABASES if is_stored else _FILES
    look, interval_s = (_stored_stamps, DATABASES_S) if is_stored else (_file_stamps, FILES_S)
    watched = loops.setdefault(asyncio.get_running_loop(), _Watched(look, interval_s))
    try:
        yield LogWatch(place, watched)
    finally:
        await watched.stop_if_idle()


Look: TypeAlias = Callable[[Iterable[str]], Mapping[str, Stamp]]


class _Watched:
    """The logs that are watched on one event loop. A task checks them while somebody waits for a change."""

    def __init__(self, look: Look, interval_s: float) -> None:
        self._look: Callable[[Iterable[str]], Awaitable[Mapping[str, Stamp]]] = on_thread(look)
        self._interval_s = interval_s
        self._waiting: dict[asyncio.Future[Stamp], tuple[str, Stamp | None]] = {}
        self._task: asyncio.Task[None] | None = None

    async def change(self, place: str, known: Stamp | None) -> Stamp:
        """Wait until the stamp of a log differs from a known stamp, and return the new stamp.

        Raises:
            Exception: the check failed.
        """
        waiter: asyncio.Future[Stamp] = asyncio.get_running_loop().create_future()
        self._waiting[waiter] = place, known
        if self._task is None or self._task.done():
            self._task = asyncio.ensure_future(self._run())
        try:
            first_of: set[asyncio.Future[Any]] = {waiter, self._task}
            await asyncio.wait(first_of, return_when=asyncio.FIRST_COMPLETED)
            if not waiter.done():
                self._task.result()  # the check failed: raise its error here
            return waiter.result()
        finally:
            del self._waiting[waiter]

    async def stop_if_idle(self) -> None:
        """Stop the task if nobody waits for a change any more."""
        if self._task is not None and not self._waiting:
            task = self._task
            self._task = None
            task.cancel()
            await asyncio.wait([task])

    async def _run(self) -> None:
        while True:
            places = {place for place, _ in self._waiting.values()}
            stamps = await self._look(places)
            for waiter, (place, known) in self._waiting.items():
                if place in stamps and stamps[place] != known and not waiter.done():
                    waiter.set_result(stamps[place])
            await asyncio.sleep(self._interval_s)


_FILES: WeakKeyDictionary[asyncio.AbstractEventLoop, _Watched] = WeakKeyDictionary()
_DATABASES: WeakKeyDictionary[asyncio.AbstractEventLoop, _Watched] = WeakKeyDictionary()


def _file_stamps(places: Iterable[str]) -> dict[str, Stamp]:
    return {place: _file_stamp(place) for place in places}


def _file_stamp(path: str) -> Stamp:
    try:
        status = os.lstat(path)
    except OSError:
        return ()
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def _stored_stamps(places: Iterable[str]) -> dict[str, Stamp]:
    from ..log.postgres.list_logs import stored_heads  # its driver is an extra

    by_storage: dict[str, dict[str, str]] = {}
    for place in places:
        storage, name = split_location(place)
        by_storage.setdefault(storage, {})[name] = place
    stamps = dict[str, Stamp]()
    for storage, places_by_name in by_storage.items():
        heads = dict[str, Stamp]()
        with suppress(LogUnreadableError):  # then each stamp is empty, and the follower gets the error itself
            heads.update(stored_heads(storage, list(places_by_name)))
        stamps |= {place: heads.get(name, ()) for name, place in places_by_name.items()}
    return stamps
