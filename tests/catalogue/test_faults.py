"""Whatever becomes of the catalogue's file, the answers are those of the logs (`tests.support.catalogue_faults`)."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.catalogue_faults import KINDS, run
from tests.support.sweeps import proof, spread


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    """A home of its own; the working directory is left as it was."""
    before = os.getcwd()
    yield tmp_path
    os.chdir(before)


@proof(quick=1)
@pytest.mark.parametrize("seed", list(spread(range(3 * len(KINDS)), 5)))
def test_the_answers_are_those_of_the_logs(home: Path, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    """Calls that fail, a file that changes, processes that are killed, a clock that goes back, many at once."""
    monkeypatch.setenv("HOME", str(home))
    assert run(seed, home)[1] == ""
