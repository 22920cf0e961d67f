"""The tool `recall`: mounted with the context or not at all, asked by a model, and elided like any other result."""

import json
from pathlib import Path
from typing import Any

import pytest
from amplifier_core.message_models import ToolSpec
from amplifier_core.models import ToolResult
from amplifier_core.testing import MockCoordinator

import amplifier_module_context_persistent as package
from amplifier_module_context_persistent import InMemoryContextManager, PersistentContextManager
from amplifier_module_context_persistent.config import RECALL_LEAST_TOKENS
from amplifier_module_context_persistent.session.host import Host
from amplifier_module_context_persistent.session.model_tools import PinTool, RecallTool
from amplifier_module_context_persistent.tokens.counter import EstimateCounter, count_message
from tests.support.checker import check_view
from tests.support.messages import fill
from tests.support.real_sessions import StartSession
from tests.support.sweeps import proof


async def ask(manager: PersistentContextManager, **question: Any) -> ToolResult:
    return await RecallTool(manager).execute(question)


async def told(manager: PersistentContextManager) -> list[str]:
    return [message["metadata"]["message_id"] for message in await manager.get_messages()]


# -- mounting ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("config", "names"),
    [
        ({"recall": False}, set()),
        ({"pin": True}, {"recall", "pin"}),
        ({"pin": True, "recall": False}, {"pin"}),
    ],
)
async def test_they_are_mounted_where_they_are_configured(
    coordinator: MockCoordinator, config: dict[str, Any], names: set[str]
) -> None:
    """`recall` by default, `pin` where it is asked for; a definition counts as that of any tool."""
    await package.mount(coordinator, config)
    assert coordinator.get("tools").keys() == names
    assert all(f'"name":"{name}"' in Host(coordinator).tools_json() for name in names)


async def test_it_is_mounted_with_the_context(coordinator: MockCoordinator) -> None:
    """It reads the log of the manager that was mounted with it."""
    cleanup = await package.mount(coordinator, {})
    manager, tool = coordinator.get("context"), coordinator.get("tools")["recall"]
    await manager.add_message({"role": "user", "content": "what was said"})
    (reference,) = await told(manager)
    assert "what was said" in (await tool.execute({"reference": reference})).output
    await cleanup()


@pytest.mark.parametrize(("max_tokens", "mounted"), [(100, False), (RECALL_LEAST_TOKENS, True)])
async def test_a_small_budget_is_left_to_the_messages(
    coordinator: MockCoordinator, max_tokens: int, mounted: bool
) -> None:
    """Where its definition would take more than a twentieth of the configured budget it is not mounted."""
    await package.mount(coordinator, {"max_tokens": max_tokens, "compaction_threshold": 0.5})
    assert ("recall" in coordinator.get("tools")) is mounted
    if not mounted:
        manager = coordinator.get("context")
        for number in range(50):
            await manager.add_message({"role": "user", "content": f"Message {number}"})
        assert 0 < len(await manager.get_messages_for_request()) < 50


async def test_another_tool_of_that_name_is_left_alone(caplog: pytest.LogCaptureFixture) -> None:
    """It stays, with a warning."""
    coordinator, other = MockCoordinator(), RecallTool(InMemoryContextManager())
    await coordinator.mount("tools", other, name="recall")
    await package.mount(coordinator, {})
    assert coordinator.get("tools")["recall"] is other
    assert "a tool named 'recall' is mounted already" in caplog.text


async def test_a_real_session_mounts_it_before_the_first_request(start_session: StartSession) -> None:
    """A session that is started by a mount plan offers it beside its other tools, and after a turn it answers."""
    session = await start_session()
    assert {"recall", "read_file"} <= session.coordinator.get("tools").keys()
    await session.execute("The next release is called Heron. Which files are there?")
    answer = await session.coordinator.get("tools")["recall"].execute({"query": "changelog", "tool": "list_files"})
    assert answer.success
    assert "result of list_files" in answer.output


