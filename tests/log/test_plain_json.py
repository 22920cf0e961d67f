"""Copying a message into plain JSON types: what is copied, converted and refused."""

import enum
import math
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amplifier_module_context_persistent.log.record import to_plain_json

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=12,
)


class Colour(enum.Enum):
    RED = "red"


def containers(value: Any) -> list[int]:
    """The identities of all dictionaries and lists in a value."""
    if isinstance(value, dict):
        return [id(value), *(one for item in value.values() for one in containers(item))]
    return [id(value), *(one for item in value for one in containers(item))] if isinstance(value, list) else []


@given(values)
def test_plain_values_are_copied_with_all_that_is_in_them(value: Any) -> None:
    """The copy is equal, in the same order, and holds no dictionary or list of the original."""
    copy = to_plain_json({"role": "user", "content": value})
    assert repr(copy) == repr({"role": "user", "content": value})
    assert set(containers(copy["content"])).isdisjoint(containers(value))


@given(values)
def test_one_value_of_another_type_changes_nothing_else(value: Any) -> None:
    """A mapping, a tuple or an enum beside plain values, or around them, is converted."""
    given_one = MappingProxyType({"a": value, "b": (value, Colour.RED)})
    assert repr(to_plain_json(given_one)) == repr({"a": value, "b": [value, "red"]})


class Degrees(float):
    pass


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, Degrees("nan"), Degrees(1.5)])
@pytest.mark.parametrize("beside", ["plain", ("a", "tuple")])
def test_a_float_keeps_its_value(value: float, beside: Any) -> None:
    """At any place, finite or not; what remains is a plain float."""
    copy = to_plain_json({"a": [value], "b": value, "c": beside})
    assert repr([copy["a"][0], copy["b"]]) == repr([float(value)] * 2)
    assert {type(copy["a"][0]), type(copy["b"])} == {float}
