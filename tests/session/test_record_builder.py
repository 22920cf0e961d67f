"""What is written for each message: once, with a header before the first, and resets that keep what stays."""

import itertools
import json
import math
from functools import partial
from typing import Any

import pytest

from amplifier_module_context_persistent.errors import PinError
from amplifier_module_context_persistent.log.memory import MemoryLog
from amplifier_module_context_persistent.log.record import encode_control, to_plain
from amplifier_module_context_persistent.session.by_hand import pin_record
from amplifier_module_context_persistent.session.record_builder import RecordBuilder
from amplifier_module_context_persistent.window.message_source import Extras
from tests.support.messages import user


class Writer:
    """A log in memory and the builder of its records; ids are counted."""

    def __init__(self, log: MemoryLog | None = None, session_id: str = "s1") -> None:
        self.log, serial = log or MemoryLog(), itertools.count()
        self.builder = RecordBuilder(
            self.log,
            Extras(),
            session_id=session_id,
            tokenizer="estimate",
            late_system="reminder",
            working_dir="/",
            now=lambda: "2026-03-01T00:00:00.000Z",
            new_id=lambda: f"{session_id}-{next(serial)}",
        )

    def append(self, prepare: Any) -> None:
        (outcome,) = self.log.append([prepare])
        if isinstance(outcome, Exception):
            raise outcome

    def add(self, *texts: str) -> None:
        for text in texts:
            self.append(self.builder.add(user(text), timestamp="t"))

    @property
    def kinds(self) -> list[str]:
        """Each record's kind, or what the message says."""
        values = map(json.loads, self.log.records())
        return [value.get("_record") or value["content"] for value in values]

    @property
    def live(self) -> list[str]:
        return [message["content"] for message in self.log.read(self.log.index.live)]


def test_a_header_comes_before_the_first_message_of_a_session() -> None:
    """Once for each session in the log."""
    writer = Writer()
    assert writer.builder.is_empty
    writer.add("a", "b")
    other = Writer(writer.log, "s2")
    other.add("c")
    assert writer.kinds == ["header", "a", "b", "header", "c"]


def test_a_reset_keeps_what_the_log_holds() -> None:
    """As runs; only what is new is written."""
    writer = Writer()
    writer.add("a", "b", "c")
    a, b, _ = writer.log.read(writer.log.index.live)
    writer.append(writer.builder.replace([a, b, user("d")], reason="set", timestamp="t"))
    assert writer.kinds == ["header", "a", "b", "c", "reset_begin", "d", "reset_commit"]
    assert writer.live == ["a", "b", "d"]


def test_buffered_records_go_with_the_next_append() -> None:
    """Before it, once; an empty log takes none."""
    writer = Writer()
    body = encode_control("usage")
    writer.append(writer.builder.control([body]))
    assert writer.kinds == []
    writer.add("a")
    writer.builder.defer(body)
    carried = writer.builder.take_deferred()
    writer.append(writer.builder.carrying(carried, writer.builder.add(user("b"), timestamp="t")))
    assert writer.kinds == ["header", "a", "usage", "b"]
    assert writer.builder.take_deferred() == []


def test_a_pin_is_written_where_it_changes_something() -> None:
    """And only for a message that is live."""
    writer = Writer()
    writer.add("a")
    (message,) = writer.log.read(writer.log.index.live)
    own = message["metadata"]["message_id"]
    pin = partial(pin_record, reason="", time="t")
    for pinned in (True, True, False):
        writer.append(writer.builder.by_hand(partial(pin, message_id=own, pinned=pinned)))
    assert writer.kinds == ["header", "a", "pin", "pin"]
    with pytest.raises(PinError):
        writer.append(writer.builder.by_hand(partial(pin, message_id="nobody", pinned=True)))


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_floats_that_json_cannot_say_come_back(value: float) -> None:
    """They are not turned into null, and the nothing beside them stays nothing."""
    writer = Writer()
    message = to_plain({**user("a"), "value": [value, None, 1.5]})
    writer.append(writer.builder.add(message, timestamp="t"))
    (stored,) = writer.log.read(writer.log.index.live)
    assert repr(stored["value"]) == repr([value, None, 1.5])
