"""What a session's length costs: logs of 1,000 to 1,000,000 messages, against an empty session.

Every measurement is made in a process of its own, and every round takes all sizes one after the other, so that what
else the machine does falls on all of them; figures are medians of the rounds. Each log holds a plan, as a session that
went on leaves it. Printed, for each size: process start to the first view, with a snapshot and (`cold`) without; the
memory that the process held at most; appends and requests of a session that goes on; and the first line of commands.

    python -m benchmarks.scale [--most N] [--rounds N] [--json]

Whole-process times hold the start of Python and the loading of a vocabulary; what a session's length adds is the
difference to `empty`. The growth of appends and requests is measured once more in one process that goes on with the
shortest and the longest log in turns, call by call. `list` is also asked about 200 sessions that are twice as long
together as the longest one. At the end stand the ratios that are promised, with their limits: the median of each
round's ratio, and of the 99th percentile that of all rounds together. The exit code is 1 if one is missed.
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
from collections.abc import Callable
from itertools import chain
from pathlib import Path
from typing import Any

from amplifier_module_context_persistent.log.record_line import FORMAT_VERSION, encode_control, encode_message, seal
from benchmarks.conversation import messages
from benchmarks.measure import compile_package
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
}
WITHIN_OF_HELP_S = 0.3
"""How much later than that of `--help` the first line of a command may come that prints a few lines."""
_COMMAND = "from amplifier_module_context_persistent.toolbox.cli import main; main()"
_SELF = "from benchmarks.scale import {}; {}(*__import__('sys').argv[1:])"


def write(path: str, count: int) -> None:
    """Write a log of so many messages; let a session make a plan and close it, and `stats` fill the catalogue."""
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
    subprocess.run([sys.executable, "-c", _COMMAND, "stats", path], check=True, stdout=subprocess.DEVNULL)


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


def measure(log: str) -> dict[str, float]:
    """One round of one log."""
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
            os.rename(aside, catalogue)
    told = run("go_on", log)
    found |= {name: value for name, value in told.items() if name != "seconds"}
    subprocess.run([sys.executable, "-c", _COMMAND, "stats", log], check=True, stdout=subprocess.DEVNULL)  # what is new
    for name, arguments in COMMANDS.items():
        asked = [part.format(log=log, directory=os.path.dirname(log)) for part in arguments]
        found[f"{name} s"] = first_line(asked)
    return found


def main(arguments: list[str] | None = None) -> int:
    """Measure interleaved, and print a table or JSON."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--most", type=int, default=SIZES[-1], help="the largest log")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    compile_package()
    with tempfile.TemporaryDirectory() as scratch:
        logs: dict[str, str] = {}
        for count in (0, *(size for size in SIZES if size <= options.most)):
            directory = Path(scratch, str(count))
            directory.mkdir()
            logs[f"{count:,}" if count else "empty"] = path = str(directory / "context-messages.jsonl")
            if count:
                write(path, count)
            else:
                Path(path).touch(0o600)
        rounds, turns, paths = [], [], list(logs.values())
        longest, ends = list(logs)[-1], tuple(dict.fromkeys((paths[1], paths[-1])))
        write_many(Path(scratch, "many"), options.most // SHARE)
        for _ in range(options.rounds):
            rounds.append({name: measure(log) for name, log in logs.items()})
            rounds[-1][longest]["list many s"] = first_line(["list", str(Path(scratch, "many"))])
            turns.append(run("take_turns", *ends))
    rows = {
        name: {key: statistics.median(one[name][key] for one in rounds) for key in rounds[0]["empty"]} for name in logs
    }
    ratios = promised(rounds, turns)
    print(json.dumps({"rows": rows, "ratios": ratios}) if options.json else f"{table(rows)}\n\n{limits(ratios)}")
    return 0 if all(found <= limit for found, limit in ratios.values()) else 1


def promised(rounds: list[dict[str, dict[str, float]]], turns: list[dict[str, Any]]) -> dict[str, tuple[float, float]]:
    """What is promised of the longest log, by name: what was found, and the limit.

    Args:
        rounds: of each round, the figures of each log, from none to the longest one.
        turns: of each round, what `take_turns` printed of the shortest and the longest log.
    """
    names = list(rounds[0])
    empty, short, long = names[0], names[1], names[-1]

    def median(figure: Callable[[dict[str, dict[str, float]]], float]) -> float:
        return statistics.median(map(figure, rounds))

    def grown(kind: str) -> float:
        return statistics.median(statistics.median(one[kind][-1]) / statistics.median(one[kind][0]) for one in turns)

    pooled = [sorted(chain.from_iterable(one["append"][at] for one in turns)) for at in (0, -1)]
    slow = [times[int(0.99 * len(times))] for times in pooled]
    found = {
        f"first view of {long} / (1.5 x none + 50 ms)": (
            median(lambda one: one[long]["warm_s"] / (1.5 * one[empty]["warm_s"] + 0.05)),
            1.0,
        ),
        f"memory of the first view of {long}, MB over none": (
            median(lambda one: one[long]["warm_mb"] - one[empty]["warm_mb"]),
            45.0,
        ),
        f"resume with a snapshot, {long} / {short}": (
            median(lambda one: one[long]["warm_s"] / one[short]["warm_s"]),
            2.0,
        ),
        f"append, {long} / {short}": (grown("append"), 1.1),
        "its 99th percentile": (slow[1] / slow[0], 1.5),
        f"request, {long} / {short}": (grown("request"), 1.3),
    }
    for command in ("list", "list many", "show --turn -1", "stats"):
        later = median(lambda one, command=command: one[long][f"{command} s"] - one[long]["--help s"])
        found[f"first line of {command}, s after that of --help"] = (later, WITHIN_OF_HELP_S)
    return found


def limits(ratios: dict[str, tuple[float, float]]) -> str:
    """The promised ratios with their limits."""
    width = max(map(len, ratios))
    lines = [f"{'':{width}}{'found':>9}{'limit':>8}"]
    for name, (found, limit) in ratios.items():
        lines.append(f"{name:{width}}{found:9.2f}{limit:8.2f}  {'met' if found <= limit else 'MISSED'}")
    return "\n".join(lines)


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
