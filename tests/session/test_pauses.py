"""The first request after a pause pays for every token, so it plans early and further down (docs/views.md)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from amplifier_module_context_persistent.log.contract import Log
from amplifier_module_context_persistent.log.index import Index
from amplifier_module_context_persistent.session.view_service import ViewService
from amplifier_module_context_persistent.window.window import Window
from tests.support.checker import assert_valid
from tests.support.messages import Message
from tests.support.played_sessions import Session
from tests.support.purges import purged, redact
from tests.support.sweeps import proof
from tests.support.windows import count

BUDGET = 8_000
WITHIN, BEYOND = 240, 1_200
"""Seconds; nobody knows this provider, so five minutes count."""


def turn(number: int, *, thinks: bool = False) -> list[Message]:
    call = {"id": f"c{number}", "tool": "bash", "arguments": {"command": f"cat {number}"}}
    thinking = [{"type": "thinking", "thinking": "hm", "signature": f"sealed {number}"}]
    lines = "".join(f"part_{number}/line_{n}: x\n" for n in range(60))
    return [
        {"role": "user", "content": f"Look at {number}"},
        {"role": "assistant", "content": thinking if thinks else f"part {number}", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": f"c{number}", "content": lines},
    ]


async def grown(path: Path, *, thinks: bool = False, **config: Any) -> tuple[Session, list[Message]]:
    """A session that was compacted, its view at six tenths of its budget, in a tool loop; with that view."""
    session = Session(path, max_tokens=BUDGET, **config)
    view: list[Message] = []
    for number in range(100):
        asked, called, result = turn(number, thinks=thinks)
        await session.add(asked)
        await session.request()
        await session.add(called, result)
        view = await session.request()
        if session.plans and sum(map(count, view)) > 0.6 * BUDGET:
            break
        await session.add({"role": "assistant", "content": f"Seen {number}."})
    session.host.events.clear()
    return session, view


@proof(quick=1)
@pytest.mark.parametrize("restarted", [False, True])
@pytest.mark.parametrize(("pause", "planned"), [(WITHIN, False), (BEYOND, True)], ids=["short", "long"])
async def test_a_pause_brings_the_plan_forward(tmp_path: Path, pause: int, planned: bool, restarted: bool) -> None:
    """In the process that asked before, and in the next one; the request after it goes on as every one does."""
    session, before = await grown(tmp_path / "log.jsonl")
    await session.add({"role": "assistant", "content": "Seen."}, {"role": "user", "content": "go on"})
    if restarted:
        await session.restart()
    session.ids.ticks += pause
    after = await session.request()
    assert_valid(after)
    assert (after[: len(before)] != before) is planned is bool(session.plans)
    await session.add({"role": "assistant", "content": "Gone on."}, {"role": "user", "content": "and on"})
    later = await session.request()
    assert later[: len(after)] == after
    await session.manager.close()


async def test_a_plan_that_a_purge_voids_is_made_again_as_after_a_pause(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The log is purged while the plan is made; the provider's cache is as cold as before."""
    path, patterns = tmp_path / "log.jsonl", ["Look at 0"]
    store_plan = ViewService._store_plan

    def purge_first(self: ViewService, log: Log, window: Window, index: Index) -> str:
        if patterns:
            purged(str(path), redact(patterns.pop()))
        return store_plan(self, log, window, index)

    session, _ = await grown(path)
    await session.add({"role": "assistant", "content": "Seen."}, {"role": "user", "content": "go on"})
    monkeypatch.setattr(ViewService, "_store_plan", purge_first)
    session.ids.ticks += BEYOND
    await session.request()
    assert (session.plans, patterns) == (1, [])
    await session.manager.close()


@proof
@pytest.mark.parametrize("thinks", [False, True])
async def test_reasoning_of_the_running_turn_is_worth_more(tmp_path: Path, thinks: bool) -> None:
    """In the middle of a tool loop a plan is made early only where none is lost by it."""
    session, _ = await grown(tmp_path / "log.jsonl", thinks=thinks)
    session.ids.ticks += BEYOND
    await session.request()
    assert session.plans == (0 if thinks else 1)
    await session.manager.close()


@proof(quick=1)
@pytest.mark.parametrize("config", [{"cache_ttl_s": 0}, {"cache_ttl_s": 3600}, {"receipts": False}])
async def test_it_is_as_before_where_nothing_is_known_to_be_gone(tmp_path: Path, config: dict[str, Any]) -> None:
    """By the configuration; or after a restart, where the log does not say when the last view was made."""
    session, before = await grown(tmp_path / "log.jsonl", **config)
    await session.add({"role": "assistant", "content": "Seen."}, {"role": "user", "content": "go on"})
    await session.restart()
    session.ids.ticks += BEYOND
    assert (await session.request())[: len(before)] == before
    await session.manager.close()


async def test_a_session_that_was_never_compacted_stays_whole(tmp_path: Path) -> None:
    """A pause brings no first plan."""
    session = Session(tmp_path / "log.jsonl", max_tokens=BUDGET)
    for number in range(8):
        await session.add(*turn(number))
        await session.request()
        await session.add({"role": "assistant", "content": f"Seen {number}."})
    view = await session.request()
    assert sum(map(count, view)) > 0.5 * BUDGET
    session.ids.ticks += BEYOND
    assert await session.request() == view
    await session.manager.close()


@proof
async def test_a_view_that_would_hardly_shrink_stays(tmp_path: Path) -> None:
    """What a plan made after the first pause needs no plan after the second."""
    session, _ = await grown(tmp_path / "log.jsonl")
    for said in ("go on", "and on"):
        await session.add({"role": "assistant", "content": "Seen."}, {"role": "user", "content": said})
        session.ids.ticks += BEYOND
        await session.request()
    assert session.plans == 1
    await session.manager.close()
