"""Compactions as hosts are told of them: each that starts is told as finished, by what means and with what outcome."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest
from amplifier_core.llm_errors import ContextLengthError
from amplifier_core.message_models import ChatResponse, TextBlock, Usage

from amplifier_module_context_persistent import InMemoryContextManager, PersistentContextManager
from amplifier_module_context_persistent.errors import AppendError
from amplifier_module_context_persistent.log.file_log import FileLog
from amplifier_module_context_persistent.session.event_names import EVENTS
from tests.support.messages import user
from tests.support.places import DOCS
from tests.support.real_sessions import Host
from tests.support.recorded_sessions import controls

STARTED, FINISHED = "context:compaction_started", "context:compaction_finished"


class Provider:
    """Answers with a summary, after what `waits` waits for."""

    name = "fake"

    def __init__(self, *, fails: bool = False, waits: asyncio.Event | None = None) -> None:
        self.fails, self.waits, self.is_asked = fails, waits, asyncio.Event()

    async def complete(self, request: Any) -> ChatResponse:
        self.is_asked.set()
        if self.waits is not None:
            await self.waits.wait()
        if self.fails:
            raise ConnectionError("no answer")
        usage = Usage(input_tokens=900, output_tokens=30, total_tokens=930, cache_read_tokens=800)
        return ChatResponse(
            content=[TextBlock(text="It read src/module_1.py, src/module_2.py and src/module_3.py.")], usage=usage
        )


async def full(host: Host, **config: Any) -> InMemoryContextManager:
    """A session that is larger than its budget."""
    manager = InMemoryContextManager(coordinator=host, tokenizer="estimate", max_tokens=4_000, **config)
    for number in range(40):
        await manager.add_message(user(f"question {number}"))
        await manager.add_message({"role": "assistant", "content": f"I read src/module_{number}.py. " + "words " * 100})
    return manager


def ended(host: Host) -> dict[str, Any]:
    """The end of the one compaction, which began before it; with a time that nobody expects."""
    (started,), (finished,) = host.of(STARTED), host.of(FINISHED)
    names = [name for name, _ in host.events]
    assert names.index(STARTED) < names.index(FINISHED)
    assert started["message_count"] == 80
    assert started["input_tokens"] > 4_000
    assert 0 <= finished.pop("elapsed_ms") < 60_000
    return finished


async def test_a_plan_of_our_own_is_completed() -> None:
    """No provider was asked, so nobody billed anything."""
    host = Host()
    await (await full(host)).get_messages_for_request()
    finished = ended(host)
    assert (finished["method"], finished["outcome"], finished["usage"]) == ("truncate", "completed", {})
    assert finished["input_tokens_after"] < 4_000 < finished["input_tokens_before"]
    await asyncio.sleep(0)
    assert len(host.of(STARTED)) == 1


async def test_a_summary_says_what_it_cost() -> None:
    """The time is that of the provider too."""
    host = Host()
    manager = await full(host, compaction_strategy="summarize")
    await manager.get_messages_for_request(provider=Provider())
    finished = ended(host)
    assert (finished["method"], finished["outcome"]) == ("semantic", "completed")
    assert finished["usage"] == {"input_tokens": 900, "output_tokens": 30, "cache_read_tokens": 800}


async def test_without_a_summary_it_falls_back() -> None:
    """The view is made by our own engine, and the host is told so."""
    host = Host()
    manager = await full(host, compaction_strategy="summarize")
    await manager.get_messages_for_request(provider=Provider(fails=True))
    finished = ended(host)
    assert (finished["method"], finished["outcome"], finished["usage"]) == ("truncate", "fallback", {})


async def test_it_starts_before_the_provider_is_asked_and_ends_if_the_request_is_cancelled() -> None:
    """A host that shows the pause takes it away again."""
    host, provider = Host(), Provider(waits=asyncio.Event())
    manager = await full(host, compaction_strategy="summarize")
    request = asyncio.create_task(manager.get_messages_for_request(provider=provider))
    await provider.is_asked.wait()
    assert (len(host.of(STARTED)), len(host.of(FINISHED))) == (1, 0)
    request.cancel()
    with pytest.raises(asyncio.CancelledError):
        await request
    assert ended(host) == {"method": "semantic", "outcome": "cancelled", "usage": {}}


async def test_a_view_that_cannot_fit_has_failed() -> None:
    """The request gets an error, and the host both events."""
    host = Host()
    manager = InMemoryContextManager(coordinator=host, tokenizer="estimate", max_tokens=4_000)
    await manager.add_message({"role": "system", "content": "rules " * 8_000})
    for number in range(79):
        await manager.add_message(user(f"question {number}"))
    with pytest.raises(ContextLengthError):
        await manager.get_messages_for_request()
    assert ended(host) == {"method": "truncate", "outcome": "failed", "usage": {}}


async def test_a_session_without_a_compaction_tells_of_none(tmp_path: Path) -> None:
    """A request that fits is no compaction."""
    host = Host()
    manager = PersistentContextManager(tmp_path / "log.jsonl", coordinator=host, tokenizer="estimate")
    await manager.add_message(user("hi"))
    await manager.get_messages_for_request()
    await manager.close()
    assert not host.of(STARTED, FINISHED)


@pytest.mark.parametrize("receipts", [True, False])
async def test_a_plan_that_cannot_be_stored_is_told_and_stored_with_receipts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, receipts: bool
) -> None:
    """The logged error says what becomes of the plan."""
    host, path = Host(), tmp_path / "log.jsonl"
    manager = PersistentContextManager(
        path, coordinator=host, tokenizer="estimate", max_tokens=4_000, recipient="somebody", receipts=receipts
    )
    for number in range(40):
        await manager.add_message(user(f"question {number}"))
        await manager.add_message({"role": "assistant", "content": "words " * 100})
    with monkeypatch.context() as patch:
        patch.setattr(FileLog, "append", _no_room)
        await manager.get_messages_for_request()
    assert host.of("context:plan_not_stored")
    becomes = "waits for the next append" if receipts else "is in memory only"
    assert f"the plan could not be stored and {becomes}: no room" in caplog.text
    await manager.add_message(user("and on"))
    await manager.close()
    assert len(controls(path, "side_plan")) == receipts


def _no_room(*_: Any) -> None:
    raise AppendError("no room")


def test_every_event_is_in_the_table_of_events() -> None:
    """docs/events.md says when each is told, and who listens."""
    table = (DOCS / "events.md").read_text("utf-8")
    rows = [line.split("|")[1:-1] for line in table.splitlines() if line.startswith("| `context:")]
    assert sorted(name for row in rows for name in re.findall(r"`(context:[\w:]+)`", row[0])) == sorted(EVENTS)
    assert all(len(row) == 3 for row in rows)
