"""Sessions that go on in turns, in one process: what a longer log costs them, whatever else the machine does.

Functions here print JSON: `benchmarks.scale` runs them in processes of their own.
"""

from __future__ import annotations

import asyncio
import json
import time
from contextlib import AsyncExitStack
from typing import Any

APPENDS, REQUESTS = 300, 20
BUDGET_TOKENS = 100_000


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
