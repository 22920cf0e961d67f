"""What it costs to scan a log: against an earlier revision, and a log of the older module against a chained one.

Logs of 100,000 short, 100,000 mixed and 50,000 long messages are scanned in full, without a snapshot; each also as
the older module wrote it, one message a line, no checksums. With `--before REVISION` the same chained files are scanned
by the package as it was then, which is checked out beside this one; `5a78178` is the last one that read without
verifying. Of the mixed one the first view is compared too (planning included, as neither has a plan), and the first
view after the session was closed, which left a plan and a snapshot. Each measurement is made in a process of its own,
both sides in turns; it is the processor time of the best of all rounds.

    python -m benchmarks.scan [--before REVISION] [--messages N] [--rounds N]
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.measure import Comparison, report
from benchmarks.scale import messages as turns
from benchmarks.sessions import write_log

BEFORE_LIMIT = 1.15
BARE_LIMIT = 6.0  # such lines are parsed one by one, by the way of any line that carries no checksum: 10 to 14 us each
_HERE = Path(__file__).resolve().parent.parent
_SCAN = """
import sys, time
try:
    from amplifier_module_context_persistent.log.reader import LogReader
    reader = LogReader(sys.argv[1])
except ImportError:
    from amplifier_module_context_persistent.reader import LogReader
    reader = LogReader(sys.argv[1])
began = time.process_time()
reader.follow()
print(time.process_time() - began)
"""
_VIEW = "from benchmarks.scan import view; view(__import__('sys').argv[1])"


def short_texts(count: int) -> Iterator[dict[str, Any]]:
    """Questions and answers of one line."""
    for number in range(count):
        yield {"role": "assistant" if number % 2 else "user", "content": f"What does test {number} say of it?"}


def long_results(count: int) -> Iterator[dict[str, Any]]:
    """Results of about 4 KB."""
    for number in range(count // 2):
        text = "\n".join(f"{line}: def f(x): return str(x) + {number!r}" for line in range(100))
        yield {"role": "tool", "tool_call_id": f"c{number}", "name": "read_file", "content": text}


SHAPES = {"short": short_texts, "mixed": turns, "long": long_results}


def write_both(directory: str, shape: str, count: int) -> tuple[str, str]:
    """Write a chained log, and the same one as the older module wrote it; their paths."""
    chained, bare = (os.path.join(directory, f"{shape}.{kind}.jsonl") for kind in ("chained", "bare"))
    write_log(chained, SHAPES[shape](count))
    with open(bare, "w", encoding="utf-8") as log:
        for message in SHAPES[shape](count):
            log.write(json.dumps({**message, "metadata": {"timestamp": "2026-01-01T00:00:00.000Z"}}) + "\n")
    for path in (chained, bare):
        os.chmod(path, 0o600)
    return chained, bare


def view(path: str) -> None:
    """Print what the first view of a session costs, from opening its log; then add a message and close it."""
    from amplifier_module_context_persistent import PersistentContextManager

    async def first() -> None:
        manager = PersistentContextManager(path, tokenizer="estimate", durability="write")
        began = time.process_time()
        await manager.get_messages_for_request()
        print(time.process_time() - began, flush=True)
        await manager.add_message({"role": "user", "content": "Go on."})
        await manager.close()

    asyncio.run(first())


def seconds(tree: Path, code: str, path: str) -> float:
    """Run code with the package of a tree on a log; what it prints."""
    environment = {**os.environ, "PYTHONPATH": str(tree)}
    command = [sys.executable, "-P", "-c", code, path]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment, cwd=tree)
    return float(done.stdout)


def compared(
    name: str, ours: tuple[str, Path, str, str], theirs: tuple[str, Path, str, str], rounds: int, limit: float
) -> Comparison:
    """Compare two runs, each given as a name, a tree, the code, and a log, which is copied anew for each round."""
    best = [float("inf"), float("inf")]
    for number in range(rounds):
        for side in (0, 1) if number % 2 else (1, 0):
            best[side] = min(best[side], seconds(*(ours, theirs)[side][1:]))
    return Comparison(name, ours[0], theirs[0], best[0] * 1e6, best[1] * 1e6, round(best[0] / best[1], 3), limit)


def views(directory: str, chained: str, bare: str, rounds: int) -> list[Comparison]:
    """The first view of a session, and the one after it was closed."""
    best = {(kind, step): float("inf") for kind in ("bare", "chained") for step in (1, 2)}
    for number in range(rounds):
        pair = (("bare", bare), ("chained", chained))
        for kind, path in pair if number % 2 else reversed(pair):
            copy = os.path.join(directory, "copy.jsonl")
            shutil.copyfile(path, copy)
            os.chmod(copy, 0o600)
            for step in (1, 2):
                best[kind, step] = min(best[kind, step], seconds(_HERE, _VIEW, copy))
            os.remove(copy + ".catalogue")
    rows = (("first view, mixed", 1, BARE_LIMIT), ("first view from a snapshot, mixed", 2, BARE_LIMIT))
    return [
        Comparison(name, "bare", "chained", one * 1e6, other * 1e6, round(one / other, 3), limit)
        for name, step, limit in rows
        for one, other in [(best["bare", step], best["chained", step])]
    ]


@contextlib.contextmanager
def checked_out(revision: str, directory: str) -> Iterator[Path]:
    """Check out a revision beside this tree."""
    tree = os.path.join(directory, "before")
    git = ["git", "-C", str(_HERE), "worktree"]
    subprocess.run([*git, "add", "--quiet", "--detach", tree, revision], check=True)
    try:
        yield Path(tree)
    finally:
        subprocess.run([*git, "remove", "--force", tree], check=True)


def main() -> int:
    """Measure; 0 if all promises are kept."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--before", metavar="REVISION")
    parser.add_argument("--messages", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    found, rounds = list[Comparison](), options.rounds
    with tempfile.TemporaryDirectory() as directory, contextlib.ExitStack() as stack:
        before = stack.enter_context(checked_out(options.before, directory)) if options.before else None
        for shape in SHAPES:
            chained, bare = write_both(directory, shape, options.messages)
            now = ("chained", _HERE, _SCAN, chained)
            if before is not None:
                then = (options.before, before, _SCAN, chained)
                found.append(compared(f"scan against {options.before}, {shape}", now, then, rounds, BEFORE_LIMIT))
            old = ("bare", _HERE, _SCAN, bare)
            found.append(compared(f"scan of a bare log, {shape}", old, now, rounds, BARE_LIMIT))
            if shape == "mixed":
                found += views(directory, chained, bare, rounds)
    return report(found)


if __name__ == "__main__":
    sys.exit(main())
