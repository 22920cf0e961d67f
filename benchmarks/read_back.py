"""What it costs that messages are verified when they are read: against the same reading without verification.

`get_messages` is measured as it comes (its bytes were verified by the call before, and those of a history of more than
4 MB were not), and with every checksum looked at, as by the first call of a process. A warm request is one for which
nothing is new: what it reads was verified by the one before. Bytes that were never changed on the way are compared
with themselves, so both sides read the same from the file and parse the same.

    python -m benchmarks.read_back
"""

import argparse
import asyncio
import os
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from amplifier_module_context_persistent import PersistentContextManager
from amplifier_module_context_persistent.log.open_log import OpenLog
from amplifier_module_context_persistent.log.verified_blocks import VerifiedBlocks
from benchmarks.measure import Comparison, compare_async, report
from benchmarks.scale import messages as turns

MESSAGES = 2_000
READ_LIMIT, REQUEST_LIMIT = 1.15, 1.05


def short_texts(number: int) -> dict[str, Any]:
    """Questions and answers of one line."""
    role = "assistant" if number % 2 else "user"
    return {"role": role, "content": f"What does test {number} say of it?"}


def calls_and_results(number: int) -> dict[str, Any]:
    """Calls with a text, each with a result of forty lines."""
    if number % 2:
        lines = "\n".join(f"{line}: def f(x): return str(x) + {number!r}" for line in range(40))
        return {"role": "tool", "tool_call_id": f"c{number - 1}", "name": "read_file", "content": lines}
    call = {"id": f"c{number}", "name": "read_file", "arguments": {"path": "a.py", "offset": number}}
    text = [{"type": "text", "text": f"I look at file {number}. " * 8}]
    return {"role": "assistant", "content": text, "tool_calls": [call]}


SHAPES: dict[str, list[dict[str, Any]]] = {
    "short texts": list(map(short_texts, range(MESSAGES))),
    "calls and results": list(map(calls_and_results, range(MESSAGES))),
    "turns of a session": list(turns(MESSAGES)),
}


@contextmanager
def unverified() -> Iterator[None]:
    """Take all bytes for known: they are read, and none is compared."""

    def read(log: OpenLog, pieces: Iterable[tuple[int, bytes]]) -> bool:
        for start, content in pieces:
            log.files.read(log.descriptor, len(content), start)
        return True

    known = patch.object(VerifiedBlocks, "_known", lambda _self, block, _index: len(block.ordinals))
    with known, patch.object(OpenLog, "holds", read):
        yield


@contextmanager
def nothing_kept() -> Iterator[None]:
    """Look at every checksum."""
    with patch.object(VerifiedBlocks, "_known", lambda _self, _block, _index: 0):
        yield


async def reading(directory: str, shape: str) -> list[Comparison]:
    """`get_messages`, and a request for which nothing is new."""
    path = os.path.join(directory, f"{shape}.jsonl")
    async with PersistentContextManager(path, tokenizer="estimate", durability="write", max_tokens=10**8) as manager:
        for message in SHAPES[shape]:
            await manager.add_message(message)

        def within(
            function: Callable[[], Awaitable[object]], patched: Callable[[], Any]
        ) -> Callable[[], Awaitable[object]]:
            async def call() -> object:
                with patched():
                    return await function()

            return call

        read, request = manager.get_messages, manager.get_messages_for_request
        return [
            await compare_async(
                f"{name}, {shape}",
                ("verified", ours),
                ("not verified", within(function, unverified)),
                limit=limit,
                calls=40,
                clock=time.process_time_ns,
            )
            for name, ours, function, limit in (
                ("first get_messages", within(read, nothing_kept), read, READ_LIMIT),
                ("get_messages", read, read, READ_LIMIT),
                ("a warm request", request, request, REQUEST_LIMIT),
            )
        ]


async def measure() -> list[Comparison]:
    """Compare for each shape of session."""
    with tempfile.TemporaryDirectory() as directory:
        return [one for shape in SHAPES for one in await reading(directory, shape)]


def main() -> int:
    """Print the comparisons; 0 if each is within its limit."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    return report(asyncio.run(measure()))


if __name__ == "__main__":
    sys.exit(main())
