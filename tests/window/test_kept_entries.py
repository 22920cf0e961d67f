"""The entries a window keeps: what it takes in, whose plan it follows, how far back it looks."""

from amplifier_module_context_persistent.log.reset_record import KeptRun, Reset, frame
from amplifier_module_context_persistent.window.request import ViewRequest
from fixtures.generate import generate_session
from tests.support.checker import same
from tests.support.counters import count
from tests.support.logs import append_bodies
from tests.support.sweeps import proof
from tests.support.windows import Desk


def test_the_plan_of_another_process_is_followed(desk: Desk) -> None:
    """As soon as it stands in the log."""
    desk.talk(20)
    desk.ask(20_000)
    other = desk.new_window()
    theirs = desk.ask(2_000, other)
    desk.store(other)
    ours = desk.ask(20_000)
    assert ours.planning.compaction is None
    assert same(ours.view, theirs.view)


def test_a_reset_voids_the_plan(desk: Desk) -> None:
    """The live history is what the reset says."""
    desk.talk(20)
    desk.ask(2_000)
    desk.store()
    reset = Reset("r", "rewind", "t", "m19", 0, 2, (KeptRun.of(0, ["m4", "m5"]),))
    append_bodies(desk.log, *frame(reset, []))
    view = desk.ask(2_000).view
    assert [m["metadata"].get("message_id") for m in view] == ["m4", "m5"]
    assert desk.window.plan is None


@proof
def test_a_window_aside_begins_with_the_plan_and_leaves_it_alone(desk: Desk) -> None:
    """Its plans are its own."""
    desk.talk(20)
    desk.unlogged.add_ephemeral(desk.log.index, {"role": "user", "content": "<system-reminder>", "metadata": {}}, count)
    desk.talk(20)
    main = desk.ask(2_000)
    desk.store()
    aside = desk.new_window(store=False)
    aside.begin_with(desk.log, desk.window, ViewRequest(budget_tokens=2_000))
    assert same(desk.ask(2_000, aside).view, main.view)
    assert desk.ask(500, aside).planning.compaction is not None
    assert same(desk.ask(2_000).view, main.view)
    assert aside.plan.id != desk.window.plan.id


def test_stored_system_messages_give_way_to_a_factory(desk: Desk) -> None:
    """But for those of hooks and memory files; they are not lost by a plan that was made meanwhile."""
    desk.add(
        {"role": "system", "content": "old"},
        {"role": "system", "content": "hook", "metadata": {"source": "hook"}},
        {"role": "system", "content": "file", "metadata": {"source": "memory-file"}},
        {"role": "developer", "content": "developer"},
    )
    desk.talk(20)
    head = ({"role": "system", "content": "new"},)
    asked = {"head_text": head[0]["content"], "fixed_tokens": count(head[0])}
    built = desk.ask(2_000, **asked)
    assert built.planning.compaction is not None
    assert [m["content"] for m in built.view or []][:4] == ["new", "hook", "file", "developer"]
    desk.store()
    assert same(desk.ask(2_000, desk.new_window(), **asked).view, built.view)
    without = desk.ask(2_000, desk.new_window()).view or []
    assert [m["content"] for m in without][:4] == ["old", "hook", "file", "developer"]


@proof
def test_a_larger_budget_looks_at_more_of_a_long_history(desk: Desk) -> None:
    """What was left unread for a small budget is read for a larger one: no view leaves history out without a plan."""
    desk.add(*generate_session(4, 300))
    log_window = desk.new_window()
    small, large = ViewRequest(budget_tokens=37_000), ViewRequest(budget_tokens=75_000)
    assert 37_000 < log_window.measure(desk.log, small)[0] < 75_000
    assert log_window.measure(desk.log, large)[0] > 75_000
    view = desk.ask(2_000_000).view
    assert len(view) >= 297


def test_a_window_aside_begins_with_the_logs_plan_for_its_budget(desk: Desk) -> None:
    """In the next process; not with one for another budget, nor with one that too much was appended to."""
    desk.talk(40)
    aside = desk.new_window(store=False)
    made = desk.ask(1_000, aside)
    assert made.planning.compaction is not None
    append_bodies(desk.log, aside.plan_record(desk.log).replace(b'"plan"', b'"side_plan"', 1))
    for budget, talks, follows in ((1_040, 0, True), (1_400, 0, False), (1_000, 30, False)):
        desk.talk(talks)
        again, base = desk.new_window(store=False), desk.new_window()
        again.begin_with(desk.log, base, ViewRequest(budget_tokens=budget))
        assert (again.plan is not None) == follows
    assert made.view is not None
