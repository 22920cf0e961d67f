"""A view that something made small takes in again what the log has, where there is room for it."""

import sys
from itertools import product

import pytest

from amplifier_module_context_persistent.window.request import ViewResult
from tests.support.checker import same
from tests.support.sweeps import proof, spread
from tests.support.view_properties import goes_on
from tests.support.windows import TEXT, Desk, count

LARGE, SMALL = 20_000, 3_000


def turn(desk: Desk, number: int, said: str = TEXT) -> None:
    """A turn with a call, and the next person's message."""
    call = {"id": f"c{number}", "name": "read_file", "arguments": {"path": f"src/part_{number}.py"}}
    desk.add(
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": f"c{number}", "content": f"part_{number} = {said}"},
        {"role": "assistant", "content": f"Part {number} is read. {TEXT}"},
        {"role": "user", "content": f"And part {number + 1}? {TEXT}"},
    )


def begun(turns: int = 20) -> Desk:
    desk = Desk()
    desk.add({"role": "user", "content": "Read all parts."})
    for number in range(turns):
        turn(desk, number)
    return desk


def tokens(built: ViewResult) -> int:
    return sum(map(count, built.view or []))


def undisturbed(turns: int = 20) -> int:
    return tokens(begun(turns).ask(LARGE))


@pytest.mark.parametrize("resumed", [False, True])
def test_a_view_grows_back_after_a_request_with_a_small_window(resumed: bool) -> None:
    """Where the next turn begins, also in the next process; it then goes on as every view does (I6)."""
    desk = begun()
    assert tokens(desk.ask(SMALL)) < SMALL
    desk.store()
    if resumed:
        desk.window = desk.new_window()
    grown = desk.ask(LARGE)
    assert grown.planning.compaction is not None
    assert tokens(grown) >= 0.9 * undisturbed()
    turn(desk, 20)
    later = desk.ask(LARGE)
    assert later.planning.compaction is None
    assert goes_on(grown.view or [], later.view or [])


@proof(quick=1)
@pytest.mark.parametrize("steps", [2, 20, 30, 40])
def test_a_long_turn_that_was_resumed_small_grows_back_with_the_next_turns(steps: int) -> None:
    """However much of the room the rest of that turn has filled since, up to the quarter that growing is worth."""
    desk = Desk()
    desk.add({"role": "user", "content": "Read all parts."})
    read_on(desk, 0, 60)
    small = tokens(desk.ask(SMALL))
    desk.store()
    desk.window = desk.new_window()
    read_on(desk, 60, steps)
    before = tokens(desk.ask(LARGE))
    desk.add({"role": "assistant", "content": "Read."}, {"role": "user", "content": "Go on."})
    grown = desk.ask(LARGE)
    assert grown.planning.compaction is not None
    assert small < before < 0.7 * tokens(grown)


def read_on(desk: Desk, first: int, steps: int) -> None:
    """Go on in the same turn by calls that read parts."""
    for number in range(first, first + steps):
        call = {"id": f"c{number}", "name": "read_file", "arguments": {"path": f"src/part_{number}.py"}}
        desk.add(
            {"role": "assistant", "content": "", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"c{number}", "content": f"part_{number} = {TEXT}"},
        )


def test_it_does_not_in_the_middle_of_a_turn() -> None:
    """Which would end the reasoning of its tool loop, and the cache."""
    desk = begun()
    desk.ask(SMALL)
    desk.add({"role": "assistant", "content": "I look."})
    assert desk.ask(LARGE).planning.compaction is None


def test_a_view_without_a_budget_follows_its_plan() -> None:
    """As when it is rebuilt from its receipt."""
    desk = begun()
    small = desk.ask(SMALL)
    again = desk.ask(sys.maxsize)
    assert again.planning.compaction is None
    assert same(again.view, small.view)


def test_two_budgets_that_take_turns_do_not_have_it_grow_each_time() -> None:
    """Else neither would find its prefix in a cache again; budgets follow the provider's counts, so they drift."""
    desk = begun()
    grew = 0
    for number in range(20, 26):
        desk.ask(SMALL - 9 * number)
        grew += desk.ask(LARGE).planning.compaction is not None
        turn(desk, number)
    assert grew == 1


@pytest.mark.parametrize(
    "policy",
    [{"max_messages": 500}, {"compaction_strategy": "sliding_window"}, {"compaction_strategy": "importance"}],
)
def test_what_is_kept_small_on_purpose_stays_small(policy: dict[str, object]) -> None:
    """By a policy that uses no room that is left."""
    desk = Desk(**policy)
    desk.add({"role": "user", "content": "Read all parts."})
    for number in range(20):
        turn(desk, number)
    desk.ask(SMALL)
    assert desk.ask(LARGE).planning.compaction is None


@proof(quick=1)
@pytest.mark.parametrize(("turns", "lines"), list(spread(product((20, 45), (3_500, 4_000)), 3)))
def test_a_large_write_leaves_no_trace_once_a_plan_leaves_it_out(turns: int, lines: int) -> None:
    """Against the same session without it: no view is smaller than there, or than a plan makes it, write or not."""
    desk, twin = begun(turns), begun(turns)
    call = {"id": "w", "name": "write_file", "arguments": {"path": "all.py", "content": "x = 1\n" * lines}}
    desk.add({"role": "assistant", "content": "", "tool_calls": [call]})
    assert desk.ask(LARGE).planning.compaction is not None
    desk.add({"role": "tool", "tool_call_id": "w", "content": "written"})
    replanned = 0
    for number in range(turns, turns + 4):
        for one in (desk, twin):
            one.add({"role": "assistant", "content": "It is written."})
            one.add({"role": "user", "content": f"Go on. {TEXT}"})
            turn(one, number)
        view, without = desk.ask(LARGE), twin.ask(LARGE)
        replanned += view.planning.compaction is not None
        expected = min(tokens(without), desk.config.target_usage * LARGE)
        assert tokens(view) >= 0.9 * expected
        if replanned:
            others = [message for message in view.view or [] if "x = 1" not in str(message)]
            assert sum(map(count, others)) >= 0.9 * expected
    assert replanned


@proof
def test_what_was_tried_in_vain_far_back_is_still_told(desk: Desk) -> None:
    """A plan of the history looks back one budget alone; what the plan before knew of older commands goes on."""
    desk.add({"role": "user", "content": "Read all parts."})
    call = {"id": "f", "name": "bash", "arguments": {"command": "make the_part_that_fails"}}
    desk.add(
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "f", "content": "exit code: 2\nno rule"},
    )
    for number in range(120):
        turn(desk, number)
        if number % 20 == 19:
            desk.ask(SMALL)
    grown = desk.ask(LARGE)
    assert grown.planning.compaction.plan.left_out.in_vain == ("make the_part_that_fails",)


def test_what_cannot_grow_is_not_tried_again(desk: Desk) -> None:
    """Where the history has no more, the view stays as it is."""
    desk.add({"role": "user", "content": "Read."})
    turn(desk, 0, TEXT * 6)
    small = desk.ask(700)
    assert small.planning.compaction is not None
    for _ in range(2):
        again = desk.ask(LARGE)
        assert (again.planning.compaction, again.planning.is_due, again.planning.floor) == (None, False, None)
        assert same(again.view, small.view)
