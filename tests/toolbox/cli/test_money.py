"""Money: dollars and cents, by week and month, what is left of a limit, and what resuming costs."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

from amplifier_module_context_persistent.catalogue.last_request import NO_REQUEST, LastRequest
from amplifier_module_context_persistent.sessions.prices import PriceList
from amplifier_module_context_persistent.sessions.request_costs import Bill, Cost
from amplifier_module_context_persistent.sessions.resume_cost import resume_cost
from amplifier_module_context_persistent.toolbox.cli import stats
from amplifier_module_context_persistent.toolbox.cli.amounts import money
from amplifier_module_context_persistent.toolbox.cli.session_budget import DEFAULT_BUDGET_TOKENS, session_budget
from amplifier_module_context_persistent.toolbox.cli.spend_limit import SpendLimit
from amplifier_module_context_persistent.toolbox.cli.tables import cost_notes, show_cost
from tests.support.commands import refused, run, shows, without_colours
from tests.support.sessions_of_a_home import TERMINAL, log_of, write
from tests.support.stopped_time import stopped_at

pytestmark = pytest.mark.usefixtures("project")

MODEL = "claude-opus-4-5-20251101"
NOON = datetime(2026, 1, 15, 12, tzinfo=UTC)


def paid(when: datetime, *, tokens: int = 100_000) -> list[dict[str, Any]]:
    """A turn whose answer cost $0.50 for every 100,000 tokens of input."""
    stamp = {"timestamp": when.isoformat()}
    usage = {"input_tokens": tokens, "output_tokens": 0}
    meta = {**stamp, "model": MODEL, "provider": "anthropic", "usage": usage}
    return [
        {"role": "user", "content": "Go.", "metadata": stamp},
        {"role": "assistant", "content": "So.", "metadata": meta},
    ]


@pytest.mark.parametrize(
    ("dollars", "shown"), [(0.0, "$0.00"), (0.004, "<$0.01"), (0.006, "$0.01"), (0.525, "$0.53"), (1234.5, "$1,234.50")]
)
def test_amounts_are_dollars_and_cents(dollars: float, shown: str) -> None:
    assert money(dollars) == shown


def test_by_week_and_by_month() -> None:
    """A week is named by its Monday; each holds what was paid in it."""
    for number, day in enumerate((4, 5, 11, 12)):  # January 2026: a Sunday, a Monday, a Sunday, a Monday
        write(log_of(f"s{number}"), paid(datetime(2026, 1, day, 12, tzinfo=UTC)))
    write(log_of("s9"), paid(datetime(2026, 2, 3, 12, tzinfo=UTC)))

    def costs(by: str) -> dict[str, float]:
        told = json.loads(run("stats", "--by", by, "--json").stdout)[f"by_{by}"]
        return {one[by]: one["cost"] for one in told}

    assert costs("week") == {"2025-12-29": 0.5, "2026-01-05": 1.0, "2026-01-12": 0.5, "2026-02-02": 0.5}
    assert costs("month") == {"2026-01": 2.0, "2026-02": 0.5}


def test_a_limit_says_what_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """And exits with 1 beyond it; only what was paid in its time counts."""
    monkeypatch.setattr(stats, "datetime", stopped_at(NOON))
    write(log_of("now"), paid(NOON))
    write(log_of("then"), paid(NOON - timedelta(days=40)))
    for unit in ("day", "week", "month"):
        shows(run("stats", "--spend-limit", f"2/{unit}").stdout, f"$0.50 of $2.00 spent this {unit}: $1.50 left")
    shows(
        run("stats", "--spend-limit", "0.25/week", code=1).stdout,
        "$0.50 of $0.25 spent this week: $0.25 over the limit",
    )
    assert json.loads(run("stats", "--all", "--spend-limit", "2/day", "--json").stdout)["left"] == 1.5
    assert "as in 50/week" in refused("stats", "--spend-limit", "50")
    assert "--since" in refused("stats", "--spend-limit", "50/week", "--since", "1d")


def test_a_limit_begins_with_its_day_its_monday_or_its_month() -> None:
    thursday = datetime(2026, 1, 15, 13).astimezone()
    begins = [SpendLimit(1, unit).period(thursday).since_s for unit in ("day", "week", "month")]
    assert begins == [datetime(2026, 1, day).timestamp() for day in (15, 12, 1)]


def test_what_resuming_costs() -> None:
    """The last request's input again: read from the cache while that lives, else written to it once more."""
    last = LastRequest("anthropic", MODEL, 100_000, 80_000, time="1970-01-01T00:16:40Z")
    price = PriceList().of(MODEL)
    assert price is not None
    warm, cold = (resume_cost(PriceList(), last, now_s) for now_s in (1_200.0, 1_400.0))
    assert warm is not None
    assert cold is not None
    assert (warm.is_cold, cold.is_cold) == (False, True)
    assert warm.cost == pytest.approx((20_000 * price.input + 80_000 * price.cached) / 1e6)
    assert cold.cost == pytest.approx((20_000 * price.input + 80_000 * price.write) / 1e6)
    for_an_hour = replace(last, is_kept_for_an_hour=True)
    warm, cold = (resume_cost(PriceList(), for_an_hour, now_s) for now_s in (4_500.0, 4_700.0))
    assert warm is not None
    assert cold is not None
    assert (warm.is_cold, cold.is_cold) == (False, True)
    assert cold.cost == pytest.approx((20_000 * price.input + 80_000 * price.write_1h) / 1e6)
    for unknown in (NO_REQUEST, replace(last, time=""), replace(last, model="nobody-knows")):
        assert resume_cost(PriceList(), unknown, 1_200.0) is None