@pytest.mark.parametrize(("tool", "name", "tokens"), [(RecallTool, "recall", 600), (PinTool, "pin", 300)])
def test_a_definition_is_short_and_one_that_requests_can_carry(tool: Any, name: str, tokens: int) -> None:
    """Name, description and schema make a `ToolSpec`; they travel with every request."""
    one = tool(InMemoryContextManager())
    assert ToolSpec(name=one.name, description=one.description, parameters=one.input_schema).name == name
    assert EstimateCounter().count_text(json.dumps([one.description, one.input_schema])) < tokens


# -- answers -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("question", "error"),
    [
        ({}, "give a reference"),
        ({"reference": "nothing"}, "no message of this session has the id 'nothing'"),
        ({"reference": ["m1"]}, "reference: must be a text"),
        ({"query": ""}, "give a reference"),
        ({"query": "[", "regex": True}, "not a regular expression"),
        ({"query": "x", "max": 3}, "max: there is no such parameter; allowed: reference, query"),
        ({"query": "x", 3: 3}, "3: there is no such parameter"),
        ("m1", "the input must be an object, not str"),
    ],
)
async def test_what_is_wrong_with_a_question_is_an_answer(question: Any, error: str) -> None:
    """The result says that it failed, and why, where a model reads it."""
    answer = await RecallTool(InMemoryContextManager()).execute(question)
    assert not answer.success
    assert error in answer.get_serialized_output()
    assert error in str(answer)


async def test_a_log_that_cannot_be_read_is_an_answer(tmp_path: Path) -> None:
    """The tool fails, and the loop goes on."""
    (tmp_path / "log.jsonl").mkdir()
    answer = await ask(PersistentContextManager(tmp_path / "log.jsonl"), query="x")
    assert not answer.success
    assert "log.jsonl" in answer.get_serialized_output()


async def test_halves_of_surrogate_pairs_do_not_reach_a_request() -> None:
    """The page has them, the output shows that something stood there."""
    manager = InMemoryContextManager()
    await manager.add_message({"role": "user", "content": "caf\udce9 🛒"})
    (reference,) = await told(manager)
    assert (await manager.recall(reference)).text == "caf\udce9 🛒"
    output = (await ask(manager, reference=reference)).get_serialized_output()
    assert "caf\ufffd 🛒" in output
    output.encode()


# -- a session that recalls --------------------------------------------------------------------------------------------


@proof
async def test_an_elided_answer_names_the_original(tmp_path: Path) -> None:
    """What was recalled and is shortened later is had again from where it first stood, not from the copy."""
    manager = PersistentContextManager(
        tmp_path / "log.jsonl", tokenizer="estimate", max_tokens=20_000, protected_recent=0, protected_tool_results=0
    )
    text = "".join(f"line {n} of the file, {n * n}\n" for n in range(3_000))
    await manager.add_message({"role": "user", "content": "read it"})
    await call(manager, "c1", "read_file", text)
    original = (await told(manager))[-1]
    await call(manager, "c2", "recall", (await ask(manager, reference=original, offset=9_000)).output)
    for n in range(12):
        await fill(
            manager,
            [
                {"role": "user", "content": f"and {n}?"},
                {"role": "assistant", "content": f"well: {'words and words ' * 200}"},
            ],
        )
    view = await manager.get_messages_for_request()
    recalled = next(message for message in view if message.get("name") == "recall")
    assert f"characters elided; recall {original} …]" in recalled["content"]
    count = EstimateCounter()
    history = await manager.get_messages()
    assert not check_view(view, history=history, budget_tokens=20_000, count=lambda m: count_message(m, count))


async def call(manager: PersistentContextManager, call_id: str, tool: str, text: str) -> None:
    calls = [{"id": call_id, "tool": tool, "arguments": {"call": call_id}}]
    await fill(
        manager,
        [
            {"role": "assistant", "content": "", "tool_calls": calls},
            {"role": "tool", "tool_call_id": call_id, "name": tool, "content": text},
        ],
    )
