"""A compaction that a provider makes within a request is billed, once, wherever its usage is told."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from amplifier_module_context_persistent import PersistentContextManager
from amplifier_module_context_persistent.tokens.usage import read_usage
from tests.support.commands import run
from tests.support.messages import user
from tests.support.recorded_sessions import controls

COMPACTION = {"type": "compaction", "input_tokens": 180_000, "output_tokens": 3_500}
ANSWER = {"type": "message", "input_tokens": 23_000, "output_tokens": 1_000}
USAGE = {"input_tokens": 23_000, "output_tokens": 1_000, "iterations": [COMPACTION, ANSWER]}
"""As Claude's page on threshold compaction has it: the top level leaves the pass out."""
NAMES = {"provider": "anthropic", "model": "claude-opus-5-5"}


@pytest.mark.parametrize("told", ["event", "message", "both"])
async def test_the_pass_is_billed_once(tmp_path: Path, told: str) -> None:
    """And it is no part of the view's size, by which budgets are corrected."""
    path = tmp_path / "log.jsonl"
    async with PersistentContextManager(path, tokenizer="estimate") as manager:
        await manager.add_message(user("go " * 30_000))
        reader = SimpleNamespace(name="anthropic", default_model="claude-opus-5-5")
        await manager.get_messages_for_request(provider=reader)
        if told != "message":
            await manager.on_llm_response({**NAMES, "usage": USAGE})
        own = {"usage": USAGE} if told != "event" else {}
        await manager.add_message({"role": "assistant", "content": "ok", "metadata": {**NAMES, **own}})
    cost = json.loads(run("stats", path, "--json").output)["cost"]
    assert (cost["input_tokens"], cost["output_tokens"]) == (203_000, 4_500)
    assert [one["actual_tokens"] for one in controls(path, "usage")] == [23_000] * (told != "message")


@pytest.mark.parametrize("iterations", [None, [], "x", [1], [ANSWER], [{"type": "compaction"}], [{"type": 3}]])
def test_a_request_without_a_pass_has_none(iterations: Any) -> None:
    """Whatever the key holds."""
    usage = read_usage({"input_tokens": 5, "iterations": iterations})
    assert usage is not None
    assert usage.compaction is None
