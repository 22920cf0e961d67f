"""What a provider's own counts teach."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amplifier_module_context_persistent.tokens.calibration import Calibration
from amplifier_module_context_persistent.tokens.usage import read_usage


def taught(pairs, *, continues=True):
    calibration = Calibration()
    for counted, actual in pairs:
        calibration = calibration.observe(counted, actual, continues=continues)
    return calibration


def views(ratio, overhead, sizes):
    return [(size, round(overhead + ratio * size)) for size in sizes]


def test_nothing_is_corrected_before_the_first_report():
    """Without an observation a view is as large as it is counted."""
    assert Calibration().predict(1_234, continues=False) == 1_234
    assert Calibration().counted_budget(10_000) == 10_000


@pytest.mark.parametrize(("ratio", "overhead"), [(1.0, 0), (1.28, 20_000), (0.8, 500), (1.6, 25_000)])
def test_ratio_and_overhead_are_learned(ratio, overhead):
    """A steady ratio and overhead are found to within a few per cent."""
    calibration = taught(views(ratio, overhead, range(5_000, 90_000, 3_000)))
    assert calibration.ratio == pytest.approx(ratio, rel=0.05)
    for size in (10_000, 50_000, 120_000):
        assert calibration.predict(size, continues=False) == pytest.approx(overhead + ratio * size, rel=0.06)
    assert calibration.predict(100_000, continues=True) == pytest.approx(overhead + ratio * 100_000, rel=0.02)


def test_a_compaction_teaches_the_ratio_too():
    """A view that became smaller gives an increment of the other direction."""
    before = taught([(50_000, 80_000)])
    after = before.observe(20_000, 41_000, continues=False)
    assert after.ratio == pytest.approx(39_000 / 30_000, rel=0.03)
    assert after.fast_counted == 0.0


def test_the_counted_budget_is_the_inverse_of_the_prediction():
    """As many of our tokens as the counted budget allows come to the true budget."""
    calibration = taught(views(1.4, 20_000, range(5_000, 90_000, 3_000)))
    counted = calibration.counted_budget(100_000)
    assert calibration.predict(counted, continues=False) == pytest.approx(100_000, rel=0.01)


def test_the_counted_budget_never_vanishes():
    """An overhead larger than the budget leaves a tenth of it, so that the session can go on and learn better."""
    assert taught([(100, 500_000)]).counted_budget(10_000) == 1_000


def test_a_record_gives_the_calibration_back():
    """What is written to the log predicts what was predicted before."""
    calibration = taught(views(1.3, 9_000, range(1_000, 50_000, 1_700)))
    again = Calibration.from_record(calibration.to_record())
    assert again.predict(60_000, continues=True) == pytest.approx(calibration.predict(60_000, continues=True), abs=2)


@pytest.mark.parametrize("fields", [None, [], [1, 2, 3], ["a"] * 7, {"a": 1}, 5])
def test_a_damaged_record_is_refused(fields):
    """Anything but the seven numbers is an error, not a calibration."""
    with pytest.raises(ValueError, match="not a calibration"):
        Calibration.from_record(fields)


@given(st.lists(st.tuples(st.integers(0, 10**7), st.integers(0, 10**7)), max_size=30), st.booleans())
def test_no_reports_give_nonsense(pairs, continues):
    """Whatever is reported, the ratio stays in its bounds and predictions are whole numbers."""
    calibration = taught(pairs, continues=continues)
    assert 0.5 <= calibration.ratio <= 3.0
    assert calibration.overhead_tokens >= 0
    assert calibration.counted_budget(100_000) >= 10_000
    assert isinstance(calibration.predict(5_000, continues=continues), int)


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        ({"input_tokens": 100}, 100),
        ({"input_tokens": 2, "cache_write_tokens": 161_165}, 161_167),
        ({"input_tokens": 100, "cache_read_tokens": 90}, 100),
        ({"input_tokens": 100, "cache_read_tokens": 900}, 1_000),
        ({"input_tokens": 10, "cache_read_tokens": 900, "cache_write_tokens": 50}, 960),
        ({"output_tokens": 5}, 0),
        ({"input_tokens": None}, None),
        ({"input_tokens": True}, None),
        ({"input_tokens": -5}, None),
        ({"input_tokens": "100"}, None),
    ],
)
def test_what_the_model_read(usage, expected):
    """Tokens written to the cache are added, tokens read from it only where they are not inside the total."""
    read = read_usage(usage)
    assert (None if read is None else read.input_tokens) == expected


def test_no_more_is_written_for_an_hour_than_is_written() -> None:
    """Whatever a gateway reports."""
    usage = {"input_tokens": 10, "cache_creation_input_tokens": 5, "cache_creation": {"ephemeral_1h_input_tokens": 9}}
    read = read_usage(usage)
    assert read is not None
    assert (read.written, read.written_1h) == (5, 5)
