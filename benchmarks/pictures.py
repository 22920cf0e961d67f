"""The pictures of the documentation: a replay in a terminal, comparisons, a session's tokens, a report.

    python -m benchmarks.pictures [DIRECTORY] [--only NAME ...]

Writes `look.svg`, `replay.svg`, `compare.svg` and `session.svg`, by default to `docs/`. The sessions are generated;
they, their ids and their clock are the same each time, and tokens are counted by the estimate, so the pictures change
only where what they show does. `peers.svg` shows what `benchmarks.peers` measured, from `docs/peers.json`; `demo.svg`
and `tools.svg` are recordings (`benchmarks.recordings`). They refer to nothing outside themselves.
`report.png` and `report-dark.png` are pictures of a page in Chromium; where there is none, they are left as they are,
and that is said.
"""

from __future__ import annotations

import argparse
import asyncio
import io
import itertools
import os
import re
import tempfile
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from amplifier_module_context_persistent import PersistentContextManager
from amplifier_module_context_persistent.config import Config
from amplifier_module_context_persistent.sessions.statistics import outline
from amplifier_module_context_persistent.tokens.counter import EstimateCounter, count_message
from amplifier_module_context_persistent.toolbox.cli.chart import svg
from amplifier_module_context_persistent.toolbox.cli.message_printer import MessagePrinter
from amplifier_module_context_persistent.toolbox.cli.replay import RequestPanel
from amplifier_module_context_persistent.toolbox.cli.show import show_outline
from amplifier_module_context_persistent.toolbox.cli.view import show_difference
from amplifier_module_context_persistent.toolbox.replay import compare, open_transcript, requests
from amplifier_module_context_persistent.toolbox.replay.evidence import PlayedSession
from amplifier_module_context_persistent.toolbox.replay.pace import timeline
from amplifier_module_context_persistent.toolbox.replay.play_session import Player
from amplifier_module_context_persistent.toolbox.replay.policies import POLICIES as PLAYED
from amplifier_module_context_persistent.toolbox.replay.policies import CachedCounter
from amplifier_module_context_persistent.toolbox.report import report
from benchmarks.chromium import BROWSER, WHY_NOT, Chromium, Page
from benchmarks.peer_stores.found import from_json
from benchmarks.peer_stores.picture import picture
from benchmarks.recordings import demo_recording, tools_recording
from fixtures.generate import generate_session

PICTURES = ("look", "replay", "compare", "session", "peers", "demo", "tools", "report")
SEED, MESSAGES, BUDGET_TOKENS = 7, 220, 20_000
POLICIES = ("none", "stateless", "sliding", "default")
LONG_SEED, LONG_MESSAGES, LONG_BUDGET_TOKENS = 3, 400, 40_000
SEEN_REQUEST = 62
_WIDTH = 88
_CJK_IN_SIGHT = """[...document.querySelectorAll("body *")].filter((one) => {
  if (one.children.length || !/[\\u2e80-\\uffdc]/.test(one.innerText)) return false;
  const { left, top, height } = one.getBoundingClientRect();
  return [1, height / 2, height - 1].some((down) => one.contains(document.elementFromPoint(left + 4, top + down)));
}).map((one) => one.innerText)"""
_BEFORE, _BEHIND = 4, 1


async def record(path: str) -> None:
    """Record the session with the default policy."""
    numbers = itertools.count()
    messages = list(generate_session(SEED, MESSAGES, mean_bytes=0))
    clock = iter(message["metadata"]["timestamp"] for message in messages)
    now = next(clock)
    manager = PersistentContextManager(
        path,
        max_tokens=BUDGET_TOKENS,
        tokenizer="estimate",
        durability="write",
        now=lambda: now,
        new_id=lambda: f"m{next(numbers):016x}",
    )
    for message in messages:
        if message["role"] == "assistant":
            await manager.get_messages_for_request()
        now = message["metadata"]["timestamp"]
        await manager.add_message(message)
    await manager.close()


def replay_picture(path: str) -> str:
    """Draw what `replay --views` shows around the second compaction."""
    screen = _screen()
    stage, printer = RequestPanel(_WIDTH), MessagePrinter(screen=screen)
    transcript = open_transcript(path)
    steps = list(timeline(transcript, transcript.turns(), requests(transcript)))
    compacted = [at for at, step in enumerate(steps) if step.seen is not None and step.seen.compaction is not None]
    at = compacted[min(1, len(compacted) - 1)]
    for step in steps[max(0, at - _BEFORE) : at + 1 + _BEHIND]:
        if step.seen is not None:
            screen.print()
            screen.print(stage.request(step.seen))
        elif step.placed is not None:
            printer.show(step.placed)
    transcript.close()
    return _drawn(screen, "context-persistent replay session.jsonl --views", "replay")


