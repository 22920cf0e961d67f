"""Which messages share an id with their copies."""

from typing import Any

import pytest

from amplifier_module_context_persistent.catalogue.copy_id import copy_id

LONG = "msg_01HZX3V9Q4JTBKW8"
TIME = "2026-11-28T10:00:00+00:00"


def with_id(message_id: str, time: str = "", text: str = "hello") -> dict[str, Any]:
    marks = {"message_id": message_id} | ({"timestamp": time} if time else {})
    return {"role": "assistant", "content": text, "metadata": marks}


@pytest.mark.parametrize(
    ("message", "has_one"),
    [
        (with_id(LONG), True),
        (with_id("m1", TIME), True),
        (with_id(LONG, TIME), True),
        (with_id("m1"), False),
        (with_id(LONG[:-1]), False),
        ({"role": "assistant", "content": "hello"}, False),
        ({"role": "assistant", "content": "hello", "metadata": {"timestamp": TIME}}, False),
    ],
)
def test_an_id_that_may_be_a_mere_number_needs_a_time(message: dict[str, Any], has_one: bool) -> None:
    assert bool(copy_id(message)) is has_one


def test_a_copy_has_the_same_id_and_nothing_else_has() -> None:
    known = copy_id(with_id(LONG, TIME))
    assert known == copy_id(with_id(LONG, TIME))
    others = [with_id(LONG), with_id(f"{LONG}0", TIME), with_id(LONG, TIME, "hello!"), with_id(LONG, TIME[:-1] + "1")]
    assert known not in map(copy_id, others)
