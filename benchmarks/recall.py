"""Answering questions over all sessions: `python -m benchmarks.recall`.

Makes projects of generated sessions, fills the ranked index and asks. Printed are, in processor time: what indexing a
session of 10,000 messages takes beside the filters of runs of three characters that a search for texts keeps; the size
of both as a share of the text; a question over all sessions; and a recall in one long session. With `--megabytes` the
sessions have that much text; the index of the project is then filled once, and its speed is printed.

Before, with half of the index and after, the MCP server is asked as if it had just started. How long its answers take
by the clock is printed, as is the longest recall in the long session while that is indexed. `--load` lets so many other
processes work meanwhile. A promise that is missed is said, and ends it with 1. Other times hold on an idle machine;
shares and ratios on any.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import multiprocessing
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from amplifier_module_context_persistent import PersistentContextManager
from amplifier_module_context_persistent.catalogue.blocks_that_may_match import BLOCK_BYTES, filters_of
from amplifier_module_context_persistent.catalogue.catalogue_file import only_read
from amplifier_module_context_persistent.log.checksum import seal
from amplifier_module_context_persistent.log.record_line import encode_message
from amplifier_module_context_persistent.search.question import read_question
from amplifier_module_context_persistent.search.ranked_segment import SegmentBuilder
from amplifier_module_context_persistent.sessions.all_sessions_index import RankedSearch
from amplifier_module_context_persistent.sessions.pattern_in_session import searched_text
from amplifier_module_context_persistent.sessions.session_files import SessionFile, session_files
from amplifier_module_context_persistent.toolbox.mcp.answers import Answers
from amplifier_module_context_persistent.toolbox.mcp.scope import Scope
from fixtures.generate import generate_session

MOST_RATIO, MOST_SHARE, MOST_WAIT_S = 1.0, 0.35, 2.0
"""Indexing a session besides its filters takes at most as long again; both together take at most this of the text. An
answer takes at most so long by the clock, however much of the index is there."""
QUESTIONS = (
    "why did the test of the parser fail",
    "which file has the timeout of the retries",
    "what did the user want to be renamed",
    "how was the wrong total of the cart mended",
)
MESSAGES, MEAN_BYTES, LONG = 500, 1_000, 100_000


def write_log(path: Path, messages: Iterable[dict[str, Any]]) -> None:
    """Write a log that nobody has written to for long."""
    path.parent.mkdir(parents=True)
    seed = 0
    with path.open("wb") as file:
        for at, message in enumerate(messages):
            body = encode_message(message, message_id=f"m{at}", timestamp="2026-01-05T09:00:00.000Z")
            line, seed = seal(body, seed)
            file.write(line)
    os.utime(path, (0, 0))


def compare_with_filters() -> tuple[float, float]:
    """The time of indexing 10,000 messages over that of their filters; and what both take of the text.

    Both are made session by session in turn, so that a busy machine slows both.
    """
    filters_s = index_s = 0.0
    size = filters = index = 0
    builder = SegmentBuilder()
    for seed in range(20):
        messages = list(generate_session(seed, MESSAGES, mean_bytes=MEAN_BYTES))
        texts = [searched_text(message) for message in messages]
        size += sum(len(text.encode("utf-8", "replace")) for text in texts)
        begin = time.process_time()
        for block in _blocks(texts):
            filters += sum(map(len, filters_of(block)))
        filters_s += time.process_time() - begin
        begin = time.process_time()
        for message in messages:
            builder.add(len(builder), message)
        if builder.is_full or seed == 19:
            segment, builder = builder.segment(), SegmentBuilder()
            index += len(segment.columns) + sum(map(len, segment.buckets))
        index_s += time.process_time() - begin
    print(f"{size / 1e6:.1f} MB in 10,000 messages: filters {filters_s:.2f} s, index {index_s:.2f} s")
    print(f"of the text: filters {filters / size:.3f}, index {index / size:.3f}")
    return index_s / filters_s, (filters + index) / size


def _blocks(texts: Iterable[str]) -> Iterator[str]:
    block, size = list[str](), 0
    for text in texts:
        block.append(text)
        size += len(text)
        if size >= BLOCK_BYTES:
            yield "\n".join(block)
            block, size = [], 0
    yield "\n".join(block)


def ask_all(megabytes: int) -> float:
    """Fill the index of sessions of so much text, and ask; the longest time that an agent waited for an answer."""
    project = Path.home() / ".amplifier" / "projects" / "-bench"
    for number in range(max(1, megabytes * 1_000_000 // (MESSAGES * MEAN_BYTES))):
        path = project / "sessions" / f"session-{number:05}" / "context-messages.jsonl"
        write_log(path, generate_session(number, MESSAGES, mean_bytes=MEAN_BYTES))
    files = session_files()
    size = sum(Path(session.path).stat().st_size for session in files)
    waits_s, begin = [_ask_as_an_agent("an empty index")], time.process_time()
    _fill(files, share=0.5)
    half_s = time.process_time() - begin
    waits_s.append(_ask_as_an_agent("half of the index"))
    search, begin = RankedSearch(files), time.process_time()
    search.ask(read_question(QUESTIONS[0], now=datetime.now(UTC)), most=10)
    filled_s = half_s + time.process_time() - begin
    print(
        f"{len(files):,} sessions, {size / 1e6:.0f} MB: filled in {filled_s:.1f} s ({size / 1e6 / filled_s:.1f} MB/s)"
    )
    waits_s.append(_ask_as_an_agent("all of the index"))
    took = []
    for question in QUESTIONS * 3:
        begin = time.process_time()
        answer = search.ask(read_question(question, now=datetime.now(UTC)), most=10)
        took.append(time.process_time() - begin)
    cut_off = f"; common words counted only beside rarer ones: {', '.join(answer.common)}" if answer.common else ""
    print(f"a question over them: median {statistics.median(took) * 1e3:.0f} ms{cut_off}")
    return max(waits_s)


def _fill(files: Iterable[SessionFile], share: float) -> None:
    """Fill a share of the index."""
    is_enough = False

    def tell(done: int, total: int) -> None:
        nonlocal is_enough
        is_enough = done >= share * total

    search = RankedSearch(files, progress=tell, may_go_on=lambda: not is_enough)
    search.ask(read_question(QUESTIONS[0], now=datetime.now(UTC)), most=10)


def _ask_as_an_agent(index: str) -> float:
    """Ask a server that has just begun, one question after the other; the longest time that an answer took."""
    answers, took, known = Answers(Scope(None)), list[tuple[float, float]](), list[str]()
    for question in QUESTIONS:
        begin, worked = time.perf_counter(), time.process_time()
        with only_read():
            answer = answers.search_sessions({"question": question})
        took.append((time.perf_counter() - begin, time.process_time() - worked))
        known.append(f"{answer['indexed_sessions']:,}")
    longest_s, worked_s = max(took)
    print(
        f"with {index} the longest answer took {longest_s:.2f} s, {worked_s:.2f} s of them at work; from "
        f"{', '.join(known)} of {answer['sessions']:,} sessions"
    )
    return longest_s


async def ask_one() -> float:
    """Ask in one long session; the longest time that a recall took while it was indexed."""
    path = Path.home() / "long" / "context-messages.jsonl"
    write_log(
        path, (one for seed in range(LONG // MESSAGES) for one in generate_session(seed, MESSAGES, mean_bytes=300))
    )
    async with PersistentContextManager(path) as manager:
        await manager.initialize()
        waits_s, is_whole = list[float](), False
        while not is_whole:
            begin = time.perf_counter()
            page = await manager.recall(query=QUESTIONS[0])
            waits_s.append(time.perf_counter() - begin)
            is_whole = "ranked so far" not in page.output
        took = []
        for question in QUESTIONS * 3:
            begin = time.process_time()
            await manager.recall(query=question)
            took.append(time.process_time() - begin)
    took_ms = statistics.median(took) * 1e3
    print(
        f"a session of {LONG:,} messages: whole after {len(waits_s)} recalls, of which the longest took "
        f"{max(waits_s):.2f} s; a recall then {took_ms:.0f} ms"
    )
    return max(waits_s)


@contextlib.contextmanager
def busy_machine(processes: int) -> Iterator[None]:
    """Let other processes work."""
    others = [multiprocessing.get_context("spawn").Process(target=_work, daemon=True) for _ in range(processes)]
    for other in others:
        other.start()
    try:
        yield
    finally:
        for other in others:
            other.kill()


def _work() -> None:
    while True:
        sum(range(100_000))


def main() -> int:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, default=20)
    parser.add_argument("--long", action="store_true", help="Also ask in one session of 100,000 messages.")
    parser.add_argument("--load", type=int, default=0, help="So many other processes work meanwhile.")
    chosen = parser.parse_args()
    ratio, share = compare_with_filters()
    print(f"index over filters {ratio:.2f} (at most {MOST_RATIO}); both {share:.3f} of the text (at most {MOST_SHARE})")
    with tempfile.TemporaryDirectory() as home, busy_machine(chosen.load):
        os.environ["HOME"] = home
        wait_s = ask_all(chosen.megabytes)
        if chosen.long:
            wait_s = max(wait_s, asyncio.run(ask_one()))
    print(f"the longest answer took {wait_s:.2f} s (at most {MOST_WAIT_S:.0f})")
    return 0 if ratio <= MOST_RATIO and share <= MOST_SHARE and wait_s <= MOST_WAIT_S else 1


if __name__ == "__main__":
    sys.exit(main())
