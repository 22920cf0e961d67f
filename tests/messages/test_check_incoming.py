"""Copying a message into plain JSON types: what is copied, converted and refused."""

import dataclasses
import enum
import math
from collections import OrderedDict
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from amplifier_module_context_persistent.errors import RecordError
from amplifier_module_context_persistent.messages.check_incoming import to_plain
from amplifier_module_context_persistent.messages.message import strings_in

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
    copy = to_plain({"role": "user", "content": value})
    assert repr(copy) == repr({"role": "user", "content": value})
    assert set(containers(copy["content"])).isdisjoint(containers(value))


@given(values)
def test_one_value_of_another_type_changes_nothing_else(value: Any) -> None:
    """A mapping, a tuple or an enum beside plain values, or around them, is converted."""
    given_one = MappingProxyType({"role": "user", "content": value, "more": (value, Colour.RED)})
    assert repr(to_plain(given_one)) == repr({"role": "user", "content": value, "more": [value, "red"]})


class Degrees(float):
    pass


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, Degrees("nan"), Degrees(1.5)])
@pytest.mark.parametrize("beside", ["plain", ("a", "tuple")])
def test_a_float_keeps_its_value(value: float, beside: Any) -> None:
    """At any place, of a stored message finite or not; what remains is a plain float."""
    copy = to_plain({"role": "user", "a": [value], "b": value, "c": beside}, is_stored=True)
    assert repr([copy["a"][0], copy["b"]]) == repr([float(value)] * 2)
    assert {type(copy["a"][0]), type(copy["b"])} == {float}


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, Degrees("nan")])
def test_a_number_that_json_lacks_is_refused_in_a_new_message(value: float) -> None:
    """With its place, and what to give instead."""
    call = {"id": "c", "tool": "t", "arguments": {"rows": [1.5, value]}}
    with pytest.raises(RecordError, match=r"^message\.tool_calls\[0\]\.arguments\.rows\[1\]: .* give null"):
        to_plain({"role": "assistant", "content": "", "tool_calls": [call]})


@dataclasses.dataclass
class Point:
    x: int
    rest: tuple[int, ...]


class Inner(BaseModel):
    text: str
    score: float | None = None


class Outer(BaseModel):
    role: str
    content: list[Inner]
    metadata: dict[str, Any] | None = None


class Level(enum.IntEnum):
    HIGH = 3


class Word(enum.StrEnum):
    YES = "yes"


class Text(str):
    """A string of another class."""

    __slots__ = ()


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ((1, (2,)), [1, [2]]),
        (Point(1, (2, 3)), {"x": 1, "rest": [2, 3]}),
        (Inner(text="a"), {"text": "a", "score": None}),
        (Colour.RED, "red"),
        (Level.HIGH, 3),
        (Word.YES, "yes"),
        (Text("plain"), "plain"),
        (OrderedDict(a=1), {"a": 1}),
        ({Word.YES: 1}, {"yes": 1}),
    ],
)
def test_what_has_a_json_form_is_dumped(value: Any, expected: Any) -> None:
    """Tuples become lists; dataclasses, models and enums become what they stand for."""
    (content,) = to_plain({"role": "user", "content": [value]})["content"]
    assert (repr(content), type(content)) == (repr(expected), type(expected))


def test_a_model_can_be_the_message() -> None:
    """A message may be a pydantic model as a whole."""
    model: Any = Outer(role="user", content=[Inner(text="a", score=0.5)])
    assert to_plain(model) == {"role": "user", "content": [{"text": "a", "score": 0.5}], "metadata": None}


