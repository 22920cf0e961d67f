"""Messages for windows: of a log, and those that are in no log."""

from amplifier_module_context_persistent.config import Config
from amplifier_module_context_persistent.tokens.counter import EstimateCounter
from amplifier_module_context_persistent.window.message_source import MessageSource
from tests.support.windows import Desk


def source(desk: Desk, **config: str) -> MessageSource:
    return MessageSource(Config.load(config), EstimateCounter(), desk.unlogged)


def test_messages_are_described_by_their_ordinals(desk: Desk) -> None:
    """With what they count; in the order that was asked for."""
    desk.talk(2)
    ours = source(desk)
    entries = ours.describe(desk.log, [2, 0])
    assert [(entry.ordinal, entry.id, entry.role) for entry in entries] == [(2, "m2", "user"), (0, "m0", "user")]
    assert [entry.tokens for entry in entries] == [ours.count(message) for message in desk.log.read([2, 0])]


def test_late_system_text_is_known_where_it_is_to_be_a_reminder(desk: Desk) -> None:
    """What stands before the conversation is not late."""
    desk.add({"role": "system", "content": "early"})
    desk.talk(1)
    desk.add({"role": "system", "content": "late"})
    for option, late in (("reminder", [False, True]), ("system", [False, False])):
        assert [entry.origin.late for entry in source(desk, late_system=option).describe(desk.log, [0, 3])] == late


def test_messages_in_no_log_are_fetched_between_the_others(desk: Desk) -> None:
    """In the order of the entries."""
    desk.talk(1)
    ours = source(desk)
    ephemeral = {"role": "user", "content": "psst", "metadata": {"ephemeral": True}}
    desk.unlogged.add_ephemeral(desk.log.index, ephemeral, ours.count)
    entries = desk.unlogged.merge(desk.log.index, ours.describe(desk.log, [0, 1]), frozenset())
    fetched = [message["content"] for message in ours.fetch(desk.log, entries)]
    assert len(fetched) == 3
    assert fetched[2] == "psst"
    assert fetched[0].startswith("Question")
    assert [message["content"] for message in ours.fetch(desk.log, entries[:1])] == fetched[:1]
