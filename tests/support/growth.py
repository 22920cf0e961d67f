"""What something costs: how its time grows with what it is given, and how long it holds up an event loop."""

import asyncio
import time
from collections.abc import Callable, Coroutine
from typing import Any


def assert_grows_with_the_text(work: Callable[[str], object], text: str) -> None:
    """Four times the text takes about four times the time, not sixteen times; a quarter of a second always does.

    Where a quarter of the text takes so little that sixteen times as much is that, the whole is not asked.
    """

    def seconds(of: str) -> float:
        begin = time.process_time()
        work(of)
        return time.process_time() - begin

    quarter = text[: len(text) // 4]
    if seconds(quarter) >= 0.25 / 16 and seconds(text) >= 0.25:
        assert min(seconds(text) for _ in range(2)) < 10 * max(0.05, *(seconds(quarter) for _ in range(2)))


async def gap_and_duration_s(work: Coroutine[Any, Any, Any]) -> tuple[float, float]:
    """How long the loop's other tasks had to wait at worst while something was awaited, and how long that took."""
    gaps, done = [0.0], asyncio.Event()

    async def tick() -> None:
        last = time.perf_counter()
        while not done.is_set():
            await asyncio.sleep(0.002)
            now = time.perf_counter()
            gaps.append(now - last)
            last = now

    ticker = asyncio.create_task(tick())
    await asyncio.sleep(0.02)
    started = time.perf_counter()
    await work
    duration = time.perf_counter() - started
    done.set()
    await ticker
    return max(gaps), duration
