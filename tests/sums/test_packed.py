"""Sums in writing: read as they were written, and never more than they may be."""

import tracemalloc
import zlib
from typing import Any

import pytest

from amplifier_module_context_persistent.sums.packed import check_numbers, check_texts, pack, unpack


@pytest.mark.parametrize("value", [[], [1, "a", None, {"b": [2.5]}], [1 << 70, "\ud83d"], [list(range(9999))]])
def test_what_is_packed_comes_back(value: list[Any]) -> None:
    """What JSON holds, and integers and texts that are more than it holds."""
    assert unpack(pack(value)) == value
    assert unpack(pack(value), 1 << 20) == value


def test_more_than_may_be_is_refused_before_it_is_unpacked() -> None:
    """A megabyte that stands for a gigabyte takes no memory."""
    stream = zlib.compressobj(1)
    packed = b"".join([*(stream.compress(bytes(1 << 20)) for _ in range(256)), stream.flush()])
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match="larger"):
            unpack(packed, 1 << 20)
        assert tracemalloc.get_traced_memory()[1] < 16 << 20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("packed", [b"", b"x", zlib.compress(b"{}"), zlib.compress(b"[" * 99_999), pack([1])[:-1]])
def test_what_was_not_packed_here_is_refused(packed: bytes) -> None:
    """Nor what is cut, or no list."""
    with pytest.raises((ValueError, TypeError)):
        unpack(packed, 1 << 20)


@pytest.mark.parametrize("value", [-1, 5, 1 << 70, 1.0, "1", None, []])
def test_a_number_that_is_none_is_refused(value: Any) -> None:
    """Or one that is out of bounds."""
    check_numbers([0, 4], 0, 4)
    with pytest.raises(ValueError, match="number"):
        check_numbers([0, value], 0, 4)


@pytest.mark.parametrize("value", [1, None, b"a"])
def test_a_text_that_is_none_is_refused(value: Any) -> None:
    """Whatever else it is."""
    check_texts(["", "a"])
    with pytest.raises(ValueError, match="text"):
        check_texts(["a", value])
