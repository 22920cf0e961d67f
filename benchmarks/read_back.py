"""What it costs that messages are verified when they are read: against the same reading without verification.

python -m benchmarks.read_back
"""

import argparse
import asyncio
import os
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator
from typing import Any
from unittest.mock import patch

import orjson

from amplifier_module_context_persistent import PersistentContextManager
from amplifier_module_context_persistent.log import reader
from amplifier_module_context_persistent.log.index import Index
from amplifier_module_context_persistent.log.read_back import Line
from amplifier_module_context_persistent.log.record import Message, decode
from benchmarks.measure import Comparison, compare_async, report

MESSAGES = 2_000
SHAPES: dict[str, Callable[[int], dict[str, Any]]] = {
    "short texts": lambda number: {"role": "user", "content": f"What does test {number} say of it?"},
    "calls": lambda number: {
        "role": "assistant",
        "content": [{"type": "text", "text": f"I look at file {number}. " * 8}],
        "tool_calls": [{"id": f"c{number}", "name": "read_file", "arguments": {"path": "a.py", "offset": number}}],
    },
    "results": lambda number: {
        "role": "tool",
        "tool_call_id": f"c{number}",
        "name": "read_file",
        "content": "\n".join(f"{line}: def f(x): return str(x) + {number!r}" for line in range(40)),
    },
}


def unverified(index: Index, lines: Iterable[Line], _: str) -> Iterator[Message]:
    """Parse lines and look at no checksum."""
    for ordinal, line in lines:
        if index.flags[ordinal] & 3:
            yield decode(line)
            continue
        message: Message = orjson.loads(line)
        del message["_crc"]
        if "_json" in message or "_reset" in message or not message["metadata"]["message_id"]:
            message = decode(line)
        yield message


async def reading(directory: str, shape: str) -> list[Comparison]:
    """`get_messages`, and a request for which nothing is new."""
    path = os.path.join(directory, f"{shape}.jsonl")
    async with PersistentContextManager(path, tokenizer="estimate", durability="write", max_tokens=10**8) as manager:
        for number in range(MESSAGES):
            await manager.add_message(SHAPES[shape](number))

        def without(function: Callable[[], Awaitable[object]]) -> Callable[[], Awaitable[object]]:
            async def call() -> object:
                with patch.object(reader, "parsed", unverified):
                    return await function()

            return call

        return [
            await compare_async(
                f"{name}, {shape}",
                ("verified", function),
                ("not verified", without(function)),
                limit=limit,
                calls=40,
                clock=time.process_time_ns,
            )
            for name, function, limit in (
                ("get_messages", manager.get_messages, 1.3),
                ("a warm request", manager.get_messages_for_request, 1.2),
            )
        ]


async def measure() -> list[Comparison]:
    """Compare for each shape of message."""
    with tempfile.TemporaryDirectory() as directory:
        return [one for shape in SHAPES for one in await reading(directory, shape)]


def main() -> int:
    """Print the comparisons; 0 if each is within its limit."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    return report(asyncio.run(measure()))


if __name__ == "__main__":
    sys.exit(main())
