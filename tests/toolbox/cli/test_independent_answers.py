"""Twenty questions over 200 generated sessions: one command each, and a reading of the bare files says the same."""

from __future__ import annotations

import json
import random
import shutil
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from amplifier_module_context_persistent.toolbox.cli import stats
from tests.support.commands import run
from tests.support.sessions_of_a_home import log_of, write
from tests.support.stopped_time import stopped_at
from tests.support.sweeps import proof

PRICES = {"alpha-1": {"input": 2, "output": 10}, "beta-2": {"input": 4, "output": 20}}
TOOLS = ("read_file", "write_file", "bash", "grep")
PROJECTS = ("here", "../first", "../second")
KEY = "sk-known-123456"
NOW = datetime.now(UTC).replace(microsecond=0)
Log = list[dict[str, Any]]


def generated(pick: random.Random, number: int) -> list[dict[str, Any]]:
    """The messages of a session: up to six turns, with calls that may fail, and what each answer cost."""
    began = NOW - timedelta(days=pick.randrange(1, 60), minutes=pick.randrange(1_000))
    messages: list[dict[str, Any]] = []

    def stamp(**more: Any) -> dict[str, Any]:
        nonlocal began
        began += timedelta(seconds=pick.randrange(1, 400))
        return {"timestamp": began.isoformat(), **more}

    for turn in range(pick.randrange(1, 7)):
        word = pick.choice(["refund", "invoice", "Refund", "login", "straße"])
        secret = f" {KEY}" if pick.random() < 0.02 else ""
        messages.append({"role": "user", "content": f"Look at the {word}{secret}, {number}.", "metadata": stamp()})
        calls = []
        for n in range(pick.randrange(4)):
            tool, file = pick.choice(TOOLS), f"src/{pick.choice('abcdef')}.py"
            given = {"command": "make"} if tool in ("bash", "grep") else {"path": file, "content": "x"}
            calls.append({"id": f"{turn}-{n}", "tool": tool, "arguments": given})
        model = pick.choice(sorted(PRICES))
        usage = {"input_tokens": pick.randrange(1_000, 90_000), "output_tokens": pick.randrange(100, 5_000)}
        paid = stamp(model=model, provider="x", usage=usage)
        answer = {"role": "assistant", "content": "So.", "tool_calls": calls, "metadata": paid}
        messages.append(answer if calls else {**answer, "tool_calls": []})
        for call in calls:
            content = "Error: it broke" if pick.random() < 0.2 else "fine"
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": content, "metadata": stamp()})
    return messages


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of a home and three projects with 200 sessions."""
    directory, pick = tmp_path_factory.mktemp("asked"), random.Random(61)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(directory / "home"))
        for project in PROJECTS:
            (directory / "here" / project).mkdir(parents=True, exist_ok=True) if project != "here" else None
        (directory / "here").mkdir(exist_ok=True)
        patch.chdir(directory / "here")
        for number in range(200):
            project = "." if (name := pick.choice(PROJECTS)) == "here" else name
            write(log_of(f"s{number:03}", project), generated(pick, number))
    return directory


class Bare:
    """The sessions as their files have them, read with nothing but `json`."""

    def __init__(self, home: Path) -> None:
        self.logs: dict[tuple[str, str], Log] = {}
        for path in sorted(home.glob(".amplifier/projects/*/sessions/*/*.jsonl")):
            lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
            messages = [line for line in lines if "role" in line]
            self.logs[path.parents[2].name, path.parent.name] = messages

    def that(self, holds: Callable[[Log], bool], project: str = "") -> list[str]:
        return sorted(name for (of, name), log in self.logs.items() if of.endswith(project) and holds(log))

    def requests(self) -> list[tuple[tuple[str, str], datetime, str, float]]:
        """Of each answer: its session, its time, its model and its cost."""
        found = []
        for key, log in self.logs.items():
            for message in log:
                meta = message.get("metadata", {})
                if usage := meta.get("usage"):
                    price = PRICES[meta["model"]]
                    cost = usage["input_tokens"] * price["input"] + usage["output_tokens"] * price["output"]
                    found.append((key, when(message), meta["model"], cost / 1e6))
        return found


def when(message: dict[str, Any]) -> datetime:
    return datetime.fromisoformat(message["metadata"]["timestamp"])


def last(log: Log) -> datetime:
    return max(map(when, log))


def tools_of(log: Log) -> set[str]:
    return {call["tool"] for message in log for call in message.get("tool_calls", [])}


def failed(log: Log) -> list[dict[str, Any]]:
    return [one for one in log if one["role"] == "tool" and one["content"].startswith("Error")]


def touched(log: Log) -> Counter[tuple[str, str]]:
    """How often which file was read and changed, by calls that did not fail."""
    told: Counter[tuple[str, str]] = Counter()
    for at, message in enumerate(log):
        for call in message.get("tool_calls", []):
            result = next(one for one in log[at:] if one.get("tool_call_id") == call["id"])
            if call["tool"] in ("read_file", "write_file") and result["content"] == "fine":
                told[call["arguments"]["path"], "read" if call["tool"] == "read_file" else "changed"] += 1
    return told


def asked(*arguments: str, code: int | None = 0) -> Any:
    return json.loads(run(*arguments, "--json", code=code).stdout)


def listed(*arguments: str) -> list[str]:
    return sorted(one["session"] for one in asked("list", *arguments)["sessions"])


def found(*arguments: str) -> list[str]:
    lines = run("search", *arguments, "--json", code=None).stdout.splitlines()
    return sorted({json.loads(line)["session"] for line in lines})


def costs(by: str, prices: str, *arguments: str) -> dict[str, float]:
    told = asked("stats", "--all", "--by", by, "--prices", prices, *arguments)[f"by_{by}"]
    return {one[by]: one["cost"] for one in told if one["requests"]}


def summed(pairs: Sequence[tuple[str, float]]) -> Any:
    """Return the costs of each key; equal to other sums but for what the order of adding rounds."""
    told: dict[str, float] = defaultdict(float)
    for key, cost in pairs:
        told[key] += cost
    return pytest.approx(dict(told), rel=0, abs=1e-9)


def local(moment: datetime) -> datetime:
    return moment.astimezone()


@pytest.fixture
def bare(written: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bare:
    """The files of a home of its own, in which commands are run."""
    monkeypatch.setenv("HOME", str(shutil.copytree(written / "home", tmp_path / "home")))
    monkeypatch.chdir(written / "here")
    return Bare(tmp_path / "home")


@proof
def test_which_sessions(bare: Bare) -> None:
    """By time, project, model, tool, name, failure and number, alone and together; by what was said."""
    ten, twenty = NOW - timedelta(days=10), NOW - timedelta(days=20)

    def uses(model: str) -> Callable[[Log], bool]:
        return lambda log: any(one.get("metadata", {}).get("model") == model for one in log)

    def says(word: str) -> Callable[[Log], bool]:
        return lambda log: any(word in str(one["content"]).casefold() for one in log)

    assert listed("--all", "--since", ten.isoformat()) == bare.that(lambda log: last(log) >= ten)
    between = ("--since", twenty.isoformat(), "--until", ten.isoformat())
    assert listed("--all", *between) == bare.that(lambda log: last(log) >= twenty and min(map(when, log)) < ten)
    assert listed("--project", "first") == bare.that(lambda _: True, "-first")
    assert listed("--all", "--model", "ALPHA") == bare.that(uses("alpha-1"))
    assert listed("--all", "--tool", "bash", "--tool", "grep") == bare.that(
        lambda log: tools_of(log) >= {"bash", "grep"}
    )
    assert listed("--all", "--name", "s01") == [f"s{number:03}" for number in range(10, 20)]
    together = ("--all", "--failed", "--tool", "bash", "--since", twenty.isoformat(), "--model", "beta")
    assert listed(*together) == bare.that(
        lambda log: bool(failed(log)) and "bash" in tools_of(log) and last(log) >= twenty and uses("beta-2")(log)
    )
    newest = sorted(bare.logs, key=lambda key: last(bare.logs[key]), reverse=True)[:7]
    assert listed("--all", "-n", "7") == sorted(name for _, name in newest)
    assert listed("--all", "--grep", "refund") == bare.that(says("refund"))
    assert found("-w", "invoice", "--all", "-l") == bare.that(says("invoice"))
    assert found(KEY, "--all", "-l") == bare.that(says(KEY))


@proof
def test_what_they_cost(bare: Bare, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By model, project, month, week and day, in a time, and what is left of a limit."""
    table = tmp_path / "prices.json"
    table.write_text(json.dumps(PRICES))
    prices, requests = str(table), bare.requests()
    assert costs("model", prices) == summed([(model, cost) for _, _, model, cost in requests])
    assert costs("project", prices) == summed([(key[0], cost) for key, _, _, cost in requests])
    assert costs("month", prices) == summed([(f"{local(at):%Y-%m}", cost) for _, at, _, cost in requests])
    told = asked("stats", "--all", "--by", "month,model", "--prices", prices)["by_month_model"]
    assert {f"{one['month']} {one['model']}": one["cost"] for one in told} == summed(
        [(f"{local(at):%Y-%m} {model}", cost) for _, at, model, cost in requests]
    )
    mondays = [((day := local(at)) - timedelta(days=day.weekday()), cost) for _, at, _, cost in requests]
    assert costs("week", prices) == summed([(f"{day:%Y-%m-%d}", cost) for day, cost in mondays])
    since, until = NOW - timedelta(days=30), NOW - timedelta(days=9)
    of_time = [(f"{local(at):%Y-%m-%d}", cost) for _, at, _, cost in requests if since <= at < until]
    assert costs("day", prices, "--since", since.isoformat(), "--until", until.isoformat()) == summed(of_time)
    monkeypatch.setattr(stats, "datetime", stopped_at(NOW))
    month = f"{local(NOW):%Y-%m}"
    spent = sum(cost for _, at, _, cost in requests if f"{local(at):%Y-%m}" == month)
    told = asked("stats", "--all", "--spend-limit", "100/month", "--prices", prices, code=None)
    assert told["spent"] == pytest.approx(spent, abs=1e-4)


