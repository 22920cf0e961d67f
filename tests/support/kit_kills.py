"""Agents of real kits that are killed: what they were told is stored is there once, and requests keep their beginning.

    python -m tests.support.kit_kills KIT PLACE --kills N --seed S [--window TOKENS] [--between-turns | --at-once 2]

KIT is a module of `tests.support`, `KIT_kills`, with `run(place, window_tokens)`, which runs an agent until it is
killed, and `stored(place)`, which gives what its session holds. PLACE is a directory or the URL of a database. An agent
is forked from a process that has imported its kit, so that a kill costs milliseconds. It notes what was acknowledged,
what the made-up model refused (`note`) and each request (`note_request`), and says when a turn is over
(`turn_is_over`). It is killed at a random moment, alone or beside another agent of the same session, or between two
turns: then its directory is copied, it makes one more request and is killed, and the next process goes on from the
copy. The first request of that one has to be the same.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import importlib
import itertools
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
import traceback
from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tests.support.places import ROOT

STORED, REFUSED, REQUEST, EXPECTED, COPIED = "stored", "refused", "request", "expected", "copied"


@dataclass
class Told:
    """What the killed agents were told, and what became of it."""

    kills: int = 0
    acknowledged: int = 0
    lost: int = 0
    doubled: int = 0
    refused: int = 0
    planned: int = 0
    """Requests that do not begin with the one before them, of the same process."""
    different: int = 0
    """First requests of a process that are not the one which the killed process would have made."""


def kill_again_and_again(kit: str, place: Path | str, *options: str, kills: int, seed: int) -> Told:
    """Run agents of a kit on one session, and kill each at a random moment, or as `options` of the command say."""
    command = [sys.executable, "-m", "tests.support.kit_kills", kit, str(place)]
    numbers = ["--kills", str(kills), "--seed", str(seed)]
    run = subprocess.run([*command, *numbers, *options], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    return Told(**json.loads(run.stdout.splitlines()[-1]))


def assert_the_next_process_asks_the_same(kit: str, directory: Path, *, kills: int) -> None:
    """Kill agents between their turns: plans come and go, and the next process sends what the killed one would have."""
    told = kill_again_and_again(kit, directory, "--between-turns", "--window", "8000", kills=kills, seed=4)
    print(told)
    assert told.planned > 0
    assert told.different == told.lost == told.doubled == told.refused == 0


_notes = -1
"""Where a forked agent notes what it is told."""
_who = 0
"""Which of the agents that run at once this one is."""
_turns = 0
"""The turns that are still to be played; below 1 if the parent kills."""
_copied = False


def note(kind: str, item: Any) -> None:
    """Tell whoever kills this process what was acknowledged or refused."""
    os.write(_notes, f"{kind} {json.dumps(item, sort_keys=True)}\n".encode())


def note_request(texts: list[str]) -> None:
    """Tell of a request, by the digests of its parts; be killed if it is the one after the last turn."""
    note(EXPECTED if _copied else REQUEST, [hashlib.sha256(text.encode()).hexdigest()[:12] for text in texts])
    if _copied:
        os.kill(os.getpid(), signal.SIGKILL)


def who() -> int:
    """Which of the agents that run at once this one is: its questions are its own."""
    return _who


def turn_is_over(directory: str) -> None:
    """Copy the directory, if enough turns were played: the next request is the last one."""
    global _turns, _copied
    _turns -= 1
    if _turns == 0:
        shutil.copytree(directory, _copy_of(directory))
        _copied = True
        note(COPIED, None)


def _copy_of(directory: str) -> Path:
    return Path(f"{directory}-copy")


def _start(kit: str, place: str, turns: int, window_tokens: int, number: int) -> tuple[int, int]:
    global _notes, _turns, _who
    _turns, _who = turns, number
    notes, _notes = os.pipe()
    pid = os.fork()
    if pid:
        os.close(_notes)
        return pid, notes
    try:
        os.close(notes)
        asyncio.run(importlib.import_module(f"tests.support.{kit}_kills").run(place, window_tokens))
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(1)


def _killed(pid: int, notes: int, lines: int, wait_s: float, *, by_itself: bool) -> list[str]:
    read = b""
    while not by_itself and _told_of(read) < lines and (piece := os.read(notes, 1 << 16)):
        read += piece
    if not by_itself:
        time.sleep(wait_s)
        os.kill(pid, signal.SIGKILL)
    while piece := os.read(notes, 1 << 16):
        read += piece
    os.close(notes)
    _, status = os.waitpid(pid, 0)
    assert os.WIFSIGNALED(status), f"the agent ended by itself: {read[-500:]!r}"
    return read.decode().split("\n")[:-1]


def _told_of(read: bytes) -> int:
    return read.count(b"\n") - read.count(f"{REQUEST} ".encode())


def _compare(told: Told, expected: list[str], lines: list[str]) -> list[str]:
    """Compare the first request of a process with the expected one; what is expected of the next process."""
    requests = [json.loads(line.removeprefix(REQUEST)) for line in lines if line.startswith(REQUEST)]
    told.different += bool(expected) and requests[0] != expected
    told.planned += sum(after[: len(before)] != before for before, after in itertools.pairwise(requests))
    return next((json.loads(line.removeprefix(EXPECTED)) for line in lines if line.startswith(EXPECTED)), [])


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("kit")
    parser.add_argument("place")
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--window", type=int, default=20_000)
    parser.add_argument("--between-turns", action="store_true")
    parser.add_argument("--at-once", type=int, default=1)
    options = parser.parse_args()
    module = importlib.import_module(f"tests.support.{options.kit}_kills")
    rng, told, noted = random.Random(options.seed), Told(), list[str]()
    expected: list[str] = []
    for _ in range(-(-options.kills // options.at_once)):
        turns = rng.randint(1, 5) if options.between_turns else 0
        agents = [_start(options.kit, options.place, turns, options.window, n) for n in range(options.at_once)]
        for pid, notes in agents:
            lines = _killed(pid, notes, rng.randint(1, 12), rng.random() * 0.03, by_itself=turns > 0)
            told.kills += 1
            expected = _compare(told, expected, lines)
            if turns:
                lines = lines[: lines.index(f"{COPIED} null")]
                shutil.rmtree(options.place)
                _copy_of(options.place).rename(options.place)
            told.refused += sum(line.startswith(REFUSED) for line in lines)
            noted += [line.removeprefix(f"{STORED} ") for line in lines if line.startswith(STORED)]
    stored = Counter(asyncio.run(module.stored(options.place)))
    told.acknowledged = len(noted)
    told.lost = sum(item not in stored for item in noted)
    told.doubled = sum(count - 1 for count in stored.values())
    print(json.dumps(asdict(told)))


if __name__ == "__main__":
    import tests.support.kit_kills as own  # the one that agents import

    own.main()
