"""What a session's length costs: logs of 1,000 to 1,000,000 messages, against an empty session.

Every measurement is made in a process of its own, and every round takes all sizes one after the other, so that what
else the machine does falls on all of them; figures are medians of the rounds. Each log holds a plan, as a session that
went on leaves it. Printed, for each size: process start to the first view, with a snapshot and (`cold`) without; the
memory that the process held at most; appends and requests of a session that goes on; and the first line of commands.

    python -m benchmarks.scale [--most N] [--rounds N] [--json]

Whole-process times hold the start of Python and the loading of a vocabulary; what a session's length adds is the
difference to `empty`. The growth of appends and requests is measured once more in one process that goes on with the
shortest and the longest log in turns, call by call. `list` is also asked about 200 sessions that are twice as long
together as the longest one. At the end are the figures that are promised, with their limits (`benchmarks/limits.py`):
medians of each round's ratio, and of the 99th percentile that of all rounds together. The exit code is 1 if one is
missed.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Collection, Sequence
from dataclasses import asdict
from itertools import chain
from pathlib import Path
from typing import Any

from amplifier_module_context_persistent.log.checksum import seal
from amplifier_module_context_persistent.log.record_line import FORMAT_VERSION, encode_control, encode_message
from benchmarks.conversation import messages
from benchmarks.limits import LIMITS, most
from benchmarks.measure import Figure, compile_package, table_of
from benchmarks.session_turns import APPENDS, BUDGET_TOKENS, REQUESTS, take_turns

__all__ = ["go_on", "main", "take_turns", "view", "write"]

SIZES = (1_000, 10_000, 100_000, 1_000_000)
SESSIONS, SHARE = 200, 100
"""`list` is asked about so many sessions, each with this part of the messages of the longest one."""
COMMANDS = {
    "--help": ["--help"],
    "tail": ["tail", "{log}"],
    "list": ["list", "{directory}"],
    "show --range -3:": ["show", "{log}", "--range", "-3:"],
    "show --turn -1": ["show", "{log}", "--turn", "-1"],
    "stats": ["stats", "{log}"],
    "views": ["views", "{log}"],
    "search": ["search", "#7 ", "{log}"],
}
_PROMISED = ("list", "show --turn -1", "stats", "search")
"""The commands whose first lines have a limit."""
_COMMAND = "from amplifier_module_context_persistent.toolbox.cli import main; main()"
_SELF = "from benchmarks.scale import {}; {}(*__import__('sys').argv[1:])"


def write(path: str, count: int) -> None:
    """Write a log of so many messages, and let a session make a plan and close it."""
    seed = 0
    with open(path, "wb") as log:
        header = encode_control("header", version=FORMAT_VERSION, log_id="scale", session_id="scale")
        line, seed = seal(header, seed)
        log.write(line)
        for number, message in enumerate(messages(count)):
            body = encode_message(message, message_id=f"m{number:08d}", timestamp="2026-01-05T09:00:00.000Z")
            line, seed = seal(body, seed)
            log.write(line)
    os.chmod(path, 0o600)
    asyncio.run(_go_on(path))


async def _go_on(path: str, appends: int = 1, requests: int = 1) -> dict[str, float]:
    """Go on with a session: microseconds of an append (median, mean and 99th percentile) and of a request."""
    from amplifier_module_context_persistent import PersistentContextManager

    async with PersistentContextManager(path, session_id="scale", max_tokens=BUDGET_TOKENS) as manager:
        await manager.get_messages_for_request()
        appended, asked = [], []
        for number in range(appends):
            began = time.perf_counter()
            await manager.add_message(
                {"role": "user" if number % 2 else "assistant", "content": f"word {number} " * 40}
            )
            appended.append(time.perf_counter() - began)
            if number % (appends // requests) == 0:
                began = time.perf_counter()
                await manager.get_messages_for_request()
                asked.append(time.perf_counter() - began)
    appended.sort()
    return {
        "append_us": statistics.median(appended) * 1e6,
        "append_mean_us": statistics.fmean(appended) * 1e6,
        "append_99_us": appended[int(0.99 * len(appended))] * 1e6,
        "request_us": statistics.median(asked) * 1e6,
    }


def peak_mb() -> float:
    """The most memory that this process held (Linux); what its parent held before it is no part of it."""
    (line,) = (line for line in Path("/proc/self/status").read_text(encoding="ascii").split("\n") if "VmHWM" in line)
    return int(line.split()[1]) / 1024


def view(path: str) -> None:
    """The first view of a session; prints the most memory that the process held."""
    from amplifier_module_context_persistent import PersistentContextManager

    async def first() -> None:
        manager = PersistentContextManager(path, session_id="scale", max_tokens=BUDGET_TOKENS)
        await manager.get_messages_for_request()
        print(json.dumps({"peak_mb": peak_mb()}), flush=True)
        os._exit(0)  # what a close costs is no part of it

    asyncio.run(first())


def go_on(path: str) -> None:
    """Print what appends and requests take."""
    print(json.dumps(asyncio.run(_go_on(path, APPENDS, REQUESTS))))


def run(name: str, *paths: str) -> dict[str, Any]:
    """Run a function of this module in a process of its own; what it prints, and its seconds."""
    start = time.perf_counter()
    done = subprocess.run([sys.executable, "-c", _SELF.format(name, name), *paths], stdout=subprocess.PIPE, check=True)
    told: dict[str, Any] = json.loads(done.stdout)
    return {**told, "seconds": time.perf_counter() - start}


def first_line(arguments: list[str]) -> float:
    """Seconds to a command's first line."""
    start = time.perf_counter()
    process = subprocess.Popen([sys.executable, "-c", _COMMAND, *arguments], stdout=subprocess.PIPE)
    assert process.stdout is not None
    for _ in range(2 if arguments[0] == "list" else 1):  # the heads of the columns say nothing yet
        process.stdout.readline()
    seconds = time.perf_counter() - start
    process.stdout.close()
    process.wait()
    return seconds


