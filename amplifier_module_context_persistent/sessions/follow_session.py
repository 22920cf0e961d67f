"""Follow a session: yield its new messages and the changes of its history as they happen. The log is only read.

- Calls that wait for a disk or a server run on threads of `aiofiles`, never on the event loop's thread.
- After following was stopped by `break`, `aclose` or a cancellation, no file, thread or task is left open.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import suppress
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TypeVar

from ..messages.message import Message
from ..messages.metadata import is_ephemeral
from .find_session import find_session
from .log_watch import on_thread, watching
from .new_messages import SessionChange, SessionFollower
from .transcript import LiveMessage, Transcript

_BATCH = 256
"""The number of messages that are read at once, so that a long history is never in memory as a whole."""

T = TypeVar("T")


def follow_session(session: str | Path, *, after: str | None = None) -> AsyncGenerator[Message | SessionChange, None]:
    """Follow a session: yield each new message, and each change of the history.

        async for new in follow_session("5f2c"):
            if isinstance(new, SessionChange):
                print(f"--- {new.kind}: {new.live_messages} messages ---")
            else:
                print(new["role"], new["content"])

    The generator ends only with an error, or when the consumer stops it by `break`, `aclose()` or a cancellation of the
    task. Files are checked every 0.1 s, databases every second. One check covers all sessions that are followed on an
    event loop.

    Args:
        session: the session's id or name, the beginning of its id or name, the path of its log, or its location in a
            database (`postgresql://…#PROJECT/ID`).
        after: the id of a message (`metadata.message_id`): messages after it are yielded first. With "", the whole
            history is yielded first. By default, only new messages are yielded.

    Yields:
        A message as a new dictionary, in the form of `get_messages`; or a `SessionChange`.

    Raises:
        SessionNameError: no session has that name, or more than one.
        ValueError: the log has no message with the id `after`.
        LogUnreadableError: the log cannot be read, or was removed.
        DependencyError: `aiofiles` is not installed where the host runs; the error has the command.
    """
    return _followed(session, after)


async def _followed(session: str | Path, after: str | None) -> AsyncGenerator[Message | SessionChange, None]:
    transcript = await _undisturbed(partial(_open, session))
    try:
        follower = await _undisturbed(partial(SessionFollower, transcript, after))
        async for new in new_items(follower):
            if isinstance(new, SessionChange):
                yield new
            elif not is_ephemeral(new.message):
                yield new.message
    finally:
        await _undisturbed(transcript.close)


def _open(session: str | Path) -> Transcript:
    is_log = isinstance(session, Path) and not session.is_dir()
    return Transcript(session if is_log else find_session(os.fspath(session)))


async def new_items(follower: SessionFollower) -> AsyncGenerator[LiveMessage | SessionChange, None]:
    """Yield the new messages and the changes of a session, without end.

    Raises:
        LogUnreadableError: the log cannot be read, or was removed.
    """
    async with watching(follower.place) as watch:
        while True:
            new = await _undisturbed(follower.read_new)
            while batch := await _undisturbed(partial(_next_of, new)):
                for item in batch:
                    yield item
            await watch.change()


def _next_of(new: Iterator[LiveMessage | SessionChange]) -> list[LiveMessage | SessionChange]:
    return list(islice(new, _BATCH))


async def _undisturbed(function: Callable[[], T]) -> T:
    """Call a function on a thread. Wait for the function's end even if this task is cancelled."""
    task = asyncio.ensure_future(on_thread(function)())
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        while not task.done():
            with suppress(asyncio.CancelledError):
                await asyncio.wait([task])
        result = task.result() if task.exception() is None else None
        if isinstance(result, Transcript):  # nobody will close it
            result.close()
        raise
