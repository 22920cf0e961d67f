"""When a window plans: at the threshold, not again where it frees too little, and never where it may not."""

import pytest

from amplifier_module_context_persistent.compaction.summary_span import Span
from amplifier_module_context_persistent.errors import FloorError
from amplifier_module_context_persistent.window.request import ViewRequest
from tests.support.checker import same
from tests.support.counters import count
from tests.support.windows import TEXT, Desk


def test_no_plan_is_made_before_the_summary_that_is_wanted() -> None:
    """The caller gets the request for it in place of the view, and what a plan would begin with."""
    desk = Desk(summary_max_tokens=100)
    desk.talk(20)
    built = desk.window.build(desk.log, ViewRequest(budget_tokens=2_000, sums_up=True))
    assert (built.view, built.messages, built.compaction) == (None, 41, None)
    assert isinstance(built.span, Span)
    assert built.span.ordinals
    assert built.tokens > 2_000
    assert desk.window.plan is None


def test_a_plan_that_frees_too_little_is_not_made_nor_tried_again() -> None:
    """Until the view has grown by `compact_min_gain`, or the budget has shrunk by so much or is too small."""
    desk = Desk(compact_min_gain=0.2, protected_recent=0.0)
    desk.talk(1, pinned=True)
    desk.add({"role": "user", "content": TEXT * 8})
    size = sum(map(count, desk.ask(10_000).view or []))
    budget = int(size / 0.95)
    assert desk.ask(budget).compaction is None
    tried = next(desk.plan_ids)
    for drifting in (budget, budget + 9, int(budget * 0.97), budget):
        assert desk.ask(drifting).compaction is None
    assert next(desk.plan_ids) == tried + 1
    desk.add({"role": "assistant", "content": "Yes."})
    desk.window.build(desk.log, ViewRequest(budget_tokens=int(budget * 0.95)))
    assert next(desk.plan_ids) == tried + 3


def test_the_next_process_does_not_plan_again_either() -> None:
    """Where a plan could not reach what is asked for, as little is tried after a restart as before it."""
    desk = Desk(max_messages=3)
    for _ in range(3):
        desk.add({"role": "user", "content": TEXT, "metadata": {"pinned": True}})
    desk.talk(5)
    desk.add({"role": "assistant", "content": TEXT * 40})
    first = desk.ask(3_000)
    assert first.compaction is not None
    assert len(first.view or []) > 3
    desk.store()
    assert desk.ask(3_000).compaction is None
    again = desk.ask(3_000, desk.new_window())
    assert again.compaction is None
    assert same(again.view, first.view)


def test_an_error_is_raised_again_without_another_plan() -> None:
    """While nothing has changed but the budget, and that not by enough; it names the budget at hand."""
    desk = Desk()
    desk.add({"role": "user", "content": TEXT * 20})
    for budget in (100, 100, 50, 200):
        with pytest.raises(FloorError) as caught:
            desk.ask(budget)
        assert caught.value.budget_tokens == budget
    assert next(desk.plan_ids) == 1
    desk.ask(caught.value.needed_tokens)
