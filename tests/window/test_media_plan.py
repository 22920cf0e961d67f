"""The plan that leaves out images and nothing else."""

from dataclasses import replace

from amplifier_module_context_persistent.compaction.provider_limits import RequestLimits
from amplifier_module_context_persistent.window.request import Room, ViewRequest
from tests.support.messages import user
from tests.support.pictures import images_in, shot
from tests.support.windows import Desk

FEW = RequestLimits(images=4)


def test_messages_and_cuts_stay_as_they_were() -> None:
    """After a plan that shortened texts, one for images takes over all of it."""
    desk = Desk(compact_threshold=0.9, target_usage=0.5)
    desk.talk(30)
    first = desk.ask(4_000)
    assert first.planning.compaction is not None
    assert desk.window.plan is not None
    desk.store()
    before = desk.window.plan
    desk.add(user("Look."))
    desk.add(*[m for n in range(6) for m in shot(n, width=64, height=64)])
    built = desk.ask(9_000, limits=FEW)
    made = built.planning.compaction
    assert len(images_in(built.view)) == 2
    assert (made.plan.cuts, made.plan.notice.text, made.plan.left_out.gaps) == (
        before.cuts,
        before.notice.text,
        before.left_out.gaps,
    )
    assert set(before.keep) <= set(made.plan.keep)
    assert sorted(map(len, made.plan.media.values())) == [1, 1, 1, 1]
    assert made.plan.making.tokens_after == built.counted_tokens < made.plan.making.tokens_before
    desk.store()
    assert desk.ask(9_000, desk.new_window(), limits=FEW).view == built.view


def test_what_its_view_comes_to_is_counted_without_reasoning_that_goes_with_the_images() -> None:
    """The reasoning was made after them, and its maker checks what stands before it."""
    desk, asked = Desk(), {"provider": "anthropic", "model": "claude-opus-5-5"}
    desk.add(user("Look."))
    desk.add(*[m for n in range(4) for m in shot(n)])
    thought = {"type": "thinking", "thinking": "Is it the right page? " * 20, "signature": "s"}
    metadata = {"bound": desk.ask(90_000, limits=FEW, **asked).reasoning.bound}
    desk.add({"role": "assistant", "content": [thought, {"type": "text", "text": "It is."}], "metadata": metadata})
    assert "thinking" in str(desk.ask(90_000, limits=FEW, **asked).view)
    desk.add(user("And the next?"))
    desk.add(*shot(4))
    built = desk.ask(90_000, limits=FEW, **asked)
    assert "thinking" not in str(built.view)
    assert (
        built.counted_tokens
        == built.planning.compaction.plan.making.tokens_after
        == sum(item.tokens for item in built.items)
    )


def test_a_plan_without_images_left_out_shows_them_all(desk: Desk) -> None:
    """As plans from before did: their record names none."""
    desk.add(user("Look."))
    desk.add(*[m for n in range(6) for m in shot(n)])
    assert desk.ask(90_000, limits=None).planning.compaction is None
    view = desk.ask(90_000, limits=FEW).view or []
    assert len(images_in(view)) == 2
    record = desk.window.plan.to_record([("m0", "m12")])
    assert record.pop("media")
    assert len(images_in(desk.ask(90_000, desk.new_window()).view or [])) == 6


def test_a_budget_leaves_room_for_bytes() -> None:
    """It is lowered by as much as the text is too large, and stays the same where it is not."""
    request = ViewRequest(budget_tokens=500, room=Room(limits=RequestLimits(request_bytes=1_100)))
    assert request.with_room_for(100, 1_000) is request
    small = replace(request, room=replace(request.room, fixed_bytes=600))
    assert small.with_room_for(100, 1_000).budget_tokens == 45
    assert replace(small, room=Room()).with_room_for(100, 1_000).budget_tokens == 500
