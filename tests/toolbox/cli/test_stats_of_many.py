"""`context-persistent stats` of many sessions: whose, since when, by what, as text and as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from amplifier_module_context_persistent.log.record_line import encode_message
from tests.support.commands import run, without_colours
from tests.support.logs import sealed
from tests.support.sessions_of_a_home import TERMINAL, log_of

MODEL = "claude-sonnet-4-5"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home with two projects; in the first, a session with a sub-agent."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("TZ", "UTC")
    for name in ("here", "there"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / "here")
    session(log_of("main"), "2026-01-05", 100_000)
    session(log_of("main-0a1b_helper"), "2026-01-06", 200_000)
    session(log_of("other", tmp_path / "there"), "2026-01-06", 400_000, model="[m]\x1b")
    return tmp_path


def session(log: Path, day: str, tokens: int, model: str = MODEL, answered: str = "10.000", times: int = 1) -> None:
    """A session of one turn with a call, by default of nine seconds, that fails, and one request; or of more turns."""
    call = {"id": "c", "tool": "bash", "arguments": {}}
    metadata = {"usage": {"input_tokens": tokens, "output_tokens": 0}, "model": model}
    messages: Sequence[dict[str, Any]] = (
        {"role": "user", "content": "Go on."},
        {"role": "assistant", "content": "", "tool_calls": [call], "metadata": metadata},
        {"role": "tool", "tool_call_id": "c", "content": "Error: no"},
    )
    log.parent.mkdir(parents=True)
    messages = [*messages] * times
    stamps = (f"{day}T09:00:00.000Z", f"{day}T09:00:01.000Z", f"{day}T09:00:{answered}Z")
    bodies = [
        encode_message(message, message_id=f"{log.parent.name}-m{at}", timestamp=stamp)
        for at, (message, stamp) in enumerate(zip(messages, stamps * times, strict=True))
    ]
    log.write_bytes(b"".join(sealed(bodies)))


def told(*arguments: str) -> Any:
    return json.loads(run("stats", *arguments, "--json", "--tokenizer", "estimate").output)


def test_those_of_this_project_or_of_all() -> None:
    """--all takes those of all projects; sub-agents' sessions count, and are said."""
    here, everywhere = told("--by", "day"), told("--all")
    assert (here["sessions"], here["sub_agents"], here["up_to"]) == (2, 1, "2026-01-06T09:00:10.000+00:00")
    assert here["total"]["cost"] == pytest.approx(0.9)
    assert (everywhere["sessions"], everywhere["total"]["input_tokens"]) == (3, 700_000)
    assert (everywhere["total"]["calls"], everywhere["total"]["failed_calls"]) == (3, 3)
    assert [(call["tool"], call["duration_s"], call["place"]) for call in everywhere["slowest"]] == [
        ("bash", 9.0, 2)
    ] * 3


def test_a_sum_of_times_does_not_depend_on_the_order_of_sessions() -> None:
    """Times are added up as whole numbers: of these as floats the sum is 0.07200000000000001."""
    for number, took_ms in enumerate((3, 6, 9, 21, 33)):
        session(log_of(f"s{number}"), f"2026-02-0{number + 1}", 1, answered=f"01.0{took_ms:02}")
    assert told("--by", "tool", "--since", "2026-02-01")["total"]["calls_s"] == 0.072


def test_the_median_of_a_tools_times_stands_beside_their_sum() -> None:
    """The middle one of an odd number of calls, else the mean of the two in the middle."""
    for number, took_s in enumerate((1, 2, 4, 50)):
        session(log_of(f"s{number}"), f"2026-02-0{number + 1}", 1, answered=f"{took_s + 1:02}.000")
    ((three,), (four,)) = (told("--by", "tool", "--since", f"2026-02-0{day}")["by_tool"] for day in (2, 1))
    assert (three["median_s"], four["median_s"]) == (4.0, 3.0)
    shown = run("stats", "--by", "tool", "--since", "2026-02-01").stdout
    assert "median" in shown
    assert "57 s   3.0 s     50 s" in shown


@pytest.mark.parametrize(
    ("by", "rows"),
    [
        ("day", [("2026-01-05", 1, 100_000), ("2026-01-06", 2, 600_000)]),
        ("session", [("main", 2, 300_000), ("other", 1, 400_000)]),
        ("model", [(MODEL, 2, 300_000), ("[m]\x1b", 1, 400_000)]),
        ("tool", [("bash", 3, None)]),
    ],
)
def test_by_what_is_asked_for(by: str, rows: list[tuple[str, int, int]]) -> None:
    """A session with its sub-agents; days of this machine's time zone."""
    found = told("--all", "--by", by)[f"by_{by}"]
    assert [(one[by], one["sessions"], one["input_tokens"]) for one in found] == rows