def write_many(directory: Path, count: int) -> None:
    """Write many sessions of so many messages each, with the catalogues that `list` writes."""
    directory.mkdir()
    first = directory / "session-0.jsonl"
    write(str(first), count)
    for number in range(1, SESSIONS):
        shutil.copy2(first, directory / f"session-{number}.jsonl")
    subprocess.run([sys.executable, "-c", _COMMAND, "list", str(directory)], check=True, stdout=subprocess.DEVNULL)


def measure(log: str, commands: Collection[str] = COMMANDS, *, goes_on: bool = True) -> dict[str, float]:
    """One round of one log.

    Args:
        log: its path.
        commands: those whose first line is waited for.
        goes_on: whether appends and requests are measured.
    """
    catalogue, aside = f"{log}.catalogue", f"{log}.aside"
    if os.path.dirname(log).endswith("/0"):  # the empty one, to which the round before appended
        os.truncate(log, 0)
        with contextlib.suppress(FileNotFoundError):
            os.remove(catalogue)
    found = {}
    for name in ("warm", "cold"):
        if name == "cold" and os.path.exists(catalogue):
            os.rename(catalogue, aside)
        told = run("view", log)
        found |= {f"{name}_s": told["seconds"], f"{name}_mb": told["peak_mb"]}
        if os.path.exists(aside):
            with contextlib.suppress(FileNotFoundError):  # it would be rolled back into the other catalogue
                os.remove(f"{catalogue}-journal")
            os.rename(aside, catalogue)
    if goes_on:
        told = run("go_on", log)
        found |= {name: value for name, value in told.items() if name != "seconds"}
    if commands:  # a command answers at once when the catalogue knows the log
        subprocess.run([sys.executable, "-c", _COMMAND, "stats", log], check=True, stdout=subprocess.DEVNULL)
    for name in commands:
        asked = [part.format(log=log, directory=os.path.dirname(log)) for part in COMMANDS[name]]
        found[f"{name} s"] = first_line(asked)
    return found


