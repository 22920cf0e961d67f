"""A packed record is the record that was packed."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from amplifier_module_context_persistent.transcript.view_rebuild import PackedRecord

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(1 << 70), 1 << 70) | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(st.sampled_from(["id", "keep", "cuts", "gaps"]), VALUES))
def test_it_gives_back_what_was_packed(fields: dict[str, object]) -> None:
    """Whatever JSON it has, numbers beyond 64 bits and infinities too, each time afresh."""
    record = {"_record": "plan", **fields}
    packed = PackedRecord.of(record)
    assert packed.record() == record
    assert packed.record() is not packed.record()


def test_it_is_small() -> None:
    """What repeats itself, as plans do, takes a fraction of its JSON."""
    record = {
        "_record": "plan",
        "gaps": [{"after": f"m{number:05}", "words": ["parcel", "round"]} for number in range(500)],
    }
    assert len(PackedRecord.of(record).packed) < 6_000
