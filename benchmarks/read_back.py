"""What it costs that messages are verified when they are read: against the same reading without verification.

python -m benchmarks.read_back
"""

import argparse
import asyncio
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from amplifier_module_context_persistent import PersistentContextManager
from amplifier_module_context_persistent.log import reader
from benchmarks.measure import Comparison, compare_async, report
from benchmarks.scale import messages as turns

MESSAGES = 2_000
READ_LIMIT = 1.5


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
    """Take all lines for what they were."""
    with patch.object(reader, "checked", lambda _index, lines, _location: lines):
        yield


async def reading(directory: str, shape: str) -> list[Comparison]:
    """`get_messages`, with and without verification."""
    path = os.path.join(directory, f"{shape}.jsonl")
    async with PersistentContextManager(path, tokenizer="estimate", durability="write", max_tokens=10**8) as manager:
        for message in SHAPES[shape]:
            await manager.add_message(message)

        async def trusting() -> None:
            with unverified():
                await manager.get_messages()

        return [
            await compare_async(
                f"get_messages, {shape}",
                ("verified", manager.get_messages),
                ("not verified", trusting),
                limit=READ_LIMIT,
                calls=40,
                clock=time.process_time_ns,
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
