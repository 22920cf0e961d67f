"""Which reports count, and for which view."""

from __future__ import annotations

import pytest

from amplifier_module_context_persistent.tokens.meter import DOUBTS, Meter


@pytest.fixture
def meter():
    return Meter(enabled=True, session_id="s1")


@pytest.fixture
def readings(meter):
    return meter.readings


def response(actual, **fields):
    event = {"provider": "p", "model": "m", "session_id": "s1", "usage": {"input_tokens": actual}}
    return {**event, **fields}


def test_a_report_is_taken_once_for_the_view_that_it_answered(meter, readings):
    """The first report after a view counts, the next one belongs to something else."""
    meter.hand_out("p", 1_000, "line")
    meter.learn_from_response(response(1_300))
    meter.learn_from_response(response(1_400))
    assert [(r.counted, r.actual) for r in readings] == [(1_000, 1_300)]


def test_a_report_without_a_view_is_ignored(meter, readings):
    """Calls that other parts of the host make teach nothing."""
    meter.learn_from_response(response(1_000))
    meter.hand_out("p", 1_000, "line")
    meter.answered()
    meter.learn_from_response(response(1_000))
    assert readings == []


@pytest.mark.parametrize(
    "strange",
    [{"session_id": "other"}, {"provider": "q"}, {"usage": None}, {"usage": {"input_tokens": None}}, {"usage": {}}],
)
def test_reports_of_other_sessions_and_providers_are_ignored(meter, readings, strange):
    """Session and provider must be the view's own."""
    meter.hand_out("p", 1_000, "line")
    meter.learn_from_response(response(1_000, **strange))
    assert readings == []
    meter.learn_from_response(response(1_100))
    assert len(readings) == 1


def test_the_first_report_may_be_much_larger_but_not_smaller(meter, readings):
    """An unknown overhead is learned; a call of another size is not."""
    meter.hand_out("p", 1_000, "line")
    meter.learn_from_response(response(120))
    assert readings == []
    meter.learn_from_response(response(26_000))
    assert readings[0].calibration.overhead_tokens == pytest.approx(25_000, abs=50)


def test_implausible_reports_are_ignored_until_they_are_the_rule(meter, readings):
    """One report of another size is passed over; after several in a row the calibration begins anew."""
    meter.hand_out("p", 10_000, "line")
    meter.learn_from_response(response(10_000))
    for _ in range(DOUBTS - 1):
        meter.hand_out("p", 10_500, "line")
        meter.learn_from_response(response(90_000))
    assert len(readings) == 1
    meter.hand_out("p", 10_500, "line")
    meter.learn_from_response(response(90_000))
    assert readings[-1].actual == 90_000
    assert readings[-1].calibration.observations == 1


def test_the_budget_is_corrected_for_its_provider_only(meter):
    """A calibrated provider's budget shrinks by overhead and ratio; another's stays."""
    assert meter.counted_budget("p", 100_000) == 100_000
    meter.hand_out("p", 1_000, "line")
    meter.learn_from_response(response(21_000))
    assert meter.counted_budget("p", 100_000) == pytest.approx(80_000, abs=100)
    assert meter.counted_budget("q", 100_000) == 100_000


def test_a_disabled_meter_corrects_nothing_but_listens():
    """With token_meter: estimate reports are taken and budgets left alone."""
    meter = Meter(enabled=False, session_id=None)
    meter.hand_out("p", 1_000, "line")
    meter.learn_from_response(response(21_000))
    assert len(meter.readings) == 1
    assert meter.counted_budget("p", 100_000) == 100_000


def test_a_view_that_continues_is_predicted_from_the_last_actual(meter, readings):
    """On one line the anchor is the last true size; on another the whole view is predicted."""
    meter.hand_out("p", 10_000, "line")
    meter.learn_from_response(response(32_000))
    meter.hand_out("p", 11_000, "line")
    meter.learn_from_response(response(33_300))
    assert readings[-1].predicted == 33_000
    meter.hand_out("p", 5_000, "another line")
    meter.learn_from_response(response(26_500))
    assert readings[-1].predicted == pytest.approx(26_700, abs=700)


def test_a_claim_wins(meter, readings):
    """Once the view is claimed only the claim's recorder is listened to."""
    meter.hand_out("p", 1_000, "line")
    record = meter.claim()
    meter.learn_from_response(response(9_999))
    assert readings == []
    record(input_tokens=2, cache_write_tokens=1_500)
    assert readings[0].actual == 1_502
    record(input_tokens=7_000)
    assert len(readings) == 1


def test_a_claim_ends_with_its_view(meter, readings):
    """A recorder that is used after the next view was handed out records nothing."""
    meter.hand_out("p", 1_000, "line")
    record = meter.claim()
    meter.hand_out("p", 1_200, "line")
    record(input_tokens=1_000)
    assert readings == []


def test_calibrations_come_back_from_the_log(meter, readings):
    """A meter that loads what another one recorded starts calibrated."""
    meter.hand_out("p", 1_000, "line")
    meter.learn_from_response(response(21_000))
    again = Meter(enabled=True, session_id="s1")
    again.load({("p", "m"): readings[0].record()})
    assert again.counted_budget("p", 100_000) == meter.counted_budget("p", 100_000)


def test_damaged_records_are_passed_over(meter):
    """A usage record that cannot be read leaves the meter uncalibrated."""
    meter.load({("p", "m"): {"state": ["x"]}, ("q", "m"): {}})
    assert meter.counted_budget("p", 1_000) == 1_000


def test_the_smallest_count_that_was_too_much_is_the_limit() -> None:
    """A provider that counts before it answers may count several views as too large."""
    meter = Meter(enabled=False, session_id=None)
    for counted in (1_000, 4_000):
        assert meter.take_count("p", "m", counted, 2 * counted, most=counted)
    assert meter.counted_budget("p", 100_000) == 500


def test_one_refusal_teaches_once(meter, readings):
    """It is told for a view: a second event about the same view says nothing new."""
    meter.hand_out("p", 1_000, "line")
    refused = {"session_id": "s1", "provider": "p", "model": "m", "error": {"type": "ContextLengthError"}}
    for _ in range(2):
        meter.learn_from_error(refused)
    assert [(reading.limit, reading.overflow) for reading in meter.readings] == [(900, True)]
    assert meter.counted_budget("p", 100_000) == 900
