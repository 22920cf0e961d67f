"""Agents of real kits that are killed in the middle of their runs: what they were told is stored is there once.

    python -m tests.support.kit_kills KIT DIRECTORY --kills N --seed S

KIT is a module of `tests.support`, `KIT_kills`, with `run(directory)`, which runs an agent until it is killed, and
`stored(directory)`, which gives what its session holds. An agent is forked from a process that has imported its kit, so
that a kill costs milliseconds. It notes what was acknowledged and what the made-up model refused (`note`).
"""

from __future__ import annotations

import argparse
import asyncio
import importlib
import json
import os
import random
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

STORED, REFUSED = "stored", "refused"


@dataclass
class Told:
    """What the killed agents were told, and what became of it."""

    kills: int = 0
    acknowledged: int = 0
    lost: int = 0
    doubled: int = 0
    refused: int = 0


def kill_again_and_again(kit: str, directory: Path, *, kills: int, seed: int) -> Told:
    """Run agents of a kit on one session, and kill each at a random moment."""
    command = [sys.executable, "-m", "tests.support.kit_kills", kit, str(directory)]
    numbers = ["--kills", str(kills), "--seed", str(seed)]
    run = subprocess.run([*command, *numbers], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    return Told(**json.loads(run.stdout.splitlines()[-1]))


_notes = -1
"""Where a forked agent notes what it is told."""


def note(kind: str, item: Any) -> None:
    """Tell whoever kills this process what was acknowledged or refused."""
    os.write(_notes, f"{kind} {json.dumps(item, sort_keys=True)}\n".encode())


def _start(kit: str, directory: Path) -> tuple[int, int]:
    global _notes
    notes, _notes = os.pipe()
    pid = os.fork()
    if pid:
        os.close(_notes)
        return pid, notes
    try:
        os.close(notes)
        asyncio.run(importlib.import_module(f"tests.support.{kit}_kills").run(directory))
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(1)


def _kill_after(pid: int, notes: int, lines: int, wait_s: float) -> list[str]:
    read = b""
    while read.count(b"\n") < lines and (piece := os.read(notes, 1 << 16)):
        read += piece
    time.sleep(wait_s)
    os.kill(pid, signal.SIGKILL)
    while piece := os.read(notes, 1 << 16):
        read += piece
    os.close(notes)
    _, status = os.waitpid(pid, 0)
    assert os.WIFSIGNALED(status), f"the agent ended by itself: {read[-500:]!r}"
    return read.decode().split("\n")[:-1]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("kit")
    parser.add_argument("directory", type=Path)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    module = importlib.import_module(f"tests.support.{options.kit}_kills")
    rng, told, noted = random.Random(options.seed), Told(), list[str]()
    for _ in range(options.kills):
        pid, notes = _start(options.kit, options.directory)
        lines = _kill_after(pid, notes, rng.randint(1, 12), rng.random() * 0.03)
        told.kills += 1
        told.refused += sum(line.startswith(REFUSED) for line in lines)
        noted += [line.removeprefix(f"{STORED} ") for line in lines if line.startswith(STORED)]
    stored = Counter(asyncio.run(module.stored(options.directory)))
    told.acknowledged = len(noted)
    told.lost = sum(item not in stored for item in noted)
    told.doubled = sum(count - 1 for count in stored.values())
    print(json.dumps(asdict(told)))


if __name__ == "__main__":
    import tests.support.kit_kills as own  # the one that agents import

    own.main()
