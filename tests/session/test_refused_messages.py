"""Messages that no view could ever show are refused when they are added; those that a log has are read."""

from pathlib import Path
from typing import Any

import pytest

from amplifier_module_context_persistent import (
    ConfigError,
    InMemoryContextManager,
    PersistentContextManager,
    RecordError,
)
from tests.support.checker import assert_valid
from tests.support.messages import fill
from tests.support.resumed_sessions import write_lines
from tests.support.sweeps import proof

REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "no content": ({"role": "user"}, "message.content is missing"),
    "a result of no call": ({"role": "tool", "tool_call_id": None, "content": "x"}, "message.tool_call_id is missing"),
    "a system message without content": ({"role": "system"}, "message.content is missing"),
    "a result without an id": ({"role": "tool", "content": "x"}, "message.tool_call_id is missing"),
    "calls that are a text": ({"role": "assistant", "content": "x", "tool_calls": "no"}, "must be a list of calls"),
    "calls that are an object": ({"role": "assistant", "content": "x", "tool_calls": {}}, "must be a list of calls"),
    "calls that are a number": ({"role": "assistant", "content": "x", "tool_calls": 5}, "list of calls, not int"),
    "a call that is a text": ({"role": "assistant", "content": "", "tool_calls": ["ls"]}, r"tool_calls\[0\] must be"),
    "a call without an id": (
        {"role": "assistant", "content": "", "tool_calls": [{"id": "a", "tool": "ls"}, {"tool": "ls"}]},
        r"tool_calls\[1\] has no id",
    ),
}


@proof(quick=2)
@pytest.mark.parametrize(("message", "reason"), REFUSED.values(), ids=REFUSED)
async def test_what_no_view_could_show_is_refused_and_not_stored(message: dict[str, Any], reason: str) -> None:
    """The error is a ValueError that names the place; nothing is stored."""
    async with InMemoryContextManager() as manager:
        with pytest.raises(ValueError, match=reason) as refused:
            await manager.add_message(message)
        assert isinstance(refused.value, RecordError)
        assert await manager.get_messages() == []


@pytest.mark.parametrize("role", [[], {}, ["user"], 1, None])
async def test_a_role_that_is_no_text_is_refused_by_its_name(role: object) -> None:
    """The error says what the role is, also for values that no table can be asked for."""
    async with InMemoryContextManager() as manager:
        with pytest.raises(RecordError, match=rf"message.role is {type(role).__name__}; it must be one of"):
            await manager.add_message({"role": role, "content": "x"})


TAKEN: dict[str, dict[str, Any]] = {
    "calls beside no content": {"role": "assistant", "tool_calls": [{"id": "a", "tool": "ls", "arguments": {}}]},
    "calls of nothing": {"role": "assistant", "content": "x", "tool_calls": None},
    "the form of the contract": {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "a", "type": "function", "function": {"name": "ls", "arguments": "{}"}}],
    },
    "an answer without a word": {"role": "assistant", "content": None},
    "a person's empty line": {"role": "user", "content": ""},
    "content of nothing": {"role": "user", "content": None},
    "OpenAI's older form of a result": {"role": "function", "name": "ls", "content": "x"},
    "ids of a provider that gives none": {"role": "assistant", "content": "", "tool_calls": [{"id": "", "tool": "ls"}]},
    "a result of such a call": {"role": "tool", "tool_call_id": "", "content": "x"},
    "an output of nothing": {"role": "tool", "tool_call_id": "a", "content": None},
}


@proof(quick=2)
@pytest.mark.parametrize("message", TAKEN.values(), ids=TAKEN)
async def test_what_hosts_give_is_taken(message: dict[str, Any]) -> None:
    """It is stored, and views stay valid."""
    async with InMemoryContextManager() as manager:
        await fill(manager, [{"role": "user", "content": "go"}, message])
        assert len(await manager.get_messages()) == 2
        assert_valid(await manager.get_messages_for_request())


async def test_a_log_that_holds_such_messages_is_read_and_replayed(tmp_path: Path) -> None:
    """They are in the history, in no view, and a host that adds all of it again is acknowledged."""
    path = tmp_path / "log.jsonl"
    write_lines(path, [{"role": "user", "content": "go"}, *[message for message, _ in REFUSED.values()]])
    async with PersistentContextManager(path, recipient="somebody") as manager:
        history = await manager.get_messages()
        assert len(history) == 1 + len(REFUSED)
        view = await manager.get_messages_for_request()
        assert_valid(view)
        await fill(manager, history)
        assert await manager.get_messages() == history


async def test_a_host_that_sets_such_messages_is_warned(caplog: pytest.LogCaptureFixture) -> None:
    """One old line must not keep a session from being resumed."""
    async with InMemoryContextManager() as manager:
        await manager.set_messages([{"role": "user", "content": "go"}, {"role": "tool", "content": "x"}])
        assert len(await manager.get_messages()) == 2
    assert "no view will show message 1: message.tool_call_id is missing" in caplog.text


def test_an_unknown_option_is_an_error_that_names_the_nearest() -> None:
    """In Python nobody else's options come along; keys of the host's modules are taken as they are in a mount plan."""
    with pytest.raises(ConfigError, match=r"unknown configuration key 'max_token'; did you mean 'max_tokens'\?"):
        InMemoryContextManager(max_token=5)  # type: ignore[call-arg]
    InMemoryContextManager(auto_compact=True)  # type: ignore[call-arg]
