"""Checking views one after the other finds what checking each one from its beginning finds."""

from __future__ import annotations

import copy
import random
from typing import Any

import pytest

from amplifier_module_context_persistent.replay import growing_check, request_checker
from amplifier_module_context_persistent.replay.checker import view_violations
from amplifier_module_context_persistent.replay.growing_check import GrowingCheck, WholeCheck
from amplifier_module_context_persistent.replay.request_checker import limit_violations
from tests.support.messages import user

Message = dict[str, Any]
IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}}


def turn(number: int, *, image: bool = False) -> list[Message]:
    """A turn with two calls, whole and in order."""
    calls = [{"id": f"c{number}-{k}", "tool": "bash", "arguments": {"n": k}} for k in range(2)]
    content: Any = [{"type": "text", "text": "see"}, IMAGE] if image else "do it"
    results = [{"role": "tool", "tool_call_id": one["id"], "name": "bash", "content": "done"} for one in calls]
    said = [
        {"role": "user", "content": content},
        {"role": "assistant", "content": "", "tool_calls": calls},
        *results,
        {"role": "assistant", "content": "It is done."},
    ]
    return [{**one, "metadata": {"message_id": f"m{number}-{k}"}} for k, one in enumerate(said)]


def broken(rng: random.Random, messages: list[Message]) -> list[Message]:
    """Messages of which one is left out, doubled, moved, emptied, or of another kind."""
    changed, at = copy.deepcopy(messages), rng.randrange(len(messages))
    kind = rng.randrange(7)
    if kind == 0:
        del changed[at]
    elif kind == 1:
        changed.insert(at, changed[at])
    elif kind == 2:
        changed.insert(rng.randrange(len(changed)), changed.pop(at))
    elif kind == 3:
        changed[at]["content"] = " "
    elif kind == 4:
        changed[at]["metadata"]["message_id"] = "m0-0"
    elif kind == 5:
        changed[at]["content"] = [copy.deepcopy(IMAGE)] * 3
    else:
        changed[at]["tool_calls"] = [{"id": "c0-0", "tool": "bash", "arguments": {}}]
    return changed


def limit(monkeypatch: pytest.MonkeyPatch, most_bytes: int, most_images: int) -> None:
    """Set other limits, wherever they stand."""
    monkeypatch.setattr(request_checker, "most_request_bytes", most_bytes)
    monkeypatch.setattr(request_checker, "most_request_images", most_images)
    monkeypatch.setitem(limit_violations.__kwdefaults__, "most_bytes", most_bytes)
    monkeypatch.setitem(limit_violations.__kwdefaults__, "most_images", most_images)


def whole_check(view: list[Message]) -> list[str]:
    return [*view_violations(view), *limit_violations(view, exact=False)]


@pytest.mark.parametrize("seed", range(40))
def test_a_growing_view_is_checked_as_a_whole_one(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Views that go on, views that are broken, in one turn or by their size, and views that begin anew."""
    rng = random.Random(seed)
    limit(monkeypatch, most_bytes=900, most_images=4)
    check, view, before, found_any = GrowingCheck(), list[Message](), list[Message](), False
    for number in range(12):
        new = turn(number, image=rng.random() < 0.3)
        new = broken(rng, new) if rng.random() < 0.3 else new
        view = [*(view if rng.random() < 0.9 else turn(100 + number)), *new]
        shared = next((at for at, (a, b) in enumerate(zip(before, view, strict=False)) if a != b), len(before))
        same = len(before) if shared == len(before) <= len(view) else 0
        expected = whole_check(view)
        assert check.check(view, range(same if same and not found_any else 0, len(view)), same) == expected
        found_any, before = bool(expected), view
        if expected and rng.random() < 0.7:
            view, before, found_any = [], view, True


def test_only_what_is_new_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """A valid view that goes on is not checked from its beginning again."""
    check = GrowingCheck()
    view = turn(1)
    assert check.check(view, range(len(view)), 0) == []
    monkeypatch.setattr(growing_check, "view_violations", lambda *_, **__: pytest.fail("checked as a whole"))
    longer = [*view, *turn(2)]
    assert check.check(longer, range(len(view), len(longer)), len(view)) == []


def test_a_view_with_too_many_images_that_goes_on_is_not_checked_from_its_beginning(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its images are known; what is said is what a check of all of it says."""
    limit(monkeypatch, most_bytes=10_000, most_images=1)
    check, view, looked_at = GrowingCheck(), list[Message](), list[int]()
    take = growing_check.GrowingLimits.take
    monkeypatch.setattr(
        growing_check.GrowingLimits, "take", lambda self, new: [looked_at.append(len(new)), take(self, new)]
    )
    for number in range(4):
        same = len(view)
        view = [*view, *turn(number, image=True)]
        expected = whole_check(view)
        if number == 1:
            monkeypatch.setattr(growing_check, "view_violations", lambda *_, **__: pytest.fail("checked as a whole"))
        looked_at.clear()
        assert check.check(view, range(same, len(view)), same) == expected
        assert looked_at == [len(view) - same]
        assert bool(expected) == (number > 0)
        assert check.is_sound


@pytest.mark.parametrize(("most_bytes", "most_images"), [(10_000, 90), (300, 90), (10_000, 2), (10_000, 0), (300, 1)])
def test_each_beginning_of_a_whole_view_is_checked(
    most_bytes: int, most_images: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sizes and images are those of the messages up to there."""
    limit(monkeypatch, most_bytes, most_images)
    turns = [turn(number, image=number % 2 == 1) for number in range(6)]
    check = WholeCheck()
    assert all(check.take(one) for one in turns)
    view = [message for one in turns for message in one]
    for length in range(0, len(view) + 1, len(turns[0])):
        expected = limit_violations(view[:length], exact=False)
        assert list(check.violations(length)) == expected
    assert not check.take([user("twice"), {**user("x"), "metadata": {"message_id": "m1-0"}}])
