"""Sessions that go on in turns, in one process: what a longer log costs them, whatever else the machine does.

Functions here print JSON: `benchmarks.scale` runs them in processes of their own.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import time
from contextlib import AsyncExitStack
from typing import Any

APPENDS, REQUESTS = 300, 20
BUDGET_TOKENS = 100_000
_BLOCK, _WORDS = 50, 800
_MOST_BLOCKS = 2_000


def _opened(path: str) -> Any:
    from amplifier_module_context_persistent import PersistentContextManager

    return PersistentContextManager(path, session_id="scale", max_tokens=BUDGET_TOKENS)


def message_of(number: int, words: int = 40) -> dict[str, Any]:
    """A message to append."""
    return {"role": "user" if number % 2 else "assistant", "content": f"word {number} " * words}


def take_turns(*paths: str) -> None:
    """Go on with several sessions in turns, call by call; print the microseconds of their appends and requests."""

    async def go() -> dict[str, list[list[float]]]:
        appended, asked = ([list[float]() for _ in paths] for _ in range(2))
        async with AsyncExitStack() as closing:
            managers = []
            for path in paths:
                managers.append(await closing.enter_async_context(_opened(path)))
                await managers[-1].get_messages_for_request()
            for number in range(APPENDS):
                message = message_of(number)
                order = range(len(paths)) if number % 2 else range(len(paths) - 1, -1, -1)
                for at in order:
                    began = time.perf_counter()
                    await managers[at].add_message(message)
                    appended[at].append((time.perf_counter() - began) * 1e6)
                for at in order if number % (APPENDS // REQUESTS) == 0 else ():
                    began = time.perf_counter()
                    await managers[at].get_messages_for_request()
                    asked[at].append((time.perf_counter() - began) * 1e6)
        return {"append": appended, "request": asked}

    print(json.dumps(asyncio.run(go())))


def copy_synced(source: str, path: str) -> None:
    """Copy a file and bring the copy to the disk; else the first sync of an append to it would do so."""
    shutil.copy2(source, path)
    with open(path, "rb") as file:
        os.fsync(file.fileno())


class _Appender:
    """A session on a copy of a log: blocks of appends, and what they take, the checkpoints that they bring included."""

    def __init__(self, path: str) -> None:
        self._source, self._path = path, f"{path}.copy.jsonl"
        self._manager: Any = None
        self._was_written = False
        self.seconds, self.appends, self.checkpoints = 0.0, 0, 0

    async def begin(self) -> None:
        """Begin anew with the log as it was."""
        for suffix in ("", ".checkpoint"):
            copy_synced(self._source + suffix, self._path + suffix)
        self._manager, self._was_written, self._before = _opened(self._path), False, self._written()
        await self._manager.get_messages_for_request()

    async def append(self) -> None:
        """Append a block; begin anew after the one that follows a checkpoint, which may wait for it."""
        began = time.perf_counter()
        for number in range(_BLOCK):
            await self._manager.add_message(message_of(number, _WORDS))
        self.seconds += time.perf_counter() - began
        self.appends += _BLOCK
        if self._was_written:
            self.checkpoints += 1
            await self.end()
            await self.begin()
        self._was_written = self._written() != self._before

    async def end(self) -> None:
        """Close the log, and remove it."""
        await self._manager.close()
        for suffix in ("", ".checkpoint"):
            os.remove(self._path + suffix)

    def _written(self) -> int:
        return os.stat(f"{self._path}.checkpoint").st_ino


def append_past_checkpoints(*paths: str) -> None:
    """Append to several sessions in turns until each has written a checkpoint; print the mean microseconds."""

    async def go() -> list[float]:
        appenders = list(map(_Appender, paths))
        for one in appenders:
            await one.begin()
        for number in range(_MOST_BLOCKS):
            for one in appenders if number % 2 else reversed(appenders):
                await one.append()
            if all(one.checkpoints for one in appenders):
                break
        else:
            raise RuntimeError("no checkpoint was written")
        for one in appenders:
            await one.end()
        return [one.seconds / one.appends * 1e6 for one in appenders]

    print(json.dumps({"us": asyncio.run(go())}))
