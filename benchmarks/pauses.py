"""The longest pause of 10,000 appends while others use the catalogue of the same project.

    python -m benchmarks.pauses [--appends N]

The pause of the event loop is the longest time that a task waits which wants to run each millisecond: with nothing
beside it, and while a session of 100,000 messages is opened, has a view and a plan made, gives all messages, takes a
list of 500, and is closed.

A session appends, without a sync, to a log of 100,000 messages: alone, and while `stats --all`, `search` and another
session of the project run again and again in processes of their own. Printed are the longest append, the 99.9th
percentile and the median of both, in milliseconds. The exit code is 1 if the longest one beside the others takes over
50 ms more than alone.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from contextlib import closing
from itertools import repeat
from pathlib import Path

from amplifier_module_context_persistent import PersistentContextManager
from amplifier_module_context_persistent.catalogue.index_snapshots import CatalogueSnapshots
from amplifier_module_context_persistent.log.file_log import FileLog
from amplifier_module_context_persistent.log.record_line import encode_message
from amplifier_module_context_persistent.paths import project_slug
from benchmarks.limits import most
from benchmarks.measure import Figure
from benchmarks.sessions import write_log

MESSAGES = 100_000
MESSAGE = {"role": "user", "content": "The test fails since the total is rounded before the coupon is taken off. " * 8}
_COMMAND = "from amplifier_module_context_persistent.toolbox.cli import main; main()"
_WRITER = "import sys; from benchmarks.pauses import appends; appends(sys.argv[1], 200)"


def appends(path: str, count: int) -> list[float]:
    """Go on with a session; the milliseconds of its appends, shortest first."""
    times = []
    with closing(FileLog(path, durability="write", snapshots=CatalogueSnapshots(wait_s=0))) as log:
        log.follow()
        for number in range(count):
            body = encode_message(MESSAGE, message_id=f"{os.getpid()}-{number}", timestamp="2026-01-05T09:00:00.000Z")
            began = time.perf_counter()
            log.append([lambda _, body=body: [body]])
            times.append((time.perf_counter() - began) * 1e3)
    return sorted(times)


def measure(count: int) -> dict[str, list[float]]:
    """The milliseconds of appends, alone and beside the others."""
    with tempfile.TemporaryDirectory() as home:
        sessions = Path(home, ".amplifier", "projects", project_slug(home), "sessions")
        paths = [sessions / name / "context-messages.jsonl" for name in ("one", "two")]
        for path in paths:
            path.parent.mkdir(parents=True)
            write_log(str(path), repeat(MESSAGE, MESSAGES))
        told = {"alone": appends(str(paths[0]), count)}
        others = [
            ["-c", _COMMAND, "stats", "--all"],
            ["-c", _COMMAND, "search", "coupon", "-c"],
            ["-c", _WRITER, str(paths[1])],
        ]
        environment = {**os.environ, "HOME": home, "PYTHONPATH": os.pathsep.join([os.getcwd(), *sys.path])}
        loop = "import subprocess as s, sys\nwhile 1: s.run([sys.executable, *sys.argv[1:]], stdout=s.DEVNULL)"
        running = [
            subprocess.Popen([sys.executable, "-c", loop, *other], cwd=home, env=environment, start_new_session=True)
            for other in others
        ]
        try:
            told["beside others"] = appends(str(paths[0]), count)
        finally:
            for one in running:
                os.killpg(one.pid, 9)
                one.wait()
    return told


async def _longest_gap(work: Callable[[], Awaitable[object]]) -> float:
    """The longest time, in milliseconds, that a task waits to run while something is done, beyond a millisecond."""
    gaps, ended = [0.0], False

    async def tick() -> None:
        last = time.perf_counter()
        while not ended:
            await asyncio.sleep(0.001)
            now = time.perf_counter()
            gaps.append((now - last) * 1e3 - 1)
            last = now

    ticking = asyncio.create_task(tick())
    await work()
    ended = True
    await ticking
    return max(gaps)


async def _pauses_of_the_loop(directory: str) -> tuple[float, float]:
    """The longest gap with a session at work, and with nothing."""
    path = os.path.join(directory, "log.jsonl")
    write_log(path, repeat(MESSAGE, MESSAGES))
    given = [{**MESSAGE, "metadata": {"turn": number}} for number in range(500)]

    async def work() -> None:
        async with PersistentContextManager(path, tokenizer="estimate", max_tokens=200_000) as manager:
            await manager.get_messages_for_request()
            await manager.compact()
            await manager.get_messages()
            await manager.add_messages(given)
            await manager.get_messages_for_request()

    return await _longest_gap(work), await _longest_gap(lambda: asyncio.sleep(2))


def loop_figure() -> Figure:
    """How much longer a task waits beside a session at work; the best of three rounds: others only make it longer."""
    pairs = []
    for _ in range(3):
        with tempfile.TemporaryDirectory() as directory:
            pairs.append(asyncio.run(_pauses_of_the_loop(directory)))
    ours, alone = min(pairs, key=lambda pair: pair[0] - pair[1])
    name = "pause of the event loop, ms"
    return Figure(name, f"{ours:,.1f} ms", f"{alone:,.1f} ms", ours - alone, most(name))


def figure(told: dict[str, list[float]]) -> Figure:
    """How much longer the longest append took beside the others."""
    alone, beside = (times[-1] for times in told.values())
    name = "pause, ms"
    return Figure(name, f"{beside:,.1f} ms", f"{alone:,.1f} ms", beside - alone, most(name))


def main(arguments: list[str] | None = None) -> int:
    """Measure, and print both."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--appends", type=int, default=10_000)
    told = measure(parser.parse_args(arguments).appends)
    for name, times in told.items():
        rare, median = times[-len(times) // 1000 - 1], times[len(times) // 2]
        print(f"{name:<14} longest {times[-1]:8.2f}  99.9% {rare:8.2f}  median {median:8.3f} ms")
    loop = loop_figure()
    print(f"event loop     longest {loop.ours}, with nothing {loop.theirs}")
    return 0 if figure(told).holds and loop.holds else 1


if __name__ == "__main__":
    raise SystemExit(main())
