"""Metadata: who spoke, what stays, and where nothing is said."""

from types import MappingProxyType
from typing import Any

import pytest

from amplifier_module_context_persistent.messages.message import metadata_of
from amplifier_module_context_persistent.messages.metadata import is_answer, is_ephemeral, is_human
from tests.support.messages import Message


def user(content: Any = "hello", **metadata: Any) -> Message:
    return {"role": "user", "content": content, "metadata": {"message_id": "m1", **metadata}}


@pytest.mark.parametrize(
    ("message", "human"),
    [
        (user(), True),
        ({"role": "user", "content": "hello"}, True),
        ({"role": "user", "content": "hello", "metadata": "odd"}, True),
        (user([{"type": "image", "source": {}}]), True),
        (user("see <system-reminder> in the middle"), True),
        (user(pinned=True), True),
        ({"role": "assistant", "content": "hello"}, False),
        ({"role": "system", "content": "hello"}, False),
        (user(source="hook"), False),
        (user(source="context-compaction"), False),
        (user(ephemeral=True), False),
        (user(ephemeral=True, persisted=True), False),
        (user("<system-reminder>\nTodo\n</system-reminder>"), False),
        (user("  <system-reminder>"), False),
        (user([{"type": "text", "text": "<system-reminder>"}]), False),
    ],
)
def test_who_is_human(message: Message, human: bool) -> None:
    """A person's word comes from no source, stays, and is no reminder."""
    assert is_human(message) is human


@pytest.mark.parametrize(
    ("metadata", "ephemeral"),
    [
        (None, False),
        ({}, False),
        ({"ephemeral": True}, True),
        ({"ephemeral": True, "persisted": False}, True),
        ({"ephemeral": True, "persisted": True}, False),
        ({"ephemeral": "yes"}, False),
    ],
)
def test_what_is_ephemeral(metadata: Any, ephemeral: bool) -> None:
    """Only what says so and is not to be persisted all the same."""
    assert is_ephemeral({"role": "user", "content": "a", "metadata": metadata}) is ephemeral


def test_metadata_of_any_message() -> None:
    """Metadata that is no object counts as none."""
    assert metadata_of({"metadata": {"a": 1}}) == {"a": 1}
    assert metadata_of({"metadata": ["a"]}) == metadata_of({}) == {}


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ({"role": "assistant", "content": "x"}, True),
        ({"role": "assistant", "content": "x", "metadata": {}}, True),
        ({"role": "assistant", "content": "x", "metadata": {"model": "m"}}, True),
        ({"role": "assistant", "content": "x", "metadata": MappingProxyType({"model": "m"})}, True),
        ({"role": "assistant", "content": "x", "metadata": "no object"}, True),
        ({"role": "assistant", "content": "x", "metadata": {"source": "hook"}}, False),
        ({"role": "assistant", "content": "x", "metadata": MappingProxyType({"source": "hook"})}, False),
        ({"role": "user", "content": "x"}, False),
        ({"content": "x"}, False),
    ],
)
def test_an_answer_is_a_providers(message: dict[str, Any], expected: bool) -> None:
    """Not what a hook added, nor a question."""
    assert is_answer(message) is expected