def test_list_and_show_say_it() -> None:
    write(log_of("one"), paid(datetime(2026, 1, 5, 12, tzinfo=UTC)))
    shows(run("list").stdout, "RESUME", "  $0.50 cold  sound")
    shows(run("list", "--long").stdout, "resuming costs $0.50, the cache is cold (100,000 tokens)")
    shows(run("show", "one").stdout, "Resuming costs $0.50, the cache is cold (100,000 tokens)")
    for options in (["--long"], []):
        (one,) = json.loads(run("list", *options, "--json").stdout)["sessions"]
        assert one["resuming"] == {"cost": 0.5, "tokens": 100_000, "is_cold": True}


@pytest.mark.parametrize(("requests", "is_known"), [(1, True), (2, False)])
def test_what_several_requests_took_together_is_no_request_to_go_on_with(requests: int, is_known: bool) -> None:
    """As the sum of a whole session, which stands at its last answer."""
    person, answer = paid(NOON)
    usage = {**answer["metadata"]["usage"], "requests": requests}
    write(log_of("one"), [person, {**answer, "metadata": {**answer["metadata"], "usage": usage}}])
    (one,) = json.loads(run("list", "--json").stdout)["sessions"]
    assert (one["resuming"] is not None) == is_known


def test_what_an_agent_said_itself_is_no_request_to_go_on_with() -> None:
    """The request before it counts."""
    usage = {"input_tokens": 0, "output_tokens": 0}
    said = {"timestamp": "2026-01-05T13:00:00Z", "model": "<synthetic>", "usage": usage}
    interrupted = {"role": "assistant", "content": "No response requested.", "metadata": said}
    write(log_of("one"), [*paid(datetime(2026, 1, 5, 12, tzinfo=UTC)), interrupted])
    shows(run("list").stdout, "  $0.50 cold  sound")


def unreported(when: datetime) -> list[dict[str, Any]]:
    """Such a turn, of whose answer nobody says how many tokens it has: it is counted as 1,011."""
    person, answer = paid(when)
    meta = {**answer["metadata"], "usage": {"input_tokens": 100_000}}
    return [person, {**answer, "content": "word " * 1_007, "metadata": meta}]


