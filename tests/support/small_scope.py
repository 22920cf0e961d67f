"""Every interleaving of a few operations on one log, up to a depth, against a plain list.

    python -m tests.support.small_scope --depth 3

Two writers append and reset, a reader follows, a purge removes what is hidden, all on one file. A *history* is some
operations one after the other, then one operation that is interrupted before any of its system calls by a whole
operation of somebody else, and then operations again. A *crash* ends an operation at any of its calls by a power cut;
what the disk may have kept is tried in several ways. After each of these, everybody reads what the list says.
"""

from __future__ import annotations

import argparse
import itertools
import logging
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from amplifier_module_context_persistent.errors import (
    LockTimeoutError,
    LogError,
    PurgeError,
)
from amplifier_module_context_persistent.log.file_log import FileLog
from amplifier_module_context_persistent.log.index import Index
from amplifier_module_context_persistent.log.reader import LogReader
from amplifier_module_context_persistent.log.record_line import encode_message
from amplifier_module_context_persistent.log.reset_record import ids_in, reset_bodies
from amplifier_module_context_persistent.toolbox.maintenance.purge_log import purge_log
from amplifier_module_context_persistent.toolbox.maintenance.purge_options import Purge
from tests.support.fakefs import FakeFiles, choosers
from tests.support.logs import STAMP, body, number_of

Live = tuple[int, ...]
OPERATIONS = ("append 1", "append 2", "reset 1", "reset 2", "read", "purge")
IMAGES = 6


def actor_of(operation: str) -> str:
    return operation.split()[-1]


def after(live: Live, operation: str, number: int) -> Live:
    """What the plain list holds after an operation that was acknowledged."""
    if operation.startswith("append"):
        return (*live, number)
    return (*live[-1:], number) if operation.startswith("reset") else live


class Disk(FakeFiles):
    """A disk on which another operation runs before the n-th call of the one at hand."""

    def __init__(self) -> None:
        super().__init__()
        self.seen = self.at = 0
        self.other: Callable[[], None] | None = None

    def interrupt(self, at: int, other: Callable[[], None]) -> None:
        self.seen, self.at, self.other = 0, at, other

    def _call(self, op: str, path: str) -> int | None:
        self.seen += 1
        other = self.other
        if other is not None and self.seen == self.at:
            self.other = None
            other()
        return super()._call(op, path)


@dataclass
class Counts:
    """What was explored."""

    histories: int = 0
    crashes: int = 0
    images: int = 0
    refused: int = 0

    def __str__(self) -> str:
        return (
            f"interleavings: {self.histories}, crashes in small histories: {self.crashes}, "
            f"images of those: {self.images}, refusals by a held lock: {self.refused}"
        )


class World:
    """One log, its users, and the lists that it may hold."""

    def __init__(self, root: str, counts: Counts, allowed: set[Live] | None = None, number: int = 0) -> None:
        self.root, self.counts, self.number = root, counts, number
        self.path = os.path.join(root, "log.jsonl")
        self.disk = Disk()
        self.allowed: set[Live] = allowed if allowed is not None else {()}
        self.writers = {
            name: FileLog(self.path, files=self.disk, lock_timeout_s=0, durability="fsync") for name in ("1", "2")
        }
        self.reader = LogReader(self.path, files=self.disk)
        self.reads: list[Live] = []

    def close(self) -> None:
        for log in (*self.writers.values(), self.reader):
            log.close()

    def run(self, operation: str) -> tuple[str, int] | None:
        """Run an operation; itself with its number if it was acknowledged and changed the list."""
        self.number += 1
        number = self.number
        try:
            self._run(operation, number)
        except (LockTimeoutError, PurgeError):
            self.counts.refused += 1
            return None
        return operation, number

    def _run(self, operation: str, number: int) -> None:
        if operation == "read":
            self.reads.append(self.live_of(self.reader))
        elif operation == "purge":
            if os.path.exists(self.path) and os.path.getsize(self.path):
                purge_log(self.path, Purge(cleared=True), now=lambda: STAMP, files=self.disk, lock_timeout_s=0)
        else:
            log = self.writers[actor_of(operation)]
            (outcome,) = log.append([self._preparing(log, operation, number)])
            if isinstance(outcome, Exception):
                raise outcome

    @staticmethod
    def _preparing(log: FileLog, operation: str, number: int) -> Callable[[Index], Sequence[bytes]]:
        if operation.startswith("append"):
            return lambda _: [body(number)]
        message = {"role": "user", "content": f"message {number}"}

        def reset(index: Index) -> list[bytes]:
            kept = index.live[-1:]
            new = [lambda m: encode_message(message, message_id=f"id-{number}", timestamp=STAMP, member=m)]
            return reset_bodies(
                index.live, [*kept, *new], ids_in(log.read), reset_id=f"r{number}", reason="rewind", time=STAMP
            )

        return reset

    @staticmethod
    def live_of(log: FileLog | LogReader) -> Live:
        log.follow()
        return tuple(number_of(message) for message in log.read(log.index.live))

    def apply(self, *done: tuple[str, int] | None) -> None:
        """Take in what was acknowledged; of operations that ran at one time, any order is right."""
        orders = itertools.permutations([one for one in done if one is not None])
        found: set[Live] = set()
        for live, order in itertools.product(self.allowed, list(orders)):
            for operation, number in order:
                live = after(live, operation, number)
            found.add(live)
        self.allowed = found

    def check(self, what: object) -> None:
        """All users and one who comes anew read the same, which is one of the lists that may be there."""
        new = LogReader(self.path)
        seen = {self.live_of(log) for log in (*self.writers.values(), self.reader, new)}
        assert len(seen) == 1, (what, seen)
        assert seen <= self.allowed, (what, seen, self.allowed)
        assert not new.index.damage, (what, new.index.damage)
        new.close()
        self.allowed = seen

    def check_after_crash(self, what: object) -> None:
        """What was acknowledged is there; what was not, as a whole or not at all; and the log goes on."""
        if not os.path.exists(self.path):
            assert () in self.allowed, what
            return
        live = self.live_of(self.writers["1"])
        assert live in self.allowed, (what, live, self.allowed)
        self.allowed = {live}
        self.apply(self.run("append 2"))
        assert self.live_of(self.writers["1"]) in self.allowed, what

    def crash(self, target: str, choose: Callable[[int], int] | None) -> World:
        """The world after a power cut."""
        os.mkdir(target)
        self.disk.power_cut(self.root, target, choose)
        return World(target, self.counts, set(self.allowed), self.number)


