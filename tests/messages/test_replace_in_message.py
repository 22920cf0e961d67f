"""What of a message is replaced, and what is a name that must stay."""

from __future__ import annotations

from typing import Any

import pytest

from amplifier_module_context_persistent.messages.replace_in_message import holds_in_names, redact_message
from amplifier_module_context_persistent.messages.secrets.own_forms import OwnForms
from amplifier_module_context_persistent.messages.secrets.replace_secrets import secrets_replacement

KEY = "sk-1"
HEX = "0f8a4c1b2d3e4f5061728394a5b6c7d8"
JSON_LEFT = '{"passwords": {"robin": "[redacted]"}}'


def without_key(text: str) -> str:
    return text.replace(KEY, "[redacted]")


@pytest.mark.parametrize(
    ("message", "holds"),
    [
        ({"role": "user", "content": f"my {KEY}"}, False),
        ({"role": "user", "content": "x", KEY: 1}, True),
        ({"role": "tool", "content": "x", "tool_call_id": KEY}, True),
        ({"role": "tool", "content": "x", "name": f"of {KEY}"}, True),
        ({"role": "user", "content": [{"type": KEY, "text": "x"}]}, True),
        ({"role": "assistant", "content": "", "tool_calls": [{"id": KEY, "tool": "t", "arguments": {}}]}, True),
        ({"role": "assistant", "content": "", "tool_calls": [{"id": "c", "tool": KEY, "arguments": {}}]}, True),
    ],
    ids=["text", "key at the top", "id of a result", "name", "type of a block", "id of a call", "tool"],
)
def test_ids_names_and_keys_stay_and_are_told(message: dict[str, Any], holds: bool) -> None:
    """All else is replaced."""
    redacted = redact_message(message, without_key)
    assert holds_in_names(message, without_key) is holds
    assert (KEY in str(redacted)) is holds
    assert redact_message({"role": "user", "content": "clean"}, without_key) == {"role": "user", "content": "clean"}


def test_a_key_within_arguments_is_replaced_and_is_no_name() -> None:
    """Tools may have tables with any keys."""
    call = {"id": "c", "tool": "t", "arguments": {"headers": {KEY: "x", "plain": [KEY]}}}
    message = {"role": "assistant", "content": "", "tool_calls": [call]}
    assert not holds_in_names(message, without_key)
    (redacted,) = redact_message(message, without_key)["tool_calls"]
    assert redacted["arguments"] == {"headers": {"[redacted]": "x", "plain": ["[redacted]"]}}


def test_a_key_within_a_block_is_replaced_and_is_no_name() -> None:
    """A block of a kind that nobody knows may have tables, too."""
    message = {"role": "user", "content": [{"type": "chart", "rows": {KEY: 1, "plain": KEY}}]}
    assert not holds_in_names(message, without_key)
    assert KEY not in str(redact_message(message, without_key))


@pytest.mark.parametrize(
    ("message", "holds"),
    [
        ({"role": "tool", "content": [{"type": "json", "json": {"id": 4821}}]}, True),
        ({"role": "tool", "content": [{"type": "json", "json": {"name": [{"at": 4821}]}}]}, True),
        ({"role": "tool", "content": [{"type": "json", "json": {"port": 4821}}]}, False),
        ({"role": "user", "content": "x", "metadata": {"usage": {"input": 4821}}}, False),
    ],
    ids=["id", "within a name", "another key", "usage"],
)
def test_a_number_under_a_name_stays_and_is_told(message: dict[str, Any], holds: bool) -> None:
    redacted = redact_message(message, lambda text: text.replace("4821", "x"))
    assert holds_in_names(message, lambda text: text.replace("4821", "x")) is holds
    assert (redacted == message) is (holds or "metadata" in message)


@pytest.mark.parametrize(
    ("given", "left"),
    [
        ({"passwords": {"robin": "Tr0ub4dor&3"}}, {"passwords": {"robin": "[redacted]"}}),
        (
            {"db_password": {"type": "string", "value": "hunter22"}},
            {"db_password": {"type": "string", "value": "[redacted]"}},
        ),
        ({"username": "robin", "key": HEX}, {"username": "robin", "key": "[redacted]"}),
        ({"github-oauth": {"github.com": HEX}}, {"github-oauth": {"github.com": "[redacted]"}}),
        ({"recovery_codes": ["a8f3-k29d", "b7c2-m38x"]}, {"recovery_codes": ["[redacted]", "[redacted]"]}),
        ({"password": {"a": "x"}}, {"password": "[redacted]"}),
        ({"token": 7, "input": '{"passwords": {"robin": "Tr0ub4dor&3"}}'}, {"token": "[redacted]", "input": JSON_LEFT}),
    ],
)
def test_what_an_object_names_goes_from_a_block_as_from_an_export(given: dict[str, Any], left: dict[str, Any]) -> None:
    """Ids, names, thinking, and numbers that say where something is stay."""
    thinking = {"type": "thinking", "thinking": "x", "signature": "s", "password": "hunter22"}
    block = {"type": "json", "id": "j", "name": HEX, "json": given, "sequence_number": 4111111111111111}
    message = {"role": "tool", "tool_call_id": "c", "content": [thinking, block]}
    redacted = redact_message(message, secrets_replacement())
    assert redacted == {**message, "content": [thinking, {**block, "json": left}]}


def test_keys_that_become_equal_take_no_value_away() -> None:
    keys = [f"ghp_{letter * 36}" for letter in "aB"]
    message = {"role": "tool", "content": [{"type": "json", "json": {keys[0]: {"pwd": "blau77katze"}, keys[1]: 1}}]}
    assert "blau77katze" not in str(redact_message(message, secrets_replacement()))


@pytest.mark.parametrize(
    "message",
    [
        {"role": "user", "content": "the word is bluebird-of-mine"},
        {"role": "user", "content": [{"type": "text", "text": "the word is bluebird-of-mine"}]},
        {"role": "tool", "content": [{"type": "json", "password": "bluebird-of-mine"}]},
        {"role": "assistant", "tool_calls": [{"id": "c", "arguments": {"bluebird-of-mine": 1}}]},
        {"role": "assistant", "tool_calls": [{"id": "c", "arguments": '{"a": "bluebird-of-mine"}'}]},
    ],
    ids=["text", "block", "named", "key", "arguments"],
)
def test_a_persons_own_value_is_noted_where_it_goes(message: dict[str, Any]) -> None:
    taken = set[str]()
    replacement = secrets_replacement(OwnForms(values=("bluebird-of-mine",)), taken)
    assert "bluebird" not in str(redact_message(message, replacement))
    assert taken == {"bluebird-of-mine"}


def test_what_a_person_names_is_noted_only_if_it_goes() -> None:
    """An id that matches stays, so a rule that holds it would be about something else."""
    taken = set[str]()
    own = OwnForms(values=("bluebird-of-mine",))
    message: dict[str, Any] = {"role": "user", "content": "hi", "metadata": {"message_id": "bluebird-of-mine"}}
    assert redact_message(message, secrets_replacement(own, taken)) == message
    assert taken == set()