@proof
def test_what_happened_in_them(bare: Bare) -> None:
    """Failed calls, files, figures by SQL, soundness."""
    shown = run("show", "--errors", "--all", "--json").stdout.splitlines()
    assert len(shown) == sum(len(failed(log)) for log in bare.logs.values())
    files = asked("files", "--all", "src/c.py")["files"]
    of_file = {name: touched(log) for (_, name), log in bare.logs.items()}
    assert {one["session"]: (one["read"], one["changed"]) for one in files} == {
        name: (told["src/c.py", "read"], told["src/c.py", "changed"])
        for name, told in of_file.items()
        if told["src/c.py", "read"] + told["src/c.py", "changed"]
    }
    assert [one["last_time"] for one in files] == sorted((one["last_time"] for one in files), reverse=True)
    (name,) = listed("--all", "--name", "s007")
    own = asked("files", name, code=None)["files"]
    assert {(one["path"], action): one[action] for one in own for action in ("read", "changed") if one[action]} == dict(
        of_file[name]
    )
    rows = asked("sql", "SELECT tool, count(*) AS n FROM calls GROUP BY tool", "--all")["rows"]
    calls = [call["tool"] for log in bare.logs.values() for one in log for call in one.get("tool_calls", [])]
    assert {row["tool"]: row["n"] for row in rows} == Counter(calls)
    assert {one["status"] for one in asked("verify", "--all")["logs"]} == {"sound"}


@proof
def test_what_would_go(bare: Bare) -> None:
    """A dry run names the sessions, and removes nothing."""
    old = NOW - timedelta(days=40)
    gone = asked("prune", "--all", "--older", old.isoformat(), "--dry-run")
    assert sorted(one["session"] for one in gone["deleted"]) == bare.that(lambda log: last(log) < old)
    told = asked("purge", "--redact", KEY, "--all", "--dry-run")
    assert sorted(Path(one["path"]).parent.name for one in told["purged"]) == bare.that(
        lambda log: any(KEY in str(one["content"]) for one in log)
    )
    assert len(listed("--all")) == 200
