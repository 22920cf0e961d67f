"""Following a session: its new messages as they come, and what happens to its history. Reads only.

- All that waits for a disk or a server runs on threads of `aiofiles`, and never on the event loop's thread.
- Whoever stops following, by `break`, `aclose` or a cancellation, leaves no open file, thread or task.
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
"""Messages that are read at once, so that a long history is never held as a whole."""

T = TypeVar("T")


def follow_session(session: str | Path, *, after: str | None = None) -> AsyncGenerator[Message | SessionChange, None]:
    """Follow a session: yield each new message, and each change of the history.

        async for new in follow_session("5f2c"):
            if isinstance(new, SessionChange):
                print(f"--- {new.kind}: {new.live_messages} messages ---")
            else:
                print(new["role"], new["content"])

    It ends only with an error, or when its consumer ends it: by `break`, `aclose()` or a cancellation of the task.
    Files are checked every 0.1 s, databases every second, once for all sessions that an event loop follows.

    Args:
        session: the session's id, its name, the beginning of one, or the path of its log; or a location in a database
            (`postgresql://…#PROJECT/ID`).
        after: the id of a message (`metadata.message_id`): messages after it are yielded first. With an empty text the
            whole history is yielded first. Without it, only new messages are yielded.

    Yields:
        A message, as a dictionary of its own in the form of `get_messages`; or a `SessionChange`.

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
    """Give what is new in a session, for as long as somebody asks.

    Raises:
        LogUnreadableError: the log cannot be read, or was removed.
    """
    async with watching(follower.place) as watch:
        while True:
            new = await _undisturbed(follower.look)
            while batch := await _undisturbed(partial(_next_of, new)):
                for item in batch:
                    yield item
            await watch.change()


def _next_of(new: Iterator[LiveMessage | SessionChange]) -> list[LiveMessage | SessionChange]:
    return list(islice(new, _BATCH))


async def _undisturbed(function: Callable[[], T]) -> T:
    """Call a function on a thread, and wait for its end also when cancelled: nobody closes what it still reads."""
    task = asyncio.ensure_future(on_thread(function)())
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        while not task.done():
            with suppress(asyncio.CancelledError):
                await asyncio.wait([task])
        if task.exception() is None and isinstance(opened := task.result(), Transcript):
            opened.close()
        raise
