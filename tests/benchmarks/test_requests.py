"""Generated sessions of three providers, held against the checkers; a turn of screenshots, a tenth of its size."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import offline
from benchmarks.offline import MEMORY_LIMIT, TIME_LIMIT, Growth, Taken, measure
from benchmarks.requests import Found, play, screenshots
from fixtures.providers import mixed_session
from tests.support.sweeps import proof, whole


@proof
@pytest.mark.parametrize("first", range(0, 40 if whole() else 10, 10))
async def test_every_view_is_one_that_its_provider_accepts(first: int) -> None:
    """With images, documents, thinking and encrypted items, and switches: no violation, and no request refused."""
    found = Found()
    for seed in range(first, first + 10):
        await play(mixed_session(seed), found)
    assert found.violations == {}, found.examples
    assert (found.sessions, found.refused) == (10, 0)
    assert found.views > 60
    assert found.switches > 4
    assert found.plans > 10
    assert found.left_out > 20


async def test_a_session_is_the_same_for_a_seed() -> None:
    """In every process."""
    assert mixed_session(7) == mixed_session(7)
    assert mixed_session(7) != mixed_session(8)


@proof
async def test_a_turn_of_screenshots_keeps_its_limit() -> None:
    """Few breaks of the prefix, and every image that gave way to a line is recalled byte for byte."""
    shots = await screenshots(30, 90_000, max_request_bytes=1_000_000)
    assert shots.most_bytes <= 1_000_000
    assert shots.breaks <= 10
    assert shots.recalled == shots.left_out >= 20


def growth(time: float, memory: float) -> Growth:
    """A command that takes so many times as much on the long session."""
    return Growth(Taken("compare", 10, 2.0, 100.0), Taken("compare", 100, 2.0 * time, 100.0 * memory))


def test_a_ratio_beyond_its_limit_is_missed() -> None:
    """In time or in memory; at the limit it holds."""
    assert growth(TIME_LIMIT, MEMORY_LIMIT).holds
    assert not growth(TIME_LIMIT + 0.1, 1.0).holds
    assert not growth(1.0, MEMORY_LIMIT + 0.1).holds
    first, second = growth(30.0, 1.5).lines()
    assert first.split() == ["compare", "10", "2.0", "100"]
    assert second.split() == ["100", "60.0", "150", "30.0", "1.5", "MISSED"]
    assert list(growth(9.0, 1.5).lines())[1].split() == ["100", "18.0", "150", "9.0", "1.5"]


@pytest.mark.parametrize(("slower", "code"), [(9.0, 0), (90.0, 1)])
def test_one_command_that_grows_too_fast_ends_it_with_1(
    slower: float, code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Both sessions are made and played, and the figures written."""

    def taken(name: str, log: Path, messages: int) -> Taken:
        assert log.stat().st_size
        return Taken(name, messages, slower if messages == 20 and name == "replay" else 1.0, 50.0)

    monkeypatch.setattr(offline, "measure", taken)
    figures = tmp_path / "figures.json"
    asked = ["--messages", "20", "--only", "replay", "--only", "compare", "--json", str(figures)]
    assert offline.main(asked) == code
    assert ("MISSED" in capsys.readouterr().out) == bool(code)
    rows = json.loads(figures.read_text(encoding="utf-8"))
    assert [(row["small"]["messages"], row["large"]["command"], row["time"]) for row in rows] == [
        (2, "replay", slower),
        (2, "compare", 1.0),
    ]


@proof
def test_a_command_that_fails_is_no_measurement(tmp_path: Path) -> None:
    """What it said is told."""
    with pytest.raises(RuntimeError, match="replay"):
        measure("replay", tmp_path / "missing.jsonl", 10)
