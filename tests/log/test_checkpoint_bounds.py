"""The quick check that no number of a column is beyond its limit."""

from array import array

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amplifier_module_context_persistent.log.checkpoint_bounds import exceeds


@given(
    st.sampled_from("IQ"), st.lists(st.integers(0, (1 << 32) - 1), max_size=20), st.integers(0, 70), st.integers(0, 99)
)
def test_a_number_that_exceeds_is_found_up_to_its_highest_byte(
    code: str, numbers: list[int], bits: int, below: int
) -> None:
    """Never where all are within the limit; always where one has a larger highest byte, or more bytes."""
    limit = max(0, (1 << bits) - below)
    column = array(code, numbers)
    shift = 8 * (max(0, limit.bit_length() - 1) // 8)
    assert exceeds(column, limit) == any(number >> shift > limit >> shift for number in numbers)


@pytest.mark.parametrize("place", [0, 1, 2])
def test_it_is_found_wherever_it_stands(place: int) -> None:
    column = array("Q", [1000, 2000, 3000])
    assert not exceeds(column, 1 << 20)
    column[place] = 1 << 63
    assert exceeds(column, 1 << 20)
