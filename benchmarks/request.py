"""A request with 100,000 messages of history against one with 1,000, both with a plan in place.

Between two requests a message is appended, as a session does. Pairs are interleaved; the ratio is of medians, the best
of three rounds, as the machine's noise only ever adds.

    python -m benchmarks.request [--pairs N]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import tempfile
import time

from amplifier_module_context_persistent import PersistentContextManager
from benchmarks.sessions import write_session

LIMIT = 1.3
BUDGET = 40_000


async def prepare(directory: str, messages: int) -> PersistentContextManager:
    """Open a session of so many messages and let it make its plan."""
    path = os.path.join(directory, f"{messages}.jsonl")
    write_session(path, messages)
    manager = PersistentContextManager(path, tokenizer="estimate", max_tokens=BUDGET, durability="write")
    await manager.compact()
    return manager


async def request(manager: PersistentContextManager, number: int) -> float:
    """Append a message and make a view; the seconds that the view took."""
    await manager.add_message({"role": "user", "content": f"go on with step {number}"})
    start = time.perf_counter()
    await manager.get_messages_for_request()
    return time.perf_counter() - start


async def measure(pairs: int) -> list[dict[str, float]]:
    """Three rounds of interleaved pairs."""
    rounds = []
    for _ in range(3):
        with tempfile.TemporaryDirectory() as directory:
            short, long = await prepare(directory, 1_000), await prepare(directory, 100_000)
            of_short, of_long = [], []
            for number in range(pairs):
                of_short.append(await request(short, number))
                of_long.append(await request(long, number))
            sizes = [len(await manager.get_messages_for_request()) for manager in (short, long)]
            await short.close()
            await long.close()
        at_1k, at_100k = statistics.median(of_short), statistics.median(of_long)
        rounds.append(
            {
                "ms_at_1000": at_1k * 1000,
                "ms_at_100000": at_100k * 1000,
                "view_messages_at_1000": sizes[0],
                "view_messages_at_100000": sizes[1],
                "ratio": at_100k / at_1k,
            }
        )
    return rounds


def main() -> None:
    """Measure and print a table and JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=300)
    rounds = asyncio.run(measure(parser.parse_args().pairs))
    best = min(rounds, key=lambda one: one["ratio"])
    print("a request at 100,000 messages against one at 1,000, both with a plan (medians, best of three)")
    for name, value in best.items():
        print(f"  {name:<26} {value:8.2f}")
    print(f"  {'limit':<26} {LIMIT:8.2f}")
    print(json.dumps({"rounds": rounds, "best": best["ratio"], "limit": LIMIT}))


if __name__ == "__main__":
    main()
