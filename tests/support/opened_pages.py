"""What tests do in a report that is open in a browser, and the sessions that they make one of."""

import json
from pathlib import Path

from benchmarks.chromium import Page
from fixtures.generate import generate_session
from tests.support import recorded_sessions

DRAWN = "new Promise((resume) => requestAnimationFrame(() => requestAnimationFrame(() => resume(1))))"
TEXT = "document.getElementById('stream').innerText"
NODES = """(() => {
  const walker = document.createTreeWalker(document);
  let nodes = 1;
  while (walker.nextNode()) nodes += 1;
  return nodes;
})()"""
SCROLLED = """(() => {
  const stream = document.getElementById("stream");
  const before = stream.scrollTop;
  stream.scrollTop += stream.clientHeight * 0.9;
  return [before, stream.scrollTop];
})()"""
NUMBERS = "[...document.querySelectorAll('#stream .no')].map((one) => Number(one.textContent))"
MOST_STEPS = 800


async def record(path: Path, messages: int, seed: int = 7) -> Path:
    """Record a generated session, with a request before each answer."""
    await recorded_sessions.record(path, generate_session(seed, messages, mean_bytes=0), max_tokens=14_000)
    return path


def press_button(page: Page, label: str) -> None:
    """Press the first button whose text has a label in it."""
    page.run(
        f"[...document.querySelectorAll('button')].find((one) => one.textContent.includes({json.dumps(label)})).click()"
    )
    page.run(DRAWN)


def way_down(page: Page) -> tuple[set[int], int]:
    """Scroll from the top to the end; the numbers of the messages that were in sight, and the most nodes there were."""
    seen: set[int] = set()
    most = 0
    page.run("document.getElementById('stream').scrollTop = 0")
    for _ in range(MOST_STEPS):
        page.run(DRAWN)
        most = max(most, page.run(NODES))
        seen.update(page.run(NUMBERS))
        at, end = page.run(SCROLLED)
        if at == end:
            return seen, most
    raise AssertionError(f"the page has no end after {MOST_STEPS} steps")
