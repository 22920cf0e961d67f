"""The report of a session of 100,000 messages and 100 MB of text, in Chromium, opened from a file.

    python -m benchmarks.report [--messages N] [--views some|all|none] [--log FILE] [--page FILE]

Makes the session (with a request before every 20th answer), its report, and measures the page: when the shell is
painted, when all is loaded, how many nodes it has at 200 places and with everything in sight unfolded, how long a find
takes over everything, and how large the file is. A promise that is missed is said, and ends it with 1.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from amplifier_module_context_persistent import PersistentContextManager
from amplifier_module_context_persistent.toolbox.replay import open_transcript
from amplifier_module_context_persistent.toolbox.report import report
from amplifier_module_context_persistent.toolbox.report.requests import SOME, VIEWS
from benchmarks.chromium import BROWSER, WHY_NOT, Chromium, Page
from fixtures.generate import generate_session

SEED, MESSAGES, MEAN_BYTES, BUDGET_TOKENS = 5, 100_000, 1_050, 60_000
REQUEST_EVERY = 20
PLACES = 200
PAINT_MS, FIND_MS, MOST_NODES, FILE_SHARE = 1_000, 300, 600, 0.35
QUERIES = ("the", "round_parcel", "Traceback", "合计", "nothing has this text", "e")

_DRAWN = "new Promise((resume) => requestAnimationFrame(() => requestAnimationFrame(() => resume(1))))"
_NODES = """(() => {
  const walker = document.createTreeWalker(document);
  let nodes = 1;
  while (walker.nextNode()) nodes += 1;
  return nodes;
})()"""


async def record(path: str, messages: int) -> None:
    """Record a generated session."""
    answers = 0
    async with PersistentContextManager(
        path, max_tokens=BUDGET_TOKENS, tokenizer="estimate", durability="write"
    ) as manager:
        for message in generate_session(SEED, messages, mean_bytes=MEAN_BYTES):
            if message["role"] == "assistant":
                answers += 1
                if answers % REQUEST_EVERY == 0:
                    await manager.get_messages_for_request()
            await manager.add_message(message)


def measure(browser: Chromium, path: str) -> dict[str, Any]:
    """Measure the page of a report."""
    page = browser.open()
    began = time.perf_counter()
    page.go(f"file://{path}")
    page.wait("document.documentElement?.dataset.state === 'loaded'", timeout_s=300)
    loaded_s = time.perf_counter() - began
    painted = page.run("performance.getEntriesByName('first-contentful-paint')[0].startTime")
    at_once = max(_nodes_at(page, place / (PLACES - 1)) for place in range(PLACES))
    page.press("O")
    unfolded = max(_nodes_at(page, place / (PLACES - 1), key="O") for place in range(0, PLACES, 5))
    finds = {query: _find(page, query) for query in QUERIES}
    heap = page.run("performance.memory.usedJSHeapSize")
    return {
        "painted_ms": round(painted),
        "loaded_s": round(loaded_s, 2),
        "most_nodes": at_once,
        "most_nodes_unfolded": unfolded,
        "find_ms": finds,
        "heap_mb": round(heap / 1e6),
    }


def _nodes_at(page: Page, share: float, key: str = "") -> int:
    page.run(f"((one) => {{ one.scrollTop = {share} * one.scrollHeight; }})(document.getElementById('stream'))")
    page.run(_DRAWN)
    if key:
        page.press(key)
        page.run(_DRAWN)
    if not page.run("document.querySelectorAll('#stream .row, #stream .end').length"):
        raise RuntimeError(f"nothing is shown at {share:.3f} of the page")
    return int(page.run(_NODES))


def _find(page: Page, query: str) -> int:
    """Type a query; how long the page says that it searched, in milliseconds."""
    page.run("document.getElementById('find').value = ''; document.getElementById('find').select()")
    page.type(query)
    page.run("document.getElementById('found').textContent = ''")
    page.wait("document.getElementById('found').textContent !== ''")
    return int(page.run("document.getElementById('found').dataset.ms"))


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, and tell what was missed."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.report", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--messages", type=int, default=MESSAGES)
    parser.add_argument("--views", choices=VIEWS, default=SOME, help="which views are made again and proved")
    parser.add_argument("--log", help="a log to take instead of making one")
    parser.add_argument("--page", help="a report of that log to take instead of making one")
    given = parser.parse_args(arguments)
    if BROWSER is None:
        print(WHY_NOT, file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as scratch:
        log, page = given.log or os.path.join(scratch, "s.jsonl"), given.page or os.path.join(scratch, "s.html")
        if not given.log:
            asyncio.run(record(log, given.messages))
        made_s, made = 0.0, None
        if not given.page:
            began = time.perf_counter()
            with open_transcript(log) as transcript:
                made = report(transcript, page, views=given.views)
            made_s = time.perf_counter() - began
        share = os.path.getsize(page) / os.path.getsize(log)
        with Chromium.start(Path(scratch)) as browser:
            found = measure(browser, os.path.abspath(page))
    found = {"log_mb": round(os.path.getsize(log) / 1e6, 1) if given.log else None, **found}
    if made is not None:
        found |= {"views": given.views, "requests": made.requests, "views_proved": made.views_proved}
        found |= {"views_not_proved": made.views_not_proved}
    found |= {"made_s": round(made_s, 1), "file_share": round(share, 3)}
    print(json.dumps(found, indent=2, ensure_ascii=False))
    missed = [
        what
        for what, holds in {
            f"shell painted within {PAINT_MS} ms": found["painted_ms"] <= PAINT_MS,
            f"at most {MOST_NODES} nodes": max(found["most_nodes"], found["most_nodes_unfolded"]) <= MOST_NODES,
            f"find within {FIND_MS} ms": max(found["find_ms"].values()) <= FIND_MS,
            f"at most {FILE_SHARE} of the log's bytes": share <= FILE_SHARE,
        }.items()
        if not holds
    ]
    print("\n".join(f"MISSED: {what}" for what in missed) or "all of it holds")
    return 1 if missed else 0


if __name__ == "__main__":
    raise SystemExit(main())
