"""Generated sessions with `compaction_strategy: native`: kills, restarts, switches, refusals, failures and timeouts.

Whatever happens, no request is refused by a stand-in that enforces its documented rules, no message is lost, an item is
the same bytes for as long as it is shown, and each time that an item goes it is said once.

`python -m tests.support.native_sessions 1000` plays so many; a second number is the first seed.
"""

from __future__ import annotations

import asyncio
import json
import random
import shutil
import sys
import tempfile
from collections import Counter
from pathlib import Path

from amplifier_module_context_persistent import PersistentContextManager
from tests.support.native_providers import ClaudeModule, Message, NativeModule, OpenAIModule
from tests.support.real_sessions import Host

CAUSES = ("turn",) * 6 + ("tools", "restart", "kill", "switch", "refusal", "failure", "timeout", "prompt", "pin")


class Events(Host):
    """A host that keeps why items went."""

    @property
    def reasons(self) -> list[str]:
        return [str(payload["reason"]) for payload in self.of("context:native_fallback")]


class GeneratedSession:
    """One session, played from a seed in a directory."""

    def __init__(self, seed: int, directory: Path) -> None:
        self.random, self.directory, self.number = random.Random(seed), directory, 0
        self.counts: Counter[str] = Counter()
        self.faults: list[str] = []
        self.told: list[str] = []
        self.providers = [ClaudeModule(), OpenAIModule(), ClaudeModule("claude-mythos-5-2")]
        self.provider: NativeModule = self.random.choice(self.providers)
        self.prompt = "Be exact."
        self.item = self.asked = ""
        self.host, self.path = Events(), directory / "s0.jsonl"
        self.manager = self._opened()

    def _opened(self) -> PersistentContextManager:
        self.host = Events()
        return PersistentContextManager(
            self.path,
            coordinator=self.host,
            session_id="s",
            max_tokens=4_000,
            tokenizer="estimate",
            compaction_strategy="native",
            native_max_tokens=300,
            native_timeout_s=0.02,
            durability="write",
        )

    async def play(self, steps: int = 40) -> None:
        """Play steps, and check after each."""

        async def prompt() -> str:
            return self.prompt

        await self.manager.set_system_prompt_factory(prompt)
        for _ in range(steps):
            cause = self.random.choice(CAUSES)
            self.counts[cause] += 1
            if cause in ("restart", "kill"):
                if cause == "restart":
                    await self.manager.close()
                else:  # what was acknowledged is in the file
                    self.number += 1
                    killed, self.path = self.path, self.directory / f"s{self.number}.jsonl"
                    if killed.exists():
                        shutil.copy(killed, self.path)
                    await self.manager.close()
                self.manager = self._opened()
                await self.manager.set_system_prompt_factory(prompt)
            elif cause == "switch":
                self.provider = self.random.choice(self.providers)
            elif cause == "refusal":
                self.provider.accepts = not self.provider.accepts
            elif cause == "failure":
                self.provider.fails = None if self.provider.fails else RuntimeError("no")
            elif cause == "timeout":
                self.provider.gate = None if self.provider.gate else asyncio.Event()
            elif cause == "prompt":
                self.prompt = self.random.choice(("Be exact.", "Be brief."))
            elif cause == "pin" and self.told:
                history = await self.manager.get_messages()
                people = [m for m in history if m["role"] == "user"]
                await self.manager.pin(self.random.choice(people)["metadata"]["message_id"])
            await self._turn(calls=cause == "tools")
        await self.manager.close()

    async def _add(self, message: Message) -> None:
        await self.manager.add_message(message)
        self.told.append(json.dumps(message.get("content")))

    async def _turn(self, *, calls: bool) -> None:
        question = f"question {len(self.told)} " + "words " * self.random.randrange(160)
        await self._add({"role": "user", "content": question})
        self.asked = json.dumps(question)
        for _ in range(self.random.choice((1, 2, 12)) if calls else 0):
            ids = [f"c{len(self.told)}-{number}" for number in range(self.random.randrange(1, 4))]
            made = [{"id": call_id, "tool": "read", "arguments": {"path": "a.py"}} for call_id in ids]
            said = await self._request() or {"role": "assistant", "content": "Let me look."}
            await self._add({**said, "tool_calls": made})
            for call_id in ids:
                await self._add({"role": "tool", "tool_call_id": call_id, "name": "read", "content": "line " * 200})
            await asyncio.sleep(self.random.choice((0, 0.001)))
        answer = await self._request()
        if answer is not None:
            await self._add(answer)
        await asyncio.sleep(self.random.choice((0, 0.001, 0.03)))
        history = [json.dumps(m.get("content")) for m in await self.manager.get_messages()]
        if history != self.told:
            self.faults.append(f"{len(self.told)} messages were added, {len(history)} are there")

    async def _request(self) -> Message | None:
        self.counts["requests"] += 1
        before = len(self.host.reasons)
        view = await self.manager.get_messages_for_request(provider=self.provider)
        shown = next((json.dumps(m) for m in view if self.provider.key in (m.get("metadata") or {})), "")
        self.counts["with an item"] += bool(shown)
        made = [payload["strategy"] for payload in self.host.of("context:compaction")]
        if shown != self.item and shown and (not made or made[-1] != "native"):
            self.faults.append("another item than before")
        if self.item and not shown:
            self.counts["items gone"] += 1
            if len(self.host.reasons) == before and made and made[-1] == "native":
                self.faults.append("an item went, and nothing says why")
        if len(set(self.host.reasons[before:])) != len(self.host.reasons[before:]):
            self.faults.append(f"told twice: {self.host.reasons[before:]}")
        self.item = shown
        shown_last = [m["content"] for m in view if m["role"] == "user" and str(m["content"]).startswith("question ")][
            -1:
        ]
        if json.dumps(shown_last) != f"[{self.asked}]":
            self.faults.append("what a person said last is not shown")
        try:
            return self.provider.send(view)
        except Exception as refused:
            self.faults.append(f"refused: {refused}")
            return None


def play(seeds: range) -> tuple[Counter[str], list[str]]:
    """Play sessions; what happened, and what was wrong."""
    counts, faults = Counter[str](), list[str]()
    for seed in seeds:
        with tempfile.TemporaryDirectory() as directory:

            async def one(session_seed: int, place: str) -> GeneratedSession:
                session = GeneratedSession(session_seed, Path(place))
                await session.play()
                return session

            session = asyncio.run(one(seed, directory))
        counts += session.counts
        faults += [f"seed {seed}: {fault}" for fault in session.faults]
    return counts, faults


if __name__ == "__main__":
    first = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    happened, wrong = play(range(first, first + int(sys.argv[1])))
    print(dict(happened))
    print(*wrong, sep="\n")
    print(f"{len(wrong)} faults")
    sys.exit(bool(wrong))