def places(prefix: Sequence[str], operation: str, counts: Counts) -> int:
    """How many system calls an operation makes after others."""
    with tempfile.TemporaryDirectory(dir=_fast()) as root:
        world = World(root, counts)
        for one in prefix:
            world.run(one)
        before = len(world.disk.calls)
        world.run(operation)
        made = len(world.disk.calls) - before
        world.close()
        return made


def _fast() -> str | None:
    return "/dev/shm" if os.path.isdir("/dev/shm") and os.access("/dev/shm", os.W_OK) else None


def histories(depth: int) -> Iterator[tuple[tuple[str, ...], str]]:
    """What comes before the operation that is interrupted, and that one."""
    for length in range(depth):
        for prefix in itertools.product(OPERATIONS, repeat=length):
            if length and prefix[0] in ("read", "purge"):
                continue  # of a log that is not there
            for operation in OPERATIONS:
                yield prefix, operation


def explore(depth: int, each: int = 1) -> Counts:
    """Try all of it; the first thing that is wrong is an AssertionError.

    Args:
        depth: how many operations there are, the interrupted one among them and the one that interrupts it not.
        each: try every so many-th interleaving, and every so many-th crash.
    """
    counts, interleavings, crashes = Counts(), itertools.count(), itertools.count()
    base = tempfile.mkdtemp(dir=_fast())
    try:
        for number, (prefix, operation) in enumerate(histories(depth)):
            root = os.path.join(base, str(number))
            os.mkdir(root)
            calls = places(prefix, operation, counts)
            for at in range(1, calls + 1):
                for other in OPERATIONS:
                    if actor_of(other) != actor_of(operation) and next(interleavings) % each == 0:
                        _interrupted(os.path.join(root, f"{at}-{other}"), prefix, operation, at, other, counts)
                if next(crashes) % each == 0:
                    _crashed(os.path.join(root, f"{at}"), prefix, operation, at, counts)
            shutil.rmtree(root)
    finally:
        shutil.rmtree(base)
    return counts


def _after(root: str, prefix: Sequence[str], counts: Counts) -> World:
    os.mkdir(root)
    world = World(root, counts)
    for one in prefix:
        world.apply(world.run(one))
    return world


def _interrupted(root: str, prefix: Sequence[str], operation: str, at: int, other: str, counts: Counts) -> None:
    world, done = _after(root, prefix, counts), list[tuple[str, int] | None]()
    before = set(world.allowed)
    world.reads.clear()
    world.disk.interrupt(at, lambda: done.append(world.run(other)))
    done.append(world.run(operation))
    assert len(done) == 2, "the other one did not run"
    world.apply(*done)
    what = (*prefix, f"{operation} before whose call {at} came {other}")
    world.check(what)
    assert before | world.allowed >= set(world.reads), (what, world.reads)
    world.apply(world.run("append 1"))
    world.check(what)
    world.close()
    counts.histories += 1


def _crashed(root: str, prefix: Sequence[str], operation: str, at: int, counts: Counts) -> None:
    world = _after(root, prefix, counts)
    before = set(world.allowed)
    world.disk.fail(nth=at, forever=True)
    try:
        done = world.run(operation)
        failed = False
    except LogError:
        done, failed = (operation, world.number), True
    world.apply(done)
    world.allowed |= before if failed else set()
    counts.crashes += 1
    what = (*prefix, f"{operation} whose call {at} failed, and the power with it")
    for number, choose in enumerate([None, *itertools.islice(choosers(1), IMAGES - 1)]):
        then = world.crash(f"{root}-{number}", choose)
        try:
            then.check_after_crash(what)
        finally:
            then.close()
        counts.images += 1
    world.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--depth", type=int, default=3)
    logging.disable(logging.ERROR)
    print(explore(parser.parse_args().depth))


if __name__ == "__main__":
    main()
