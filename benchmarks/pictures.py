"""The pictures of the documentation: a replay in a terminal, and a comparison of policies, of a generated session.

    python -m benchmarks.pictures [DIRECTORY]

Writes `replay.svg` and `compare.svg`, by default to `docs/`. The session, its ids and its clock are the same each time,
so the pictures change only where what they show does. They refer to nothing outside themselves.
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

from rich.console import Console

from amplifier_module_context_persistent import PersistentContextManager
from amplifier_module_context_persistent.chart import svg
from amplifier_module_context_persistent.cli_message import MessagePrinter
from amplifier_module_context_persistent.replay import compare, open_transcript, requests
from amplifier_module_context_persistent.stage import Stage
from amplifier_module_context_persistent.timeline import timeline
from fixtures.generate import generate_session

SEED, MESSAGES, BUDGET_TOKENS = 7, 220, 20_000
POLICIES = ("none", "stateless", "sliding", "default")
_WIDTH = 88
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
    screen = Console(
        file=io.StringIO(),
        record=True,
        width=_WIDTH,
        force_terminal=True,
        color_system="truecolor",
        legacy_windows=False,
        no_color=False,
    )
    stage, printer = Stage(_WIDTH), MessagePrinter(screen=screen)
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
    drawn = screen.export_svg(title="context-persistent replay session.jsonl --views", unique_id="replay")
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


def main(arguments: Sequence[str] | None = None) -> int:
    """Write both pictures."""
    docs = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "docs")
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.pictures", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("directory", nargs="?", default=docs)
    directory = parser.parse_args(arguments).directory
    with tempfile.TemporaryDirectory() as scratch:
        path = os.path.join(scratch, "session.jsonl")
        asyncio.run(record(path))
        for name, picture in (("replay", replay_picture(path)), ("compare", compare_picture(path))):
            with open(os.path.join(directory, f"{name}.svg"), "w", encoding="utf-8") as file:
                file.write(picture)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
