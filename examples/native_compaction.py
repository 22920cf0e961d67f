"""Compaction by the provider, seen at work: a session is filled until the provider has compacted it, and goes on.

    python examples/native_compaction.py
    ANTHROPIC_API_KEY=... python examples/native_compaction.py amplifier_module_provider_anthropic --model MODEL

The first command asks a stand-in, for nothing. The second mounts a provider's module of Amplifier, which has to be
installed, and is billed: about a dozen short answers, and one compaction of some 12,000 tokens. It prints each event
and what the provider reported; the session's log stays, for `context-persistent stats` and `report`.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib
from pathlib import Path
from typing import Any

from amplifier_core.message_models import ChatRequest
from amplifier_core.message_models import Message as ProviderMessage
from amplifier_core.testing import MockCoordinator

from amplifier_module_context_persistent import PersistentContextManager
from amplifier_module_context_persistent.toolbox.replay.stand_in_summary import ExcerptItems

BUDGET = 20_000
CHAPTER = "Keeper {n} of the lighthouse noted the wind, the oil, and the ships that passed, {n} of them. "
TOLD = ("context:compaction", "context:native_compaction", "context:native_fallback", "context:reasoning_refused")


async def mounted(module: str | None, model: str | None) -> Any:
    """The provider: of a module that mounts one, or a stand-in."""
    if module is None:
        return ExcerptItems()
    coordinator = MockCoordinator()
    await importlib.import_module(module).mount(coordinator, {"default_model": model} if model else {})
    return next(iter(coordinator.get("providers").values()))


def as_message(answer: Any) -> dict[str, Any]:
    """A provider's answer as the context keeps it."""
    content = answer.content
    if not isinstance(content, str):
        content = [block.model_dump(exclude_none=True) for block in content]
    metadata = getattr(answer, "metadata", None) or {}
    return {"role": "assistant", "content": content, **({"metadata": metadata} if metadata else {})}


async def play(path: Path, module: str | None, model: str | None, turns: int) -> bool:
    """Fill a session until an item is shown, and three turns more; whether that came about."""
    provider, coordinator = await mounted(module, model), MockCoordinator()

    async def tell(event: str, data: dict[str, Any]) -> None:
        print(f"  {event}: {data}")

    for event in TOLD:
        coordinator.hooks.register(event, tell)
    shown = 0
    async with PersistentContextManager(
        path, coordinator=coordinator, max_tokens=BUDGET, compaction_strategy="native", token_meter="estimate"
    ) as manager:
        for number in range(1, turns + 1):
            text = CHAPTER.format(n=number) * 60
            await manager.add_message({"role": "user", "content": f"{text}\nWho is this about? Answer in one line."})
            view = await manager.get_messages_for_request(provider=provider)
            request = ChatRequest(messages=[ProviderMessage(**one) for one in view], max_output_tokens=1_000)
            answer = await provider.complete(request)
            await manager.add_message(as_message(answer))
            usage = getattr(answer, "usage", None)
            print(f"turn {number}: {len(view)} messages sent{f', {usage}' if usage else ''}")
            await asyncio.sleep(0 if module is None else 20)  # the item comes beside the conversation
            shown += len(view) < 2 * number - 1
            if shown > 3:
                return True
    return False


def main() -> int:
    """Run it; 0 where an item was shown and three turns went on from it."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("module", nargs="?", help="a provider's module of Amplifier; a stand-in without one")
    parser.add_argument("--model", help="its model")
    parser.add_argument("--log", type=Path, default=Path("native-compaction.jsonl"))
    parser.add_argument("--turns", type=int, default=30)
    options = parser.parse_args()
    done = asyncio.run(play(options.log, options.module, options.model, options.turns))
    print("the provider's item is shown" if done else "no item was shown")
    return 0 if done else 1


if __name__ == "__main__":
    raise SystemExit(main())
