"""Questions over real sessions: one command each, and a reading of the files that were imported says the same."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.support.commands import run
from tests.support.places import TRANSCRIPTS
from tests.support.sweeps import proof

PER_MILLION = {"claude-opus-4-6": (5, 25), "claude-opus-4-5": (5, 25), "claude-sonnet-4-5": (3, 15)}
"""List prices of input and output. Input from the cache costs a tenth, writing to it a quarter more (Claude docs)."""
Raw = list[dict[str, Any]]

pytestmark = pytest.mark.skipif(not TRANSCRIPTS.is_dir(), reason="there is no ../shared/transcripts")


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Raw]]:
    """A home with the sessions, and what their files say, by the id that each session got."""
    home = tmp_path_factory.mktemp("real")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(home))
        patch.chdir(home)
        told = json.loads(run("import", TRANSCRIPTS, "--json").stdout)["imports"]
    read = {one["session_id"]: Path(one["source"]).read_text("utf-8").splitlines() for one in told if one["messages"]}
    return home, {name: [json.loads(line) for line in lines] for name, lines in read.items()}


@pytest.fixture
def raw(imported: tuple[Path, dict[str, Raw]], monkeypatch: pytest.MonkeyPatch) -> dict[str, Raw]:
    home, files = imported
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.chdir(home)
    return files


def meta(message: dict[str, Any]) -> dict[str, Any]:
    found = message.get("metadata")
    return found if isinstance(found, dict) else {}


def times(log: Raw) -> list[datetime]:
    return [datetime.fromisoformat(meta(one)["timestamp"]) for one in log if "timestamp" in meta(one)]


def calls(log: Raw) -> Iterable[dict[str, Any]]:
    return (call for one in log for call in one.get("tool_calls") or [])


def requests(log: Raw) -> Iterable[tuple[str, datetime, dict[str, int], float]]:
    """Of each answer with usage and a price: its model, its time, its usage, its cost."""
    for one in log:
        usage, model = meta(one).get("usage"), meta(one).get("model", "")
        price = next((price for name, price in PER_MILLION.items() if str(model).startswith(name)), None)
        if one["role"] == "assistant" and usage and price is not None:
            put_in = usage["input_tokens"] + usage["cache_read_input_tokens"] / 10
            put_in += usage["cache_creation_input_tokens"] * 1.25
            cost = (put_in * price[0] + usage["output_tokens"] * price[1]) / 1e6
            yield str(model), datetime.fromisoformat(meta(one)["timestamp"]), usage, cost


def total(log: Raw) -> float:
    return sum(cost for *_, cost in requests(log))


def asked(*arguments: Any) -> Any:
    return json.loads(run(*arguments, "--json", code=None).stdout)


def listed(*arguments: Any) -> list[str]:
    return [one["session"] for one in asked("list", *arguments)["sessions"]]


def that(raw: dict[str, Raw], holds: Callable[[Raw], bool]) -> list[str]:
    return sorted(name for name, log in raw.items() if holds(log))


@proof
def test_which_sessions(raw: dict[str, Raw]) -> None:
    """By time, model, tools, and by what is said; by length, duration and cost."""
    since, until = datetime(2026, 1, 20, tzinfo=UTC), datetime(2026, 2, 5, tzinfo=UTC)
    timed = {name: times(log) for name, log in raw.items() if times(log)}
    between = sorted(name for name, at in timed.items() if max(at) >= since and min(at) < until)
    found = listed("--since", since.isoformat(), "--until", until.isoformat())
    assert sorted(name for name in found if name in timed) == between
    for model in ("opus-4-6", "sonnet"):
        assert sorted(listed("--model", model)) == that(
            raw, lambda log, model=model: any(model in one for one, *_ in requests(log))
        )
    wanted = {"Task", "WebSearch"}
    both = that(raw, lambda log: wanted <= {call["tool"] for call in calls(log)})
    assert sorted(listed("--tool", "task", "--tool", "websearch")) == both
    assert sorted(listed("--grep", "merge conflict")) == that(
        raw, lambda log: any("merge conflict" in json.dumps(one).lower() for one in log)
    )
    assert listed("--sort", "messages", "-n", "3") == sorted(raw, key=lambda name: -len(raw[name]))[:3]
    lasted = sorted(timed, key=lambda name: min(timed[name]) - max(timed[name]))
    assert listed("--sort", "took", "-n", "4") == lasted[:4]
    dearest = sorted(raw, key=lambda name: -total(raw[name]))[:5]
    assert listed("--sort", "cost", "-n", "5") == dearest
    told = asked("stats", "--by", "session", "--top", "5")["by_session"]
    assert [(one["session"], round(one["cost"], 4)) for one in told] == [
        (name, round(total(raw[name]), 4)) for name in dearest
    ]


@proof
def test_what_they_cost(raw: dict[str, Raw]) -> None:
    """By day, month and model; what resuming costs now."""
    by: dict[str, dict[str, float]] = {kind: defaultdict(float) for kind in ("day", "month", "model")}
    for log in raw.values():
        for model, at, _, cost in requests(log):
            by["day"][f"{at.astimezone():%Y-%m-%d}"] += cost
            by["month"][f"{at.astimezone():%Y-%m}"] += cost
            by["model"][model] += cost
    for kind, costs in by.items():
        told = {one[kind]: one["cost"] for one in asked("stats", "--by", kind)[f"by_{kind}"] if one["cost"]}
        assert told == pytest.approx(costs), kind
    resuming = {one["session"]: one["resuming"] for one in asked("list")["sessions"]}
    for name, log in raw.items():
        last = next(iter(reversed(list(requests(log)))), None)
        if last is None or not sum(list(last[2].values())[:3]):
            assert resuming[name] is None
            continue
        model, _, usage, _ = last
        price = next(price for known, price in PER_MILLION.items() if model.startswith(known))[0]
        cached = usage["cache_read_input_tokens"] + usage["cache_creation_input_tokens"]
        assert resuming[name]["tokens"] == usage["input_tokens"] + cached
        expected = (usage["input_tokens"] + cached * 1.25) * price / 1e6
        assert resuming[name]["cost"] == pytest.approx(expected, abs=1e-6)
        assert resuming[name]["is_cold"]


@proof
def test_what_happened_in_them(raw: dict[str, Raw]) -> None:
    """Calls by tool, the slowest call, who changed a file, which calls failed for sure, what was said last."""
    rows = asked("sql", "SELECT tool, count(*) AS n FROM calls GROUP BY tool")["rows"]
    assert {row["tool"]: row["n"] for row in rows} == Counter(
        call["tool"] for log in raw.values() for call in calls(log)
    )
    slowest = timedelta()
    for log in raw.values():
        made = {call["id"]: meta(one).get("timestamp") for one in log for call in one.get("tool_calls") or []}
        for one in log:
            begun, ended = made.get(one.get("tool_call_id")), meta(one).get("timestamp")
            if begun and ended:
                slowest = max(slowest, datetime.fromisoformat(ended) - datetime.fromisoformat(begun))
    assert asked("stats", "--all")["slowest"][0]["duration_s"] == slowest.total_seconds()
    name = "strategy.go"
    changed = {one["session"] for one in asked("files", "--all", name)["files"] if one["changed"] or one["created"]}
    edits = {
        session
        for session, log in raw.items()
        for call in calls(log)
        if call["tool"] in ("Edit", "Write") and str(call["arguments"].get("file_path", "")).endswith(f"/{name}")
    }
    assert changed <= edits
    assert edits
    shown = [json.loads(line) for line in run("show", "--errors", "--all", "--json").stdout.splitlines()]
    failed = {(one["session"], str(one["message"].get("tool_call_id"))) for one in shown}
    surely = {
        (session, one["tool_call_id"])
        for session, log in raw.items()
        for one in log
        if one["role"] == "tool" and str(one["content"]).startswith("<tool_use_error>")
    }
    assert surely <= failed
    some = sorted(raw)[0]
    (last,) = run("show", some, "--range", "-1", "--json").stdout.splitlines()
    assert json.loads(last)["message"]["content"] == raw[some][-1]["content"]


@proof
def test_what_would_be_done_with_them(raw: dict[str, Raw], tmp_path: Path) -> None:
    """What a prune would take, and an export of all that name a text."""
    before = datetime(2026, 1, 15, tzinfo=UTC)
    gone = asked("prune", "--older", before.isoformat(), "--dry-run")["deleted"]
    old = that(raw, lambda log: bool(times(log)) and max(times(log)) < before)
    assert sorted(one["session"] for one in gone) == old
    run("export", "--all", "--grep", "merge conflict", "-n", "2", "-o", tmp_path / "out")
    assert len(list((tmp_path / "out").glob("*/*.md"))) == 2