@pytest.mark.parametrize(
    ("message", "told"),
    [
        ({"role": "user", "content": [{"a": {1: 2}}]}, r"^message\.content\[0\]\.a: the key 1 is int"),
        ({"role": "user", "content": [{"a": {"b": {1, 2}}}]}, r"^message\.content\[0\]\.a\.b: set has no JSON form"),
        ({"role": "user", "content": b"bytes"}, r"^message\.content: bytes has no JSON form"),
        ({"role": "user", "x": (0, object())}, r"^message\.x\[1\]: object has no JSON form"),
        ({"role": "user", "x": Point(1, (b"",))}, r"^message\.x\.rest\[0\]: bytes"),
        ({"role": "user", "x": Point}, r"^message\.x: type has no JSON form"),
        ({"role": "user", "x": 1j}, r"^message\.x: complex"),
        ({"role": "user", "_crc": "1"}, r"^message\._crc: this key is reserved"),
        ({"role": "user", "_record": "1"}, r"^message\._record: this key is reserved"),
        ({"role": "user", "_json": "1"}, r"^message\._json: this key is reserved"),
        ({"role": "human"}, r"message\.role is 'human'; it must be one of system, "),
        ({"content": "x"}, r"message\.role is missing \(its keys: 'content'\)"),
        ({"role": ["user"]}, r"message\.role is list"),
        ({"role": "user", "metadata": "x"}, r"message\.metadata must be an object, not str"),
        ("a string", r"a message must be a JSON object, not str"),
        ([{"role": "user"}], r"a message must be a JSON object, not list"),
    ],
)
def test_what_json_lacks_is_refused_with_the_way_to_it(message: Any, told: str) -> None:
    """A refusal names the place and the type, and is a ValueError."""
    with pytest.raises(RecordError, match=told) as refused:
        to_plain(message)
    assert isinstance(refused.value, ValueError)


def test_refusals_hold_no_content() -> None:
    """An error message never quotes a value."""
    secret = "sk-secret"
    for message in ({"role": secret * 9}, {"role": "user", "content": [secret.encode()]}):
        with pytest.raises(RecordError) as refused:
            to_plain(message)
        assert secret * 3 not in str(refused.value)
        assert "'" + secret + "'" not in str(refused.value)


class Wrapped:
    """A model that is dumped into what it holds."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def model_dump(self) -> Any:
        """Give what it holds."""
        return self.value


class Itself:
    """A model that is dumped into itself."""

    def model_dump(self) -> Any:
        """Give this model."""
        return self


def nested(levels: int, value: Any, shape: str) -> Any:
    for _ in range(levels):
        value = {"list": [value], "tuple": (value,), "object": {"a": value}, "model": Wrapped(value)}[shape]
    return value


def test_what_holds_itself_is_refused() -> None:
    """A cycle, or a model that is dumped into itself, ends in an error, not in a hang."""
    loop: list[Any] = []
    loop.append(loop)
    for endless in (loop, Itself()):
        with pytest.raises(RecordError, match="nested deeper"):
            to_plain({"role": "user", "content": endless})


@pytest.mark.parametrize(
    ("shape", "bottom", "levels", "deepest"),
    [
        ("list", 1, 200, "[1]"),
        ("tuple", 1, 200, "[1]"),
        ("object", 1, 200, '{"a":1}'),
        ("object", (), 199, "[]"),
        ("model", [], 199, "[]"),
    ],
)
def test_nesting_beyond_200_levels_is_stored_as_its_json_text(
    shape: str, bottom: Any, levels: int, deepest: str
) -> None:
    """Whatever is nested: each level counts once, and the message itself does not count."""
    fits = to_plain({"role": "user", "content": nested(levels, bottom, shape)})["content"]
    assert not [text for text in strings_in(fits) if text]
    deeper = nested(levels + 1, bottom, shape)
    (text,) = strings_in(to_plain({"role": "user", "content": deeper})["content"])
    assert text == deepest


@pytest.mark.parametrize(("length", "shown"), [(198, 198), (199, 199), (200, 199), (500, 199)])
def test_the_way_to_a_refused_value_is_cut_after_200_characters(length: int, shown: int) -> None:
    """A shorter one is shown whole."""
    with pytest.raises(RecordError) as refused:
        to_plain({"role": "user", "k" * length: object()})
    cut = "…" if length > shown else ""
    assert str(refused.value).startswith(f"message.{'k' * shown}{cut}: object has no JSON form")


def test_a_key_that_is_no_text_is_shown_in_40_characters() -> None:
    """Enough to find it; an error may be written to a log."""
    with pytest.raises(RecordError) as refused:
        to_plain({"role": "user", "content": {b"k" * 100: 1}})
    assert str(refused.value) == f"message.content: the key {repr(b'k' * 100)[:40]} is bytes, not a string"
