"""`context-persistent compare`: what it prints, writes and refuses."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from click.testing import Result

from amplifier_module_context_persistent.toolbox.cli.chart import columns, svg
from tests.support.commands import run, shows, without_colours
from tests.support.replays import BUDGET, MESSAGES, plain
from tests.support.sessions_of_a_home import TERMINAL
from tests.support.sweeps import proof, spread
from tests.support.terminals import Terminal, posix

ESTIMATE = ("--tokenizer", "estimate")


def compare(path: Any, *arguments: str, **how: Any) -> Result:
    return run("compare", path, *ESTIMATE, *arguments, **how)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A session of several budgets, as plain messages."""
    return plain(tmp_path / "plain.jsonl", MESSAGES)


@proof
def test_policies_are_measured(path: Path) -> None:
    """The JSON has the measures of each, in the order that was asked for, and the sums they rest on."""
    policies = ["truncate:target_usage=0.3,compact_threshold=0.8", "none", "stateless", "sliding"]
    asked = [argument for policy in policies for argument in ("--policy", policy)]
    done = compare(path, *asked, "--budget", str(BUDGET), "--json")
    found = json.loads(done.output)
    answers = sum(message["role"] == "assistant" for message in MESSAGES)
    assert (found["path"], found["messages"], found["requests"]) == (str(path), len(MESSAGES), answers)
    assert (found["budget_tokens"], found["tokenizer"], found["prices"]) == (BUDGET, "estimate", None)
    rows = {row["policy"]: row for row in found["policies"]}
    assert list(rows) == policies
    for row in rows.values():
        uncached = row["sent_tokens"] - row["cached_tokens"]
        assert row["billed"] == pytest.approx(1.25 * uncached + 0.1 * row["cached_tokens"])
        assert row["billed_ratio"] == pytest.approx(row["billed"] / rows["none"]["billed"])
        assert (row["requests"], len(row["request_tokens"])) == (answers, answers)
        assert 0 <= row["far"] <= row["recoverable"] <= 1
        assert "cost" not in row
    assert rows["none"]["breaks"] == 0 < rows[policies[0]]["breaks"] < rows["stateless"]["breaks"]
    assert rows["none"]["over"] > 0 == rows[policies[0]]["over"]
    assert rows[policies[0]]["recoverable"] > rows["sliding"]["recoverable"]


@proof
def test_the_table_fits_a_terminal(path: Path) -> None:
    """Every policy has a line, in 80 columns; in a pipe without escape codes; each figure is explained."""
    asked = ["--budget", str(BUDGET), "--policy", "none", "--policy", "truncate:target_usage=0.4"]
    done = compare(path, *asked, env=TERMINAL)
    name, *lines = without_colours(done.output).splitlines()
    assert name == str(path)
    assert max(map(len, lines)) <= 80
    done = compare(path, *asked)
    for word in ("cache breaks: ", "read from cache: ", "billed tokens: ", "full bill", "needed: "):
        assert word in done.output
    assert "cost" not in done.output
    assert re.search(r"^none +0 ", done.output, re.MULTILINE)
    shows(done.output, "none: ", " views over the budget")
    assert f"a budget of {BUDGET:,}" in " ".join(done.output.split())


def test_the_default_policies_are_compared(path: Path) -> None:
    """Without a policy there are three; without a budget there is a large one."""
    found = json.loads(compare(path, "--json").output)
    assert [row["policy"] for row in found["policies"]] == ["none", "sliding", "default"]
    assert found["budget_tokens"] == 200_000


@proof(quick=1)
@pytest.mark.parametrize(
    ("prices", "cached", "write"),
    list(
        spread(
            [
                (["--price-cached", "1", "--price-write", "2"], 1, 2),
                (["--price-input", "3"], 0.3, 3.75),
                (["--model", "claude-sonnet-4-6"], 0.3, 3.75),
                (["--price-input", "3", "--price-cached", "1"], 1, 3.75),
            ],
            2,
        )
    ),
)
def test_prices_make_it_money(path: Path, prices: list[str], cached: float, write: float) -> None:
    """What was read from the cache and all else have their prices, a million tokens each."""
    asked = ["--policy", "default", "--budget", str(BUDGET), *prices]
    found = json.loads(compare(path, *asked, "--json").output)
    (row,) = found["policies"]
    assert found["prices"] == pytest.approx({"cached": cached, "write": write})
    uncached = row["sent_tokens"] - row["cached_tokens"]
    assert row["cost"] == pytest.approx((uncached * write + row["cached_tokens"] * cached) / 1e6, abs=1e-6)
    assert f"{row['cost']:.2f}" in compare(path, *asked).output


@proof
def test_an_svg_is_written(path: Path, tmp_path: Path) -> None:
    """It holds a line for each policy; where it cannot be written, that is said."""
    drawn = tmp_path / "chart.svg"
    asked = ["--policy", "none", "--policy", "default", "--budget", str(BUDGET), "--svg"]
    compare(path, *asked, str(drawn))
    root = ElementTree.fromstring(drawn.read_text(encoding="utf-8"))
    assert sum(element.tag.endswith("}polyline") for element in root.iter()) == 2
    assert "plain.jsonl" in "".join(root.itertext())
    before = drawn.read_bytes()
    drawn.write_text("mine")
    done = compare(path, *asked, str(drawn), code=2)
    assert drawn.read_text() == "mine"
    assert "--force replaces a file" in " ".join(done.output.split())
    compare(path, *asked, str(drawn), "--force")
    assert drawn.read_bytes() == before
    done = compare(path, *asked, str(tmp_path / "nowhere" / "chart.svg"), code=2)
    assert "chart.svg: No such file" in done.output


