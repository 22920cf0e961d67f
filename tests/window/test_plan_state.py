"""The state that a plan leaves: which messages are whole, and which are marked for the next plan."""

from dataclasses import replace

from amplifier_module_context_persistent.messages.elide import Cut
from amplifier_module_context_persistent.tokens.counter import EstimateCounter
from amplifier_module_context_persistent.view.plan import Notice, Plan
from amplifier_module_context_persistent.window.message_source import MessageSource
from amplifier_module_context_persistent.window.plan_state import PlanState, mark, visible
from tests.support.windows import Desk


def desk_with(turns: int) -> Desk:
    desk = Desk()
    desk.talk(turns)
    return desk


def test_a_message_is_whole_where_nothing_of_it_is_cut() -> None:
    """One that is left out, cut or without its thinking is not."""
    entries = desk_with(2).entries([0, 1, 3])
    plan = Plan(id="p", upto="m3", keep=(), cuts={"m1": Cut(1, 1)}, silent=frozenset({"m3"}))
    state = PlanState(entries, plan)
    assert [state.shows_whole({ordinal}) for ordinal in range(4)] == [True, False, False, False]
    assert PlanState(entries).shows_whole({0, 1, 3})
    assert state.shows_whole({-5})


def test_messages_are_made_whole_again() -> None:
    """Those left out come back in their place, cuts go; what is whole already is the same object."""
    desk = desk_with(2)
    state = PlanState(desk.entries([0, 3]), Plan(id="p", upto="m3", keep=(), cuts={"m3": Cut(1, 1)}), {"m3": 5}, 2)
    whole = state.with_whole({1, 3}, desk.log, MessageSource(desk.config, EstimateCounter(), desk.unlogged))
    assert [entry.ordinal for entry in whole.entries] == [0, 1, 3]
    assert whole.shows_whole({0, 1, 3})
    assert (whole.left_out, dict(whole.cut_tokens)) == (1, {})
    assert whole.with_whole({1}, desk.log, MessageSource(desk.config, EstimateCounter(), desk.unlogged)) is whole
    assert not state.shows_whole({3})


def test_a_state_becomes_a_plan_under_another_id() -> None:
    """It names what is kept; the notice goes where nothing is left out any more."""
    desk = desk_with(2)
    plan = Plan(id="p", upto="m1", keep=(), notice=Notice("some are gone"))
    made = PlanState(desk.entries([0, 3]), plan, left_out=2).as_plan("q", 3)
    assert (made.id, made.upto, made.keep, made.left_out.messages, made.notice.text) == (
        "q",
        "m3",
        ("m0", "m3"),
        2,
        "some are gone",
    )
    all_of_it = PlanState(desk.entries(range(4)), plan).as_plan("q", 3)
    assert all_of_it.notice.text == ""
    assert PlanState([]).as_plan("q", None) is None


def test_pins_and_retained_messages_are_marked_for_the_next_plan() -> None:
    """In new entries; those of the window stay as they are."""
    entries = desk_with(2).entries(range(4))
    marked = mark(entries, pins={0}, retained={2})
    assert [entry.ordinal for entry in marked if entry.pinned] == [0]
    assert [entry.ordinal for entry in marked if entry.changes.protected] == [2]
    assert [entry.ordinal for entry in marked] == [0, 1, 2, 3]
    assert not entries[0].pinned
    assert mark(entries, pins=set(), retained=set()) == entries


def test_stored_system_text_gives_way_to_a_factory() -> None:
    """Not where there is none."""
    entries = desk_with(1).entries([0, 1])
    entries[0] = replace(entries[0], role="system")
    assert visible(entries, has_factory=False) == entries
    assert visible(entries, has_factory=True) == entries[1:]
