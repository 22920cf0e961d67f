"""Measuring one thing against another on a machine that is never quiet.

Both sides are timed alternately, call by call, so that what disturbs the one disturbs the other; a round compares the
medians of many calls, and the best of several rounds counts, since noise only ever slows a side down unevenly. What is
printed are ratios of the same run: times of different runs or machines are not compared.
"""

from __future__ import annotations

import asyncio
import compileall
import json
import statistics
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict, dataclass

import amplifier_module_context_persistent

CALLS = 2_000
ROUNDS = 3


@dataclass(frozen=True, slots=True)
class Comparison:
    """How long ours takes against theirs."""

    name: str
    ours: str
    theirs: str
    ours_us: float
    theirs_us: float
    ratio: float
    limit: float
    """The ratio that is promised at most."""

    @property
    def holds(self) -> bool:
        """Whether the promise is kept."""
        return self.ratio <= self.limit


@dataclass(frozen=True, slots=True)
class Figure:
    """One row of a table: what was found, and its limit."""

    name: str
    ours: str
    """What ours took, with its unit."""
    theirs: str
    """What it is held against, likewise; empty if it is held against its limit alone."""
    found: float
    """The ratio of both, or the figure in the unit that the name ends with."""
    limit: float

    @property
    def holds(self) -> bool:
        """Whether the limit is kept."""
        return self.found <= self.limit

    @classmethod
    def of(cls, compared: Comparison) -> Figure:
        """The ratio of a comparison."""
        ours, theirs = (f"{us:,.1f} us" for us in (compared.ours_us, compared.theirs_us))
        return cls(compared.name, ours, theirs, compared.ratio, compared.limit)


def table_of(figures: Sequence[Figure]) -> str:
    """A line for each figure."""
    width = max(len(one.name) for one in figures)
    lines = [f"{'':{width}}  {'ours':>12}  {'theirs':>12}  {'found':>8}  {'limit':>6}"]
    for one in figures:
        said = "" if one.holds else "  MISSED"
        lines.append(f"{one.name:{width}}  {one.ours:>12}  {one.theirs:>12}  {one.found:8.2f}  {one.limit:6.2f}{said}")
    return "\n".join(lines)


def compile_package() -> None:
    """Write the bytecode of the package's modules, as an installation does: a checkout may be without any.

    To be called before processes are measured from their start; without it they compile what they import.
    """
    for directory in amplifier_module_context_persistent.__path__:
        compileall.compile_dir(directory, quiet=1)


async def compare_async(
    name: str,
    ours: tuple[str, Callable[[], Awaitable[object]]],
    theirs: tuple[str, Callable[[], Awaitable[object]]],
    *,
    limit: float,
    calls: int = CALLS,
    rounds: int = ROUNDS,
    clock: Callable[[], int] = time.perf_counter_ns,
) -> Comparison:
    """Compare two coroutine functions, each given with a line that says what it does; `clock` gives nanoseconds."""
    best: tuple[float, float, float] | None = None
    for _ in range(rounds):
        times: tuple[list[int], list[int]] = ([], [])
        for call in range(calls):
            for side in (0, 1) if call % 2 else (1, 0):
                function = (ours, theirs)[side][1]
                began = clock()
                await function()
                times[side].append(clock() - began)
        medians = [statistics.median(side) / 1_000 for side in times]
        ratio = medians[0] / medians[1]
        if best is None or ratio < best[0]:
            best = (ratio, medians[0], medians[1])
    assert best is not None
    return Comparison(name, ours[0], theirs[0], round(best[1], 2), round(best[2], 2), round(best[0], 3), limit)


def compare(
    name: str,
    ours: tuple[str, Callable[[], object]],
    theirs: tuple[str, Callable[[], object]],
    *,
    limit: float,
    calls: int = CALLS,
    rounds: int = ROUNDS,
) -> Comparison:
    """Compare two plain functions, as `compare_async` does."""

    def awaited(function: Callable[[], object]) -> Callable[[], Awaitable[object]]:
        async def call() -> object:
            return function()

        return call

    pair = ((ours[0], awaited(ours[1])), (theirs[0], awaited(theirs[1])))
    return asyncio.run(compare_async(name, *pair, limit=limit, calls=calls, rounds=rounds))


def report(comparisons: Sequence[Comparison]) -> int:
    """Print JSON, then a table; 0 if all promises are kept, else 1."""
    print(json.dumps([{**asdict(one), "holds": one.holds} for one in comparisons], indent=2))
    width = max(len(one.name) for one in comparisons)
    print(f"\n{'':{width}}  {'ours':>12}  {'theirs':>12}  {'ratio':>7}  {'limit':>5}")
    for one in comparisons:
        times = f"{one.ours_us:>9,.1f} us  {one.theirs_us:>9,.1f} us"
        print(f"{one.name:{width}}  {times}  {one.ratio:>7.2f}  {one.limit:>5.2f}  {'' if one.holds else 'MISSED'}")
    return 0 if all(one.holds for one in comparisons) else 1