def test_an_svg_replaces_no_log_and_follows_no_link(path: Path, tmp_path: Path) -> None:
    """Neither the session's own nor another, with --yes too; it appears whole, in its own place."""
    other = plain(tmp_path / "other.jsonl", MESSAGES)
    (tmp_path / "link.svg").symlink_to(path)
    (tmp_path / "away.svg").symlink_to(tmp_path / "chart")
    (tmp_path / "chart").write_text("mine")
    before = path.read_bytes()
    for target in (path, other, tmp_path / "link.svg"):
        done = compare(path, "--svg", str(target), "--force", code=2)
        assert "which is not replaced; name another file" in " ".join(done.output.split())
    assert "already" in compare(path, "--svg", str(tmp_path / "away.svg"), "--force", code=2).output
    assert path.read_bytes() == other.read_bytes() == before
    assert (tmp_path / "chart").read_text() == "mine"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--policy", "bogus"], "known: none, default, truncate, "),
        (["--policy", "default:bogus=1"], "target_usage"),
        (["--policy", "default:target_usage=7"], "allowed: 0 < share"),
        (["--budget", "0"], "budget"),
        (["--price-cached", "1"], "plain input price"),
        (["--price-input", "1", "--model", "claude-sonnet-4-6"], "either --model or prices"),
        (["--model", "nobody-1"], "no list price of this model is known"),
        (["--price-input", "-1"], "price-input"),
        (["--tokenizer", "bogus"], "bogus"),
    ],
)
def test_what_makes_no_sense_is_unusable(path: Path, arguments: list[str], said: str) -> None:
    """It ends with 2 and says what is known or allowed."""
    done = compare(path, *arguments, code=2)
    assert said in done.output


@pytest.mark.parametrize("messages", [[], MESSAGES[:1]])
def test_a_session_without_an_answer_has_no_requests(tmp_path: Path, messages: list[dict[str, Any]]) -> None:
    """It is said; the JSON has zeros."""
    path = plain(tmp_path / "plain.jsonl", messages)
    done = compare(path)
    assert "no requests to play" in done.output
    found = json.loads(compare(path, "--json").output)
    assert [row["billed"] for row in found["policies"]] == [0, 0, 0]


@proof
@posix
def test_a_terminal_sees_a_bar(path: Path) -> None:
    """What is being played is shown there while it lasts."""
    terminal = Terminal("compare", str(path), *ESTIMATE, "--budget", str(BUDGET), "--policy", "default")
    assert terminal.end() == 0
    assert "playing none" in terminal.shown or "playing default" in terminal.shown
    assert "billed" in terminal.shown


def test_columns_hold_the_least_and_the_largest():
    """Few values are columns by themselves; many are brought together, and no peak is lost."""
    assert columns([3, 1], 5) == [(3, 3), (1, 1)]
    assert columns([1, 9, 2, 2, 8, 3], 3) == [(1, 9), (2, 2), (3, 8)]
    assert columns([], 5) == []
    assert len(columns(range(100_000), 70)) == 70


def test_a_history_that_is_sent_whole_does_not_flatten_the_others():
    """The scale goes to the largest value, but not far above the budget."""
    assert ">20</text>" in svg({"a": [10, 20]}, 100, title="t")
    assert "cut off above 250" in svg({"a": [10, 2_000]}, 100, title="t")
    assert ">1</text>" in svg({}, 100, title="t")


def test_levels_stand_beside_the_budget():
    """Each that is not above all else has a line and its name, which is escaped."""
    drawn = svg({"a": [10, 100]}, 80, title="t", levels={"thr<eshold": 70, "far": 1_000})
    shown = [text for text in ElementTree.fromstring(drawn).itertext() if text.strip()]
    assert {"budget 80", "thr<eshold 70"} <= set(shown)
    assert drawn.count("stroke-dasharray") == 2


@pytest.mark.parametrize("values", [[], [0], [5, 10, 3], list(range(5_000))])
def test_an_svg_stands_by_itself(values):
    """It is well formed, refers to nothing outside, and is the same each time."""
    series = {"<b>&\"none'": values, "truncate": values[:2]}
    drawn = svg(series, 8, title="</title><script>x</script>")
    root = ElementTree.fromstring(drawn)
    tags = [element.tag.rpartition("}")[2] for element in root.iter()]
    assert "script" not in tags
    assert tags.count("polyline") == 2
    assert re.findall(r"https?://[^\"]+", drawn) == ["http://www.w3.org/2000/svg"]
    assert not re.search(r"href|@import|font-face|url\((?!#)", drawn)
    assert svg(series, 8, title="</title><script>x</script>") == drawn
    assert "<b>&\"none'" in "".join(root.itertext())
