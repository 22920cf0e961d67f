"""What a checkpoint may say: numbers of a column within their limit, findings within the log."""

from array import array
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amplifier_module_context_persistent.log.checkpoint_bounds import exceeds, findings_of


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


@given(st.integers(1, 1 << 60))
def test_what_is_hardly_beyond_the_highest_byte_is_found(limit: int) -> None:
    shift = 8 * ((limit.bit_length() - 1) // 8)
    beyond = ((limit >> shift) + 1) << shift
    assert exceeds(array("Q", [0, beyond]), limit)
    assert not exceeds(array("Q", [limit, beyond - 1]), limit)


@pytest.mark.parametrize(
    "finding",
    [
        [1, -1, "checksum", "", 5],
        [1, 90, "checksum", "", -1],
        [1, 90, "checksum", "", 11],
        [1, 101, "checksum", "", 0],
        [1, 90, 7, "", 5],
        [1, 90, "checksum", None, 5],
        [1, "90", "checksum", "", 5],
        [1, 90],
    ],
)
def test_a_finding_that_lies_elsewhere_or_is_none_is_refused(finding: list[Any]) -> None:
    assert len(findings_of([[1, 90, "checksum", "", 10]], 100)) == 1
    with pytest.raises((ValueError, TypeError)):
        findings_of([finding], 100)
