"""A long history that was never compacted: what is found of its older part, against looking at all of it."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amplifier_module_context_persistent.window.entries_without_plan import older_candidates
from tests.support.checker import assert_valid
from tests.support.counters import count
from tests.support.histories import messages
from tests.support.messages import Message
from tests.support.sweeps import proof
from tests.support.view_properties import INTERRUPTED, examples
from tests.support.windows import TEXT, Desk

BUDGET = 3_000


def call(call_id: str, **metadata: Any) -> Message:
    calls = [{"id": call_id, "tool": "bash", "arguments": {}}]
    return {"role": "assistant", "content": "", "tool_calls": calls, "metadata": metadata}


def result(call_id: str, text: str = TEXT, **metadata: Any) -> Message:
    return {"role": "tool", "tool_call_id": call_id, "name": "bash", "content": text, "metadata": metadata}


def work(desk: Desk, steps: int, name: str) -> None:
    for step in range(steps):
        desk.add(call(f"{name}{step}"), result(f"{name}{step}"))


def long_history() -> Desk:
    """Far more than four budgets of results after a beginning with system text, people and pins."""
    desk = Desk()
    desk.add({"role": "system", "content": "Be brief."}, {"role": "user", "content": "The first question."})
    work(desk, 10, "a")
    desk.add(
        call("pinned"),
        {"role": "user", "content": "Meanwhile."},
        {"role": "developer", "content": "Be careful."},
        result("pinned", "What was found.", pinned=True),
        {"role": "user", "content": "Never forget.", "metadata": {"critical": True}},
        {"role": "user", "content": "A hook's.", "metadata": {"source": "hook"}},
    )
    work(desk, 700, "b")
    desk.add({"role": "user", "content": "The last question."})
    work(desk, 3, "c")
    return desk


def built(desk: Desk, budget: int = BUDGET) -> list[Message]:
    view = desk.ask(budget, desk.new_window()).view
    assert view is not None
    return view


def lasting(view: list[Message]) -> list[str]:
    """The ids of what lasts: system text, people, pins with their groups."""
    texts = ("Be brief.", "The first question.", "What was found.", "Never forget.", "Meanwhile.", "Be careful.")
    return [m["metadata"]["message_id"] for m in view if m["content"] in (*texts, "The last question.")]


def people(view: list[Message]) -> list[str]:
    return [m["content"] for m in view if m["role"] == "user" and "source" not in m["metadata"]]


@proof
def test_people_system_text_and_pins_survive(monkeypatch: pytest.MonkeyPatch) -> None:
    """The view has the same lasting messages, and the same newest ones, as if all had been looked at."""
    desk = long_history()
    far = built(desk)
    monkeypatch.setattr("amplifier_module_context_persistent.window.entries_without_plan.FAR_BUDGETS", 10**9)
    near = built(desk)
    assert_valid(far, budget_tokens=BUDGET, count=count)
    assert lasting(far) == lasting(near)
    assert len(lasting(far)) == 7
    assert [m["metadata"].get("message_id") for m in far[-6:]] == [m["metadata"].get("message_id") for m in near[-6:]]
    assert people(far) == people(near)


def test_only_what_is_needed_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of thousands of results only the newest are parsed."""
    desk = long_history()
    read: list[int] = []
    whole = desk.log.read

    def counted(ordinals: Any) -> Any:
        read.extend(ordinals)
        return whole(ordinals)

    monkeypatch.setattr(desk.log, "read", counted)
    built(desk, 1_000)
    assert len(set(read)) < 500 < len(desk.log.index)


def test_a_pinned_result_whose_call_is_older_keeps_it(desk: Desk) -> None:
    """Also where the one is near and the other far."""
    desk.add({"role": "user", "content": "The first question."})
    desk.talk(150)
    desk.add(call("pinned"))
    desk.talk(2)
    desk.add(result("pinned", "What was found.", pinned=True))
    desk.talk(126)  # one batch holds the result, and not the call
    found = built(desk, 2_000)
    assert [m["content"] for m in found if m["role"] == "tool"] == ["What was found."]


