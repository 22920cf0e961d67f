"""All speeds that are promised, in one run and one table, with their limits.

    python -m benchmarks.all [--most N] [--only PART ...] [--json | --markdown] [--peers DIR]
    python -m benchmarks.all --shown FILE [--markdown]      # what an earlier run told by --json

It takes about five minutes on an idle machine. Each part runs in a process of its own. Ratios are those of one run, so
that what else the machine does falls on both sides; how busy it was is told by its load. The limits, and why they are
what they are, are in `benchmarks/limits.py`. The exit code is 1 if one is missed.

`--peers` measures the stores of other packages as well (`benchmarks.peers`), with the virtual environment in DIR.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.limits import most
from benchmarks.measure import Figure, compile_package, table_of

SYNC_US = 100.0  # a sync of a quick disk, the same on every machine
PLANNED_MESSAGES = 20_000
_IMPORT_ROUNDS = 9
_MOUNTS = "import amplifier_core; from amplifier_module_context_persistent import mount, PersistentContextManager"
_PART = "import sys; from benchmarks.all import tell; tell(sys.argv[1], int(sys.argv[2]))"


@dataclass(frozen=True, slots=True)
class Run:
    """One run, and what it was run on."""

    commit: str
    machine: str
    began: str
    load: str
    """The load average of the last minute when it began and when it ended."""
    seconds: float
    figures: list[Figure] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    """The parts that could not be measured."""

    def as_json(self) -> str:
        """The run as JSON, for `from_json`."""
        return json.dumps(asdict(self), indent=1)

    @classmethod
    def from_json(cls, text: str) -> Run:
        """Read a run back."""
        told = json.loads(text)
        return cls(**{**told, "figures": [Figure(**one) for one in told["figures"]]})

    def head(self) -> str:
        """What was run, where and when."""
        return f"Commit {self.commit}, {self.machine}, {self.began}, load {self.load}, {self.seconds:,.0f} s."

    def as_text(self) -> str:
        """The table for a terminal."""
        return "\n".join([self.head(), "", table_of(self.figures), *(f"not measured: {one}" for one in self.failed)])

    def as_markdown(self) -> str:
        """The table for a page."""
        lines = ["| figure | ours | held against | found | limit | |", "| --- | ---: | ---: | ---: | ---: | --- |"]
        for one in self.figures:
            said = "" if one.holds else "missed"
            lines.append(f"| {one.name} | {one.ours} | {one.theirs} | {one.found:.2f} | {one.limit:.2f} | {said} |")
        return "\n".join([self.head(), "", *lines])


def _append(most_messages: int) -> list[Figure]:
    from benchmarks.append import SleepingSync, measure

    with tempfile.TemporaryDirectory(dir=_in_memory()) as directory:
        return list(map(Figure.of, asyncio.run(measure(directory, SleepingSync(SYNC_US)))))


def _read_back(most_messages: int) -> list[Figure]:
    from benchmarks.read_back import measure

    return list(map(Figure.of, asyncio.run(measure())))


def _planning(most_messages: int) -> list[Figure]:
    from benchmarks import planning
    from benchmarks.sessions import write_session

    figures = []
    with tempfile.TemporaryDirectory() as directory:
        written = str(Path(directory, "written.jsonl"))
        write_session(written, min(most_messages, PLANNED_MESSAGES))
        for budget in (40_000, 200_000):
            path = str(shutil.copy2(written, Path(directory, f"{budget}.jsonl")))
            made, compared = asyncio.run(planning.measure(path, budget, "estimate"))
            figures.append(Figure.of(compared))
    return [planning.plan_figure(made), *figures]


def _scale(most_messages: int) -> list[Figure]:
    from benchmarks.scale import promised, take_rounds

    sizes = [size for size in (1_000, 100_000, 1_000_000) if size <= most_messages]
    return promised(*take_rounds(sizes, 1, only_promised=True))


def _pauses(most_messages: int) -> list[Figure]:
    from benchmarks.pauses import figure, loop_figure, measure

    return [figure(measure(10_000)), loop_figure()]


def _imports(most_messages: int) -> list[Figure]:
    """How many seconds of the processor the import of the module adds to that of amplifier-core."""

    def seconds(statement: str) -> float:
        began = os.times()
        subprocess.run([sys.executable, "-c", statement], check=True)
        ended = os.times()
        return sum(ended[2:4]) - sum(began[2:4])  # of children

    name, pairs = "import, s", [(seconds(_MOUNTS), seconds("import amplifier_core")) for _ in range(_IMPORT_ROUNDS)]
    ours, core = (statistics.median(side) for side in zip(*pairs, strict=True))
    more = statistics.median(one - other for one, other in pairs)
    return [Figure(name, f"{ours:.2f} s", f"core {core:.2f} s", more, most(name))]


PARTS: dict[str, Callable[[int], list[Figure]]] = {
    "append": _append,
    "read_back": _read_back,
    "planning": _planning,
    "scale": _scale,
    "pauses": _pauses,
    "imports": _imports,
}
"""What is measured, in this order; each is told how many messages a log has at most."""


def tell(part: str, most_messages: int) -> None:
    """Print the figures of one part as JSON; what it prints besides goes to the standard error."""
    with contextlib.redirect_stdout(sys.stderr):
        figures = PARTS[part](most_messages)
    print(json.dumps(list(map(asdict, figures))))


def measured(parts: Sequence[str], most_messages: int) -> Run:
    """Measure parts, each in a process of its own."""
    compile_package()
    began, clock, load = datetime.now(UTC), time.monotonic(), _load()
    figures, failed = list[Figure](), list[str]()
    for part in parts:
        print(f"{part} ...", file=sys.stderr, flush=True)
        command = [sys.executable, "-c", _PART, part, str(most_messages)]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
        if done.returncode:
            failed.append(part)
        else:
            figures += [Figure(**one) for one in json.loads(done.stdout)]
    return Run(
        _commit(),
        f"{platform.system()} {platform.machine()}, {os.cpu_count()} processors, Python {platform.python_version()}",
        began.isoformat(timespec="minutes"),
        f"{load} to {_load()}",
        time.monotonic() - clock,
        figures,
        failed,
    )


def _load() -> str:
    return f"{os.getloadavg()[0]:.1f}"


def _commit() -> str:
    command = ["git", "describe", "--always", "--dirty", "--abbrev=8"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def _in_memory() -> str | None:
    """A directory in memory, if the system has one; else the one for temporary files."""
    return "/dev/shm" if os.path.isdir("/dev/shm") else None


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; 1 if a limit is missed or a part could not be measured."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.all", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--most", type=int, default=1_000_000, help="the messages of the longest log (1000000)")
    parser.add_argument("--only", nargs="+", choices=PARTS, metavar="PART", help=f"of {', '.join(PARTS)}")
    parser.add_argument("--shown", type=Path, metavar="FILE", help="measure nothing; show what --json told")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--markdown", action="store_true")
    parser.add_argument("--peers", metavar="DIR", help="also measure other packages' stores, installed in DIR")
    given: Any = parser.parse_args(arguments)
    if given.shown:
        run = Run.from_json(given.shown.read_text(encoding="utf-8"))
    else:
        run = measured(given.only or list(PARTS), given.most)
    print(run.as_json() if given.json else run.as_markdown() if given.markdown else run.as_text(), flush=True)
    if given.peers:
        subprocess.run([sys.executable, "-m", "benchmarks.peers", "--venv", given.peers, "--brief"], check=True)
    return 0 if not run.failed and all(one.holds for one in run.figures) else 1


if __name__ == "__main__":
    sys.exit(main())
