"""The published contract of context managers, as its reader would test it, for both managers.

Source: microsoft/amplifier-core, `docs/contracts/CONTEXT_CONTRACT.md`, versions 2.1.0 and 2.0.0, and the first one,
which had `should_compact` and `compact`: the message format, the examples of its section "Testing", and its checklist.
"""

import asyncio
import inspect
import threading
import tomllib
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from amplifier_core.interfaces import ContextManager
from amplifier_core.testing import EventRecorder, MockCoordinator

from amplifier_module_context_persistent import InMemoryContextManager, PersistentContextManager, mount
from tests.support.places import ROOT
from tests.support.sweeps import proof

Message = dict[str, Any]
Make = Callable[..., PersistentContextManager]


@pytest.fixture(params=["persistent", "in memory"])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Make:
    """What the contract calls `MyContextManager`."""
    numbers = iter(range(100))

    def one(**options: Any) -> PersistentContextManager:
        if request.param == "in memory":
            return InMemoryContextManager(**options)
        return PersistentContextManager(tmp_path / f"{next(numbers)}.jsonl", **options)

    return one


def call(call_id: str = "call_123", arguments: str = '{"path": "file.txt"}') -> Message:
    function = {"name": "read_file", "arguments": arguments}
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": call_id, "type": "function", "function": function}],
    }


def result(call_id: str = "call_123") -> Message:
    return {"role": "tool", "tool_call_id": call_id, "content": "File contents..."}


def bare(messages: list[Message]) -> list[Message]:
    """Messages without the ids and the times that the log adds."""
    return [{key: value for key, value in message.items() if key not in ("metadata", "name")} for message in messages]


def shown(message: Message) -> Message:
    """A message as a request holds it: amplifier-core's `Message` takes no content of None."""
    return {**message, "content": message["content"] or ""}


def ids_in(messages: list[Message]) -> tuple[set[str], set[str]]:
    """The ids of calls, and of results."""
    asked = {one["id"] for message in messages for one in message.get("tool_calls") or ()}
    return asked, {message["tool_call_id"] for message in messages if message["role"] == "tool"}


# -- the examples ------------------------------------------------------------------------------------------------------


async def test_context_manager(make: Make) -> None:
    """Two messages are two messages, in the history and in the view."""
    context = make(max_tokens=1000)
    await context.add_message({"role": "user", "content": "Hello"})
    await context.add_message({"role": "assistant", "content": "Hi there!"})
    messages = await context.get_messages_for_request()
    assert len(messages) == 2
    assert messages[0]["role"] == "user"
    raw_messages = await context.get_messages()
    assert len(raw_messages) == 2
    await context.clear()
    assert len(await context.get_messages()) == 0
    assert await context.get_messages_for_request() == []


@proof(quick=1)
@pytest.mark.parametrize("arguments", ['{"path": "file.txt"}', "{}", "{...}"])
async def test_compaction_preserves_tool_pairs(make: Make, arguments: str) -> None:
    """A compacted view has no result without its call."""
    context = make(max_tokens=100, compaction_threshold=0.5)
    await context.add_message({"role": "user", "content": "Read file.txt"})
    await context.add_message(call(arguments=arguments))
    await context.add_message(result())
    for number in range(50):
        await context.add_message({"role": "user", "content": f"Message {number}"})
    messages = await context.get_messages_for_request()
    tool_use_ids, tool_result_ids = ids_in(messages)
    assert tool_result_ids.issubset(tool_use_ids)
    assert len(messages) < 53
    assert len(await context.get_messages()) == 53


async def test_session_resume(make: Make) -> None:
    """What a host sets is the history of a fresh session."""
    context = make(max_tokens=1000)
    saved = [
        {"role": "user", "content": "Previous conversation"},
        {"role": "assistant", "content": "Previous response"},
    ]
    await context.set_messages(saved)
    messages = await context.get_messages()
    assert len(messages) == 2
    assert messages[0]["content"] == "Previous conversation"
    assert bare(await context.get_messages_for_request()) == saved


