"""Usage that a source reports: what is counted, predicted and written."""

from amplifier_module_context_persistent.log.record import decode
from amplifier_module_context_persistent.messages.usage import usage_of_record
from amplifier_module_context_persistent.tokens.counter import EstimateCounter, count_message
from amplifier_module_context_persistent.tokens.meter import Calibration
from amplifier_module_context_persistent.transfer.drafts import Drafts, SessionDraft
from amplifier_module_context_persistent.transfer.importers.account import Account
from amplifier_module_context_persistent.transfer.importers.events import (
    CompactionEvent,
    Event,
    MessageRead,
    SessionStart,
)

ASKED = MessageRead({"role": "user", "content": "word " * 10_000, "metadata": {"message_id": "u"}})


def answer(**usage: int) -> MessageRead:
    told = {"message_id": "a", "provider": "p", "model": "m", "usage": usage}
    return MessageRead({"role": "assistant", "content": "", "metadata": told})


def drafted(*events: Event) -> SessionDraft:
    drafts = Drafts(Account())
    for event in (SessionStart(), *events):
        drafts.take(event)
    drafts.finish()
    return drafts.sessions[0]


def test_the_first_and_the_last_report_teach_the_first_prediction() -> None:
    """The overhead and the ratio of the whole session; the record is no request, and nothing was predicted in it."""
    events: list[Event] = []
    for number in range(5):
        read = 15_000 * number
        events += [ASKED, answer(input_tokens=read, cache_read_tokens=read, cache_write_tokens=15_000 + 4_000)]
    draft = drafted(*events, answer(output_tokens=5))
    assert draft.reports == 5
    (body,) = draft.calibrations()
    record = decode(body + b"}")
    learned, counted = Calibration.from_record(record["state"]), draft.counted
    assert abs(learned.predict(2 * counted, continues=True) / (2 * 75_000 + 4_000) - 1) < 0.1
    assert abs(learned.predict(counted // 5, continues=False) / 19_000 - 1) < 0.1
    assert usage_of_record(record) is None
    assert "predicted_tokens" not in record


def test_what_a_compaction_left_is_counted_from_there() -> None:
    """Before the next message the model sees the summary."""
    draft = drafted(ASKED, CompactionEvent("in short"), answer())
    assert draft.counted < 100 < count_message(ASKED.message, EstimateCounter())
