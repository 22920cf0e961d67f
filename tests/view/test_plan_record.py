"""Plans as records: what is stored is followed by the next process, and what cannot be followed is replaced."""

import logging

import pytest

from amplifier_module_context_persistent.log.memory import MemoryLog
from amplifier_module_context_persistent.log.record_line import encode_control
from tests.support.checker import same
from tests.support.logs import append_bodies
from tests.support.messages import Message
from tests.support.sweeps import proof
from tests.support.windows import Desk


def test_a_stored_plan_is_followed_by_the_next_process(desk: Desk) -> None:
    """Its view is the same to the byte, and no new plan is made."""
    desk.talk(20)
    first = desk.ask(2_000)
    assert first.planning.compaction is not None
    desk.store()
    again = desk.ask(2_000, desk.new_window())
    assert again.planning.compaction is None
    assert same(again.view, first.view)


WRONG: list[tuple[Message, str]] = [
    ({"keep": [["m0", "gone"]], "upto": "m3"}, "not in the live history: 'gone'"),
    ({"keep": [["m0", "m1"]], "upto": "gone"}, "not in the live history: 'gone'"),
    ({"keep": [["m0", "m1"]]}, "not in the live history: 'None'"),
    ({"keep": "m0", "upto": "m3"}, "no list of runs"),
    ({"keep": [["m0"]], "upto": "m3"}, "no list of runs"),
    ({"keep": [["m0", "m1"]], "upto": "m3"}, "not a plan"),
]


@proof(quick=1)
@pytest.mark.parametrize(("fields", "reason"), WRONG)
def test_a_plan_that_cannot_be_followed_is_replaced(
    desk: Desk, fields: Message, reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    """With one warning, whatever is wrong with it; history is whole, and a new plan is made when one is needed."""
    desk.talk(20)
    append_bodies(desk.log, encode_control("plan", id="p", **fields))
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            view = desk.ask(20_000).view
            assert len(view) == 40
    (record,) = caplog.records
    assert "the stored plan cannot be followed" in record.getMessage()
    assert reason in record.getMessage()
    assert desk.ask(2_000).planning.compaction is not None
    desk.store()
    assert desk.ask(2_000, desk.new_window()).planning.compaction is None


def test_there_is_no_record_without_a_plan() -> None:
    """Asking for one is an error of the caller."""
    with pytest.raises(ValueError, match="there is no plan"):
        Desk().window.plan_record(MemoryLog())
