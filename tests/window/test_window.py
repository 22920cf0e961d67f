"""The window on a log: what it takes in, whose plan it follows, and when it tries another one."""

import gc
import logging
from typing import Any

import pytest

from amplifier_module_context_persistent.compaction.planner import compact
from amplifier_module_context_persistent.errors import FloorError
from amplifier_module_context_persistent.log.memory import MemoryLog
from amplifier_module_context_persistent.log.record import encode_control
from amplifier_module_context_persistent.window import window
from amplifier_module_context_persistent.window.request import ViewRequest
from fixtures.generate import generate_session
from tests.support.checker import same
from tests.support.logs import append_bodies
from tests.support.messages import Message
from tests.support.view_properties import goes_on
from tests.support.windows import TEXT, Desk, count


def test_what_is_new_is_taken_in_once() -> None:
    """A view goes on with what was appended; nothing is planned while it fits."""
    desk = Desk()
    desk.talk(2)
    before = desk.ask(10_000).view
    desk.talk(1)
    after = desk.ask(10_000)
    assert before is not None
    assert after.view is not None
    assert (len(before), len(after.view), after.compaction) == (4, 6, None)
    assert goes_on(before, after.view)
    assert desk.window.measure(desk.log, ViewRequest(budget_tokens=10_000)) == (sum(map(count, after.view)), 6)


def test_no_plan_is_made_where_none_may_be() -> None:
    """The caller is told by the missing view, and what a plan would begin with."""
    desk = Desk()
    desk.talk(20)
    built = desk.window.build(desk.log, ViewRequest(budget_tokens=1_000), may_plan=False)
    assert (built.view, built.messages, built.compaction) == (None, 40, None)
    assert built.tokens > 1_000
    assert desk.window.plan is None


def test_the_collector_rests_while_a_plan_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """It would look at everything again and again, and runs as before afterwards."""
    desk, seen = Desk(), list[bool]()

    def planned(*given: Any, **how: Any) -> Any:
        seen.append(gc.isenabled())
        return compact(*given, **how)

    monkeypatch.setattr(window, "compact", planned)
    desk.talk(40)
    assert desk.ask(3_000).compaction is not None
    assert (seen, gc.isenabled()) == ([False], True)


def test_a_stored_plan_is_followed_by_the_next_process() -> None:
    """Its view is the same to the byte, and no new plan is made."""
    desk = Desk()
    desk.talk(20)
    first = desk.ask(2_000)
    assert first.compaction is not None
    desk.store()
    again = desk.ask(2_000, desk.new_window())
    assert again.compaction is None
    assert same(again.view, first.view)


def test_a_plan_that_was_not_stored_is_followed_all_the_same() -> None:
    """Also where the log holds an older one: the window does not fall back on it."""
    desk = Desk()
    desk.talk(20)
    desk.ask(2_000)
    desk.store()
    desk.talk(20)
    second = desk.ask(2_000)
    assert second.compaction is not None
    third = desk.ask(2_000)
    assert third.compaction is None
    assert same(third.view, second.view)


def test_the_plan_of_another_process_is_followed() -> None:
    """As soon as it stands in the log."""
    desk = Desk()
    desk.talk(20)
    desk.ask(20_000)
    other = desk.new_window()
    theirs = desk.ask(2_000, other)
    desk.store(other)
    ours = desk.ask(20_000)
    assert ours.compaction is None
    assert same(ours.view, theirs.view)


WRONG: list[tuple[Message, str]] = [
    ({"keep": [["m0", "gone"]], "upto": "m3"}, "not in the live history: 'gone'"),
    ({"keep": [["m0", "m1"]], "upto": "gone"}, "not in the live history: 'gone'"),
    ({"keep": [["m0", "m1"]]}, "not in the live history: 'None'"),
    ({"keep": "m0", "upto": "m3"}, "no list of runs"),
    ({"keep": [["m0"]], "upto": "m3"}, "no list of runs"),
    ({"keep": [["m0", "m1"]], "upto": "m3"}, "not a plan"),
]


