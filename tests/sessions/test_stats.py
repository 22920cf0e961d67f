"""Where a session's tokens are, and the command that shows it."""

from __future__ import annotations

from pathlib import Path

import pytest

from amplifier_module_context_persistent import PersistentContextManager
from amplifier_module_context_persistent.sessions.transcript import Transcript
from amplifier_module_context_persistent.tokens.counter import EstimateCounter, count_message
from tests.support.commands import run
from tests.support.counted_sessions import MESSAGES, collected, counted_session
from tests.support.messages import set_prompt


@pytest.fixture
async def path(tmp_path: Path) -> Path:
    return await counted_session(tmp_path / "context-messages.jsonl")


async def test_tokens_are_counted_by_role_tool_and_turn(path):
    """Each message counts once, with its role, its tool and its turn, and they add up."""
    found = collected(path)
    sizes = [count_message(message, EstimateCounter()) for message in MESSAGES]
    assert found.total.messages == len(MESSAGES)
    assert found.total.tokens == pytest.approx(sum(sizes), abs=10)  # the stored results have no name to count
    assert {role: part.messages for role, part in found.roles.items()} == {
        "system": 1,
        "user": 2,
        "assistant": 2,
        "tool": 2,
    }
    assert {name: (tool.calls, tool.results) for name, tool in found.tools.items()} == {
        "read_file": (1, 1),
        "grep": (1, 1),
    }
    assert [turn.messages for turn in found.turns] == [6, 1]
    assert sum(turn.tokens for turn in found.turns) == found.total.tokens
    assert (found.largest[0].place, found.largest[0].role) == (4, "tool")


async def test_plans_and_reports_are_listed(path):
    """Every compaction is there with its sizes; predictions are compared with what the provider counted."""
    found = collected(path)
    assert found.plans
    assert all(plan["tokens_after"] < plan["tokens_before"] for plan in found.plans)
    assert found.usage.reports == 2
    assert found.usage.cached_share == pytest.approx(1_500 / 4_010)
    assert found.usage.error_median is not None


async def test_receipts_tell_what_a_cache_could_hold(tmp_path):
    """A view that follows the same plan holds the one before it; one after another head text begins anew."""
    async with PersistentContextManager(tmp_path / "log.jsonl", tokenizer="estimate") as manager:
        await set_prompt(manager, "first")
        for number in range(3):
            await manager.add_message({"role": "user", "content": f"question {number}"})
            await manager.get_messages_for_request()
            if number == 1:
                await set_prompt(manager, "second")
    first, second, third = (receipt.receipt.tokens for receipt in Transcript(tmp_path / "log.jsonl").requests())
    views = collected(tmp_path / "log.jsonl").views
    assert (views.requests, views.breaks) == (3, 2)
    assert (views.tokens, views.shared_tokens) == (first + second + third, first)
    done = run("stats", str(tmp_path / "log.jsonl"), "--tokenizer", "estimate")
    assert "3 views of" in done.output
    assert "2 views started a new prefix" in " ".join(done.output.split())
