"""The one table of speeds: its limits, what it shows, and what it says of parts that fail."""

from __future__ import annotations

import json
import re
from dataclasses import asdict
from pathlib import Path

import pytest

from benchmarks import all as all_speeds
from benchmarks.all import PARTS, Run
from benchmarks.limits import LIMITS, as_markdown, most
from benchmarks.measure import Figure
from tests.support.commands import shows
from tests.support.places import DOCS, ROOT


def a_run(found: float = 1.0, failed: list[str] | None = None) -> Run:
    figure = Figure("durable append", "200.0 us", "180.0 us", found, most("durable append"))
    return Run("0123abcd", "Linux, 2 processors", "2026-11-26T21:00+00:00", "0.1 to 1.0", 12.5, [figure], failed or [])


@pytest.mark.parametrize("name", LIMITS)
def test_a_limit_says_why_and_when_it_changed(name: str) -> None:
    """The last change ends at the limit that holds."""
    limit = LIMITS[name]
    assert limit.why
    for change in limit.changes:
        assert re.match(r"\d{4}-\d\d-\d\d: ", change)
    numbers = re.search(r"[\d.]+ to ([\d.]+\d)", limit.changes[-1]) if limit.changes else None
    assert numbers is None or float(numbers[1]) == limit.most


def test_no_benchmark_has_a_limit_of_its_own_for_what_is_promised() -> None:
    """What is measured by `benchmarks.all` is held to the one table."""
    for name in ("append", "read_back", "planning", "scale", "pauses", "all"):
        text = Path(ROOT, "benchmarks", f"{name}.py").read_text(encoding="utf-8")
        assert "from benchmarks.limits import" in text
        assert not re.search(r"limit=[\d.]+|LIMIT\w* = [\d.]+", text)


def test_the_page_shows_the_limits() -> None:
    """Run `python -m benchmarks.limits` after a change."""
    assert as_markdown() in (DOCS / "speeds.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(("found", "code", "said"), [(1.25, 0, ""), (1.26, 1, "MISSED")], ids=["held", "missed"])
def test_a_run_is_shown_again_with_its_machine_and_load(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], found: float, code: int, said: str
) -> None:
    """A missed limit is said and is the exit code."""
    path = tmp_path / "run.json"
    path.write_text(a_run(found).as_json(), encoding="utf-8")
    assert Run.from_json(path.read_text(encoding="utf-8")) == a_run(found)
    assert all_speeds.main(["--shown", str(path)]) == code
    shows(capsys.readouterr().out, "0123abcd", "load 0.1 to 1.0", "durable append", "200.0 us", f"{found:.2f}", said)
    assert all_speeds.main(["--shown", str(path), "--markdown"]) == code
    shows(capsys.readouterr().out, "| durable append | 200.0 us | 180.0 us |", said.lower())


def test_a_part_that_could_not_be_measured_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """And is not taken for one that kept its limits."""
    path = tmp_path / "run.json"
    path.write_text(a_run(failed=["scale"]).as_json(), encoding="utf-8")
    assert all_speeds.main(["--shown", str(path)]) == 1
    assert "not measured: scale" in capsys.readouterr().out


def test_a_part_tells_its_figures_and_nothing_else(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What a benchmark prints besides does not spoil them."""

    def part(most_messages: int) -> list[Figure]:
        print("note: the machine is busy")
        return a_run(most_messages).figures

    monkeypatch.setitem(PARTS, "append", part)
    all_speeds.tell("append", 2)
    told = capsys.readouterr()
    assert json.loads(told.out) == [asdict(one) for one in a_run(2).figures]
    assert "busy" in told.err