def main(arguments: list[str] | None = None) -> int:
    """Measure interleaved, and print a table or JSON."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--most", type=int, default=SIZES[-1], help="the largest log")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    rounds, turns = take_rounds([size for size in SIZES if size <= options.most], options.rounds)
    rows = {
        name: {key: statistics.median(one[name][key] for one in rounds) for key in rounds[0]["empty"]}
        for name in rounds[0]
    }
    figures = promised(rounds, turns)
    if options.json:
        print(json.dumps({"rows": rows, "figures": list(map(asdict, figures))}))
    else:
        print(f"{table(rows)}\n\n{table_of(figures)}")
    return 0 if all(one.holds for one in figures) else 1


def take_rounds(
    sizes: Sequence[int], count: int, *, only_promised: bool = False
) -> tuple[list[dict[str, dict[str, float]]], list[dict[str, Any]]]:
    """Write a log of each size; of each round the figures of each log, and what `take_turns` printed of two of them.

    Args:
        sizes: of the logs.
        count: how many rounds there are.
        only_promised: measure what `promised` needs: commands with the longest log, no table.
    """
    compile_package()
    with tempfile.TemporaryDirectory() as scratch:
        logs: dict[str, str] = {}
        for size in (0, *sizes):
            directory = Path(scratch, str(size))
            directory.mkdir()
            logs[f"{size:,}" if size else "empty"] = path = str(directory / "context-messages.jsonl")
            if size:
                write(path, size)
            else:
                Path(path).touch(0o600)
        rounds, turns, paths = [], [], list(logs.values())
        longest, ends = list(logs)[-1], tuple(dict.fromkeys((paths[1], paths[-1])))
        write_many(Path(scratch, "many"), sizes[-1] // SHARE)
        for _ in range(count):
            rounds.append({})
            for name, log in logs.items():
                if only_promised:
                    commands = ("--help", *_PROMISED) if name == longest else ()
                    rounds[-1][name] = measure(log, commands, goes_on=False)
                else:
                    rounds[-1][name] = measure(log)
            rounds[-1][longest]["list many s"] = first_line(["list", str(Path(scratch, "many"))])
            turns.append(run("take_turns", *ends))
        return rounds, turns


def promised(rounds: list[dict[str, dict[str, float]]], turns: list[dict[str, Any]]) -> list[Figure]:
    """What is promised of logs of several sizes.

    Args:
        rounds: of each round, the figures of each log, from none to the longest one.
        turns: of each round, what `take_turns` printed of the shortest and the longest log.
    """
    names = list(rounds[0])
    empty, long = names[0], names[-1]

    def median(key: str, name: str) -> float:
        return statistics.median(one[name][key] for one in rounds)

    def against(name: str, key: str, of: str, other: str, unit: str = "s") -> Figure:
        ratio = statistics.median(one[of][key] / one[other][key] for one in rounds)
        sides = (f"{median(key, side):,.2f} {unit}" for side in (of, other))
        return Figure(name, *sides, ratio, most(name))

    figures = [
        against(f"first view, {name}{without}", key, name, empty)
        for name in names
        for without, key in (("", "warm_s"), (", without a catalogue", "cold_s"))
        if f"first view, {name}" in LIMITS
    ]
    more_mb = statistics.median(one[long]["warm_mb"] - one[empty]["warm_mb"] for one in rounds)
    memory, sides = "first view, memory, MB", (f"{median('warm_mb', side):,.0f} MB" for side in (long, empty))
    figures += [Figure(memory, *sides, more_mb, most(memory)), *_grown(turns)]
    for command in (*_PROMISED, "list many"):
        seconds, help_s = median(f"{command} s", long), median("--help s", long)
        later = statistics.median(one[long][f"{command} s"] - one[long]["--help s"] for one in rounds)
        sides = f"{seconds:,.2f} s", f"--help {help_s:,.2f}"
        figures.append(Figure(f"first line of {command}, s", *sides, later, most("first line, s")))
    return figures


def _grown(turns: list[dict[str, Any]]) -> list[Figure]:
    """What appends and requests take in the longest log against the shortest one."""

    def grown(name: str, kind: str) -> Figure:
        pairs = [(statistics.median(one[kind][-1]), statistics.median(one[kind][0])) for one in turns]
        ratio = statistics.median(long / short for long, short in pairs)
        ours, theirs = map(statistics.median, zip(*pairs, strict=True))
        return Figure(name, f"{ours:,.1f} us", f"{theirs:,.1f} us", ratio, most(name))

    pooled = [sorted(chain.from_iterable(one["append"][at] for one in turns)) for at in (-1, 0)]
    slow = [times[int(0.99 * len(times))] for times in pooled]
    rare, sides = "append, long log, 99th percentile", (f"{us:,.1f} us" for us in slow)
    return [
        grown("append, long log, mean", "append"),
        Figure(rare, *sides, slow[0] / slow[1], most(rare)),
        grown("request, long log", "request"),
    ]


def table(rows: dict[str, dict[str, float]]) -> str:
    """The figures, and the ratio of the largest log to the smallest one and to none."""
    names = list(rows)
    lines = [f"{'':20}" + "".join(f"{name:>12}" for name in names) + f"{'last/first':>12}{'last/empty':>12}"]
    for key in rows[names[0]]:
        values = [rows[name][key] for name in names]
        ratios = [values[-1] / values[1] if len(values) > 1 else 1.0, values[-1] / values[0]]
        lines.append(
            f"{key:20}" + "".join(f"{value:12,.3g}" for value in values) + "".join(f"{r:12.2f}" for r in ratios)
        )
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
