"""What redaction costs: an export against the same export unredacted, and against an earlier revision.

A generated session is exported as JSON Lines, in a process of its own each time, all sides in turns; it is the
processor time of the best of all rounds. With `--before REVISION` the package as it was then, checked out beside this
one, exports the same session; `f25ab8d` is the last one before the forms of 2026-11 were added. With `--log FILE` that
session is exported instead.

    python -m benchmarks.redaction [--before REVISION] [--log FILE] [--messages N] [--rounds N]
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from fixtures.generate import generate_session

MOST_RATIO = 1.1
"""Of the time of an export to that of the earlier revision."""

_HERE = Path(__file__).resolve().parents[1]
_EXPORT = """
import sys, time
from amplifier_module_context_persistent.messages.secrets import redact_value
from amplifier_module_context_persistent.transcript.transcript import Transcript
from amplifier_module_context_persistent.transfer.export import Export
redact_value({"password": "x"})
with Transcript(sys.argv[1]) as transcript:
    began = time.process_time()
    export = Export(transcript, "jsonl", redact=sys.argv[2] == "redact")
    size = sum(map(len, export))
    print(time.process_time() - began, size, export.redacted)
"""


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


def seconds(tree: Path, log: str, *, redact: bool = True) -> float:
    """The processor time of an export by the package in a tree."""
    command = [sys.executable, "-c", _EXPORT, log, "redact" if redact else "leave"]
    done = subprocess.run(
        command, env={**os.environ, "PYTHONPATH": str(tree)}, cwd=tree, capture_output=True, text=True, check=True
    )
    return float(done.stdout.split()[0])


def write_session(path: str, messages: int) -> None:
    """Write a generated session as plain messages."""
    with open(path, "w", encoding="utf-8") as file:
        for message in generate_session(7, messages, mean_bytes=2_000):
            file.write(json.dumps(message) + "\n")


def main() -> int:
    """Measure; 0 if the ratio is kept."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--before", metavar="REVISION")
    parser.add_argument("--log", metavar="FILE")
    parser.add_argument("--messages", type=int, default=4_000)
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="context-persistent-") as directory, contextlib.ExitStack() as stack:
        log = os.path.abspath(given.log) if given.log else os.path.join(directory, "session.jsonl")
        if not given.log:
            write_session(log, given.messages)
        before = stack.enter_context(checked_out(given.before, directory)) if given.before else None
        times: dict[str, list[float]] = {}
        for _ in range(given.rounds):
            times.setdefault("as it is", []).append(seconds(_HERE, log, redact=False))
            times.setdefault("redacted", []).append(seconds(_HERE, log))
            if before is not None:
                times.setdefault("before", []).append(seconds(before, log))
        best = {side: min(measured) for side, measured in times.items()}
    what = f"{os.path.getsize(log_path) / 1e6:.1f} MB" if (log_path := given.log) else f"{given.messages:,} messages"
    print(f"an export of {what} as JSON Lines, seconds of processor time")
    for side, best_s in best.items():
        print(f"{side:>10}  {best_s:8.3f}")
    ratio = best["redacted"] / best["before"] if before is not None else None
    if ratio is not None:
        print(f"redacted / before: {ratio:.2f} (at most {MOST_RATIO})")
    print(json.dumps({"seconds": best, "ratio": ratio}))
    return 0 if ratio is None or ratio <= MOST_RATIO else 1


if __name__ == "__main__":
    sys.exit(main())
