"""What tests do in a report that is open in a browser."""

import json

from benchmarks.chromium import Page

DRAWN = "new Promise((resume) => requestAnimationFrame(() => requestAnimationFrame(() => resume(1))))"
TEXT = "document.getElementById('stream').innerText"
WAY_DOWN = f"""(async () => {{
  const stream = document.getElementById("stream");
  const seen = new Set();
  let most = 0;
  stream.scrollTop = 0;
  for (let step = 0; step < 800; step += 1) {{
    await {DRAWN};
    const walker = document.createTreeWalker(document);
    let nodes = 1;
    while (walker.nextNode()) nodes += 1;
    most = Math.max(most, nodes);
    for (const one of document.querySelectorAll("#stream .no")) seen.add(Number(one.textContent));
    const before = stream.scrollTop;
    stream.scrollTop += stream.clientHeight * 0.9;
    if (stream.scrollTop === before) return [[...seen], most];
  }}
  throw new Error("the page has no end after 800 steps");
}})()"""


def show(page: Page, address: str, *, width: int = 1280, height: int = 900) -> None:
    """Go to an address, as in a new page: nothing is emulated, and nothing was told of it yet."""
    page.browser.events.clear()
    page.send("Emulation.setEmulatedMedia")
    page.resize(width, height)
    page.go(address)


def press_button(page: Page, label: str) -> None:
    """Press the first button whose text has a label in it."""
    page.run(
        f"[...document.querySelectorAll('button')].find((one) => one.textContent.includes({json.dumps(label)})).click()"
    )
    page.run(DRAWN)


def way_down(page: Page) -> tuple[set[int], int]:
    """Scroll from the top to the end; the numbers of the messages that were in sight, and the most nodes there were."""
    seen, most = page.run(WAY_DOWN)
    return set(seen), most
