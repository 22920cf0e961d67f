"""What the commands that read a whole session take, on 100,000 messages beside 10,000: time, and the most memory.

    python -m benchmarks.offline [--messages N] [--only compare ...] [--json FILE]

Each command runs alone in a process of its own on a session of N messages and on one of a tenth of that, both made by
`benchmarks.report.record`. Printed are processor seconds, the largest resident memory, and the ratio of both. A command
whose time grows as the messages do has a ratio near 10 in time, and one that holds none of them a small one in memory.
A ratio above its limit is said, and ends it with 1.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.report import record

MESSAGES = 100_000
TIMES = 10
"""So many times the messages of the short session has the long one."""
TIME_LIMIT = 2.0 * TIMES
"""More than the messages grow: those before the first plan cost less. What grows with the square comes to 100."""
MEMORY_LIMIT = 3.0
COMMANDS = {
    "compare": ("compare", "{log}", "--tokenizer", "estimate", "--json"),
    "replay": ("replay", "{log}", "--json"),
    "replay --views": ("replay", "{log}", "--views", "--json"),
    "report --views all": ("report", "{log}", "--views", "all", "--force", "-o", "{log}.html"),
}
_RUN = """
import resource, sys
from amplifier_module_context_persistent.toolbox.cli.main import main
code = main(sys.argv[1:], standalone_mode=False)
used = resource.getrusage(resource.RUSAGE_SELF)
print(code or 0, used.ru_utime + used.ru_stime, used.ru_maxrss, file=sys.stderr)
"""


@dataclass(frozen=True, slots=True)
class Taken:
    """What a command took."""

    command: str
    messages: int
    seconds: float
    """Of processor time."""
    most_mb: float


@dataclass(frozen=True, slots=True)
class Growth:
    """What a command takes on the long session beside the short one."""

    small: Taken
    large: Taken

    @property
    def time(self) -> float:
        """How many times the processor time."""
        return self.large.seconds / self.small.seconds

    @property
    def memory(self) -> float:
        """How many times the memory."""
        return self.large.most_mb / self.small.most_mb

    @property
    def holds(self) -> bool:
        """Whether both are within their limits."""
        return self.time <= TIME_LIMIT and self.memory <= MEMORY_LIMIT

    def lines(self) -> Iterator[str]:
        """A row for each session; the second one has the ratios."""
        small, large = self.small, self.large
        yield f"{small.command:20}{small.messages:10,}{small.seconds:10.1f}{small.most_mb:8.0f}"
        ratios = f"{self.time:8.1f}{self.memory:8.1f}{'' if self.holds else '  MISSED'}"
        yield f"{'':20}{large.messages:10,}{large.seconds:10.1f}{large.most_mb:8.0f}{ratios}"


def measure(name: str, log: Path, messages: int) -> Taken:
    """Run a command to its end.

    Raises:
        RuntimeError: it did not end well.
    """
    arguments = [one.format(log=log) for one in COMMANDS[name]]
    done = subprocess.run([sys.executable, "-c", _RUN, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    last = done.stderr.decode().strip().rpartition("\n")[2].split()
    if done.returncode or len(last) != 3 or last[0] != "0":
        raise RuntimeError(f"{name}: {done.stderr.decode()[-500:]}")
    scale = 1e6 if sys.platform == "darwin" else 1e3  # bytes there, kilobytes elsewhere
    return Taken(name, messages, float(last[1]), float(last[2]) / scale)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; 1 if a limit is missed."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.offline", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--messages", type=int, default=MESSAGES)
    parser.add_argument("--only", choices=COMMANDS, action="append", help="only this command; repeat it")
    parser.add_argument("--json", help="write all figures to this file")
    given = parser.parse_args(arguments)
    grown: list[Growth] = []
    with tempfile.TemporaryDirectory() as scratch:
        counts = (given.messages // TIMES, given.messages)
        logs = [Path(scratch, f"{count}.jsonl") for count in counts]
        for log, count in zip(logs, counts, strict=True):
            asyncio.run(record(os.fspath(log), count))
        print(f"{'':20}{'messages':>10}{'seconds':>10}{'MB':>8}{'time':>8}{'memory':>8}")
        for name in given.only or COMMANDS:
            small, large = (measure(name, log, count) for log, count in zip(logs, counts, strict=True))
            grown.append(Growth(small, large))
            print("\n".join(grown[-1].lines()), flush=True)
        print(f"{'limit':48}{TIME_LIMIT:8.1f}{MEMORY_LIMIT:8.1f}")
    if given.json:
        rows = [{**asdict(one), "time": one.time, "memory": one.memory, "holds": one.holds} for one in grown]
        Path(given.json).write_text(json.dumps(rows, indent=2), encoding="utf-8")
    return 0 if all(one.holds for one in grown) else 1


if __name__ == "__main__":
    raise SystemExit(main())