def look_picture(path: str) -> str:
    """Draw what `show --outline` says of the session, and `view --diff` of its first compaction."""
    screen = _screen()
    with open_transcript(path) as transcript:
        seen = next(seen for seen in requests(transcript) if seen.compaction is not None)
        screen.print("$ context-persistent show session.jsonl --outline", style="bold")
        show_outline(outline(transcript, EstimateCounter()), screen)
        screen.print(f"\n$ context-persistent view session.jsonl --request {seen.number} --diff", style="bold")
        show_difference(transcript, seen.number, seen.view or (), MessagePrinter(screen=screen, may_grow=True))
    return _drawn(screen, "a session at a glance, and what a compaction changed", "look")


def _screen() -> Console:
    """A terminal that remembers what was printed."""
    return Console(
        file=io.StringIO(),
        record=True,
        width=_WIDTH,
        force_terminal=True,
        color_system="truecolor",
        legacy_windows=False,
        no_color=False,
    )


def _drawn(screen: Console, title: str, name: str) -> str:
    """What was printed, as an SVG that refers to nothing outside itself."""
    drawn = screen.export_svg(title=title, unique_id=name)
    bare = re.sub(r"@font-face\s*\{.*?\}|<!--.*?-->", "", drawn, flags=re.DOTALL)  # they name hosts
    return bare.replace("Fira Code, monospace", "monospace")


def compare_picture(path: str) -> str:
    """Draw what `compare --svg` draws."""
    with open_transcript(path) as transcript:
        found = compare(transcript, POLICIES, budget_tokens=BUDGET_TOKENS, tokenizer="estimate")
    series = {
        f"{one.policy}: billed {one.measures.billed_ratio or 0:.2f} of all, {one.measures.breaks} breaks, "
        f"far evidence {one.measures.far:.2f}": one.measures.request_tokens
        for one in found.replayed
    }
    return svg(series, BUDGET_TOKENS, title=f"{found.messages} generated messages, tokens of each request")


def session_picture() -> str:
    """Draw the tokens of a longer session's views, with and without compaction."""
    counter, config = CachedCounter(EstimateCounter()), Config.load()
    messages = generate_session(LONG_SEED, LONG_MESSAGES, mean_bytes=0)
    player = Player(PlayedSession.of("session", messages, lambda message: count_message(message, counter)), counter)
    names = {"none": "the whole history", "truncate": "views by `truncate`"}
    series = {
        title: asyncio.run(player.play(name, PLAYED[name], LONG_BUDGET_TOKENS, {})).request_tokens
        for name, title in names.items()
    }
    levels = {name: int(getattr(config, name) * LONG_BUDGET_TOKENS) for name in ("compact_threshold", "target_usage")}
    return svg(series, LONG_BUDGET_TOKENS, title=f"{LONG_MESSAGES} messages, tokens of each request", levels=levels)


def peers_picture(measured: str) -> str:
    """Draw what `python -m benchmarks.peers --json` told."""
    with open(measured, encoding="utf-8") as file:
        found, run = from_json(file.read())
    return picture(found, run["messages"])


def report_pictures(path: str, directory: str, scratch: str) -> None:
    """Take pictures of a report: what the model saw at a request, and the same in the dark as the model saw it."""
    page_path = os.path.join(scratch, "session.html")
    with open_transcript(path) as transcript:
        report(transcript, page_path, views="all")
    with Chromium.start(Path(scratch)) as browser:
        page = browser.open(f"file://{page_path}#request-{SEEN_REQUEST}", width=1280, height=800)
        page.wait("document.documentElement?.dataset.state === 'loaded'")
        page.wait("document.querySelector('.request')")
        _check_glyphs(page)
        page.picture(Path(directory, "report.png"))
        page.send("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark"}])
        page.run("document.querySelector('.switch').click()")
        page.run("document.getElementById('stream').scrollTop = 0")
        page.wait("document.querySelector('.turn')")
        page.run("document.querySelectorAll('.fold')[1].click()")
        _check_glyphs(page)
        page.picture(Path(directory, "report-dark.png"))


def _check_glyphs(page: Page) -> None:
    """Refuse a picture with Chinese, Japanese or Korean in it: where their fonts are missing, they would be boxes."""
    if found := page.run(_CJK_IN_SIGHT):
        raise RuntimeError(
            f"not every machine has fonts for what the page shows: {found[0][:80]!r}; show another request"
        )


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the pictures."""
    docs = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "docs")
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.pictures", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("directory", nargs="?", default=docs)
    parser.add_argument("--only", nargs="+", choices=PICTURES, default=PICTURES, help="which ones are drawn")
    given = parser.parse_args(arguments)
    os.makedirs(given.directory, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        path = os.path.join(scratch, "session.jsonl")
        asyncio.run(record(path))
        draws = {
            "look": lambda: look_picture(path),
            "replay": lambda: replay_picture(path),
            "compare": lambda: compare_picture(path),
            "session": session_picture,
            "demo": demo_recording,
            "tools": tools_recording,
            "peers": lambda: peers_picture(os.path.join(docs, "peers.json")),
        }
        for name in draws.keys() & given.only:
            with open(os.path.join(given.directory, f"{name}.svg"), "w", encoding="utf-8") as file:
                file.write(draws[name]())
        if "report" in given.only and BROWSER is None:
            print(f"no pictures of a report: {WHY_NOT}")
        elif "report" in given.only:
            report_pictures(path, given.directory, scratch)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
