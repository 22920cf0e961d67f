"""Ordinary messages: what nothing else has to be asked of as it is added."""

from __future__ import annotations

import enum
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amplifier_module_context_persistent.forms.canonical import form_of
from amplifier_module_context_persistent.forms.recognise import is_ordinary, shape_of
from amplifier_module_context_persistent.messages.check_incoming import check_message, json_copy, why_refused
from amplifier_module_context_persistent.messages.kept_from_models import is_kept_from_models
from amplifier_module_context_persistent.messages.message_times import timestamp_of
from amplifier_module_context_persistent.messages.metadata import given_id, is_ephemeral
from amplifier_module_context_persistent.session.provider_refusals import tells_transformations


class Kind(enum.StrEnum):
    """A text that is not of JSON's own type."""

    ONE = "one"


BLOCKS = st.sampled_from([{"type": "text", "text": "a"}, {"type": "text"}, {"text": "a"}, "a"])
CALLS = st.sampled_from(
    [{"id": "c1", "name": "bash"}, {"id": None}, {"tool": "bash"}, {"id": "c", "custom": {}}, "c", None]
)
VALUES = st.recursive(
    st.sampled_from([True, "", "m1", 1, 0.5, None, math.nan, (1,), Kind.ONE, b"b"]),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["a", "b", 1, Kind.ONE]), inner, max_size=2)
    ),
    max_leaves=4,
)
METADATA = st.dictionaries(
    st.sampled_from(
        [
            "message_id",
            "ephemeral",
            "form",
            "persisted",
            "turn",
            "source",
            "timestamp",
            "unseen",
            "input_transformations",
        ]
    ),
    st.just({"name": "anthropic"}) | VALUES,
    max_size=2,
)
MESSAGES = st.fixed_dictionaries(
    {},
    optional={
        "role": st.sampled_from(["user", "assistant", "tool", "system", "developer", "function", "robot", None, 1]),
        "content": st.sampled_from(["", "a", None, 1, {"type": "text", "text": "a"}]) | st.lists(BLOCKS, max_size=2),
        "tool_calls": st.sampled_from([None, "", {}, 0, "c1"])
        | st.lists(CALLS | st.fixed_dictionaries({"id": st.just("c1"), "arguments": VALUES}), max_size=2),
        "tool_call_id": st.sampled_from([None, "", "c1", 1]),
        "metadata": st.sampled_from([None, "", [], 0]) | METADATA,
        "name": st.sampled_from(["bash", Kind.ONE, ("bash",)]),
        "timestamp": st.just("2026-01-05T09:00:00Z"),
        "_crc": st.just("0"),
        "parts": st.just([]),
    },
)


@given(MESSAGES)
def test_nothing_else_is_to_be_asked_of_an_ordinary_message(message: dict[str, Any]) -> None:
    """What is checked of all others holds of it, and whoever is asked says that it is added as it is.

    It is its own copy in plain JSON: the same values, of the same types.
    """
    if not is_ordinary(message):
        return
    assert repr(json_copy(message)) == repr(message)
    check_message(message)
    assert why_refused(message) == ""
    assert given_id(message) is None
    assert not is_ephemeral(message)
    assert not is_kept_from_models(message)
    assert timestamp_of(message) == ""
    assert form_of(message) == ""
    assert shape_of(message) is None
    assert not tells_transformations(message)


@pytest.mark.parametrize(
    "message",
    [
        {"role": "user", "content": "a"},
        {"role": "system", "content": [], "metadata": {"turn": 1}},
        {"role": "assistant", "tool_calls": [{"id": "c1", "tool": "bash", "arguments": {}}]},
        {"role": "tool", "content": "a", "tool_call_id": "c1", "name": "bash"},
        {"role": "assistant", "content": None, "tool_calls": [{"id": "c1", "arguments": {"edits": [{"at": 0.5}]}}]},
        {"role": "assistant", "content": "a", "metadata": {"usage": {"input_tokens": 1}, "source": "hook"}},
    ],
    ids=["user", "system", "calls", "result", "no content", "usage"],
)
def test_messages_as_most_are_are_ordinary(message: dict[str, Any]) -> None:
    """Else they would be looked at several times."""
    assert is_ordinary(message)


@pytest.mark.parametrize(
    "more",
    [
        {"tool_calls": [{"id": "c1"}, {"id": None}]},
        {"tool_calls": [{"id": "c1", "custom": {}}]},
        {"tool_calls": ""},
        {"metadata": {"message_id": "m1"}},
        {"metadata": {"ephemeral": True}},
        {"metadata": {"form": {"name": "anthropic"}}},
        {"metadata": []},
        {"metadata": {"timestamp": "2026-01-05T09:00:00Z"}},
        {"metadata": {"unseen": True}},
        {"metadata": {"provider:input_transformations": []}},
        {"tool_calls": [{"id": "c1", "arguments": {"at": math.nan}}]},
        {"tool_calls": [{"id": "c1", "arguments": {1: "a"}}]},
        {"tool_calls": [{"id": "c1", "arguments": [[("a",)]]}]},
        {"name": Kind.ONE},
        {"role": "tool", "tool_call_id": None},
        {"role": "function"},
        {"_crc": "0"},
        {"refusal": "no"},
    ],
    ids=lambda more: "-".join(map(str, more)),
)
def test_any_other_message_is_looked_at(more: dict[str, Any]) -> None:
    """One value is enough to decide otherwise."""
    plain = {"role": "assistant", "content": "a", "metadata": {"turn": 1}}
    assert is_ordinary(plain)
    assert not is_ordinary({**plain, **more})
