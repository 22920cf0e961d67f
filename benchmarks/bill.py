"""What the requests of real sessions cost at list prices, with and without plans that wait for a cold prompt cache.

    python -m benchmarks.bill FILE [FILE ...] [--budget TOKENS] [--models NAME ...] [--policies POLICY ...]

FILE: the messages of one session as JSON lines, with `metadata.timestamp`. Each session is played message by message,
with its own times and a request before each answer; what a provider would have cached is the common beginning of two
requests in a row, unless so much time lies between them that it forgot it (`window/when_to_plan.py`). Printed in US
dollars, without the answers, which cost the same: the whole history as it is, views of each policy (as `compare` takes
them; by default those of `cache_ttl_s: 0`, where pauses change nothing, and the default's), the ratios of the others to
the first one, and how many requests found nothing cached.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any

from amplifier_module_context_persistent import PersistentContextManager
from amplifier_module_context_persistent.messages.message_times import timestamp_of
from amplifier_module_context_persistent.sessions.prices import Price, PriceList
from amplifier_module_context_persistent.tokens.counter import count_message, open_counter
from amplifier_module_context_persistent.toolbox.replay.policies import policy_of
from amplifier_module_context_persistent.window.prompt_cache import PromptCache

MODELS = ("claude-opus-5-5", "claude-sonnet-4-6", "gpt-6.2-sol")
POLICIES = ("default:cache_ttl_s=0", "default")
Message = dict[str, Any]


@dataclass
class Bill:
    """What one session's requests come to.

    Args:
        price: of the model.
        model: its name.
    """

    price: Price
    model: str

    def __post_init__(self) -> None:
        self.dollars, self.cold = 0.0, 0
        self._cache, self._before = PromptCache(None), list[str]()

    def add(self, view: list[Message], sizes: list[int], now: str) -> None:
        """Add a request: its messages, the tokens of each, and when it is made."""
        sent, same = [json.dumps(message, sort_keys=True) for message in view], 0
        while same < min(len(sent), len(self._before)) and sent[same] == self._before[same]:
            same += 1
        if self._cache.note_request("", self.model, now=now, viewed_at=""):
            self.cold, same = self.cold + 1, 0
        self._before, cached = sent, sum(sizes[:same])
        self.dollars += self.price.cost(0, cached, sum(sizes) - cached, 0, 0)


async def play(
    messages: list[Message], price: Price, model: str, budget_tokens: int, policies: list[dict[str, Any]]
) -> list[Bill]:
    """Play a session; the bills of no compaction, and of each policy's options."""
    bills, clock = [Bill(price, model) for _ in range(1 + len(policies))], [timestamp_of(messages[0])]
    counter = open_counter()
    provider = SimpleNamespace(name="", model=model)
    with TemporaryDirectory() as directory:
        managers = [
            PersistentContextManager(
                Path(directory, f"{number}.jsonl"),
                max_tokens=budget_tokens,
                durability="write",
                now=lambda: clock[0],
                **options,
            )
            for number, options in enumerate(policies)
        ]
        for at, message in enumerate(messages):
            if message["role"] == "assistant" and at and messages[at - 1]["role"] in ("user", "tool"):
                clock[0] = timestamp_of(messages[at - 1]) or clock[0]
                views = [messages[:at]]
                views += [await manager.get_messages_for_request(provider=provider) for manager in managers]
                for bill, view in zip(bills, views, strict=True):
                    bill.add(view, [count_message(one, counter) for one in view], clock[0])
            for manager in managers:
                await manager.add_message(message)
        for manager in managers:
            await manager.close()
    return bills


def main(arguments: list[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--budget", type=int, default=40_000)
    parser.add_argument("--models", nargs="+", default=list(MODELS))
    parser.add_argument("--policies", nargs="+", default=list(POLICIES), metavar="POLICY")
    given = parser.parse_args(arguments)
    options = [dict(policy_of(policy).options) for policy in given.policies]
    prices = PriceList()
    for model in given.models:
        price, sums = prices.of(model), [0.0] * (1 + len(options))
        if price is None:
            parser.error(f"{model}: there is no price of this model")
        print(f"{model}: {', '.join(given.policies)}\n{'session':24}{'whole':>9}")
        for file in given.files:
            messages = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
            bills = asyncio.run(play(messages, price, model, given.budget, options))
            dollars = [bill.dollars for bill in bills]
            sums = [total + one for total, one in zip(sums, dollars, strict=True)]
            print(f"{file.stem:24}{_row(dollars)}  cold {bills[0].cold}", flush=True)
        print(f"{'all':24}{_row(sums)}")
    return 0


def _row(dollars: list[float]) -> str:
    whole, base, *others = dollars
    ratios = "".join(f"{one:9.2f} ({one / max(base, 1e-9):.3f})" for one in others)
    return f"{whole:9.2f}{base:9.2f}{ratios}"


if __name__ == "__main__":
    raise SystemExit(main())