@pytest.mark.parametrize("by", ["model", "tool"])
def test_a_row_counts_sessions_and_says_nothing_of_what_it_cannot_have(by: str) -> None:
    """A session of two requests and calls is one; a model has no turns or calls, a tool no turns or costs."""
    session(log_of("twice"), "2026-01-07", 100_000, times=2)
    (row,) = told("--by", by, "--since", "2026-01-07")[f"by_{by}"]
    assert (row["sessions"], row["sub_agents"]) == (1, 0)
    expected = {"requests": 2, "calls": None} if by == "model" else {"requests": None, "calls": 2, "cost": None}
    assert {"turns": row["turns"], **{name: row[name] for name in expected}} == {"turns": None, **expected}


def test_by_project(home: Path) -> None:
    found = told("--all", "--by", "project")["by_project"]
    assert [(one["project"][-5:], one["turns"]) for one in found] == [("-here", 2), ("there", 1)]


def test_what_happened_since() -> None:
    """Turns, calls and requests of that time alone."""
    found = told("--all", "--since", "2026-01-06")
    assert (found["total"]["turns"], found["total"]["calls"], found["total"]["input_tokens"]) == (2, 2, 600_000)


@pytest.mark.parametrize(
    "arguments", [["--all"], ["--all", "--by", "day"], ["--by", "tool"], ["--all", "--by", "model"]]
)
def test_the_text_is_harmless_and_fits(arguments: list[str]) -> None:
    """Names are shown as text; at 80 columns nothing is wider."""
    shown = without_colours(run("stats", *arguments, "--tokenizer", "estimate", env=TERMINAL).output)
    assert "\x1b" not in shown
    assert shown.startswith(("3 sessions (1 of sub-agents), up to 2026-01-06 ", "2 sessions (1 of sub-agents), up to "))
    assert max(map(len, shown.splitlines()[1:])) <= 80


@pytest.mark.parametrize("arguments", [["main", "--all"], ["--last", "--by", "day"], [], ["main", "--since", "1d"]])
def test_one_session_or_many(arguments: list[str]) -> None:
    said = run("stats", *arguments, code=2).output
    assert ("give it without SESSION or --last" if arguments else "or give --all, --by or a filter") in said


def test_without_sessions_it_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    assert "--all takes all projects" in run("stats", "--by", "day", code=2).output


def test_what_cannot_be_read_is_said() -> None:
    log_of("broken").mkdir(parents=True)
    assert [Path(one["path"]).parent.name for one in told("--by", "day")["unreadable"]] == ["broken"]
    assert "; 1 could not be read: " in run("stats", "--by", "day").output


def test_by_tag() -> None:
    """A sub-agent's session has the tags of its parent; one with several tags counts for each, in all once."""
    run("tag", "main", "release", "urgent")
    found = {one["tag"]: one for one in told("--all", "--by", "tag")["by_tag"]}
    assert {tag: (one["sessions"], one["sub_agents"], one["cost"]) for tag, one in found.items()} == {
        "release": (2, 1, 0.9),
        "urgent": (2, 1, 0.9),
        None: (1, 0, 0.0),
    }
    shown = run("stats", "--all", "--by", "tag").output
    assert "no tag" in shown
    assert "counts for each of them, and once in `all`" in shown
    assert "$0.90" in shown.split("all ")[-1]


@pytest.mark.parametrize("given", [("--by", "project,model"), ("--by", "project", "--by", "model")])
def test_by_two(given: Sequence[str]) -> None:
    """What shares the first key stays together, the dearest first."""
    found = told("--all", *given)["by_project_model"]
    assert [(one["project"][-5:], one["model"], one["input_tokens"]) for one in found] == [
        ("-here", MODEL, 300_000),
        ("there", "[m]\x1b", 400_000),
    ]
    assert {one["calls"] for one in found} == {None}


def test_by_a_tool_and_something_else() -> None:
    found = told("--all", "--by", "day,tool")["by_day_tool"]
    assert [(one["day"], one["tool"], one["calls"], one["median_s"], one["cost"]) for one in found] == [
        ("2026-01-05", "bash", 1, 9.0, None),
        ("2026-01-06", "bash", 2, 9.0, None),
    ]


def test_which_two_there_are() -> None:
    """A typing error is named, and what nothing has."""
    assert "'colour' is none of day, week" in run("stats", "--by", "colour", code=2).stderr
    assert "calls have a tool" in run("stats", "--by", "model,tool", code=2).stderr
    assert "two different ones" in run("stats", "--by", "day,day", code=2).stderr
    assert "two different ones" in run("stats", "--by", "day,tag,model", code=2).stderr


def test_the_cost_of_all_is_last() -> None:
    """A terminal shows the end: the sum, and not the calls that took longest."""
    shown = run("stats", "--all").stdout
    assert shown.index("slowest calls of") < shown.index("tokens of results") < shown.index("cost")