async def test_compaction_of_the_first_contract(make: Make) -> None:
    """`should_compact` and `compact` are there; history stays whole, as the contract demands since 2.1.0."""
    context = make(max_tokens=100, compaction_threshold=0.5)
    for number in range(50):
        await context.add_message({"role": "user", "content": f"Message {number}"})
    assert await context.should_compact()
    await context.compact()
    assert not await context.should_compact()
    assert len(await context.get_messages_for_request()) < 50
    assert len(await context.get_messages()) == 50


# -- views without a provider ------------------------------------------------------------------------------------------

CONVERSATIONS: dict[str, list[Message]] = {
    "each kind of message": [
        {"role": "system", "content": "System instructions"},
        {"role": "user", "content": "User's input text"},
        call(),
        result(),
        {"role": "assistant", "content": "Assistant's response"},
    ],
    "an assistant's greeting first": [{"role": "assistant", "content": "Hello."}, {"role": "user", "content": "Hi."}],
    "two answers in a row": [
        {"role": "user", "content": "Go on."},
        {"role": "assistant", "content": "One."},
        {"role": "assistant", "content": "Two."},
        call(),
        result(),
    ],
    "two users in a row": [{"role": "user", "content": "One."}, {"role": "user", "content": "Two."}],
    "signed thinking": [
        {"role": "user", "content": "Think."},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "So.", "signature": "c2ln"},
                {"type": "text", "text": "Done."},
            ],
        },
        {"role": "user", "content": "And?"},
    ],
}


@proof(quick=4)
@pytest.mark.parametrize("looks", [False, True], ids=["at the end", "after each message"])
@pytest.mark.parametrize("name", CONVERSATIONS)
async def test_within_the_budget_a_view_is_the_history(make: Make, name: str, looks: bool) -> None:
    """Message for message, however often the host looks at views."""
    context, messages = make(max_tokens=100_000), CONVERSATIONS[name]
    for message in messages:
        await context.add_message(message)
        if looks and message["role"] != "assistant":
            await context.get_messages_for_request()
    assert bare(await context.get_messages_for_request()) == [shown(message) for message in messages]
    assert bare(await context.get_messages()) == messages


async def test_a_host_that_looks_after_each_turn_does_not_double_the_people(make: Make) -> None:
    """There are as many users' messages in the view as people wrote."""
    context = make(max_tokens=100_000)
    for number in range(20):
        await context.add_message({"role": "user", "content": f"Question {number}"})
        await context.get_messages_for_request()
        await context.add_message({"role": "assistant", "content": f"Answer {number}"})
        await context.get_messages_for_request()
    view = await context.get_messages_for_request()
    assert [message["role"] for message in view] == ["user", "assistant"] * 20


async def test_an_interrupted_or_damaged_history_gets_what_it_needs(make: Make) -> None:
    """A missing result has a stand-in, and a result without its call stays out; nothing else changes."""
    context = make(max_tokens=100_000)
    await context.set_messages([{"role": "user", "content": "Go."}, result("lost"), call("open")])
    view = await context.get_messages_for_request()
    assert [message["role"] for message in view] == ["user", "assistant", "tool"]
    assert ids_in(view) == ({"open"}, {"open"})


# -- the checklist: required -------------------------------------------------------------------------------------------


METHODS = ("add_message", "get_messages_for_request", "get_messages", "set_messages", "clear")


async def test_it_implements_the_protocol(make: Make) -> None:
    """All five methods, with the parameters that the protocol names."""
    for name in METHODS:
        method, demanded = getattr(make(), name), getattr(ContextManager, name)
        assert inspect.iscoroutinefunction(method)
        names = [*inspect.signature(demanded).parameters][1:]
        assert [*inspect.signature(method).parameters][: len(names)] == names


