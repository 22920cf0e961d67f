"""Real sessions, and two invented ones, played message by message at a budget of 40,000 tokens."""

import asyncio
import itertools
import json
from collections.abc import Iterator
from typing import Any

import pytest

from amplifier_module_context_persistent import InMemoryContextManager
from fixtures.generate import generate_session
from tests.support.checker import assert_valid, prefix_breaks
from tests.support.counters import count
from tests.support.messages import Message
from tests.support.places import TRANSCRIPTS
from tests.support.sweeps import proof

BUDGET = 40_000
MOST_BREAKS = 8
ROLES_BEFORE_A_REQUEST = ("user", "tool")


def session(name: str) -> list[Message]:
    """A session by its name: `seed-…` is invented, the others lie beside the project."""
    kind, _, seed = name.partition("-")
    if kind == "seed":
        return list(generate_session(int(seed), 330, mean_bytes=1_900))
    path = TRANSCRIPTS / f"{name}.jsonl"
    if not path.exists():
        pytest.skip(f"{path.name} lies in no directory `shared/transcripts` beside the project")
    with path.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def requests(messages: list[Message], manager: InMemoryContextManager, **ask: Any) -> Iterator[list[Message]]:
    """Add the messages one by one; the view wherever a loop would ask for one."""

    async def step(message: Message, following: Message | None) -> list[Message] | None:
        await manager.add_message(message)
        answered = following is None or following["role"] != "tool"
        if message["role"] not in ROLES_BEFORE_A_REQUEST or not answered:
            return None
        return await manager.get_messages_for_request(**ask)

    with asyncio.Runner() as runner:
        for message, following in zip(messages, [*messages[1:], None], strict=True):
            view = runner.run(step(message, following))
            if view is not None:
                yield view


def in_memory(**config: Any) -> InMemoryContextManager:
    """A manager whose ids and timestamps come out the same in every run."""
    serial = itertools.count(1)
    return InMemoryContextManager(
        tokenizer="estimate", new_id=lambda: f"id{next(serial)}", now=lambda: "2026-03-01T09:00:00.000Z", **config
    )


@proof
@pytest.mark.parametrize("name", ["session-a", "session-b", "seed-1"])
def test_a_session_has_valid_views_and_few_breaks(name: str) -> None:
    """No invalid view, none over the budget, and at most eight breaks of the prefix."""
    messages = session(name)
    manager = in_memory(max_tokens=BUDGET)
    views = []
    for view in requests(messages, manager):
        assert_valid(view, budget_tokens=BUDGET, count=count)
        views.append(view)
    history = asyncio.run(manager.get_messages())
    assert len(history) == len(messages)
    assert_valid(views[-1], history=history)
    breaks = prefix_breaks(views)
    assert 1 <= breaks <= MOST_BREAKS, f"{breaks} breaks in {len(views)} requests"
