"""The functions for programs, and the filters that they share with the commands."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from amplifier_module_context_persistent.log.record_line import encode_message
from amplifier_module_context_persistent.sessions import cost, files, given_times, search, sessions
from amplifier_module_context_persistent.sessions.filters import FilterError
from amplifier_module_context_persistent.sessions.given_times import moment_s
from tests.support.commands import run
from tests.support.logs import sealed
from tests.support.sessions_of_a_home import log_of
from tests.support.stopped_time import stopped_at
from tests.support.sweeps import proof

DAYS = {"one": 1, "two": 10, "three": 20}


def said(day: int, *messages: dict[str, Any]) -> list[dict[str, Any]]:
    return [{**message, "metadata": {"timestamp": f"2026-01-{day:02}T09:00:00.000Z"}} for message in messages]


def answered(model: str, text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text, "metadata": {"model": model}}


def call(tool: str, result: str) -> list[dict[str, Any]]:
    return [
        {"role": "assistant", "content": "", "tool_calls": [{"id": "c1", "tool": tool, "arguments": {"command": "x"}}]},
        {"role": "tool", "tool_call_id": "c1", "content": result},
    ]


def keep(name: str, directory: str, day: int, messages: list[dict[str, Any]], title: str = "") -> None:
    """Write a session whose messages are of a day; its answer names its model and usage."""
    path = log_of(name, directory)
    path.parent.mkdir(parents=True, exist_ok=True)
    stamp = f"2026-01-{day:02}T09:00:00.000Z"
    bodies = [encode_message(one, message_id=f"{name}-{n}", timestamp=stamp) for n, one in enumerate(messages, 1)]
    path.write_bytes(b"".join(sealed(bodies)))
    if title:
        (path.parent / "metadata.json").write_text(json.dumps({"name": title}))


def paid(model: str, text: str) -> dict[str, Any]:
    usage = {"input_tokens": 1_000_000, "output_tokens": 1_000_000}
    return {"role": "assistant", "content": text, "metadata": {"model": model, "usage": usage}}


@pytest.fixture(autouse=True)
def kept(project: Path) -> None:
    """Three sessions of two projects, of three days."""
    keep(
        "one",
        "/w/shop",
        1,
        [{"role": "user", "content": "The cart total is wrong."}, *call("bash", "ok")],
        "Cart",
    )
    keep("two", "/w/shop", 10, [{"role": "user", "content": "Refunds."}, paid("claude-opus-4-6", "Refunds work.")])
    failing = call("grep", "")
    failing[1] |= {"is_error": True, "content": "Error: no such file"}
    keep("three", "/w/site", 20, [{"role": "user", "content": "The cart page."}, *failing, *call("bash", "ok")])


@proof(quick=3)
@pytest.mark.parametrize(
    ("filters", "options", "names"),
    [
        ({}, [], "three two one"),
        ({"project": "shop"}, ["--project", "shop"], "two one"),
        ({"project": "-w-site"}, ["--project", "-w-site"], "three"),
        ({"since": "2026-01-05"}, ["--since", "2026-01-05"], "three two"),
        ({"until": "2026-01-05"}, ["--until", "2026-01-05"], "one"),
        ({"since": "2026-01-05", "until": "2026-01-15"}, ["--since", "2026-01-05", "--until", "2026-01-15"], "two"),
        ({"since": datetime(2026, 1, 5, tzinfo=UTC)}, ["--since", "2026-01-05"], "three two"),
        ({"model": "OPUS"}, ["--model", "OPUS"], "two"),
        ({"tool": "Bash"}, ["--tool", "Bash"], "three one"),
        ({"tool": ["bash", "grep"]}, ["--tool", "bash", "--tool", "grep"], "three"),
        ({"name": "cart"}, ["--name", "cart"], "one"),
        ({"name": "tw"}, ["--name", "tw"], "two"),
        ({"failed": True}, ["--failed"], "three"),
        ({"n": 2}, ["-n", "2"], "three two"),
        (
            {"n": 1, "project": "shop", "until": "2026-01-05"},
            ["-n", "1", "--project", "shop", "--until", "2026-01-05"],
            "one",
        ),
    ],
)
def test_filters_mean_the_same_in_functions_and_commands(
    filters: dict[str, Any], options: list[str], names: str
) -> None:
    """`sessions()` and `list --all --json`."""
    assert [one.session.id for one in sessions(**filters)] == names.split()
    listed = json.loads(run("list", "--all", "--json", *options).stdout)["sessions"]
    assert sorted(one["session"] for one in listed) == sorted(names.split())


def test_a_question_and_filters() -> None:
    """`search()` finds what `search --best` finds."""
    assert [(one.session.id, one.number) for one in search("carts").messages] == [("three", 1), ("one", 1)]
    assert [one.session.id for one in search("cart", project="shop").messages] == ["one"]
    assert [one.session.id for one in search("cart", until="2026-01-05").messages] == ["one"]
    assert [one.role for one in search("refunds", role="assistant").messages] == ["assistant"]
    assert [one.number for one in search("bash x", of_tool="bash", project="shop").messages] == [2]
    found = search("refunds work")
    assert found.is_whole
    assert found.messages[0].id == "two-2"
    assert found.messages[0].lines()[0].text == "Refunds work."


def test_what_sessions_cost() -> None:
    """In all and by what is asked; as the prices of the model say."""
    report = cost(by="session")
    assert set(report.parts) == {"one", "two", "three"}
    assert report.total.bill.requests == 1
    assert report.total.bill.cost == report.parts["two"].bill.cost == cost(model="opus").total.bill.cost > 0
    assert cost(project="site").total.bill.requests == 0
    assert cost(since="2026-01-15").total.bill.requests == 0
    assert not report.unreadable


def test_only_what_happened_in_the_time_costs() -> None:
    """A session that goes on over the end of the time counts with what is before it, in all parts."""
    stamped = []
    for day, model in ((2, "claude-opus-4-6"), (10, "claude-opus-4-6"), (18, "gpt-5")):
        for message in ({"role": "user", "content": "Go on."}, paid(model, "Done.")):
            metadata = {**message.get("metadata", {}), "timestamp": f"2026-01-{day:02}T09:00:00.000Z"}
            stamped.append({**message, "metadata": metadata})
    keep("long", "/w/shop", 2, stamped)
    until = cost(by="model", name="long", until="2026-01-15")
    assert until.total.bill.requests == 2
    assert list(until.parts) == ["claude-opus-4-6"]
    between = {
        by: cost(by=by, name="long", since="2026-01-05", until="2026-01-15") for by in ("day", "session", "model")
    }
    assert {by: (one.total.turns, one.total.bill.requests) for by, one in between.items()} == dict.fromkeys(
        between, (1, 1)
    )
    assert list(between["day"].parts) == ["2026-01-10"]
    assert cost(name="long", until="2026-01-01").total.turns == 0


@pytest.mark.parametrize("wrong", [{"since": "tomorrow"}, {"until": 5}, {"by": "weekday"}])
def test_wrong_filters_are_named(wrong: dict[str, Any]) -> None:
    """What is wrong, and what is allowed."""
    with pytest.raises(FilterError, match=next(iter(wrong))):
        cost(**wrong)


def test_times(monkeypatch: pytest.MonkeyPatch) -> None:
    """Moments, how long ago, and texts of both."""
    now = 1_768_478_400.0
    monkeypatch.setattr(given_times, "time", SimpleNamespace(time=lambda: now))
    assert moment_s(timedelta(hours=1)) == moment_s("1h") == now - 3_600
    assert moment_s("1d") == now - 86_400
    assert moment_s("1y") == now - 365 * 86_400
    assert moment_s(datetime(2026, 1, 5, tzinfo=UTC)) == moment_s("2026-01-05T00:00:00+00:00")


def test_what_they_return_prints_short() -> None:
    """A programmer who prints an answer reads it, however long the messages are."""
    long = f"Why is the total wrong? {'It is. ' * 5_000}"
    keep("long", "/w/shop", 5, [{"role": "user", "content": long}, *call("read_file", "x" * 9_000)])
    hits = search("why is the total wrong", most=1, name="long")
    shown = repr(hits.messages)
    assert len(shown) < 400
    assert "session='long', number=1, role='user'" in shown
    assert len(repr(hits.messages[0].placed)) < 60
    assert all(len(repr(one)) < 400 for one in sessions())
    assert "session='long'" in repr(sessions())
    assert len(repr(cost())) < 300
    assert len(repr(list(cost().parts.values())[:1])) < 200
    assert all(len(repr(use)) < 300 for use in files())


def test_times_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    """As questions read them; the beginning of the time counts."""
    now = datetime(2026, 1, 15, 12).astimezone()
    monkeypatch.setattr(given_times, "datetime", stopped_at(now))
    today = now.replace(hour=0)
    for said in ("yesterday", "gestern", "1 day ago"):
        assert moment_s(said) == (today - timedelta(days=1)).timestamp(), said
    monday = datetime.fromtimestamp(moment_s("monday")).astimezone()
    assert monday.weekday() == 0
    assert timedelta(0) <= today - monday <= timedelta(days=8)
    assert datetime.fromtimestamp(moment_s("last week")).weekday() == 0
    for wrong in ("friday night lights", "5/8/2026", "soon"):
        with pytest.raises(FilterError, match="or words, as in yesterday"):
            moment_s(wrong)


def test_a_range_that_ends_before_it_begins_is_refused() -> None:
    """By functions and by every command with both options."""
    with pytest.raises(FilterError, match="since is after until"):
        sessions(since="3d", until="5d")
    for command in (["search", "--best", "3", "x"], ["search", "x"], ["list"], ["stats"], ["du"]):
        assert "since is after until" in run(*command, "--since", "3d", "--until", "5d", code=2).output
