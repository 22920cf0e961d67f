"""The comparison with other packages: what it does without them, and that its pages show what it measured."""

from __future__ import annotations

import json
import sys
import venv
from pathlib import Path

import pytest

from benchmarks import peers
from benchmarks.measure import table_of
from benchmarks.peer_stores import faults, rounds
from benchmarks.peer_stores.found import Found, from_json
from benchmarks.peer_stores.process import Process, StoreError
from benchmarks.peer_stores.rounds import APPENDS, TURN_OF_AGENT, TURNS
from benchmarks.peer_stores.store import OURS, REQUIREMENTS, STORES
from benchmarks.scale import promised
from tests.support.commands import shows
from tests.support.places import DOCS
from tests.support.sweeps import proof

MEASURES = ("append new", "append long", "read back", "resume none", "resume long")
OTHERS = sorted(STORES.keys() - OURS)


@proof
def test_an_error_of_a_store_is_its_answer(tmp_path: Path) -> None:
    """What a package raises is told with its type, whether it opens or reads."""
    (tmp_path / "bare.jsonl").write_bytes(b'{"role": "user"')
    with Process(sys.executable, "bare file", str(tmp_path)) as process, pytest.raises(StoreError, match="JSONDecode"):
        process.ask("read")


@proof
def test_what_is_missing_is_named_with_what_to_do(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An environment that is given is used as it is: nothing is installed into it."""
    venv.create(tmp_path / "bare")
    assert peers.main(["--venv", str(tmp_path / "bare"), "--only", "Strands, files"]) == 2
    said = capsys.readouterr().err
    shows(
        said,
        "Strands, files cannot be measured: No module named 'strands'",
        f"{tmp_path / 'bare'}",
        f"pip install {' '.join(REQUIREMENTS)}",
    )


@proof
def test_a_run_measures_and_damages(capsys: pytest.CaptureFixture[str]) -> None:
    """All figures are there. A file that checks nothing takes a flipped bit for a letter and fails at a torn line."""
    asked = ["--only", "bare file", "--messages", "60", "--rounds", "2", "--kills", "1", "--json"]
    assert peers.main(asked) == 0
    found, run = from_json(capsys.readouterr().out)
    assert run["messages"] == 60
    (one,) = found.values()
    assert {measure: len(figures) for measure, figures in one.times.items()} == dict.fromkeys(MEASURES, 2)
    assert one.given == 60 + TURN_OF_AGENT + 3 * TURNS * APPENDS
    assert 500 < one.grown_bytes < 2_000
    torn = one.survived.error  # a kill in the middle of a write leaves a torn line, now and then
    assert torn is None or torn.startswith("JSONDecodeError")
    assert (one.survived.lost, one.survived.doubled) == (one.survived.acknowledged if torn else 0, 0)
    assert one.survived.acknowledged >= 5
    assert str(one.damaged["torn_write"]) == "error, none read (JSONDecodeError)"
    assert str(one.damaged["flipped_bit"]) == "all read, 1 altered, not said"
    assert str(one.damaged["cut_file"]) == "error, none read (JSONDecodeError)"


def test_lost_and_doubled_messages_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of those that were acknowledged: what is not there, and what is there twice."""

    def texts(python: str, name: str, directory: str) -> tuple[list[str], bool]:
        *whole, _torn = Path(directory, "bare.jsonl").read_bytes().split(b"\n")
        given = [json.loads(line)["content"] for line in whole]
        return [*given[2:], given[-3]], False

    monkeypatch.setattr(faults, "read_texts", texts)
    survived = faults.survive_kills(sys.executable, "bare file", kills=1)
    assert (survived.lost, survived.doubled) == (2, 1)


@proof
def test_ours_says_what_was_damaged() -> None:
    """A letter that changed on the disk is told when the history is read, and the session goes on."""
    assert str(faults.flipped_bit(sys.executable, "ours, write")) == "all read, 1 altered, said"


def test_of_appends_the_quickest_tenth_counts() -> None:
    """One slow sync among ten says something of the disk, one quick one among twenty nothing of the store."""
    assert rounds.quickest_tenth([9.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]) == 1.0
    assert rounds.quickest_tenth([5.0] * 19 + [0.1]) == 5.0
    assert rounds.quickest_tenth([3.0]) == 3.0


def test_ratios_are_those_within_a_round() -> None:
    """A round that was slow for all changes none of them; the table shows the time beside it."""
    ours, other = Found("", {"append long": [1.0, 9.0, 1.0]}), Found("", {"append long": [2.0, 18.0, 200.0]})
    assert other.ratio(ours, "append long") == 2.0
    assert ours.ratio(other, "append long") == 0.5


def test_the_page_shows_what_was_measured(capsys: pytest.CaptureFixture[str]) -> None:
    """Its tables are those of `docs/peers.json`, every figure that does us no credit included."""
    page = DOCS / "peers.md"
    for option in ("--markdown", "--brief"):
        assert peers.main(["--shown", str(DOCS / "peers.json"), option]) == 0
        assert capsys.readouterr().out in page.read_text(encoding="utf-8"), (
            f"{page.name} is old: python -m benchmarks.peers --shown docs/peers.json {option}"
        )


def test_what_was_measured_are_all_stores_at_the_versions_that_are_pinned() -> None:
    """Another version or another store needs another run."""
    found, run = from_json((DOCS / "peers.json").read_text(encoding="utf-8"))
    assert list(found) == list(STORES)
    assert run["packages"] == list(REQUIREMENTS)
    for one in found.values():
        assert {measure: len(figures) for measure, figures in one.times.items()} == dict.fromkeys(
            MEASURES, run["rounds"]
        )


COMMANDS = ("--help", "list", "show --turn -1", "stats", "list many", "search")


def round_of(*, slowed: float, extra_mb: float) -> dict[str, dict[str, float]]:
    """One round: an empty session, a short one, and a long one whose first view takes so much longer."""
    rows = {"empty": (0.4, 100.0), "1,000": (0.45, 101.0), "1,000,000": (0.4 * slowed, 100.0 + extra_mb)}
    commands = {f"{name} s": 0.1 * at for at, name in enumerate(COMMANDS, 1)}
    cold = {"empty": 0.4, "1,000": 0.5, "1,000,000": 4.0}
    return {
        name: {"warm_s": warm, "cold_s": cold[name], "warm_mb": peak, **commands} for name, (warm, peak) in rows.items()
    }


def test_the_ratios_are_those_of_the_longest_log_and_the_median_of_the_rounds() -> None:
    """One disturbed round changes nothing; the 99th percentile is that of all rounds together."""
    rounds = [round_of(slowed=by, extra_mb=30) for by in (1.2, 1.2, 9.0)]
    quick, slow = [100.0] * 300, [100.0] * 290 + [1000.0] * 10
    turns = [{"append": [quick, slow], "request": [[10.0] * 20, [15.0] * 20]}] * 2
    found = {one.name: one for one in promised(rounds, turns)}
    assert {name: round(one.found, 3) for name, one in found.items()} == {
        "first view, 1,000,000": 1.2,
        "first view, 1,000,000, without a catalogue": 10,
        "first view, memory, MB": 30,
        "append, long log, mean": 1,
        "append, long log, 99th percentile": 10,
        "request, long log": 1.5,
        "first line of list, s": 0.1,
        "first line of list many, s": 0.4,
        "first line of show --turn -1, s": 0.2,
        "first line of stats, s": 0.3,
        "first line of search, s": 0.5,
    }
    assert (found["first view, memory, MB"].ours, found["first view, memory, MB"].theirs) == ("130 MB", "100 MB")
    (line,) = (line for line in table_of(list(found.values())).splitlines() if line.startswith("request"))
    assert line.split()[-3:] == ["1.50", "1.30", "MISSED"]
