"""What a draft counts of the context that the source's model saw."""

from amplifier_module_context_persistent.tokens.counter import EstimateCounter, count_message
from amplifier_module_context_persistent.toolbox.transfer.importers.account import Account
from amplifier_module_context_persistent.toolbox.transfer.importers.events import (
    CompactionEvent,
    Event,
    MessageRead,
    SessionStart,
)
from amplifier_module_context_persistent.toolbox.transfer.imports.drafts import Drafts, SessionDraft
from amplifier_module_context_persistent.toolbox.transfer.imports.spool import Spool

ASKED = MessageRead({"role": "user", "content": "word " * 10_000, "metadata": {"message_id": "u"}})


def answer(**usage: int) -> MessageRead:
    told = {"message_id": "a", "provider": "p", "model": "m", "usage": usage}
    return MessageRead({"role": "assistant", "content": "", "metadata": told})


def drafted(*events: Event) -> SessionDraft:
    drafts = Drafts(Account(), Spool())
    for event in (SessionStart(), *events):
        drafts.take(event)
    drafts.finish()
    return drafts.sessions[0]


def test_what_a_compaction_left_is_counted_from_there() -> None:
    """Before the next message the model sees the summary."""
    draft = drafted(ASKED, CompactionEvent("in short"), answer())
    assert draft.plans.counted_tokens < 100 < count_message(ASKED.message, EstimateCounter())
