"""A session with tools, compactions and a provider's reports, and its statistics."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from amplifier_module_context_persistent import PersistentContextManager
from amplifier_module_context_persistent.catalogue.kept_figures import figures_of
from amplifier_module_context_persistent.log.contract import ReadableLog
from amplifier_module_context_persistent.log.filesystem import FileSystem
from amplifier_module_context_persistent.log.reader import LogReader
from amplifier_module_context_persistent.sessions.statistics import Statistics, statistics_of
from amplifier_module_context_persistent.tokens.counter import EstimateCounter, TokenCounter

MESSAGES: list[dict[str, Any]] = [
    {"role": "system", "content": "You are brief."},
    {"role": "user", "content": "first question"},
    {
        "role": "assistant",
        "content": "",
        "tool_calls": [
            {"id": "c1", "tool": "read_file", "arguments": {"path": "a.py"}},
            {"id": "c2", "tool": "grep", "arguments": {"pattern": "x"}},
        ],
    },
    {"role": "tool", "tool_call_id": "c1", "content": "line of code\n" * 400},
    {"role": "tool", "tool_call_id": "c2", "content": "a.py:1: x"},
    {"role": "assistant", "content": "done"},
    {"role": "user", "content": "second [bold]question[/bold] \x1b[31m"},
]


async def counted_session(where: Path) -> Path:
    """A session with two compactions' worth of tools and two reports of a provider."""
    manager = PersistentContextManager(where, tokenizer="estimate", max_tokens=1_500)
    for message in MESSAGES:
        await manager.add_message(message)
    for actual, read in ((2_000, 0), (2_010, 1_500)):
        await manager.get_messages_for_request()
        usage = {"input_tokens": actual, "cache_read_tokens": read}
        await manager.on_llm_response({"provider": "p", "model": "[m]", "usage": usage})
    await manager.close()
    return where


def collect(reader: ReadableLog, counter: TokenCounter) -> Statistics:
    """The statistics of a log that was opened."""
    with figures_of(reader, counter) as found:
        return statistics_of(reader, found, tokenizer=counter.name)


def collected(path: Path):
    reader = LogReader(path)
    reader.follow()
    return collect(reader, EstimateCounter())


class CountedReads(FileSystem):
    """The real file system; counts the reads, and the bytes that are read."""

    def __init__(self) -> None:
        self.reads = self.bytes_read = 0

    def read(self, fd: int, size: int, offset: int) -> bytes:
        block = super().read(fd, size, offset)
        self.reads += 1
        self.bytes_read += len(block)
        return block
