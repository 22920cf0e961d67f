"""Messages without an id, recognised by their timestamps: what is remembered for it, and what is not confused."""

import tracemalloc
from typing import Any

import pytest

from amplifier_module_context_persistent.log.index import ID_MODULUS, id_hash_of
from amplifier_module_context_persistent.log.memory import MemoryLog
from amplifier_module_context_persistent.log.record import encode_message
from amplifier_module_context_persistent.session.record_builder import TimestampReplays
from tests.support.logs import append_bodies
from tests.support.messages import Message

COUNT = 2_000


def said(number: int, timestamp: str, **metadata: Any) -> Message:
    return {"role": "user", "content": f"said {number}", "metadata": {"timestamp": timestamp, **metadata}}


def stamp(number: int) -> str:
    return f"2026-01-05T{number // 3600:02}:{number // 60 % 60:02}:{number % 60:02}.000Z"


def log_of(*messages: Message) -> MemoryLog:
    log = MemoryLog()
    bodies = [encode_message(one, message_id=f"m{at}", timestamp="") for at, one in enumerate(messages)]
    append_bodies(log, *bodies)
    return log


def test_a_record_takes_a_few_bytes() -> None:
    """A session of a million messages is remembered in 25 MB."""
    log = log_of(*(said(number, stamp(number)) for number in range(COUNT)))
    replays = TimestampReplays(COUNT)
    tracemalloc.start()
    try:
        assert replays.find(log, said(0, "never")) is None
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert held < 40 * COUNT
    assert replays.find(log, said(COUNT - 1, stamp(COUNT - 1))) == f"m{COUNT - 1}"
    assert replays.find(log, said(0, stamp(COUNT - 1))) is None


@pytest.mark.parametrize("count", [5, COUNT])
def test_each_record_answers_once_and_the_first_one_first(count: int) -> None:
    """Also where all have the same timestamp, and the same words."""
    log = log_of(*(said(1, stamp(1)) for _ in range(count)))
    replays = TimestampReplays(count - 1)  # the last one was added by this process
    for number in range(count - 1):
        assert replays.find(log, said(1, stamp(1))) == f"m{number}"
        replays.claim(f"m{number}")
    assert replays.find(log, said(1, stamp(1))) is None
    replays.release("m3")
    assert replays.find(log, said(1, stamp(1))) == "m3"


def test_timestamps_with_the_same_hash_are_told_apart() -> None:
    """A message of another time is another one, whatever the hashes say."""
    one = stamp(1)
    other = same_hash(one)
    assert (id_hash_of(one.encode()), one) != (id_hash_of(other.encode()), other)
    assert id_hash_of(one.encode()) == id_hash_of(other.encode())
    log = log_of(said(1, one))
    replays = TimestampReplays(1)
    assert replays.find(log, said(1, other)) is None
    assert replays.find(log, said(1, one)) == "m0"


def test_a_record_that_was_hidden_meanwhile_still_answers() -> None:
    """What a host sends again of it is not said anew; other words of the same time are."""
    log = log_of(said(1, stamp(1)), said(2, stamp(2)))
    replays = TimestampReplays(2)
    assert replays.find(log, said(1, stamp(1))) == "m0"
    log.index.replace_live([1])
    assert replays.find(log, said(1, stamp(1))) == "m0"
    assert replays.find(log, said(3, stamp(1))) is None
    assert replays.find(log, said(1, stamp(2))) is None


def same_hash(text: str) -> str:
    """Another text, of letters of ASCII, with the same hash."""
    wanted = id_hash_of(text.encode())
    for number in range(1 << 20):
        high = int.from_bytes(f"{number:08}".encode(), "little") << 64
        low = ((wanted - high) % ID_MODULUS + (number % 3 + 1) * ID_MODULUS).to_bytes(8, "little")
        if low.isascii() and low.decode().isprintable():
            return low.decode() + f"{number:08}"
    raise AssertionError("none found")
