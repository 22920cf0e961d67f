"""The limits of a record, each at its edge: what is just within is stored, what is just beyond is refused."""

from typing import Any

import pytest

from amplifier_module_context_persistent.errors import RecordError
from amplifier_module_context_persistent.log.plain_json import MAX_DEPTH
from amplifier_module_context_persistent.log.record import MAX_READ_DEPTH, MAX_RECORD_BYTES, decode, to_plain


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


def test_the_limits_are_those_of_the_format() -> None:
    """They are promised in docs/format.md; a log with more is not read by other versions."""
    assert (MAX_DEPTH, MAX_READ_DEPTH, MAX_RECORD_BYTES) == (200, 254, 64 * 1024 * 1024)


@pytest.mark.parametrize(
    ("shape", "bottom", "levels"),
    [("list", 1, 200), ("tuple", 1, 200), ("object", 1, 200), ("object", (), 199), ("model", [], 199)],
)
def test_nesting_is_refused_beyond_200_levels(shape: str, bottom: Any, levels: int) -> None:
    """Whatever is nested: each level counts once, and the message itself does not count."""
    to_plain({"role": "user", "content": nested(levels, bottom, shape)})
    with pytest.raises(RecordError, match="nested deeper than 200 levels"):
        to_plain({"role": "user", "content": nested(levels + 1, bottom, shape)})


def test_a_model_that_is_dumped_into_itself_is_refused() -> None:
    """It ends in an error, not in a hang."""
    with pytest.raises(RecordError, match="nested deeper"):
        to_plain({"role": "user", "content": Itself()})


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


@pytest.mark.parametrize(("levels", "is_read"), [(MAX_READ_DEPTH - 1, True), (MAX_READ_DEPTH, False)])
def test_nesting_is_read_up_to_254_levels(levels: int, is_read: bool) -> None:
    """The object itself is the first."""
    line = b'{"content":' + b"[" * levels + b"]" * levels + b"}"
    if is_read:
        assert decode(line)
    else:
        with pytest.raises(ValueError, match="nested too deeply"):
            decode(line)
