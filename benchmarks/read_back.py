"""What it costs that a host reads the whole history after each tool, and hands it back before each turn.

python -m benchmarks.read_back

Times are of the processor, each ratio within one run: `get_messages` against parsing the same lines with orjson,
`set_messages` of the list against `get_messages`, and a resume of 80,000 messages against one of 20,000. Lines are
verified whenever they are read; the first two reads of a process take some three and five times as long.
"""

import argparse
import asyncio
import gc
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import orjson

from amplifier_module_context_persistent import PersistentContextManager
from amplifier_module_context_persistent.log.record_line import CONTROL_HEAD
from benchmarks.limits import most
from benchmarks.measure import Comparison, compare_async, report
from benchmarks.scale import messages as turns

MESSAGES = 20_000
LONG = 4 * MESSAGES
CONFIG = {"tokenizer": "estimate", "durability": "write", "max_tokens": 10**8}


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


def session(path: str) -> PersistentContextManager:
    """Open a session."""
    return PersistentContextManager(path, **CONFIG)


async def store(path: str, messages: list[dict[str, Any]]) -> None:
    """Write a log that holds messages."""
    async with session(path) as manager:
        await manager.set_messages(messages)


def message_lines(path: str) -> list[bytes]:
    """The lines of a log's messages."""
    return [line for line in Path(path).read_bytes().splitlines() if not line.startswith(CONTROL_HEAD)]


async def reading(path: str, shape: str) -> list[Comparison]:
    """Compare reading a history and handing it back."""
    await store(path, SHAPES[shape])
    async with session(path) as manager:
        history, lines = await manager.get_messages(), message_lines(path)

        async def parse() -> None:
            gc.disable()  # it takes twice the time to look at what was parsed
            try:
                _ = [orjson.loads(line) for line in lines]
            finally:
                gc.enable()

        async def hand_back() -> None:
            await manager.set_messages(history)

        read = (f"get_messages of {MESSAGES:,}", manager.get_messages)
        parsed, handed = ("orjson.loads of each line", parse), ("set_messages of the same list", hand_back)
        settings = {"calls": 20, "rounds": 2, "clock": time.process_time_ns}
        return [
            await compare_async(f"get_messages, {shape}", read, parsed, limit=most("get_messages"), **settings),
            await compare_async(f"set_messages, {shape}", handed, read, limit=most("set_messages"), **settings),
        ]


def sanitised(history: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A history as a host's transcript has it, with a turn that the host has closed."""
    closing = {"role": "assistant", "content": "The previous tool calls were interrupted."}
    return [*({key: value for key, value in one.items() if value is not None} for one in history), closing]


async def resuming(directory: str) -> Comparison:
    """Compare resumes of a long and a short session: none of their messages is equal to the last value."""
    resumes = []
    for count in (LONG, MESSAGES):
        path = os.path.join(directory, f"resume-{count}.jsonl")
        await store(path, [{**message, "logprobs": None} for message in turns(count)])
        async with session(path) as manager:
            listed = [
                {**one, "name": "n"} if one.get("name") else one for one in sanitised(await manager.get_messages())
            ]

        async def resume(path: str = path, listed: list[dict[str, Any]] = listed) -> None:
            async with session(path) as manager:
                await manager.set_messages(listed)

        resumes.append((f"a resume of {count:,}", resume))
    name = "resume, 4 times as long"
    return await compare_async(name, *resumes, limit=most(name), calls=4, rounds=2, clock=time.process_time_ns)


async def measure() -> list[Comparison]:
    """Compare for each shape of session."""
    with tempfile.TemporaryDirectory() as directory:
        rows = [await reading(os.path.join(directory, f"{number}.jsonl"), shape) for number, shape in enumerate(SHAPES)]
        return [*(one for some in rows for one in some), await resuming(directory)]


def main() -> int:
    """Print the comparisons; 0 if each is within its limit."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    return report(asyncio.run(measure()))


if __name__ == "__main__":
    sys.exit(main())
