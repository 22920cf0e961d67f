"""The window on a log: what it takes in, whose plan it follows, and when it tries another one."""

import gc
from typing import Any

import pytest

from amplifier_module_context_persistent.compaction.planner import compact
from amplifier_module_context_persistent.window import window_plans
from amplifier_module_context_persistent.window.request import ViewRequest
from tests.support.checker import same
from tests.support.counters import count
from tests.support.sweeps import proof
from tests.support.view_properties import goes_on
from tests.support.windows import Desk


def test_what_is_new_is_taken_in_once(desk: Desk) -> None:
    """A view goes on with what was appended; nothing is planned while it fits."""
    desk.talk(2)
    desk.add({"role": "user", "content": "And?"})
    before = desk.ask(10_000).view
    desk.add({"role": "assistant", "content": "So."}, {"role": "user", "content": "And?"})
    after = desk.ask(10_000)
    assert (len(before), len(after.view), after.planning.compaction) == (5, 7, None)
    assert goes_on(before, after.view)
    assert desk.window.measure(desk.log, ViewRequest(budget_tokens=10_000)) == (sum(map(count, after.view)), 7)


def test_the_collector_rests_while_a_plan_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """It would look at everything again and again, and runs as before afterwards."""
    desk, seen = Desk(), list[bool]()

    def planned(*given: Any, **how: Any) -> Any:
        seen.append(gc.isenabled())
        return compact(*given, **how)

    monkeypatch.setattr(window_plans, "compact", planned)
    desk.talk(40)
    assert desk.ask(3_000).planning.compaction is not None
    assert (seen, gc.isenabled()) == ([False], True)


@proof
def test_a_plan_that_was_not_stored_is_followed_all_the_same(desk: Desk) -> None:
    """Also where the log holds an older one: the window does not fall back on it."""
    desk.talk(20)
    desk.ask(2_000)
    desk.store()
    desk.talk(20)
    second = desk.ask(2_000)
    assert second.planning.compaction is not None
    third = desk.ask(2_000)
    assert third.planning.compaction is None
    assert same(third.view, second.view)


def test_a_forced_plan_goes_down_to_the_target() -> None:
    """Whatever the view's size; a view at the target needs none."""
    desk = Desk(compaction_notice_enabled=False)
    desk.talk(20)
    before = desk.ask(10_000)
    budget = before.tokens * 4 // 3
    forced = desk.ask(budget, plans_now=True)
    assert forced.planning.compaction.plan.making.tokens_after <= budget // 2
    assert desk.ask(100_000, plans_now=True).planning.compaction is None
