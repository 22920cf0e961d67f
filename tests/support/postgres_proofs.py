"""Proofs that a log in PostgreSQL loses and doubles nothing, whatever breaks; the suite runs a few rounds of each.

    python -m tests.support.postgres_proofs --cuts 500 --kills 100

In every round four writers append to one session and two followers read it. A round either cuts one writer's connection
after so many bytes, spread evenly over all the bytes that an append, a reset or a purge sends and gets, or kills the
server's processes at a moment of chance. After each round the log is read anew, line by line: all that was acknowledged
is there once, in each writer's order, the chain of checksums holds, and followers have seen a beginning of it.
"""

from __future__ import annotations

import argparse
import errno
import random
import sys
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from amplifier_module_context_persistent.errors import LogUnreadableError
from amplifier_module_context_persistent.log.database_location import location_of
from amplifier_module_context_persistent.log.open_log import open_log
from amplifier_module_context_persistent.log.open_reader import open_reader
from amplifier_module_context_persistent.toolbox.maintenance.purge_log import purge_log
from amplifier_module_context_persistent.toolbox.maintenance.purge_options import Purge
from tests.support.logs import STAMP, append_bodies, body, number_of, reset_bodies
from tests.support.postgres import CuttingProxy, TestServer, running_server

WRITERS, FOLLOWERS = 4, 2
_EACH = 1_000_000  # numbers of a writer begin at so many times its own
_WAIT_S = 120.0
_MOST_PURGES = 10  # while a follower reads


