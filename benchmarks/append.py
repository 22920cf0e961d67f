"""What an append costs: against the bare system calls, against the older module's way, and in a long log.

python -m benchmarks.append
"""

import asyncio
import json
import os
import sys
import tempfile
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from amplifier_module_context_persistent.commit import GroupCommit
from amplifier_module_context_persistent.index import Index
from amplifier_module_context_persistent.log import FileLog
from amplifier_module_context_persistent.record import encode_message, seal
from benchmarks.measure import Comparison, compare_async, report

STAMP = "2026-01-05T09:00:00.000Z"
TEXT = "The test fails since the total is rounded before the coupon is taken off; see src/cart/total.py:41. " * 8
MESSAGE: dict[str, Any] = {
    "role": "assistant",
    "content": [{"type": "text", "text": TEXT}],
    "tool_calls": [{"id": "call_1", "name": "read_file", "arguments": {"path": "src/cart/total.py", "limit": 200}}],
    "metadata": {"turn": 3},
}


def appending(commit: GroupCommit) -> Callable[[], Awaitable[range]]:
    """A function that appends one more message, encoding included."""
    number = 0

    def prepare(_index: Index) -> list[bytes]:
        return [encode_message(MESSAGE, message_id=f"id-{number}", timestamp=STAMP)]

    async def append() -> range:
        nonlocal number
        number += 1
        return await commit.append(prepare)

    return append


async def durable(directory: str) -> Comparison:
    """A durable append against a bare write and `fdatasync` of the same bytes in a worker thread."""
    commit = GroupCommit(FileLog(os.path.join(directory, "durable.jsonl")), inline=False)
    append = appending(commit)
    await append()
    line, _ = seal(encode_message(MESSAGE, message_id="id-1000", timestamp=STAMP), 0)
    fd = os.open(os.path.join(directory, "bare"), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    loop, worker = asyncio.get_running_loop(), ThreadPoolExecutor(max_workers=1)

    def write_and_sync() -> None:
        os.write(fd, line)
        os.fdatasync(fd)

    async def bare() -> None:
        await loop.run_in_executor(worker, write_and_sync)

    try:
        return await compare_async(
            "durable append", ("append, fsync", append), ("write + fdatasync in a thread", bare), limit=1.3
        )
    finally:
        os.close(fd)
        worker.shutdown()
        await commit.close()


async def written(directory: str) -> Comparison:
    """An append without a sync against opening, writing and closing a file for each message."""
    commit = GroupCommit(FileLog(os.path.join(directory, "written.jsonl"), durability="write"), inline=True)
    append = appending(commit)
    await append()
    path = os.path.join(directory, "older.jsonl")

    async def older() -> None:
        with open(path, "a", encoding="utf-8") as file:  # noqa: ASYNC230 - as the older module does
            file.write(json.dumps(MESSAGE) + "\n")

    try:
        return await compare_async(
            "append without sync", ("append, write", append), ("open, json.dumps, write, close", older), limit=2.0
        )
    finally:
        await commit.close()


async def in_a_long_log(directory: str) -> Comparison:
    """An append to a log of 100,000 messages against one to a log of 100."""
    sides = []
    for count in (100_000, 100):
        commit = GroupCommit(FileLog(os.path.join(directory, f"{count}.jsonl"), durability="write"), inline=True)
        body = encode_message(MESSAGE, message_id="id-0", timestamp=STAMP)
        for _ in range(count // 100):
            await commit.append(lambda _index, bodies=[body] * 100: bodies)  # type: ignore[misc]
        sides.append((commit, appending(commit)))
    try:
        return await compare_async(
            "append in a long log",
            ("append at 100,000 messages", sides[0][1]),
            ("append at 100 messages", sides[1][1]),
            limit=1.1,
        )
    finally:
        for commit, _ in sides:
            await commit.close()


async def measure(directory: str) -> list[Comparison]:
    """Run all comparisons in a directory."""
    return [await one(directory) for one in (durable, written, in_a_long_log)]


def main() -> int:
    """Measure and print; 1 if a promise is missed."""
    with tempfile.TemporaryDirectory() as directory:
        return report(asyncio.run(measure(directory)))


if __name__ == "__main__":
    sys.exit(main())
