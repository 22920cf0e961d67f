"""Quick tests and proofs: `pytest` runs the quick ones, `pytest --proof` all of them.

A proof is a test that takes seconds (kills, servers, a browser, whole documents): it carries the mark `proof`, and a
quick run leaves it out. A sweep is a test of many cases: a quick run tries a sample spread evenly over them, a run with
`--proof` tries all.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TypeVar

import pytest

proof = pytest.mark.proof
"""`@proof`: a quick run leaves this test out. `@proof(quick=1)`: of its cases a quick run tries the first."""

Case = TypeVar("Case")

_with_proofs = False
_asked = 0


def run_proofs(wanted: bool) -> None:
    """Say whether this run has `--proof`; before any test is collected."""
    global _with_proofs
    _with_proofs = wanted


def proofs_among(items: Iterable[pytest.Item]) -> set[pytest.Item]:
    """The tests that a quick run leaves out."""
    found = set()
    tried: Counter[str] = Counter()
    for item in items:
        tries = [mark.kwargs.get("quick", 0) for mark in item.iter_markers("proof")]
        test = item.nodeid.partition("[")[0]
        if tries and tried[test] >= min(tries):
            found.add(item)
        elif tries:
            tried[test] += 1
    return found


def is_whole_proof(test: object) -> bool:
    """Whether a quick run leaves out all cases of a function, by the marks at its definition."""
    marks = getattr(test, "pytestmark", None)
    if not isinstance(marks, list):
        return False
    return any(mark.name == "proof" and not mark.kwargs.get("quick", 0) for mark in marks)


def whole() -> bool:
    """Whether this run tries all cases of every sweep."""
    global _asked
    _asked += 1
    return _with_proofs


def times_asked() -> int:
    """How often it was asked whether all cases are tried: a test during which that grew depends on `--proof`."""
    return _asked


def some(examples: int) -> int:
    """How many of so many random examples a run tries: a sixth, or all of them."""
    return examples if whole() else -(-examples // 6)


def spread(cases: Iterable[Case], each: int, first: int = 0) -> Iterator[Case]:
    """Of the cases one in so many, from the first one on; or all of them."""
    return iter(cases) if whole() else islice(cases, first, None, each)


def bits_of(place: int, each: int = 1) -> range:
    """Which bits of the byte at a place are flipped: all; or one in every so many-th byte, not always the same one."""
    return range(8) if whole() else range(0) if place % each else range(place // each % 8, place // each % 8 + 1)
