"""The longest pause of 10,000 appends while others use the catalogue of the same project.

    python -m benchmarks.pauses [--appends N]

A session appends, without a sync, to a log of 100,000 messages: alone, and while `stats --all`, `search` and another
session of the project run again and again in processes of their own. Printed are the longest append, the 99.9th
percentile and the median of both, in milliseconds. The exit code is 1 if the longest one beside the others takes over
50 ms more than alone.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from itertools import repeat
from pathlib import Path

from amplifier_module_context_persistent.catalogue.index_snapshots import CatalogueSnapshots
from amplifier_module_context_persistent.log.file import FileLog
from amplifier_module_context_persistent.log.record_line import encode_message
from amplifier_module_context_persistent.paths import project_slug
from benchmarks.limits import most
from benchmarks.measure import Figure
from benchmarks.sessions import write_log

MESSAGES = 100_000
MESSAGE = {"role": "user", "content": "The test fails since the total is rounded before the coupon is taken off. " * 8}
_COMMAND = "from amplifier_module_context_persistent.toolbox.cli import main; main()"
_WRITER = "import sys; from benchmarks.pauses import appends; appends(sys.argv[1], 200)"


def appends(path: str, count: int) -> list[float]:
    """Go on with a session; the milliseconds of its appends, shortest first."""
    times = []
    with closing(FileLog(path, durability="write", snapshots=CatalogueSnapshots(wait_s=0))) as log:
        log.follow()
        for number in range(count):
            body = encode_message(MESSAGE, message_id=f"{os.getpid()}-{number}", timestamp="2026-01-05T09:00:00.000Z")
            began = time.perf_counter()
            log.append([lambda _, body=body: [body]])
            times.append((time.perf_counter() - began) * 1e3)
    return sorted(times)


def measure(count: int) -> dict[str, list[float]]:
    """The milliseconds of appends, alone and beside the others."""
    with tempfile.TemporaryDirectory() as home:
        sessions = Path(home, ".amplifier", "projects", project_slug(home), "sessions")
        paths = [sessions / name / "context-messages.jsonl" for name in ("one", "two")]
        for path in paths:
            path.parent.mkdir(parents=True)
            write_log(str(path), repeat(MESSAGE, MESSAGES))
        told = {"alone": appends(str(paths[0]), count)}
        others = [
            ["-c", _COMMAND, "stats", "--all"],
            ["-c", _COMMAND, "search", "coupon", "-c"],
            ["-c", _WRITER, str(paths[1])],
        ]
        environment = {**os.environ, "HOME": home, "PYTHONPATH": os.pathsep.join([os.getcwd(), *sys.path])}
        loop = "import subprocess as s, sys\nwhile 1: s.run([sys.executable, *sys.argv[1:]], stdout=s.DEVNULL)"
        running = [
            subprocess.Popen([sys.executable, "-c", loop, *other], cwd=home, env=environment, start_new_session=True)
            for other in others
        ]
        try:
            told["beside others"] = appends(str(paths[0]), count)
        finally:
            for one in running:
                os.killpg(one.pid, 9)
                one.wait()
    return told


def figure(told: dict[str, list[float]]) -> Figure:
    """How much longer the longest append took beside the others."""
    alone, beside = (times[-1] for times in told.values())
    name = "pause, ms"
    return Figure(name, f"{beside:,.1f} ms", f"{alone:,.1f} ms", beside - alone, most(name))


def main(arguments: list[str] | None = None) -> int:
    """Measure, and print both."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--appends", type=int, default=10_000)
    told = measure(parser.parse_args(arguments).appends)
    for name, times in told.items():
        rare, median = times[-len(times) // 1000 - 1], times[len(times) // 2]
        print(f"{name:<14} longest {times[-1]:8.2f}  99.9% {rare:8.2f}  median {median:8.3f} ms")
    return 0 if figure(told).holds else 1


if __name__ == "__main__":
    raise SystemExit(main())
