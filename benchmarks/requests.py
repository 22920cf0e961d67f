"""Views that every provider accepts: generated sessions of three providers, and a turn of sixty screenshots.

    python -m benchmarks.requests --sessions 10000

Each view is held against the checkers, which share no code with the engine: order and form, bytes, images, what is
bound to another provider, and chains of responses from before a plan.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections import Counter
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from amplifier_core.llm_errors import ContextLengthError

from amplifier_module_context_persistent import InMemoryContextManager
from fixtures.providers import MixedSession, Request, image_block, mixed_session, png
from tests.support.request_checker import (
    bond_violations,
    chain_violations,
    limit_violations,
)
from tests.support.view_checker import view_violations

Message = dict[str, Any]
SHOTS = 60
SHOT_BYTES = 900_000


@dataclass(slots=True)
class Found:
    """What was counted over sessions."""

    sessions: int = 0
    views: int = 0
    refused: int = 0
    """Requests that could not be made to fit, and were refused with the reason."""
    plans: int = 0
    switches: int = 0
    left_out: int = 0
    """Images and documents that gave way to a line, in the last view of each session."""
    violations: Counter[str] = field(default_factory=Counter)
    examples: list[str] = field(default_factory=list)

    def add(self, seed: int, told: list[str]) -> None:
        """Take in what is wrong with a view."""
        self.violations.update(one.partition(":")[0] for one in told)
        self.examples += [f"session {seed}: {one}" for one in told[: max(0, 5 - len(self.examples))]]


class _Hooks:
    """Counts plans, and remembers which messages there were when the last one was made."""

    def __init__(self) -> None:
        self.plans = 0

    async def emit(self, event: str, _: Message) -> None:
        """Take in an event."""
        self.plans += event == "context:compaction"


async def play(session: MixedSession, found: Found) -> None:
    """Play a session and check each view."""
    hooks = _Hooks()
    coordinator: Any = SimpleNamespace(hooks=hooks, get_capability=lambda _: None, config={}, get=lambda _: None)
    manager = InMemoryContextManager(tokenizer="estimate", coordinator=coordinator, **session.options)
    makers: dict[str, str] = {}
    known: list[str] = []
    before: set[str] = set()
    reader, view = Request("", ""), list[Message]()
    limits = {"most_bytes": session.options["max_request_bytes"], "most_images": session.options["max_images"]}
    for step in session.steps:
        if not isinstance(step, Request):
            await manager.add_message(step)
            known.append(str((await manager.get_messages())[-1]["metadata"]["message_id"]))
            if step["role"] == "assistant":
                makers[known[-1]] = reader.provider
            continue
        found.switches += reader.provider not in ("", step.provider)
        reader, plans = step, hooks.plans
        asks: Any = SimpleNamespace(name=step.provider, default_model=step.model)
        try:
            view = await manager.get_messages_for_request(provider=asks)
        except ContextLengthError:
            found.refused += 1
            continue
        if hooks.plans > plans:
            before = set(known)
        found.views += 1
        told = [*view_violations(view), *limit_violations(view, step.provider, **limits)]
        told += [*bond_violations(view, step.provider, makers), *chain_violations(view, before)]
        found.add(session.seed, told)
    found.sessions += 1
    found.plans += hooks.plans
    found.left_out += json.dumps(view).count(" left out: ")
    await manager.close()


@dataclass(frozen=True, slots=True)
class Screenshots:
    """What a turn of screenshots came to."""

    most_bytes: int
    breaks: int
    left_out: int
    recalled: int
    """Of the images that were left out, those that `recall` gave back byte for byte."""


async def screenshots(count: int = SHOTS, size_bytes: int = SHOT_BYTES, **options: Any) -> Screenshots:
    """One turn of screenshots, each in the result of a call: the largest view, and how often the prefix broke."""
    manager = InMemoryContextManager(**{"tokenizer": "estimate", "max_tokens": 200_000, **options})
    await manager.add_message({"role": "user", "content": "Look at all pages."})
    images = [image_block(png(1280, 720, size_bytes, seed=number)) for number in range(count)]
    before, most, breaks = list[Message](), 0, 0
    for number, image in enumerate(images):
        call = {"id": f"c{number}", "tool": "screenshot", "arguments": {"page": number}}
        await manager.add_message({"role": "assistant", "content": f"Page {number}.", "tool_calls": [call]})
        content = [{"type": "text", "text": f"Page {number}:"}, image]
        result = {"role": "tool", "tool_call_id": call["id"], "name": "screenshot", "content": content}
        await manager.add_message(result)
        view = await manager.get_messages_for_request()
        most = max(most, len(json.dumps(view)))
        breaks += view[: len(before)] != before
        before = view
    left_out = recalled = 0
    for message in before:
        line = message["content"][1].get("text", "") if isinstance(message["content"], list) else ""
        if " left out: " in line:
            left_out += 1
            page = await manager.recall(line.removesuffix("]").rpartition(" ")[2])
            recalled += page.media == (images[int(message["tool_call_id"][1:])],)
    await manager.close()
    return Screenshots(most, breaks, left_out, recalled)


async def _main(sessions: int, first: int) -> int:
    shots, found = await screenshots(), Found()
    print(
        f"{SHOTS} screenshots of {SHOT_BYTES:,} bytes in one turn: at most {shots.most_bytes:,} bytes a request, "
        f"{shots.breaks} breaks of the prefix, {shots.left_out} left out, {shots.recalled} of them recalled"
    )
    for seed in range(first, first + sessions):
        await play(mixed_session(seed), found)
    print(
        f"{found.sessions:,} sessions, {found.views:,} views, {found.switches:,} switches, {found.plans:,} plans, "
        f"{found.left_out:,} images and documents left out at the end, {found.refused:,} requests refused: "
        f"{sum(found.violations.values())} violations {dict(found.violations) or ''}"
    )
    print("\n".join(found.examples))
    fine = shots.most_bytes <= 20_000_000 and shots.breaks <= 10 and shots.recalled == shots.left_out
    return 0 if fine and not found.violations else 1


def main() -> int:
    """Run it; 1 where something does not hold."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--sessions", type=int, default=1_000, help="how many generated sessions (1000)")
    parser.add_argument("--first", type=int, default=0, help="the seed of the first one (0)")
    given = parser.parse_args()
    return asyncio.run(_main(given.sessions, given.first))


if __name__ == "__main__":
    sys.exit(main())
