"""What a search leaves to others: `python -m benchmarks.search`.

A session of `--megabytes` and one with a line of 10 MB are searched by expressions, ordinary ones and ones made to run
away, while a task appends every 20 ms and another one watches the event loop. Printed are how long the search took and
what it said, the longest gap of the event loop beside that of the same tasks without a search, measured before each
search, and the longest wait of an append. Appends go to the same log.
"""

import argparse
import asyncio
import json
import tempfile
import time
from collections.abc import Awaitable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from amplifier_module_context_persistent import PersistentContextManager

ORDINARY = ("needle", "def .*needle", r"\bneedle\d+\b", r"[0-9a-f]{40}", "error|warning|fatal")
RUN_AWAY = (
    r"a{0,9}a{0,9}a*a*a*Z",
    r"[a-z ]*[a-z ]*[a-z ]*\d",
    r"(a+)+$",
    r"(?:a|aa)+$",
    r"(.*a){20}Z",
    r"(\w*)(\w*)\1Z",
    r"\s*$",
)
IDLE_S = 2.0
_TICK_S = 0.001
_PAUSE_S = 0.02


@dataclass(slots=True)
class Watched:
    """The longest gap of the event loop and the longest wait of an append, in seconds."""

    gap_s: float = 0.0
    wait_s: float = 0.0


async def watch(manager: PersistentContextManager, job: Awaitable[object]) -> Watched:
    """Watch the event loop and append until a job is done."""
    watched, task = Watched(), asyncio.ensure_future(job)

    async def tick() -> None:
        while not task.done():
            begin = time.perf_counter()
            await asyncio.sleep(_TICK_S)
            watched.gap_s = max(watched.gap_s, time.perf_counter() - begin)

    async def append() -> None:
        while not task.done():
            begin = time.perf_counter()
            await manager.add_message({"role": "user", "content": "meanwhile"})
            watched.wait_s = max(watched.wait_s, time.perf_counter() - begin)
            await asyncio.sleep(_PAUSE_S)

    await asyncio.gather(tick(), append(), task)
    return watched


def write_sessions(directory: Path, megabytes: int) -> dict[str, Path]:
    """Write a session of many messages, and one with a line of 10 MB, of text that takes long to match."""
    paths = {"many": directory / "many.jsonl", "line": directory / "line.jsonl"}
    said = f"{'a' * 600}b {'ab cd ' * 100}x = {'def' * 20}(1)\n{' ' * 300}-\n"
    text = said * (10_000 // len(said))
    with paths["many"].open("w", encoding="utf-8") as file:
        for number in range(megabytes * 100):
            stamp = datetime.fromtimestamp(1_767_600_000 + number, UTC).isoformat()
            message = {"role": "user", "content": f"{number} {text}", "metadata": {"timestamp": stamp}}
            file.write(json.dumps(message) + "\n")
    long = (said.replace("\n", " ") * (10_000_000 // len(said))) + "a" * 20_000
    with paths["line"].open("w", encoding="utf-8") as file:
        for content in ("a few words", long, "a few more words"):
            file.write(json.dumps({"role": "user", "content": content}) + "\n")
    return paths


async def measure(path: Path, query: str) -> None:
    """Search a session and print what it did to others."""
    manager = PersistentContextManager(transcript_path=str(path))
    await manager.initialize()
    await manager.add_message({"role": "user", "content": "the first append opens the log"})
    idle = await watch(manager, asyncio.sleep(IDLE_S))
    begin = time.perf_counter()
    search = asyncio.ensure_future(manager.recall(query=query, regex=True))
    busy = await watch(manager, search)
    took_s = time.perf_counter() - begin
    lines = search.result().output.splitlines()
    hits = len(search.result().hits)
    said = [line for line in lines if "time ran out" in line or "took too long" in line]
    await manager.close()
    print(
        f"{path.stem:4} {query:28} {took_s:6.2f} s  loop {1e3 * busy.gap_s:5.0f} ms (idle {1e3 * idle.gap_s:3.0f})  "
        f"append {1e3 * busy.wait_s:5.0f} ms (idle {1e3 * idle.wait_s:3.0f})  {hits} hits {' '.join(said)}"
    )


def main() -> None:
    """Search both sessions with each expression."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, default=100, help="size of the session of many messages")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        for path in write_sessions(Path(directory), chosen.megabytes).values():
            for query in (*ORDINARY, *RUN_AWAY):
                asyncio.run(measure(path, query))


if __name__ == "__main__":
    main()
