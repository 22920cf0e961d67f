"""Ordinary messages are encoded as they come: no copy is made, and the log is as if one had been."""

from __future__ import annotations

import asyncio
import itertools
import json
import math
import os
import time
from pathlib import Path
from typing import Any

import pytest

from amplifier_module_context_persistent import PersistentContextManager
from amplifier_module_context_persistent.errors import RecordError
from amplifier_module_context_persistent.log.file_log import FileLog
from amplifier_module_context_persistent.log.filesystem import FileSystem
from amplifier_module_context_persistent.session import add_messages
from tests.support.messages import user

CALL = {"id": "c1", "tool": "bash", "arguments": {"command": "ls", "timeout": 1.5, "env": {"A": [1, None]}}}
GIVEN: list[Any] = [
    user("a question"),
    {"role": "assistant", "content": None, "tool_calls": [CALL], "metadata": {"turn": 1, "pinned": True}},
    {"role": "tool", "content": "null", "tool_call_id": "c1", "name": "bash"},
    {"role": "assistant", "content": "lone \ud800", "metadata": {"usage": {"input_tokens": 1}, "critical": True}},
    [user("one of a list"), {"role": "assistant", "content": [{"type": "text", "text": "é"}]}],
    {"metadata": {"big": 2**70}, "content": "", "role": "user"},
    {"role": "assistant", "content": "after a view"},
]


async def play(path: Path) -> None:
    """Add all to a log, by two managers, of which the second repeats a list."""
    numbers, times = itertools.count(), itertools.count()
    for part in (GIVEN[:5], [GIVEN[4], *GIVEN[5:]]):
        async with PersistentContextManager(
            path,
            durability="write",
            tokenizer="estimate",
            session_id="s",
            now=lambda: f"2026-01-05T09:00:{next(times) % 60:02}.000Z",
            new_id=lambda: f"m{next(numbers):016x}",
        ) as manager:
            for given in part:
                if isinstance(given, list):
                    await manager.add_messages(given)
                else:
                    await manager.add_message(given)
                if given is GIVEN[5]:  # an answer was the last word: the next view ends with a line
                    await manager.add_message({"role": "assistant", "content": "yes"})
                    await manager.get_messages_for_request(provider="anthropic")


async def test_the_records_are_those_of_copied_messages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Byte by byte, with marks of pins, numbers beyond 64 bits, a repeated list and the line that a view ended with."""
    paths = [tmp_path / "encoded.jsonl", tmp_path / "copied.jsonl"]
    await play(paths[0])
    monkeypatch.setattr(add_messages, "is_ordinary", lambda _: False)
    await play(paths[1])
    encoded, copied = (path.read_bytes() for path in paths)
    assert encoded == copied
    roles = [json.loads(line).get("role") for line in encoded.splitlines()]
    assert len(list(filter(None, roles))) == 9  # the list was stored once
    assert b"line_before" in encoded


@pytest.mark.parametrize(
    "message",
    [
        {"role": "user", "content": "null", "metadata": {"ratio": math.nan}},
        {"role": "user", "content": "null", "metadata": {"usage": {"ratio": math.inf}}},
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [{"id": "c", "tool": "wait", "arguments": {"s": [math.nan]}}],
        },
    ],
)
async def test_what_is_encoded_at_once_has_no_number_that_json_lacks(tmp_path: Path, message: dict[str, Any]) -> None:
    """Its bytes are not searched for such numbers, which `orjson` would write as null."""
    async with PersistentContextManager(tmp_path / "log.jsonl", durability="write") as manager:
        with pytest.raises(RecordError, match="JSON"):
            await manager.add_message(message)
        assert await manager.get_messages() == []


class SlowWrites(FileSystem):
    """A file system that counts its writes, each of which takes long."""

    writes = 0

    def write(self, fd: int, data: bytes) -> int:
        """Write after a while."""
        self.writes += 1
        time.sleep(0.05)
        return os.write(fd, data)


async def test_what_waits_for_the_opening_is_written_together(tmp_path: Path) -> None:
    """Messages added at once to a resumed session that is not open yet."""
    async with PersistentContextManager(tmp_path / "log.jsonl") as manager:
        await manager.add_message(user("before"))
    files, texts = SlowWrites(), [f"message {number}" for number in range(20)]
    manager = PersistentContextManager(log=FileLog(tmp_path / "log.jsonl", durability="write", files=files))
    await asyncio.gather(*(manager.add_message(user(text)) for text in texts))
    assert [one["content"] for one in await manager.get_messages()] == ["before", *texts]
    await manager.close()
    assert files.writes <= 3


@pytest.mark.parametrize("durability", ["fsync", "write"])
async def test_what_a_caller_does_meanwhile_does_not_count(tmp_path: Path, durability: str) -> None:
    """Whether the log was open already, or is opened by that message."""
    async with PersistentContextManager(tmp_path / "log.jsonl", durability=durability) as manager:
        for number in range(2):
            message = {"role": "user", "content": f"as given {number}", "metadata": {"number": number}}
            adding = asyncio.create_task(manager.add_message(message))
            await asyncio.sleep(0)
            message["content"], message["metadata"] = "altered", {"number": 99}
            await adding
        assert [one["content"] for one in await manager.get_messages()] == ["as given 0", "as given 1"]


async def test_a_message_that_is_refused_takes_nothing_with_it(tmp_path: Path) -> None:
    """An integer of more digits than the interpreter writes, between two that are stored."""
    async with PersistentContextManager(tmp_path / "log.jsonl", durability="write") as manager:
        await manager.add_message(user("before"))
        with pytest.raises(RecordError, match="cannot be written"):
            await manager.add_message({**user("refused"), "metadata": {"digits": 10**5000}})
        await manager.add_message(user("after"))
        assert [one["content"] for one in await manager.get_messages()] == ["before", "after"]
