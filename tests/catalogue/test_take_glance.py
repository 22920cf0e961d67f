"""What `list` says of a log that is looked at: its model, its open calls, its times and its tokens."""

from __future__ import annotations

from contextlib import closing
from typing import Any

import pytest

from amplifier_module_context_persistent.catalogue.glance import Glance
from amplifier_module_context_persistent.catalogue.take_glance import take_glance
from amplifier_module_context_persistent.log.reader import LogReader
from amplifier_module_context_persistent.log.record_line import encode_control, encode_message
from amplifier_module_context_persistent.messages.normalize import tokens_of
from amplifier_module_context_persistent.tokens.counter import EstimateCounter
from tests.support.logs import sealed, write_file

USER: dict[str, Any] = {"role": "user", "content": "go"}
CALLS = [{"id": call_id, "tool": "t", "arguments": {}} for call_id in ("c1", "c2", "c3")]


def usage(model: str) -> bytes:
    return encode_control("usage", provider="p", model=model, counted_tokens=1, actual_tokens=1)


def answer(model: Any = None, **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": "done", "metadata": {"model": model}, **more}


def result(call_id: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "name": "t", "content": "r"}


def glance_of(path: str, *records: bytes | dict[str, Any]) -> Glance:
    """A glance at a log; a message says its own time, or has none."""
    lines = []
    for number, record in enumerate(records):
        if isinstance(record, dict):
            time = (record.get("metadata") or {}).get("timestamp", "")
            record = encode_message(record, message_id=f"m{number}", timestamp=time)
        lines.append(record)
    write_file(path, b"".join(sealed(lines)))
    with closing(LogReader(path)) as reader:
        reader.follow()
        return take_glance(reader, EstimateCounter())[0]


@pytest.mark.parametrize(
    ("records", "model"),
    [
        ([USER, answer("a"), USER, answer("b"), USER], "b"),
        ([USER, answer(model="own"), usage("used")], "own"),
        ([USER, answer(), usage("first"), usage("last"), usage("")], "last"),
        ([USER, answer({"no": "text"}), usage("used")], "used"),
        ([USER, {"role": "assistant", "content": "x", "model": "beside"}, usage("used")], "beside"),
        ([USER, usage("used")], "used"),
        ([USER, answer()], ""),
        ([USER], ""),
        ([], ""),
    ],
    ids=["newest", "own", "last used", "no text", "beside", "no answer", "unknown", "question", "empty"],
)
def test_the_model_is_that_of_the_last_answer_or_of_the_last_usage(path: str, records: list[Any], model: str) -> None:
    assert glance_of(path, *records).model == model


@pytest.mark.parametrize(
    ("records", "count"),
    [
        ([USER, answer(tool_calls=CALLS)], 3),
        ([USER, answer(tool_calls=CALLS), result("c2")], 2),
        ([USER, answer(tool_calls=CALLS), result("c2"), USER], 2),
        ([USER, answer(tool_calls=CALLS), result("c2"), result("c1"), result("c3")], 0),
        ([USER, answer(tool_calls=CALLS), result("other"), result("c1")], 2),
        ([USER, answer(tool_calls=CALLS), answer()], 0),
        ([USER, result("c1")], 0),
        ([], 0),
    ],
    ids=["all", "one answered", "asked again", "none", "another's result", "an earlier answer's", "no answer", "empty"],
)
def test_calls_of_the_last_answer_without_a_result_are_open(path: str, records: list[Any], count: int) -> None:
    assert glance_of(path, *records).open_calls == count


def at(time: str) -> dict[str, Any]:
    return {**USER, "metadata": {"timestamp": time}}


def test_the_first_and_last_times_are_those_of_the_nearest_messages_that_have_one(path: str) -> None:
    """What is no time is passed over."""
    first, middle, last = (f"2026-01-05T09:0{minute}:00Z" for minute in range(3))
    found = glance_of(path, at("soon"), at(first), at(middle), at(last), at(""), at("never"))
    assert (found.first_message, found.last_message) == (first, last)
    found = glance_of(path, at("soon"))
    assert (found.first_message, found.last_message) == ("", "")


def test_tokens_of_many_messages_are_estimated_from_all_parts_of_the_log(path: str) -> None:
    """Not from its beginning or its end alone; of a short log they are counted."""
    short = [USER, answer()]
    assert glance_of(path, *short).tokens == sum(tokens_of(message, EstimateCounter()) for message in short)
    dense = {"role": "user", "content": "7 + 8 = 15; " * 40}
    plain = {"role": "user", "content": "understanding " * 40}
    for messages in ([dense] * 200 + [plain] * 200, [plain] * 200 + [dense] * 200, [plain, dense] * 200):
        whole = sum(tokens_of(message, EstimateCounter()) for message in messages)
        assert glance_of(path, *messages).tokens == pytest.approx(whole, rel=0.05)
