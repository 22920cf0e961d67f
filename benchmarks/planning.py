"""What a view costs at 100,000 messages of history: making a plan, and writing a view that follows one.

    python -m benchmarks.planning [--messages N] [--budgets 40000 200000] [--tokenizer NAME]

A session of that many messages goes on, with a request before each answer. Of each budget it prints:

- `plans`: how many were made, and how many messages of the view each of them looked at;
- `ms`, `worst`: milliseconds that a plan took, median and maximum, once the entries of the view are known; `cpu ms`,
  the median of what the processor worked on it, which is what is limited, since a machine does other things as well;
  and the same as a ratio to reading and parsing the lines of those messages one by one, right before;
- a request between two plans, with its receipt, against reading and parsing the lines of its messages one by one, on
  another thread as well, as whoever keeps the event loop free has to; in time of the processor.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any
from unittest import mock

import orjson

from amplifier_module_context_persistent import PersistentContextManager
from amplifier_module_context_persistent.compaction.plan_request import PlanRequest
from amplifier_module_context_persistent.compaction.planner import Compaction
from amplifier_module_context_persistent.window import window_plans
from benchmarks.limits import LIMITS, most
from benchmarks.measure import Comparison, Figure, compare_async, report
from benchmarks.sessions import write_session
from fixtures.generate import generate_session

PLAN_LIMIT_MS = most("plan, ms")
_USUAL_BUDGET = "request, 40,000 tokens"
LEAST_PLANS = 5
REQUESTS = 100


@dataclass(slots=True)
class Planning:
    """Times every plan that is made while it is in place of `compact`."""

    ms: list[float] = field(default_factory=list)
    cpu_ms: list[float] = field(default_factory=list)
    parse_ms: list[float] = field(default_factory=list)
    messages: list[int] = field(default_factory=list)

    def __call__(self, request: PlanRequest) -> Compaction:
        """Make a plan."""
        start = time.thread_time()
        for entry in request.entries:
            list(request.fetch([entry]))
        between, wall = time.thread_time(), time.perf_counter()
        made = COMPACT(request)
        self.ms.append((time.perf_counter() - wall) * 1000)
        self.cpu_ms.append((time.thread_time() - between) * 1000)
        self.parse_ms.append((between - start) * 1000)
        self.messages.append(len(request.entries))
        return made


COMPACT = window_plans.compact


async def measure(path: str, budget_tokens: int, tokenizer: str) -> tuple[Planning, Comparison]:
    """Let a session go on until it has made plans enough, then compare requests that make none."""
    manager = PersistentContextManager(path, tokenizer=tokenizer, max_tokens=budget_tokens, durability="write")
    await manager.compact()  # of a whole history, once; what follows is what a session meets
    planning = Planning()
    with mock.patch.object(window_plans, "compact", planning):
        for message in generate_session(9, 100_000):
            if message["role"] == "assistant":
                await manager.get_messages_for_request()
            await manager.add_message(message)
            if len(planning.ms) >= LEAST_PLANS:
                break
    view = await manager.get_messages_for_request()
    await manager.close()
    return planning, await _compare_requests(path, view, budget_tokens, tokenizer)


async def _compare_requests(path: str, view: list[dict[str, Any]], budget_tokens: int, tokenizer: str) -> Comparison:
    """A request against reading and parsing the lines of its messages."""
    places = _places(path, {message["metadata"].get("message_id") for message in view} - {None})
    manager = PersistentContextManager(path, tokenizer=tokenizer, max_tokens=budget_tokens, durability="write")
    await manager.get_messages_for_request()
    descriptor = os.open(path, os.O_RDONLY)

    def parse() -> list[Any]:
        return [orjson.loads(os.pread(descriptor, size, offset)) for offset, size in places]

    with ThreadPoolExecutor(1) as thread:
        ours = ("a request with its receipt", manager.get_messages_for_request)
        theirs = (
            f"reading and parsing {len(places)} lines",
            lambda: asyncio.get_running_loop().run_in_executor(thread, parse),
        )
        name = f"request, {budget_tokens:,} tokens"
        limit = most(name if name in LIMITS else _USUAL_BUDGET)
        compared = await compare_async(name, ours, theirs, limit=limit, calls=REQUESTS, clock=time.process_time_ns)
    os.close(descriptor)
    await manager.close()
    return compared


def _places(path: str, ids: set[str | None]) -> list[tuple[int, int]]:
    """Where the lines of some messages lie: offsets and lengths."""
    found, offset = [], 0
    with open(path, "rb") as lines:
        for line in lines:
            if orjson.loads(line).get("metadata", {}).get("message_id") in ids:
                found.append((offset, len(line)))
            offset += len(line)
    return found


def plan_figure(planning: Planning) -> Figure:
    """The median of the processor's time for a plan."""
    name, median = "plan, ms", statistics.median(planning.cpu_ms)
    return Figure(name, f"{median:,.1f} ms", f"parsing {statistics.median(planning.parse_ms):,.1f}", median, most(name))


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; 1 if a limit is missed."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.planning", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--messages", type=int, default=100_000)
    parser.add_argument("--budgets", type=int, nargs="+", default=[40_000, 200_000])
    parser.add_argument("--tokenizer", default="auto")
    given = parser.parse_args(arguments)
    compared, missed = [], False
    print(
        f"{'budget':>7} {'plans':>5} {'messages':>8} {'ms':>6} {'worst':>6} {'cpu ms':>6} {'limit':>6} {'/ parsing':>9}"
    )
    with tempfile.TemporaryDirectory() as directory:
        for budget in given.budgets:
            path = os.path.join(directory, f"{budget}.jsonl")
            write_session(path, given.messages)
            planning, comparison = asyncio.run(measure(path, budget, given.tokenizer))
            compared.append(comparison)
            median = statistics.median(planning.cpu_ms)
            pairs = zip(planning.cpu_ms, planning.parse_ms, strict=True)
            ratio = statistics.median(plan / parse for plan, parse in pairs)
            missed = missed or median > PLAN_LIMIT_MS
            print(
                f"{budget:>7} {len(planning.ms):>5} {max(planning.messages):>8} "
                f"{statistics.median(planning.ms):>6.1f} {max(planning.ms):>6.1f} {median:>6.1f} {PLAN_LIMIT_MS:>6.1f} "
                f"{ratio:>9.2f}"
            )
    return report(compared) or int(missed)


if __name__ == "__main__":
    raise SystemExit(main())