async def test_mount_is_an_entry_point() -> None:
    """A host finds the module by the group `amplifier.modules`, and mounts it."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    points = project["project"]["entry-points"]["amplifier.modules"]
    assert points == {"context-persistent": "amplifier_module_context_persistent:mount"}
    coordinator = MockCoordinator()
    await mount(coordinator, {"storage": "memory", "max_tokens": 1000, "compaction_threshold": 0.8})
    assert all(callable(getattr(coordinator.get("context"), name)) for name in METHODS)


def provider_with(window: int, output: int) -> Any:
    defaults = {"context_window": window, "max_output_tokens": output}
    return SimpleNamespace(name="one", get_info=lambda: SimpleNamespace(id="one", defaults=defaults))


@proof(quick=1)
async def test_requests_are_compacted_within_the_limits(make: Make) -> None:
    """By a budget that is given, by the provider's window, or by `max_tokens`; in the order of the conversation."""
    for ask, options in (
        ({"token_budget": 500}, {}),
        ({"provider": provider_with(2_500, 1_000)}, {}),
        ({}, {"max_tokens": 500}),
    ):
        context = make(tokenizer="estimate", **options)
        for number in range(100):
            await context.add_message({"role": "user", "content": f"Message {number}: {'word ' * 20}"})
        view = await context.get_messages_for_request(**ask)
        shown = [int(m["content"].split()[1][:-1]) for m in view if str(m["content"]).startswith("Message")]
        assert 0 < len(shown) < 100
        assert shown == sorted(shown)
        assert shown[-1] == 99


async def test_a_message_needs_a_role(make: Make) -> None:
    """The contract's first check."""
    with pytest.raises(ValueError, match="role"):
        await make().add_message({"content": "nobody"})


async def test_returned_lists_are_copies(make: Make) -> None:
    """What a caller does to them reaches no history."""
    context = make()
    await context.add_message({"role": "user", "content": "Hello"})
    for messages in (await context.get_messages(), await context.get_messages_for_request()):
        messages[0]["content"] = "changed"
        messages.clear()
    assert bare(await context.get_messages()) == [{"role": "user", "content": "Hello"}]


async def test_a_session_that_was_loaded_from_its_file_ignores_a_filtered_transcript(tmp_path: Path) -> None:
    """The file is the authority: system messages that the host's transcript lacks stay."""
    path = tmp_path / "log.jsonl"
    messages = CONVERSATIONS["each kind of message"]
    async with PersistentContextManager(path) as first:
        for message in messages:
            await first.add_message(message)
    async with PersistentContextManager(path) as context:
        await context.set_messages([message for message in messages if message["role"] != "system"])
        assert bare(await context.get_messages()) == messages


# -- the checklist: recommended ----------------------------------------------------------------------------------------


async def test_compaction_is_told_by_events() -> None:
    """`context:pre_compact` and `context:post_compact` say how many messages and tokens there are."""
    recorder = EventRecorder()
    coordinator = MockCoordinator()
    for event in ("context:pre_compact", "context:post_compact"):
        coordinator.hooks.register(event, recorder.record, name=event)
    context = InMemoryContextManager(coordinator=coordinator, max_tokens=100, compaction_threshold=0.5)
    for number in range(50):
        await context.add_message({"role": "user", "content": f"Message {number}"})
    await context.get_messages_for_request()
    before, after = (data for _, data in recorder.events)
    assert [name for name, _ in recorder.events] == ["context:pre_compact", "context:post_compact"]
    assert before["message_count"] == 50
    assert before["token_count"] > after["token_count"] > 0
    assert after["message_count"] < 50


async def test_system_messages_outlive_compaction(make: Make) -> None:
    """They head the view as before."""
    context = make(max_tokens=200, compaction_threshold=0.5)
    await context.add_message({"role": "system", "content": "Be brief."})
    for number in range(100):
        await context.add_message({"role": "user", "content": f"Message {number}"})
    view = await context.get_messages_for_request()
    assert (view[0]["role"], view[0]["content"]) == ("system", "Be brief.")


async def test_it_may_be_used_from_several_tasks_and_threads(make: Make) -> None:
    """Every message is stored once."""
    context = make()

    async def add(first: int) -> None:
        for number in range(first, first + 20):
            await context.add_message({"role": "user", "content": str(number)})

    threads = [threading.Thread(target=asyncio.run, args=[add(first)]) for first in (0, 20)]
    for thread in threads:
        thread.start()
    await asyncio.gather(add(40), add(60))
    await asyncio.to_thread(lambda: [thread.join() for thread in threads])
    said = [message["content"] for message in await context.get_messages()]
    assert sorted(map(int, said)) == list(range(80))
