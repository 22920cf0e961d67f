"""Resuming a session of 100,000 messages (about 100 MB), against reading the file and parsing every line with orjson.

Every measurement is made in a process of its own, as a resume is: interpreter and imports are not counted, the first
use of everything else is. Printed: the first view (with the plan of an earlier process, and without any), the whole
history by `get_messages`, and the memory that opening and the first view add.

    python -m benchmarks.resume [--messages N] [--rounds N]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.measure import compile_package
from benchmarks.session_turns import copy_synced
from benchmarks.sessions import write_session

LIMITS = {"first view": 0.7, "first view, unplanned": 0.7, "get_messages": 1.3, "memory / file size": 0.25}


def resident_bytes() -> int:
    """The process's resident memory (Linux)."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def parse(path: str) -> dict[str, float]:
    """Read the file and keep every line as orjson parses it."""
    import orjson

    start = time.perf_counter()
    with open(path, "rb") as lines:
        kept = [orjson.loads(line) for line in lines]
    return {"seconds": time.perf_counter() - start, "messages": len(kept)}


def view(path: str) -> dict[str, float]:
    """Open the log and make the first view."""
    from amplifier_module_context_persistent import PersistentContextManager

    async def first() -> int:
        manager = PersistentContextManager(path, tokenizer="estimate")
        messages = await manager.get_messages_for_request()
        return len(messages)

    before = resident_bytes()
    start = time.perf_counter()
    messages = asyncio.run(first())
    return {"seconds": time.perf_counter() - start, "messages": messages, "bytes": resident_bytes() - before}


def history(path: str) -> dict[str, float]:
    """Open the log and get the whole history."""
    from amplifier_module_context_persistent import PersistentContextManager

    async def everything() -> int:
        manager = PersistentContextManager(path, tokenizer="estimate")
        return len(await manager.get_messages())

    start = time.perf_counter()
    messages = asyncio.run(everything())
    return {"seconds": time.perf_counter() - start, "messages": messages}


WORKERS = {"parse": parse, "view": view, "history": history}


def measure(worker: str, path: str) -> dict[str, float]:
    """Run one worker in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.resume", "--worker", worker, path]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    result: dict[str, float] = json.loads(done.stdout)
    return result


def main() -> None:
    """Measure interleaved and print JSON and a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--messages", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--worker", nargs=2, metavar=("NAME", "PATH"))
    options = parser.parse_args()
    if options.worker:
        name, path = options.worker
        print(json.dumps(WORKERS[name](path)))
        return
    compile_package()
    with tempfile.TemporaryDirectory() as directory:
        planned, plain = os.path.join(directory, "planned.jsonl"), os.path.join(directory, "plain.jsonl")
        size = write_session(plain, options.messages)
        write_session(planned, options.messages)
        measure("view", planned)  # an earlier process compacts, and its plan is stored
        rows: dict[str, list[float]] = {name: [] for name in LIMITS}
        for _ in range(options.rounds):
            # `plain` is copied anew each time, as its first view would store a plan
            copy = os.path.join(directory, "copy.jsonl")
            copy_synced(plain, copy)
            base = measure("parse", plain)["seconds"]
            with_plan = measure("view", planned)
            rows["first view"].append(with_plan["seconds"] / base)
            rows["first view, unplanned"].append(measure("view", copy)["seconds"] / base)
            rows["get_messages"].append(measure("history", plain)["seconds"] / base)
            rows["memory / file size"].append(with_plan["bytes"] / size)
    report(options.messages, size, rows)


def report(messages: int, size: int, rows: dict[str, list[float]]) -> None:
    """Print the ratios."""
    rounds = len(rows["first view"])
    print(f"{messages:,} messages, {size / 1e6:.1f} MB; ratios to reading and parsing the file (median of {rounds})")
    for name, ratios in rows.items():
        print(f"  {name:<24} {statistics.median(ratios):6.2f}   limit {LIMITS[name]}")
    print(
        json.dumps(
            {
                name: {"ratios": ratios, "median": statistics.median(ratios), "limit": LIMITS[name]}
                for name, ratios in rows.items()
            }
        )
    )


if __name__ == "__main__":
    main()