@pytest.mark.parametrize(("fields", "reason"), WRONG)
def test_a_plan_that_cannot_be_followed_is_replaced(
    fields: Message, reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    """With one warning, whatever is wrong with it; history is whole, and a new plan is made when one is needed."""
    desk = Desk()
    desk.talk(20)
    append_bodies(desk.log, encode_control("plan", id="p", **fields))
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            view = desk.ask(20_000).view
            assert view is not None
            assert len(view) == 40
    (record,) = caplog.records
    assert "the stored plan cannot be followed" in record.getMessage()
    assert reason in record.getMessage()
    assert desk.ask(2_000).compaction is not None
    desk.store()
    assert desk.ask(2_000, desk.new_window()).compaction is None


def test_a_reset_voids_the_plan() -> None:
    """The live history is what the reset says."""
    desk = Desk()
    desk.talk(20)
    desk.ask(2_000)
    desk.store()
    kept = encode_control("keep", **{"from": "m4", "to": "m5"})
    reset = encode_control("reset", id="r", reason="rewind", count=1)
    append_bodies(desk.log, reset, kept, encode_control("commit", id="r"))
    view = desk.ask(2_000).view
    assert view is not None
    assert [m["metadata"]["message_id"] for m in view] == ["m4", "m5"]
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
    desk.window.build(desk.log, ViewRequest(budget_tokens=int(budget * 0.95)), may_plan=True)
    assert next(desk.plan_ids) == tried + 3


def test_the_next_process_does_not_plan_again_either() -> None:
    """Where a plan could not reach what is asked for, as little is tried behind a restart as before it."""
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


def test_a_window_aside_begins_with_the_plan_and_leaves_it_alone() -> None:
    """Its plans are its own."""
    desk = Desk()
    desk.talk(20)
    desk.extras.add_ephemeral(desk.log.index, {"role": "user", "content": "<system-reminder>", "metadata": {}}, count)
    desk.talk(20)
    main = desk.ask(2_000)
    desk.store()
    aside = desk.new_window(store=False)
    aside.begin_with(desk.window)
    assert same(desk.ask(2_000, aside).view, main.view)
    assert desk.ask(500, aside).compaction is not None
    assert same(desk.ask(2_000).view, main.view)
    assert aside.plan is not None
    assert desk.window.plan is not None
    assert aside.plan.id != desk.window.plan.id


def test_a_larger_budget_looks_further_back_while_there_is_no_plan() -> None:
    """What was left out for a small budget's sake is taken in for a large one."""
    desk = Desk()
    desk.talk(400)
    desk.window.measure(desk.log, ViewRequest(budget_tokens=200))
    view = desk.ask(1_000_000).view
    assert view is not None
    assert len(view) == 800


def test_stored_system_messages_give_way_to_a_factory() -> None:
    """But for those of hooks and memory files; they are not lost by a plan that was made meanwhile."""
    desk = Desk()
    desk.add({"role": "system", "content": "old"})
    desk.add({"role": "system", "content": "hook", "metadata": {"source": "hook"}})
    desk.add({"role": "system", "content": "file", "metadata": {"source": "memory-file"}})
    desk.add({"role": "developer", "content": "developer"})
    desk.talk(20)
    head = ({"role": "system", "content": "new"},)
    asked = {"head_text": head[0]["content"], "fixed_tokens": count(head[0])}
    built = desk.ask(2_000, **asked)
    assert built.compaction is not None
    assert [m["content"] for m in built.view or []][:4] == ["new", "hook", "file", "developer"]
    desk.store()
    assert same(desk.ask(2_000, desk.new_window(), **asked).view, built.view)
    without = desk.ask(2_000, desk.new_window()).view or []
    assert [m["content"] for m in without][:4] == ["old", "hook", "file", "developer"]


def test_a_forced_plan_goes_down_to_the_target() -> None:
    """Whatever the view's size; a view at the target needs none."""
    desk = Desk(compaction_notice_enabled=False)
    desk.talk(20)
    before = desk.ask(10_000)
    budget = before.tokens * 4 // 3
    forced = desk.ask(budget, force=True)
    assert forced.compaction is not None
    assert forced.compaction.plan.tokens_after <= budget // 2
    assert desk.ask(100_000, force=True).compaction is None


def test_there_is_no_record_without_a_plan() -> None:
    """Asking for one is an error of the caller."""
    with pytest.raises(ValueError, match="there is no plan"):
        Desk().window.plan_record(MemoryLog())


def test_a_larger_budget_looks_at_more_of_a_long_history() -> None:
    """What was left unread for a small budget is read for a larger one: no view leaves history out without a plan."""
    desk = Desk()
    for message in generate_session(4, 900):
        desk.add(message)
    log_window = desk.new_window()
    small, large = ViewRequest(budget_tokens=110_000), ViewRequest(budget_tokens=200_000)
    assert 110_000 < log_window.measure(desk.log, small)[0] < 200_000
    assert log_window.measure(desk.log, large)[0] > 200_000
    view = desk.ask(2_000_000).view
    assert view is not None
    assert len(view) >= 890
