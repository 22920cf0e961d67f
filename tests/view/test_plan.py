"""Plans as records, and back."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amplifier_module_context_persistent.messages.elide import Cut
from amplifier_module_context_persistent.view.plan import LeftOut, Making, Notice, Plan

ids = st.text(min_size=1, max_size=6)
numbers = st.integers(0, 10**9)
plans = st.builds(
    Plan,
    id=ids,
    upto=ids,
    keep=st.lists(ids, max_size=5).map(tuple),
    cuts=st.dictionaries(ids, st.builds(Cut, numbers, numbers), max_size=3),
    closed=st.dictionaries(ids, st.frozensets(ids, min_size=1, max_size=2), max_size=2),
    media=st.dictionaries(ids, st.frozensets(st.integers(0, 9), min_size=1, max_size=3), max_size=2),
    notice=st.builds(Notice, st.text(max_size=20), ids),
    left_out=st.builds(LeftOut, numbers),
    making=st.builds(
        Making,
        step=numbers,
        budget_tokens=numbers,
        target_tokens=numbers,
        tokens_before=numbers,
        tokens_after=numbers,
    ),
)


@given(plans)
def test_a_plan_survives_its_record(plan: Plan) -> None:
    """What is written can be read again, through JSON."""
    record = json.loads(json.dumps(plan.to_record([(kept, kept) for kept in plan.keep])))
    assert Plan.from_record(record, [first for first, _ in record["keep"]]) == plan


def test_silent_messages_are_runs_of_kept_ones() -> None:
    """Whose thinking goes takes two ids a run; a plan of before that key was known silences nobody."""
    plan = Plan("p", "m9", ("m1", "m2", "m4", "m6", "m9"), silent=frozenset({"m1", "m2", "m6"}))
    record = json.loads(json.dumps(plan.to_record([("m1", "m9")])))
    assert record["silent"] == [["m1", "m2"], ["m6", "m6"]]
    assert Plan.from_record(record, plan.keep) == plan
    assert "silent" not in Plan("p", "m2", ("m1", "m2")).to_record([("m1", "m2")])
    assert Plan.from_record({**record, "silent": [["m1", "m7"]]}, plan.keep).silent == frozenset()
    del record["silent"]
    assert Plan.from_record(record, plan.keep).silent == frozenset()


RECORD = Plan("p", "m2", ("m1", "m2"), cuts={"m1": Cut(3, 4)}).to_record([("m1", "m2")])


def test_the_record_holds_runs() -> None:
    """What is kept takes two ids a run, whatever its length."""
    assert (RECORD["keep"], RECORD["cuts"]) == ([["m1", "m2"]], {"m1": [3, 4]})


def test_closed_calls_are_named_in_order() -> None:
    """The same plan gives the same bytes; one that closes no call says nothing of it."""
    plan = Plan("p", "m2", ("m1", "m2"), closed={"m1": frozenset("cab")})
    assert plan.to_record([("m1", "m2")])["closed"] == {"m1": ["a", "b", "c"]}
    assert "closed" not in RECORD


@pytest.mark.parametrize("key", sorted(RECORD.keys() - {"keep", "wire"}))
def test_a_record_that_lacks_a_field_is_no_plan(key: str) -> None:
    """The error says which field."""
    with pytest.raises(ValueError, match=key):
        Plan.from_record({name: value for name, value in RECORD.items() if name != key}, [])


@pytest.mark.parametrize(
    "wrong",
    [
        {"cuts": []},
        {"cuts": {"m1": 3}},
        {"cuts": {"m1": [1, 2, 3]}},
        {"step": None},
        {"step": "x"},
        {"silent": 3},
        {"silent": [["m1"]]},
        {"closed": ["m1"]},
        {"closed": {"m1": 3}},
    ],
)
def test_a_record_of_another_shape_is_no_plan(wrong: dict[str, Any]) -> None:
    """Whatever is wrong with it, the error is a `ValueError`."""
    with pytest.raises(ValueError, match=r".+"):
        Plan.from_record({**RECORD, **wrong}, [])