@dataclass
class Session:
    """One log with its writers and followers, and what each of them knows."""

    storage: str
    through: str
    """The way of the first writer, which may be cut."""
    stack: ExitStack = field(default_factory=ExitStack)
    acknowledged: list[list[int]] = field(default_factory=lambda: [[] for _ in range(WRITERS)])
    seen: list[list[int]] = field(default_factory=lambda: [[] for _ in range(FOLLOWERS)])
    markers: set[str] = field(default_factory=set)
    """Texts that a purge has redacted."""

    def __post_init__(self) -> None:
        others = (f"{self.storage}&application_name=w{n}" for n in range(1, WRITERS + FOLLOWERS + 1))
        locations = [self.through, *others]
        opened = [open_log(location_of(location, "p/s"), lock_timeout_s=_WAIT_S) for location in locations]
        for log in opened:  # each has a connection of its own, as processes have
            self.stack.enter_context(closing(log))
        self.writers, self.followers = opened[:WRITERS], opened[WRITERS : WRITERS + FOLLOWERS]
        self.beside = opened[-1]  # calls of one log must not overlap
        self.pool = self.stack.enter_context(ThreadPoolExecutor(WRITERS + FOLLOWERS))

    def next_number(self, writer: int) -> int:
        return _EACH * writer + len(self.acknowledged[writer])

    def append(self, writer: int, text: str = "") -> None:
        number = self.next_number(writer)
        append_bodies(self.writers[writer], body(number, text=text))
        self.acknowledged[writer].append(number)

    def reset(self) -> None:
        """Let one new message be the whole history."""
        number = self.next_number(0)
        append_bodies(self.writers[0], *reset_bodies(f"r{number}", body(number)))
        self.acknowledged[0].append(number)

    def purge(self) -> None:
        """Redact a text that stands in one message."""
        number = self.next_number(0)
        marker = f" secret-{number}-"
        append_bodies(self.beside, body(number, text=marker))
        self.acknowledged[0].append(number)
        location = location_of(self.through, "p/s")
        replace: Callable[[str], str] = lambda text: text.replace(marker, " gone")  # noqa: E731
        try:
            purge_log(location, Purge(redact=replace), now=lambda: STAMP, lock_timeout_s=_WAIT_S)
        except OSError:  # nothing was changed, it says: then the text is still there
            is_there = marker in self.whole_text()
            assert is_there, "a purge that says that nothing was changed has changed something"
        else:
            self.markers.add(marker)

    def start_others(self, first: int) -> list[Future[Any]]:
        """Let the writers from `first` on append a message each, and the followers look."""
        jobs = [self.pool.submit(self.append, writer) for writer in range(first, WRITERS)]
        return jobs + [self.pool.submit(self.look, follower) for follower in range(FOLLOWERS)]

    def look(self, follower: int) -> None:
        """Read all messages of the log by its index."""
        log = self.followers[follower]
        for _ in range(_MOST_PURGES):
            log.follow()
            try:
                seen = [number_of(message) for message in log.read(range(len(log.index)))]
                break
            except LogUnreadableError as error:  # purged between the two
                assert error.errno == errno.ENOENT  # noqa: PT017 - nothing else is expected
        assert seen[: len(self.seen[follower])] == self.seen[follower], "a follower saw another history before"
        self.seen[follower] = seen

    def whole_text(self) -> str:
        """Every line of the log."""
        with closing(open_reader(location_of(self.storage, "p/s"))) as reader:
            reader.follow()
            return b"".join(reader.records()).decode()

    def check(self) -> None:
        """Read the log anew, line by line, and hold it against what was acknowledged."""
        with closing(open_reader(location_of(self.storage, "p/s"), trusting=False)) as reader:
            reader.follow()
            stored = [number_of(message) for message in reader.read(range(len(reader.index)))]
            assert reader.index.damage == []
        assert max(Counter(stored).values(), default=1) == 1, "a message is stored twice"
        for writer, numbers in enumerate(self.acknowledged):
            assert [number for number in stored if number // _EACH == writer] == numbers
        for seen in self.seen:
            assert stored[: len(seen)] == seen
        text = self.whole_text() if self.markers else ""
        assert not [marker for marker in self.markers if marker in text], "what was purged is still there"

    def total(self) -> int:
        return sum(map(len, self.acknowledged))


def _bytes_of(session: Session, proxy: CuttingProxy, job: Callable[[], None]) -> tuple[int, int]:
    """How many bytes an operation sends and gets."""
    before = proxy.sent, proxy.received
    job()
    return proxy.sent - before[0], proxy.received - before[1]


def prove_cuts(server: TestServer, cuts: int, *, tables: str = "") -> None:
    """Cut the connection of a writer at points all over appends, resets and purges; prints what was counted."""
    storage = server.new_location(tables)
    done = Counter[str]()
    with closing(CuttingProxy(server.socket_path)) as proxy:
        session = Session(storage, proxy.location(storage))
        with session.stack:
            session.append(0)
            jobs: dict[str, Callable[[], None]] = {
                "append": lambda: session.append(0),
                "reset": session.reset,
                "purge": session.purge,
            }
            for name, share in (("append", 0.6), ("reset", 0.2), ("purge", 0.2)):
                job, number = jobs[name], max(2, round(cuts * share))
                job()  # once before it is measured, so that statements are prepared
                sent, received = _bytes_of(session, proxy, job)
                for place in count():
                    if done[name] == number:
                        break
                    assert place < 3 * number, "operations end before they are cut"
                    if place == number // 2:  # what a purge sends grows with the log
                        sent, received = _bytes_of(session, proxy, job)
                    after = 1 + (place // 2) * (sent if place % 2 else received) // max(1, number // 2)
                    after %= sent if place % 2 else received
                    if place % 2:
                        proxy.cut_after = after
                    else:
                        proxy.cut_answers_after = after
                    others = session.start_others(1)
                    before = proxy.cuts
                    job()
                    for other in others:
                        other.result()
                    proxy.cut_after = proxy.cut_answers_after = None
                    done[name] += proxy.cuts - before
                    session.check()
            counts = ", ".join(f"connections cut in {name}s: {cut}" for name, cut in done.items())
            print(f"connections cut: {proxy.cuts}, {counts}, acknowledged: {session.total()}, lost: 0, doubled: 0")


def prove_kills(server: TestServer, kills: int, seed: int = 1, *, tables: str = "") -> None:
    """Kill the server's processes under writers and followers; prints what was counted."""
    storage = server.new_location(tables)
    rng, stop = random.Random(seed), threading.Event()
    session = Session(storage, f"{storage}&application_name=w0")
    with session.stack:
        moved = threading.Condition()

        def write(writer: int) -> None:
            while not stop.is_set():
                session.append(writer)
                with moved:
                    moved.notify_all()

        def follow(follower: int) -> None:
            while not stop.is_set():
                session.look(follower)

        jobs = [session.pool.submit(write, writer) for writer in range(WRITERS)]
        jobs += [session.pool.submit(follow, follower) for follower in range(FOLLOWERS)]
        try:
            for _ in range(kills):
                before = [len(numbers) for numbers in session.acknowledged]
                with moved:  # every writer went on since the last kill
                    assert moved.wait_for(
                        lambda before=before: (
                            any(job.done() for job in jobs)  # type: ignore[misc]
                            or all(len(n) > b for n, b in zip(session.acknowledged, before, strict=True))
                        ),
                        timeout=_WAIT_S,
                    )
                if any(job.done() for job in jobs):
                    break
                stop.wait(rng.random() * 0.02)
                server.kill()
                server.start()
        finally:
            stop.set()
        for job in jobs:
            job.result()
        session.check()
        print(f"servers killed: {kills}, acknowledged: {session.total()}, lost: 0, doubled: 0")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the proofs with given counts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cuts", type=int, default=500)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    with running_server() as server:
        prove_cuts(server, options.cuts)
        prove_kills(server, options.kills, options.seed)
    return 0


if __name__ == "__main__":
    sys.exit(main())
