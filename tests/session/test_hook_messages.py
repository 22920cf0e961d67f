"""Hooks that inject messages for good, in every turn: views hold the newest of each, and no request fails for them.

`python -m tests.session.test_hook_messages 300` plays 300 turns at 24,000 tokens.
"""

import asyncio
import random
import re
import sys
import tempfile
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from amplifier_core import HookResult
from amplifier_core.llm_errors import ContextLengthError

from amplifier_module_context_persistent import PersistentContextManager
from tests.support.agent_loop import AgentLoop, Tool, start
from tests.support.enforcing_provider import Answer, EnforcingProvider, Service
from tests.support.messages import fill
from tests.support.sent_requests import Sent
from tests.support.sweeps import proof

ROLES = {"prompt:submit": "system", "provider:request": "user", "tool:post": "assistant"}
WORDS = [
    "the",
    "file",
    "has",
    "a",
    "function",
    "that",
    "reads",
    "lines",
    "and",
    "counts",
    "them",
    "until",
    "one",
    "is",
    "empty",
    "or",
    "the",
    "end",
    "is",
    "reached",
]
BUDGET = 24_000


def text(rng: random.Random, words: int) -> str:
    return " ".join(rng.choices(WORDS, k=words))


class HookedSession:
    """A session of many turns with three hooks, each injecting messages of one role for good."""

    def __init__(self, log: Path, roles: dict[str, str], **config: Any) -> None:
        self._log, self._roles, self._config = log, roles, {"max_tokens": BUDGET, "durability": "write", **config}
        self._rng, self._step, self._steps = random.Random(7), 0, 2
        self.service = Service(self._answer)
        self.injected: dict[str, str] = {}
        """By event, what was injected last."""

    def _answer(self, request: Sent, for_loop: bool) -> Answer:
        self._step += 1
        thoughts = ("plain",)
        if self._step % (self._steps + 1):
            return Answer(text(self._rng, 10), [("look", {"path": f"src/file_{self._step}.py"})], thoughts)
        return Answer(text(self._rng, 60), thoughts=thoughts)

    def _hook(self, event: str, role: str) -> Callable[..., Any]:
        async def heard(*_: Any) -> Any:
            self.injected[event] = f"{event} {self._step} of {role}: {text(self._rng, 80)}"
            return HookResult(
                action="inject_context", context_injection=self.injected[event], context_injection_role=role
            )

        return heard

    async def play(self, turns: int) -> None:
        """Play turns; an error of the context manager ends it."""
        loop = AgentLoop()
        session = await start(self._log, loop, **self._config)
        loop.provider = EnforcingProvider(self.service, session.coordinator, "claude-opus-5-5")
        await session.coordinator.mount("providers", loop.provider, name="anthropic")
        await session.coordinator.mount("tools", Tool("look", lambda _: text(self._rng, 120)), name="look")
        for event, role in self._roles.items():
            session.coordinator.hooks.register(event, self._hook(event, role), name=f"hook of {event}")
        try:
            for number in range(turns):
                await session.execute(f"question {number}: {text(self._rng, 30)}")
        finally:
            await session.cleanup()

    @property
    def cached_share(self) -> float:
        """How much of what was sent had been sent in the request before, at the same place."""
        sent = [one.sent for one in self.service.exchanges]
        pieces = [[one.tools, *one.system, *(part.text for part in one.parts)] for one in sent]
        same = sum(common_chars(one, other) for one, other in pairwise(pieces))
        return same / sum(len(piece) for one in pieces for piece in one)


def common_chars(one: list[str], other: list[str]) -> int:
    chars = 0
    for before, after in zip(one, other, strict=False):
        if before != after:
            return chars
        chars += len(after)
    return chars


@proof
async def test_hooks_that_go_on_injecting_make_no_request_fail(tmp_path: Path) -> None:
    """Nothing is refused, most is cached, and the newest of each hook is in the view."""
    session = HookedSession(tmp_path / "log.jsonl", ROLES, max_tokens=5_000)
    await session.play(16)
    assert len(session.service.exchanges) == 16 * 3
    assert not session.service.refusals
    assert session.cached_share >= 0.75
    shown = str(session.service.exchanges[-1].sent.parts)
    assert session.injected["prompt:submit"] in shown
    assert session.injected["provider:request"] in shown
    assert len(re.findall("prompt:submit [0-9]+ of system", shown)) < 9


@proof
@pytest.mark.parametrize("config", [{"late_system": "system"}, {"compaction_strategy": "importance"}], ids=str)
async def test_it_holds_for_other_options(tmp_path: Path, config: dict[str, Any]) -> None:
    """System text that goes to the beginning of requests, and other strategies."""
    session = HookedSession(tmp_path / "log.jsonl", ROLES, max_tokens=4_000, **config)
    await session.play(8)
    assert len(session.service.exchanges) == 8 * 3
    assert not session.service.refusals


async def test_hooks_whose_names_differ_make_no_request_fail(tmp_path: Path) -> None:
    """The newest of each stays only as far as there is room."""
    async with PersistentContextManager(tmp_path / "log.jsonl", max_tokens=4_000, durability="write") as manager:
        await fill(manager, [{"role": "system", "content": "before all"}, {"role": "user", "content": "go"}])
        for number in range(60):
            metadata = {"source": "hook", "hook_name": f"hook {number}"}
            content = f"{number}: {text(random.Random(number), 80)}"
            await manager.add_message({"role": "system", "content": content, "metadata": metadata})
            view = await manager.get_messages_for_request()
    assert view[0]["content"] == "before all"
    assert content in str(view)


async def test_the_error_names_the_option_that_keeps_system_text(tmp_path: Path) -> None:
    """System text before the conversation, or of the host, is not compacted by itself."""
    async with PersistentContextManager(tmp_path / "log.jsonl", max_tokens=4_000, durability="write") as manager:
        await manager.add_message({"role": "user", "content": "go"})
        for number in range(60):
            await manager.add_message({"role": "system", "content": text(random.Random(number), 80)})
        with pytest.raises(ContextLengthError, match="preserve_system"):
            await manager.get_messages_for_request()


if __name__ == "__main__":
    turns = int(sys.argv[1])
    for options in ({}, {"late_system": "system"}):
        with tempfile.TemporaryDirectory() as directory:
            played = HookedSession(Path(directory) / "log.jsonl", ROLES, **options)
            asyncio.run(played.play(turns))
        refused, share = len(played.service.refusals), played.cached_share
        print(f"{options}: {len(played.service.exchanges)} requests, {refused} refused, {share:.1%} cached")