def test_an_estimate_is_marked_wherever_it_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An output that nobody reported is counted here, the same in every figure, and a tilde stands before it."""
    monkeypatch.setattr(stats, "datetime", stopped_at(NOON))
    write(log_of("guessed"), unreported(NOON - timedelta(minutes=1)))
    write(log_of("told"), paid(NOON))
    table = tmp_path / "prices.json"
    table.write_text(json.dumps({MODEL: {"input": 5, "output": 25}}))
    (bill,) = json.loads(run("stats", "guessed", "--tokenizer", "estimate", "--json").stdout)["cost"]["models"].values()
    tokens, cost = bill["output_tokens"], 0.5 + bill["output_tokens"] * 25 / 1e6
    assert tokens > 1_000
    assert bill["cost"] == pytest.approx(cost)
    assert (bill["is_estimated"], bill["estimated_outputs"]) == (True, 1)
    assert bill["estimated_cost"] == pytest.approx(cost - 0.5)
    shown, both = f"~${cost:.2f}", f"~${cost + 0.5:.2f}"
    report, listed = tmp_path / "made" / "report-guessed.html", tmp_path / "made" / "index.html"
    (tmp_path / "made").mkdir()
    for answer in (
        run("list", "--long").stdout,
        run("stats", "guessed").stdout,
        run("stats", "--by", "session", "--prices", table).stdout,
        run("stats", "--spend-limit", "2/day").stdout.replace(both, shown),
        run("export", "guessed", "--format", "markdown").stdout,
        run("report", "guessed", "-o", report).stdout + report.read_text(),
        run("reports", tmp_path / "made").stdout + listed.read_text(),
    ):
        assert shown in answer
        assert f"~${0.5:.2f}" not in answer
    assert both in run("stats", "--by", "session").stdout
    shows(run("stats", "--all").stdout, "the output of 1 request was counted here, not reported ($0.03 of the cost)")
    shows(run("stats", "--spend-limit", "2/day").stderr, "the output of 1 request was counted here")
    costs = {
        one["session"]: one["is_cost_estimated"] for one in json.loads(run("list", "-l", "--json").stdout)["sessions"]
    }
    assert costs == {"guessed": True, "told": False}
    query = "SELECT session, estimated_outputs FROM sessions ORDER BY session"
    assert json.loads(run("sql", query, "--json").stdout)["rows"] == [
        {"session": "guessed", "estimated_outputs": 1},
        {"session": "told", "estimated_outputs": 0},
    ]
    assert f"{shown}" in run("diff", "guessed", "told", code=None).stdout


def test_of_a_project_the_end_is_shown_in_a_narrow_terminal() -> None:
    """Which is enough to name it; a pipe gets all."""
    deep = f"../{'deeper-' * 12}shop"
    write(log_of("s1", deep), paid(datetime.now(UTC)))
    write(log_of("s2"), paid(datetime.now(UTC)))
    for command in (("stats", "--all", "--by", "project"), ("du", "--all")):
        shown = without_colours(run(*command, env=TERMINAL).stdout)
        rows = [line for line in shown.splitlines() if "shop" in line]
        assert [line.split()[0][:3] for line in rows] == ["..."]
        assert max(map(len, shown.splitlines()[:5])) <= 80
        assert deep.removeprefix("../") in run(*command).stdout


def test_no_name_of_a_model_is_folded_in_a_terminal() -> None:
    """Where exact numbers take too much room, they are rounded."""
    for number, model in enumerate((MODEL, "claude-sonnet-4-5-20250929")):
        session = paid(datetime.now(UTC), tokens=123_456_789)
        session[1]["metadata"]["model"] = model
        write(log_of(f"s{number}"), session)
    narrow = without_colours(run("stats", "--by", "model", env=TERMINAL).stdout)
    shows(narrow, MODEL, "claude-sonnet-4-5-20250929", "123M")
    shows(run("stats", "--by", "model").stdout, "123,456,789")


def test_a_limit_that_is_just_spent_is_not_exceeded() -> None:
    assert "$0.00 left" in SpendLimit(5.0, "day").line(Bill(requests=1, cost=5.0))
    assert "$0.01 over the limit" in SpendLimit(5.0, "day").line(Bill(requests=1, cost=5.01))


def test_the_dearest_model_comes_first_and_the_sum_last() -> None:
    cost = Cost(Bill(requests=2, cost=3.0), {"a": Bill(requests=1, cost=1.0), "b": Bill(requests=1, cost=2.0)})
    told = io.StringIO()
    show_cost(Console(file=told, width=200), cost, [])
    assert [line.split()[0] for line in told.getvalue().splitlines() if line.strip()] == ["model", "b", "a", "all"]


@pytest.mark.parametrize(("hidden", "is_told"), [(1e-9, False), (0.5, True)])
def test_what_went_to_hidden_answers_is_told_unless_it_is_rounding(hidden: float, is_told: bool) -> None:
    said = " ".join(cost_notes(Cost(), PriceList(), hidden))
    assert ("no longer live" in said) is is_told


@pytest.mark.parametrize(
    ("budgets", "taken"),
    [([], DEFAULT_BUDGET_TOKENS), ([50_000, 90_000], 90_000), ([90_000, 0], DEFAULT_BUDGET_TOKENS)],
)
def test_policies_are_played_under_the_budget_of_the_last_request(budgets: list[int], taken: int) -> None:
    noted = [SimpleNamespace(receipt=SimpleNamespace(budget_tokens=budget)) for budget in budgets]
    transcript: Any = SimpleNamespace(has_requests=lambda: bool(noted), requests=lambda: noted)
    assert session_budget(transcript) == taken


def test_the_slowest_calls_come_first() -> None:
    """Of each, how long its result let the session wait."""
    messages = [{"role": "user", "content": "Go.", "metadata": {"timestamp": "2026-03-01T10:00:00Z"}}]
    for number, took in enumerate((3, 20, 7)):
        call = {"id": f"c{number}", "tool": "bash", "arguments": {}}
        began, ended = f"2026-03-01T10:0{number + 1}:00Z", f"2026-03-01T10:0{number + 1}:{took:02}Z"
        messages.append({"role": "assistant", "content": "", "tool_calls": [call], "metadata": {"timestamp": began}})
        messages.append(
            {"role": "tool", "tool_call_id": f"c{number}", "content": "ok", "metadata": {"timestamp": ended}}
        )
    write(log_of("s1"), messages)
    slowest = json.loads(run("stats", "s1", "--json").output)["slowest"]
    assert [call["duration_s"] for call in slowest] == [20, 7, 3]


def test_sessions_are_told_with_their_names() -> None:
    """A session without a name has an empty one; parts of another kind have none."""
    for name in ("named", "nameless"):
        write(log_of(name), paid(datetime(2026, 1, 5, 12, tzinfo=UTC)))
    run("rename", "named", "The invoice")
    told = json.loads(run("stats", "--by", "session", "--json").stdout)["by_session"]
    assert {one["session"]: one["name"] for one in told} == {"named": "The invoice", "nameless": ""}
    assert "name" not in json.loads(run("stats", "--by", "month", "--json").stdout)["by_month"][0]
