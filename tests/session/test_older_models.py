"""Models that check no prefix: between two plans every view goes on from the one before it, byte for byte."""

from types import SimpleNamespace
from typing import Any

import pytest

from amplifier_module_context_persistent import InMemoryContextManager
from tests.support.real_sessions import Host
from tests.support.sweeps import proof
from tests.support.view_properties import goes_on


class Provider:
    def __init__(self, name: str, model: str) -> None:
        self.name, self.default_model = name, model

    def get_info(self) -> Any:
        defaults = {"context_window": 9_000, "max_output_tokens": 0, "model": self.default_model}
        return SimpleNamespace(id=self.name, defaults=defaults)


@proof
@pytest.mark.parametrize(
    ("name", "model"), [("anthropic", "claude-opus-4-6"), ("anthropic", "claude-opus-5-5"), ("openai", "gpt-5.2")]
)
async def test_a_new_turn_breaks_no_prefix_without_a_plan(name: str, model: str) -> None:
    """Nor after a plan in the middle of a tool loop: the loop's reasoning that it showed stays until the next plan."""
    host = Host()
    manager = InMemoryContextManager(coordinator=host, max_tokens=8_000, tokenizer="estimate")
    provider, before, plans, shown = Provider(name, model), list[Any](), 0, False
    for turn in range(12):
        await manager.add_message({"role": "user", "content": f"Go on with part {turn}."})
        for step in range(7):
            view = await manager.get_messages_for_request(provider=provider)
            made = len(host.of("context:compaction"))
            assert made > plans or goes_on(before, view), (turn, step)
            plans = made
            shown = shown or "I think of step" in str(view)
            before = view
            block = {"type": "thinking", "thinking": f"I think of step {turn}.{step}. " * 9, "signature": "c2ln" * 9}
            call = {"id": f"c{turn}-{step}", "tool": "read", "arguments": {"path": f"f{turn}_{step}.py"}}
            last = step == 6
            await manager.add_message(
                {
                    "role": "assistant",
                    "content": [block, {"type": "text", "text": f"Part {turn} is done."}] if last else [block],
                    **({} if last else {"tool_calls": [call]}),
                    "metadata": {"provider": name, "model": model},
                }
            )
            if not last:
                result = {"role": "tool", "tool_call_id": call["id"], "content": f"line of {turn}.{step}\n" * 60}
                await manager.add_message(result)
    assert plans
    assert shown
