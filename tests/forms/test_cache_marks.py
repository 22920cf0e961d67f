"""`cache_control` marks of `to_anthropic`: within four, and what a provider bills for them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from amplifier_module_context_persistent import InMemoryContextManager, to_anthropic
from tests.support.checker import anthropic_violations
from tests.support.messages import Message
from tests.support.sweeps import proof

TOOLS = [{"name": "ls", "description": "List. " * 60, "input_schema": {"type": "object", "properties": {}}}]
SYSTEM: Message = {"role": "system", "content": "Be brief. " * 200}
LOOKBACK_BLOCKS = 20


class Bill:
    """A provider's cache: it finds what an earlier request wrote at a mark, up to 20 blocks before its own marks.

    platform.claude.com/docs/en/build-with-claude/prompt-caching (read 2026-11); characters stand for tokens.
    """

    def __init__(self) -> None:
        self.written: set[int] = set()
        self.cached = self.total = 0

    def take(self, body: dict[str, Any]) -> None:
        """Bill one request."""
        prefix, size, seen = "", 0, list[tuple[int, int]]()
        marks: list[int] = []
        for at, block in enumerate(_blocks(body)):
            plain = json.dumps({key: value for key, value in block.items() if key != "cache_control"})
            prefix, size = str(hash(prefix + plain)), size + len(plain)
            seen.append((hash(prefix), size))
            marks += [at] if "cache_control" in block else []
        assert len(marks) <= 4
        near = {at for mark in marks for at in range(max(0, mark - LOOKBACK_BLOCKS + 1), mark + 1)}
        self.cached += max(
            (size for at, (key, size) in enumerate(seen) if at in near and key in self.written), default=0
        )
        self.total += size
        self.written |= {seen[mark][0] for mark in marks}

    @property
    def share(self) -> float:
        return self.cached / self.total


def _blocks(body: dict[str, Any]) -> Iterator[Message]:
    yield from body.get("tools", ())
    yield from body.get("system", ())
    for message in body["messages"]:
        yield from ({**block, "role": message["role"]} for block in message["content"])


@proof
@pytest.mark.parametrize(("parallel", "turns"), [(1, 50), (2, 50), (25, 20)])
async def test_a_plain_clients_requests_are_cached(parallel: int, turns: int) -> None:
    """At least .85 of what turns with tools send is read from the cache; also beyond the 20 blocks of a search."""
    bill = Bill()
    async with InMemoryContextManager(max_tokens=1_000_000) as manager:
        await manager.add_message(SYSTEM)
        for turn in range(turns):
            await manager.add_message({"role": "user", "content": f"question {turn} " + "word " * 50})
            body = to_anthropic(await manager.get_messages_for_request(), tools=TOOLS)
            bill.take(body)
            ids = [f"toolu_{turn}_{number}" for number in range(parallel)]
            asked = [{"type": "tool_use", "id": call_id, "name": "ls", "input": {}} for call_id in ids]
            await manager.add_message({"role": "assistant", "content": asked})
            results = [{"type": "tool_result", "tool_use_id": call_id, "content": "line " * 40} for call_id in ids]
            await manager.add_message({"role": "user", "content": results})
            body = to_anthropic(await manager.get_messages_for_request(), tools=TOOLS)
            bill.take(body)
            await manager.add_message({"role": "assistant", "content": [{"type": "text", "text": "answer " * 40}]})
    assert anthropic_violations(body) == []
    assert bill.share >= 0.85


def test_marks_are_where_they_help() -> None:
    """At the tools, the system text, the end of the request before, and the newest message."""
    said = [
        SYSTEM,
        {"role": "user", "content": "one"},
        {"role": "assistant", "content": "two"},
        {"role": "user", "content": "three"},
    ]
    body = to_anthropic(said, tools=TOOLS)
    assert "cache_control" in body["tools"][-1]
    assert "cache_control" in body["system"][-1]
    assert [_is_marked(message) for message in body["messages"]] == [True, False, True]
    assert "cache_control" not in json.dumps(to_anthropic(said, tools=TOOLS, cache=False))
    assert "cache_control" not in json.dumps([TOOLS, said])


def _is_marked(message: Message) -> bool:
    return "cache_control" in message["content"][-1]


def test_what_later_requests_will_not_have_is_not_marked() -> None:
    """An ephemeral reminder at the end passes."""
    passing = {"role": "user", "content": "now", "metadata": {"ephemeral": True}}
    body = to_anthropic([{"role": "user", "content": "one"}, {"role": "assistant", "content": "two"}, passing])
    assert [_is_marked(message) for message in body["messages"]] == [True, True, False]


def test_marks_of_the_callers_own_count() -> None:
    """A request may have four in all."""
    mark = {"cache_control": {"type": "ephemeral", "ttl": "1h"}}
    blocks = [{"type": "text", "text": str(number), **mark} for number in range(3)]
    said = [
        {"role": "user", "content": blocks},
        {"role": "assistant", "content": "x"},
        {"role": "user", "content": "y"},
    ]
    body = to_anthropic(said, tools=TOOLS)
    assert json.dumps(body).count("cache_control") == 4
    assert [block["cache_control"] for block in body["messages"][0]["content"]] == [mark["cache_control"]] * 3
