"""A provider that counts requests (`request_budget`) decides whether a view fits, before it is sent."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from amplifier_core.message_models import ChatRequest

from amplifier_module_context_persistent import PersistentContextManager
from amplifier_module_context_persistent.session import provider_call
from amplifier_module_context_persistent.tokens.counter import EstimateCounter, count_message
from fixtures.generate import generate_session
from tests.support.messages import fill, user
from tests.support.sweeps import proof

WINDOW = 40_000
SESSION = list(generate_session(5, 60, mean_bytes=1_500))


class Provider:
    """Counts requests in its own way: `ratio` times our tokens, and `overhead` more."""

    name, model = "counting", "m1"

    def __init__(self, ratio: float = 2.6, overhead: int = 3_000, limit: int = WINDOW) -> None:
        self.ratio, self.overhead, self.limit = ratio, overhead, limit
        self.counted: list[int] = []
        self.estimates: list[int] = []

    def get_model_info(self) -> dict[str, int]:
        return {"context_window": WINDOW, "max_output_tokens": 2_000}

    def count(self, view: list[dict[str, Any]]) -> int:
        counter = EstimateCounter()
        return round(self.overhead + self.ratio * sum(count_message(message, counter) for message in view))

    async def request_budget(self, request: ChatRequest, *, context_estimate: int) -> Any:
        view = [message.model_dump(exclude_none=True) for message in request.messages]
        self.estimates.append(context_estimate)
        self.counted.append(self.count(view))
        measured = {"kind": "provider_count", "source": "test", "input_tokens": self.counted[-1]}
        return {
            "estimated_input_tokens": self.counted[-1],
            "input_limit_tokens": self.limit,
            "measurement": measured,
        }


async def opened(path: Path, **config: Any) -> PersistentContextManager:
    manager = PersistentContextManager(path, tokenizer="estimate", durability="write", **config)
    await fill(manager, SESSION)
    return manager


async def test_a_view_that_its_provider_counts_as_too_large_is_made_smaller_before_it_is_sent(tmp_path: Path) -> None:
    """Nothing was learned yet: by our count it fits, by the provider's it does not."""
    provider, path = Provider(), tmp_path / "log.jsonl"
    manager = await opened(path)
    alone = await manager.get_messages_for_request(provider="counting/m1")
    assert provider.count(alone) > WINDOW
    view = await manager.get_messages_for_request(provider=provider)
    assert provider.count(view) <= WINDOW
    assert max(provider.counted) > WINDOW
    assert provider.estimates[0] == sum(count_message(message, EstimateCounter()) for message in alone)
    await manager.add_message(user("next"))
    await manager.close()
    receipts = [line for line in path.read_text().splitlines() if line.startswith('{"_record":"view"')]
    assert len(receipts) == 2, "of the view without a provider, and of the one that was sent"


@proof
async def test_what_a_provider_counted_is_learned_from(tmp_path: Path) -> None:
    """The next views are planned before they grow too large again, though the provider never reports usage."""
    provider = Provider()
    manager = await opened(tmp_path / "log.jsonl")
    for message in [message for _ in range(2) for message in list(generate_session(6, 40, mean_bytes=1_500))]:
        await manager.add_message({**message, "metadata": {}})
        if message["role"] == "assistant":
            assert provider.count(await manager.get_messages_for_request(provider=provider)) <= WINDOW
    assert sum(size > WINDOW for size in provider.counted) <= 2
    await manager.close()


async def test_a_limit_below_the_configured_budget_is_kept(tmp_path: Path) -> None:
    """What the provider takes goes before what it published."""
    provider = Provider(ratio=1.0, overhead=0, limit=9_000)
    manager = await opened(tmp_path / "log.jsonl", max_tokens=30_000)
    assert provider.count(await manager.get_messages_for_request(provider=provider)) <= 9_000
    await manager.close()


def failing(_: ChatRequest, **__: Any) -> Any:
    raise ConnectionError("no network")


async def cancelled(_: ChatRequest, **__: Any) -> Any:
    raise asyncio.CancelledError


async def hanging(_: ChatRequest, **__: Any) -> Any:
    await asyncio.sleep(3_600)


@proof(quick=2)
@pytest.mark.parametrize(
    "answers",
    [
        failing,
        cancelled,
        hanging,
        lambda _, **__: None,
        lambda _, **__: {"estimated_input_tokens": 99_999, "input_limit_tokens": 10},
        lambda _, **__: {"measurement": {"kind": "estimate", "input_tokens": 99_999}, "input_limit_tokens": 10},
        lambda _, **__: {"measurement": {"kind": "provider_count", "input_tokens": "many"}, "input_limit_tokens": 10},
        lambda _, **__: {"measurement": {"kind": "provider_count", "input_tokens": 99_999}},
    ],
    ids=["fails", "cancelled", "hangs", "nothing", "no measurement", "an estimate", "no number", "no limit"],
)
async def test_where_a_provider_cannot_count_our_own_count_decides(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answers: Callable[..., Any]
) -> None:
    """The request is as it would be without, and nothing fails."""
    monkeypatch.setattr(provider_call, "MOST_S", 0.05)
    provider = Provider()
    monkeypatch.setattr(provider, "request_budget", answers)
    manager = await opened(tmp_path / "log.jsonl")
    view = await manager.get_messages_for_request(provider=provider)
    monkeypatch.delattr(provider, "request_budget")
    monkeypatch.setattr(Provider, "request_budget", None)
    assert await manager.get_messages_for_request(provider=provider) == view
    await manager.close()


async def test_a_small_view_is_not_counted(tmp_path: Path) -> None:
    """A count is a request to the provider's service, and nobody doubts that the view fits."""
    provider = Provider()
    async with PersistentContextManager(tmp_path / "log.jsonl", tokenizer="estimate") as manager:
        await manager.add_message(user("hello"))
        await manager.get_messages_for_request(provider=provider)
        assert provider.counted == []
