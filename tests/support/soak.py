"""A soak: real writer processes are killed for a while, and what they acknowledged is looked for after every round.

    python -m tests.support.soak --seconds 600 --seed 1 --writers 3

A round begins a new log. Several writers at a time (`tests.support.writer`), with messages from ten bytes to
megabytes, are killed with SIGKILL at random moments, again and again on the same log; every fifth round they replace
the history instead of appending. Then the log is read: what was acknowledged is there, once, in each writer's order,
whole, and the chain verifies. Prints counts as it goes; exits with 1 at the first loss, and leaves that log where it
is.
"""

import argparse
import os
import random
import select
import shutil
import signal
import sys
import tempfile
import time
from dataclasses import dataclass, field

from amplifier_module_context_persistent.log.file_log import FileLog
from tests.support.logs import assert_sound, number_of, saved_tails
from tests.support.writer import NUMBERS_EACH, notes_of, start

KILLS_A_ROUND = 60
MOST_BYTES = 48 << 20  # a larger log ends its round


@dataclass
class Counts:
    """What was done so far."""

    rounds: int = 0
    kills: int = 0
    begun: int = 0
    acknowledged: int = 0
    torn_tails: int = 0
    most_bytes: int = 0
    lost: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return (
            f"rounds {self.rounds}, kills {self.kills}, begun {self.begun}, acknowledged {self.acknowledged}, "
            f"torn tails saved {self.torn_tails}, largest log {self.most_bytes:,} bytes, lost {len(self.lost)}"
        )


def play_round(path: str, kind: str, writers: int, rng: random.Random, deadline: float, counts: Counts) -> None:
    """Kill writers on one log, then check it."""
    told: list[tuple[list[int], list[int]]] = []
    first = 0
    while len(told) < KILLS_A_ROUND and time.monotonic() < deadline:
        started = []
        for _ in range(rng.randint(1, writers)):
            started.append(start(path, kind, first, rng.getrandbits(32)))
            first += NUMBERS_EACH
        if rng.random() < 0.8:  # otherwise it may be killed while it opens the log
            select.select([notes for _, notes in started], [], [], 5)
        time.sleep(rng.uniform(0.0, 0.03))
        for pid, _ in started:
            os.kill(pid, signal.SIGKILL)
        for pid, notes in started:
            status = os.waitpid(pid, 0)[1]
            if not os.WIFSIGNALED(status):
                counts.lost.append(f"a writer ended by itself with {status}")
            told.append(notes_of(notes))
        if os.path.exists(path) and os.path.getsize(path) > MOST_BYTES:
            break
    counts.rounds += 1
    counts.kills += len(told)
    counts.begun += sum(len(begun) for begun, _ in told)
    counts.acknowledged += sum(len(acknowledged) for _, acknowledged in told)
    counts.lost += check(path, kind, told)
    if os.path.exists(path):
        counts.most_bytes = max(counts.most_bytes, os.path.getsize(path))
        counts.torn_tails += len(saved_tails(path))


def check(path: str, kind: str, told: list[tuple[list[int], list[int]]]) -> list[str]:
    """Say what is wrong with a log whose writers told this, a sentence each."""
    log = FileLog(path)
    log.follow()
    stored = [number_of(message) for message in log.read(log.index.live)]
    wrong = [f"damage: {found}" for found in log.index.damage]
    if log.describe().exists:
        log.repair()
        assert_sound(path)
    log.close()
    if kind == "resets":
        newest = max((number for _, acknowledged in told for number in acknowledged[-1:]), default=-1)
        if len(set(stored)) > 1 or len(stored) not in (0, 2) or (newest >= 0 and not stored):
            wrong.append(f"a reset is in force by halves: {stored[:5]}")
        everything = {number for begun, _ in told for number in begun}
        return wrong + [f"{number} was never begun" for number in set(stored) - everything]
    if len(set(stored)) != len(stored):
        wrong.append("a message is stored twice")
    here: dict[int, list[int]] = {}
    for number in stored:
        here.setdefault(number // NUMBERS_EACH, []).append(number)
    for begun, acknowledged in told:
        own = here.get(begun[0] // NUMBERS_EACH, []) if begun else []
        wrong += [f"{number} was acknowledged and is not there" for number in set(acknowledged) - set(own)]
        if own != begun[: len(own)]:
            wrong.append(f"a writer's order is not kept: {own[:5]} of {begun[:5]}")
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--writers", type=int, default=3, help="at most so many at a time on one log")
    parser.add_argument("--kills", type=int, help="stop after so many")
    options = parser.parse_args()
    rng, counts = random.Random(options.seed), Counts()
    begin = time.monotonic()
    deadline = begin + options.seconds
    while time.monotonic() < deadline and (options.kills is None or counts.kills < options.kills):
        directory = tempfile.mkdtemp(prefix="context-persistent-soak-")
        kind = "resets" if counts.rounds % 5 == 4 else "plain"
        play_round(os.path.join(directory, "log.jsonl"), kind, options.writers, rng, deadline, counts)
        if counts.lost:
            print(f"LOST, see {directory}:", *counts.lost[:20], sep="\n  ", flush=True)
            break
        shutil.rmtree(directory)
        if counts.rounds % 10 == 0:
            print(f"{time.monotonic() - begin:.0f} s: {counts}", flush=True)
    print(f"seed {options.seed}, {time.monotonic() - begin:.0f} s: {counts}", flush=True)
    return 1 if counts.lost else 0


if __name__ == "__main__":
    sys.exit(main())