@proof(quick=1)
@pytest.mark.parametrize(
    ("config", "pinned"), [({}, {"pinned": True}), ({"protect_first": 2}, {})], ids=["pinned", "among the first"]
)
def test_an_old_call_that_stays_takes_no_later_calls_result(config: dict[str, Any], pinned: dict[str, Any]) -> None:
    """Also where nobody looks at the later call, which has the same id."""
    desk = Desk(**config)
    desk.add({"role": "user", "content": "The first question."}, call("call_0", **pinned))
    desk.talk(150)
    desk.add(call("call_0"))
    desk.talk(130)
    desk.add(result("call_0", "What the later call found."))
    desk.talk(1)
    found = built(desk, 2_000)
    assert [m["content"] for m in found if m["role"] == "tool"] == [INTERRUPTED]


@examples(36)
@given(
    st.lists(
        st.sampled_from(["human", "hook", "system", "pin", "pinned result", "group", "group", "group"]), max_size=40
    ),
    st.integers(0, 200),
)
def test_all_that_a_view_may_keep_is_found(kinds: list[str], start: int) -> None:
    """In order: system text, pins with their groups, the first human message and the newest ones."""
    desk = Desk()
    wanted: list[int] = []
    for at, kind in enumerate(kinds):
        place = len(desk.log.index)
        if kind in ("group", "pinned result"):
            desk.add(call(f"c{at}"), result(f"c{at}", "r", pinned=kind == "pinned result"))
        else:
            role = "system" if kind == "system" else "user"
            metadata = {"hook": {"source": "hook"}, "pin": {"pinned": True}}.get(kind, {})
            desk.add({"role": role, "content": kind, "metadata": metadata})
        if kind not in ("group", "hook"):
            wanted.extend(range(place, len(desk.log.index)))
    index = desk.log.index
    start = min(start, len(index))
    entries = older_candidates(index, start, desk.entries, 1_000_000)
    found = [entry.ordinal for entry in entries]
    assert found == sorted(found)
    assert set(found) == {place for place in wanted if place < start}


@pytest.mark.parametrize(("budget", "expected"), [(10**6, 600), (10, 257)])
def test_the_first_human_and_as_many_of_the_newest_as_a_budget_could_hold(
    desk: Desk, budget: int, expected: int
) -> None:
    """They are looked at in batches."""
    for at in range(600):
        desk.add({"role": "user", "content": f"Question {at}."})
    entries = older_candidates(desk.log.index, 600, desk.entries, budget)
    assert len(entries) == expected
    assert [entries[0].id, entries[-1].id] == ["m0", "m599"]


@pytest.mark.parametrize(
    ("calls", "may_be_last"),
    [
        ([{"id": "c1", "tool": "bash", "arguments": {}}], False),
        ([{"id": 1, "tool": "bash"}], False),
        (["odd", {"tool_call_id": "c1"}], False),
        ([{"tool": "bash", "arguments": {}}], True),
        (["odd"], True),
        ([], True),
        ({"id": "c1"}, True),
        (None, True),
    ],
)
def test_an_answer_that_calls_nothing_may_be_last_words(desk: Desk, calls: Any, may_be_last: bool) -> None:
    """Whatever stands in the place of its calls."""
    desk.add(
        {"role": "user", "content": "The first question."},
        {"role": "assistant", "content": "An answer.", "tool_calls": calls},
        {"role": "user", "content": "The second question."},
    )
    entries = older_candidates(desk.log.index, 3, desk.entries, 1_000)
    assert [entry.ordinal for entry in entries] == ([0, 1, 2] if may_be_last else [0, 2])


@examples(36)
@given(messages(max_messages=60), st.integers(0, 60), st.sampled_from([10, 300, 1_000_000]))
def test_what_is_passed_over_is_what_would_be_left_out(history: list[Message], start: int, budget: int) -> None:
    """Most calls are not looked at in full; the entries are those that are found where everything is."""
    desk = Desk()
    desk.add(*history)
    start = min(start, len(desk.log.index))
    whole = older_candidates(desk.log.index, start, lambda ordinals, _=None: desk.entries(ordinals), budget)
    assert older_candidates(desk.log.index, start, desk.entries, budget) == whole
