"""The rounds of measurements: all stores in turns, a few appends or one reading at a time."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from .faults import cut_file, flipped_bit, survive_kills, torn_write
from .found import Found
from .process import Process, resume

TURNS, APPENDS, MOST_SECONDS = 5, 8, 0.5
"""A round has so many turns; in each, a store appends so many messages, or as many as it can in this time."""
TURN_OF_AGENT = 20
"""So many messages are appended by one run to see what they add to the disk."""
PARTS = ("new", "long")
Key = TypeVar("Key")


@dataclass(frozen=True, slots=True)
class Sizes:
    """How much is measured."""

    messages: int
    """Of the long session."""
    rounds: int
    kills: int


class Rounds:
    """All measurements of some stores.

    Args:
        pythons: by store, the interpreter that has its package.
        levels: by store, what an acknowledgement stands for.
        sizes: how much is measured.
        tell: takes a line about how far it is.
    """

    def __init__(
        self, pythons: dict[str, str], levels: dict[str, str], sizes: Sizes, tell: Callable[[str], None]
    ) -> None:
        self._pythons, self._sizes, self._tell = pythons, sizes, tell
        self._rng = random.Random(1)
        self.found = {name: Found(levels[name]) for name in pythons}

    def run(self) -> dict[str, Found]:
        """Measure everything."""
        with tempfile.TemporaryDirectory() as scratch:
            self._directories = {name: Path(scratch, str(number)) for number, name in enumerate(self._pythons)}
            for name in self._pythons:
                self._tell(f"writing {self._sizes.messages:,} messages: {name}")
                self._write(name)
            self._append()
            self._resume()
        for name, python in self._pythons.items():
            self._tell(f"killing and damaging: {name}")
            one = self.found[name]
            one.survived = survive_kills(python, name, self._sizes.kills)
            one.damaged = {damage.__name__: damage(python, name) for damage in (torn_write, flipped_bit, cut_file)}
        return self.found

    def _open(self, name: str, part: str) -> Process:
        return Process(self._pythons[name], name, str(self._directories[name] / part))

    def _write(self, name: str) -> None:
        """Write the long session, and append a turn to it: what that adds to the disk once all is closed."""
        for part in (*PARTS, "none"):
            Path(self._directories[name], part).mkdir(parents=True)
        long, count = self._directories[name] / "long", self._sizes.messages
        with self._open(name, "long") as process:
            process.ask("fill", count=count)
        before = _size(long)
        with self._open(name, "long") as process:
            process.ask("append", first=count, count=TURN_OF_AGENT, seconds=600)
        self.found[name].grown_bytes = (_size(long) - before) / TURN_OF_AGENT

    def _append(self) -> None:
        """Append to new and long sessions that stay open, and read the long ones back."""
        rounds = self._sizes.rounds
        starts = {"new": 0, "long": self._sizes.messages + TURN_OF_AGENT}
        ends = {(name, part): starts[part] for name in self._pythons for part in PARTS}
        with ExitStack() as closing:
            workers = {}
            for name, part in ends:
                workers[name, part] = closing.enter_context(self._open(name, part))
            for number in range(rounds + 1):  # the first one warms up
                self._tell(f"appending, round {number} of {rounds}")
                times: dict[tuple[str, str], list[float]] = {key: [] for key in ends}
                for _ in range(TURNS):
                    for key in self._shuffled(workers):
                        told = workers[key].ask("append", first=ends[key], count=APPENDS, seconds=MOST_SECONDS)["us"]
                        ends[key] += len(told)
                        times[key] += told
                for name, part in ends if number else ():
                    self.found[name].note(f"append {part}", quickest_tenth(times[name, part]) / 1e6)
            for number in range(rounds):
                self._tell(f"reading back, round {number + 1} of {rounds}")
                for name in self._shuffled(self._pythons):
                    self.found[name].note("read back", workers[name, "long"].ask("read")["seconds"])

    def _resume(self) -> None:
        """Start processes that resume nothing, and the long session."""
        for number in range(self._sizes.rounds):
            self._tell(f"resuming, round {number + 1} of {self._sizes.rounds}")
            for name in self._shuffled(self._pythons):
                python, one = self._pythons[name], self.found[name]
                none = self._directories[name] / "none" / str(number)
                none.mkdir()
                one.note("resume none", resume(python, name, str(none))["seconds"])
                told = resume(python, name, str(self._directories[name] / "long"))
                one.note("resume long", told["seconds"])
                one.given, one.peak_mb = told["messages"], told["peak_mb"]

    def _shuffled(self, keys: Iterable[Key]) -> Iterator[Key]:
        """Give each once, in another order each time: what one leaves to the disk falls on others in turns."""
        order = list(keys)
        self._rng.shuffle(order)
        yield from order


def quickest_tenth(times: Sequence[float]) -> float:
    """The tenth percentile: what else uses the disk only ever slows a sync down, often tenfold."""
    return sorted(times)[len(times) // 10]


def _size(directory: Path) -> int:
    return sum(path.stat().st_size for path in directory.rglob("*") if path.is_file())
