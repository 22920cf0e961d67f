"""Blocks of lines are told by their runs of bytes: none is passed over that holds what is looked for."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from amplifier_module_context_persistent.log.byte_runs import ByteRuns, asked_of

LINE = st.binary(max_size=40) | st.sampled_from(
    [b"src/round_parcel.py", b"ROUND_Parcel", b"x" * 30, "Zeile ä".encode()]
)


@given(st.lists(LINE, max_size=12), st.data())
def test_every_part_of_a_line_may_be_there(lines: list[bytes], data: st.DataObject) -> None:
    """Whatever the case of its letters, and however short it is."""
    runs = ByteRuns.of(lines)
    for line in lines:
        start = data.draw(st.integers(0, len(line)))
        part = line[start : data.draw(st.integers(start, len(line)))]
        for asked in (part, part.lower(), part.upper()):
            assert runs.may_hold(asked_of(asked))


def test_what_is_not_there_is_mostly_ruled_out() -> None:
    """Of names that a large block does not hold, hardly one is looked for in it."""
    runs = ByteRuns.of([f"name_{number:05} and {number * 7_919:x}".encode() for number in range(3_000)])
    absent = [asked_of(f"absent{number:06x}".encode()) for number in range(1_000)]
    assert sum(map(runs.may_hold, absent)) < 10
    assert len(runs.places) <= 1 << 13
