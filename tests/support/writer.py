"""Writers that are killed: each appends to a log and acknowledges what was appended, until SIGKILL ends it.

    python -m tests.support.writer PATH --kills N --seed S

With `--paced` it says before each kill that the writers are at work, and waits for a line.

Prints one JSON line for each kill: the numbers that were begun, in order, and those that were acknowledged. A writer is
forked from this process, so that a kill costs milliseconds; with `--writers` above 1 so many write at the same time.
"""

import argparse
import asyncio
import fcntl
import json
import os
import random
import select
import signal
import struct
import sys
import termios
import time
from collections.abc import Iterator

from amplifier_module_context_persistent.log.append_queue import AppendQueue
from amplifier_module_context_persistent.log.file_log import FileLog
from tests.support.logs import body, giving, reset_bodies

BEGUN, ACKNOWLEDGED = 0, 1
NOTE = struct.Struct("<Bq")
NUMBERS_EACH = 100_000


def texts(rng: random.Random) -> Iterator[str]:
    """Mostly short texts, some so long that a kill falls into their write."""
    while True:
        yield " " + "x" * rng.choice((10, 100, 300, 300, 1_000, 5_000, 5_000, 100_000, 2_000_000))


def write_plainly(path: str, first: int, rng: random.Random, note: int) -> None:
    """Append batch after batch, now and then one that is framed as a reset which keeps everything."""
    log = FileLog(path, durability=rng.choice(("fsync", "write")))
    number, text = first, texts(rng)
    while True:
        batch = []
        numbers = range(number, number + rng.randint(1, 4))
        for number in numbers:
            os.write(note, NOTE.pack(BEGUN, number))
            batch.append(giving(body(number, text=next(text))))
        for outcome in log.append(batch):
            assert isinstance(outcome, range), outcome
        os.write(note, b"".join(NOTE.pack(ACKNOWLEDGED, number) for number in numbers))
        number += 1


def write_together(path: str, first: int, rng: random.Random, note: int) -> None:
    """Append from eight tasks at once."""
    queue = AppendQueue(FileLog(path), inline=False)
    number, text = iter(range(first, first + NUMBERS_EACH)), texts(rng)

    async def task() -> None:
        while True:
            mine = next(number)
            os.write(note, NOTE.pack(BEGUN, mine))
            await queue.append(giving(body(mine, text=next(text))))
            os.write(note, NOTE.pack(ACKNOWLEDGED, mine))

    async def tasks() -> None:
        await asyncio.gather(*(task() for _ in range(8)))

    asyncio.run(tasks())


def write_resets(path: str, first: int, rng: random.Random, note: int) -> None:
    """Replace the whole history again and again."""
    log, text = FileLog(path), texts(rng)
    for number in range(first, first + NUMBERS_EACH):
        os.write(note, NOTE.pack(BEGUN, number))
        (outcome,) = log.append([giving(*reset_bodies(f"r{number}", body(number, text=next(text)), body(number)))])
        assert outcome == range(outcome.start, outcome.start + 2)  # type: ignore[union-attr]
        os.write(note, NOTE.pack(ACKNOWLEDGED, number))


def write_lists(path: str, first: int, rng: random.Random, note: int) -> None:
    """Append three to five messages at once, again and again; the numbers of one append begin with a multiple of 10."""
    log, text = FileLog(path, durability=rng.choice(("fsync", "write"))), texts(rng)
    for number in range(first, first + NUMBERS_EACH, 10):
        os.write(note, NOTE.pack(BEGUN, number))
        numbers = range(number, number + rng.randint(3, 5))
        (outcome,) = log.append([giving(*(body(one, text=f" of {len(numbers)}{next(text)}") for one in numbers))])
        assert isinstance(outcome, range), outcome
        os.write(note, NOTE.pack(ACKNOWLEDGED, number))


WRITERS = {"plain": (write_plainly, write_together), "resets": (write_resets,), "lists": (write_lists,)}


def start(path: str, kind: str, first: int, seed: int) -> tuple[int, int]:
    """Fork a writer; its process id and the pipe of its notes."""
    notes, note = os.pipe()
    pid = os.fork()
    if pid:
        os.close(note)
        return pid, notes
    try:
        os.close(notes)
        rng = random.Random(seed)
        rng.choice(WRITERS[kind])(path, first, rng, note)
    finally:
        os._exit(1)


def wait_for_acknowledgement(notes: list[int]) -> None:
    """Wait until a writer has surely acknowledged something: no writer begins more than eight before it does."""
    deadline = time.monotonic() + 60
    enough = 9 * NOTE.size
    while time.monotonic() < deadline:
        for one in notes:
            (waiting,) = struct.unpack("i", fcntl.ioctl(one, termios.FIONREAD, b"\0" * 4))
            if waiting >= enough:
                return
        time.sleep(0.002)


def notes_of(notes: int) -> tuple[list[int], list[int]]:
    """What a dead writer began and acknowledged."""
    read = b""
    while piece := os.read(notes, 1 << 16):
        read += piece
    os.close(notes)
    entries = [NOTE.unpack_from(read, at) for at in range(0, len(read) - NOTE.size + 1, NOTE.size)]
    begun, acknowledged = ([number for kind, number in entries if kind == which] for which in (BEGUN, ACKNOWLEDGED))
    return begun, acknowledged


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("path")
    parser.add_argument("--kind", choices=list(WRITERS), default="plain")
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--writers", type=int, default=1)
    parser.add_argument("--paced", action="store_true", help="before each kill print `null` and wait for a line")
    options = parser.parse_args()
    rng = random.Random(options.seed)
    first = 0
    killed = rounds = 0
    while killed < options.kills:
        writers = []
        for _ in range(min(options.writers, options.kills - killed)):
            writers.append(start(options.path, options.kind, first, rng.getrandbits(32)))
            first += NUMBERS_EACH
        if rng.random() < 0.8:  # otherwise it may be killed while it opens the log
            select.select([notes for _, notes in writers], [], [], 5)
        if rounds % 8 == 0 or options.paced:  # on a machine that is busy, others may not come so far
            wait_for_acknowledgement([notes for _, notes in writers])
        if options.paced:
            print("null", flush=True)
            sys.stdin.readline()
        rounds += 1
        time.sleep(rng.uniform(0.0, 0.02))
        for pid, _ in writers:
            os.kill(pid, signal.SIGKILL)
        for pid, notes in writers:
            killed += 1
            status = os.waitpid(pid, 0)[1]
            assert os.WIFSIGNALED(status), f"a writer ended by itself: {status}"
            begun, acknowledged = notes_of(notes)
            print(json.dumps({"begun": begun, "acknowledged": acknowledged}), flush=True)


if __name__ == "__main__":
    sys.exit(main())
