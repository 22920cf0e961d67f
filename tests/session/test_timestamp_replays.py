"""Messages without an id, recognised by their timestamps: what answers, and what is not confused."""

from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from amplifier_module_context_persistent.log.memory import MemoryLog
from amplifier_module_context_persistent.log.record_line import encode_message
from amplifier_module_context_persistent.session.replayed_messages import TimestampReplays
from tests.support.logs import append_bodies
from tests.support.messages import Message
from tests.support.sweeps import proof


def said(number: int, timestamp: str, **metadata: Any) -> Message:
    return {"role": "user", "content": f"said {number}", "metadata": {"timestamp": timestamp, **metadata}}


def stamp(number: int) -> str:
    return f"2026-01-05T{number // 3600:02}:{number // 60 % 60:02}:{number % 60:02}.000Z"


def log_of(*messages: Message) -> MemoryLog:
    log = MemoryLog()
    bodies = [encode_message(one, message_id=f"m{at}", timestamp="") for at, one in enumerate(messages)]
    append_bodies(log, *bodies)
    return log


@pytest.mark.parametrize("count", [5, 600])
def test_each_record_answers_once(count: int) -> None:
    """Also where all have the same timestamp, and the same words."""
    log = log_of(*(said(1, stamp(1)) for _ in range(count)))
    replays = TimestampReplays(count - 1)  # the last one was added by this process
    for number in range(count - 1):
        assert replays.answer(log, said(1, stamp(1)), f"own{number}")
    assert not replays.answer(log, said(1, stamp(1)), "another")
    assert replays.answer(log, said(1, stamp(1)), "own3")  # it is prepared again


def test_a_record_that_was_hidden_meanwhile_still_answers() -> None:
    """What a host sends again of it is not said anew; other words of the same time are."""
    log = log_of(said(1, stamp(1)), said(2, stamp(2)))
    replays = TimestampReplays(2)
    assert not replays.answer(log, said(1, "never"), "own")
    log.index.replace_live([1])
    assert not replays.answer(log, said(3, stamp(1)), "own")
    assert not replays.answer(log, said(1, stamp(2)), "own")
    assert replays.answer(log, said(1, stamp(1)), "own")


@proof
def test_many_messages_of_one_time_are_recognised_one_after_the_other() -> None:
    """A log that took a whole list at once has one time for all; each message is compared with its own record alone."""
    count = 2_000
    log = log_of(*(said(number, stamp(1)) for number in range(count)))
    replays = TimestampReplays(count)
    reads = 0
    read = log.read

    def counted(ordinals: Sequence[int]) -> Iterator[Message]:
        nonlocal reads
        reads += 1
        return read(ordinals)

    log.read = counted  # type: ignore[method-assign]
    for number in reversed(range(count)):
        assert replays.answer(log, said(number, stamp(1)), f"own{number}")
    assert reads == count + 1


def test_a_record_that_was_purged_meanwhile_answers_no_more() -> None:
    """A message that is prepared again is stored, if the record that answered for it is gone."""
    log = log_of(said(1, stamp(1)))
    replays = TimestampReplays(1)
    assert replays.answer(log, said(1, stamp(1)), "own")
    assert not replays.answer(log_of(), said(1, stamp(1)), "own")
