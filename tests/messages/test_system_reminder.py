"""`late_system: reminder`: system text in the middle of a session is shown as a user's reminder, in its place."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from amplifier_core.message_models import Message as CoreMessage

from amplifier_module_context_persistent import InMemoryContextManager
from amplifier_module_context_persistent.messages.system_reminder import as_reminder
from amplifier_module_context_persistent.tokens.counter import EstimateCounter, count_message
from tests.support.checker import assert_valid
from tests.support.messages import CALLS, Message, fill, result, set_prompt, user
from tests.support.recorded_sessions import Recorded, controls
from tests.support.sweeps import proof
from tests.support.view_properties import goes_on


def system(text: Any, role: str = "system", **metadata: Any) -> Message:
    return {"role": role, "content": text, **({"metadata": metadata} if metadata else {})}


def said(view: list[Message]) -> list[tuple[str, str]]:
    return [(message["role"], str(message["content"])) for message in view]


def wrapped(text: str) -> tuple[str, str]:
    return ("user", f"<system-reminder>\n{text}\n</system-reminder>")


async def manager_with(*messages: Message, **config: Any) -> InMemoryContextManager:
    manager = InMemoryContextManager(tokenizer="estimate", late_system="reminder", **config)
    await fill(manager, messages)
    return manager


# -- the form ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("Rule.", "<system-reminder>\nRule.\n</system-reminder>"),
        ("<system-reminder>Rule.</system-reminder>", "<system-reminder>Rule.</system-reminder>"),
        ("\n<system-reminders>Rule.</system-reminders>", "\n<system-reminders>Rule.</system-reminders>"),
        (
            [{"type": "text", "text": "Rule.", "cache_control": {"type": "ephemeral"}}],
            [
                {"type": "text", "text": "<system-reminder>"},
                {"type": "text", "text": "Rule.", "cache_control": {"type": "ephemeral"}},
                {"type": "text", "text": "</system-reminder>"},
            ],
        ),
        ([{"type": "text", "text": "<system-reminder>Rule."}], [{"type": "text", "text": "<system-reminder>Rule."}]),
    ],
)
@pytest.mark.parametrize("role", ["system", "developer"])
def test_the_form_of_a_reminder(role: str, content: Any, expected: Any) -> None:
    """The text is wrapped once, blocks stay, all else too, and the given message is not altered."""
    given = {"role": role, "content": content, "metadata": {"source": "hook"}, "x": 1}
    before = json.dumps(given)
    assert as_reminder(given) == {**given, "role": "user", "content": expected}
    assert json.dumps(given) == before
    CoreMessage(**as_reminder(given))


# -- in views ----------------------------------------------------------------------------------------------------------


async def test_only_what_comes_behind_the_conversation_is_a_reminder() -> None:
    """What stands before the first message of another role stays system text; history keeps all as it was given."""
    given = [system("head"), system("ahead", "developer"), user("hello"), system("late", source="hook")]
    manager = await manager_with(*given, {"role": "assistant", "content": "hi"}, system("later", "developer"))
    view = await manager.get_messages_for_request()
    assert said(view) == [
        ("system", "head"),
        ("developer", "ahead"),
        ("user", "hello"),
        wrapped("late"),
        ("assistant", "hi"),
        wrapped("later"),
    ]
    history = await manager.get_messages()
    assert [message["role"] for message in history] == [
        "system",
        "developer",
        "user",
        "system",
        "assistant",
        "developer",
    ]
    assert view[3]["metadata"] == history[3]["metadata"]
    assert_valid(view, history=history, late_system="reminder")


async def test_a_reminder_between_a_call_and_its_result_comes_behind_them() -> None:
    """Results stay right after their calls, and nothing is put between two assistant messages without need."""
    manager = await manager_with(
        user("two files"),
        CALLS,
        system("meanwhile"),
        result("c1", "first"),
        result("c2", "second"),
        {"role": "assistant", "content": "done"},
        system("go on"),
        {**CALLS, "tool_calls": [{"id": "c3", "tool": "read", "arguments": {}}]},
        result("c3", "third"),
    )
    view = await manager.get_messages_for_request()
    roles = [message["role"] for message in view]
    assert roles == ["user", "assistant", "tool", "tool", "user", "assistant", "user", "assistant", "tool"]
    assert "[continued]" not in str(view)
    assert_valid(view, history=await manager.get_messages(), late_system="reminder")


async def test_the_head_text_and_what_gives_way_to_it_are_as_ever() -> None:
    """A factory's text heads the view as system text; stored system messages but a hook's are left out."""
    manager = await manager_with(user("hello"), system("late"), system("from a hook", source="hook"))

    await set_prompt(manager, "head")
    view = await manager.get_messages_for_request()
    assert said(view) == [("system", "head"), ("user", "hello"), wrapped("from a hook")]


async def test_ephemeral_system_text_is_a_reminder_too() -> None:
    """Behind the conversation; before it, it stays what it is."""
    manager = await manager_with(system("early", ephemeral=True), user("hello"), system("late", ephemeral=True))
    view = await manager.get_messages_for_request()
    assert said(view) == [("system", "early"), ("user", "hello"), wrapped("late")]


async def test_a_view_is_counted_as_it_is_shown(tmp_path: Path) -> None:
    """The tags count: the budget holds for what is handed out."""
    recorded = Recorded(tmp_path / "log.jsonl", late_system="reminder")
    await recorded.add(user("hello"), system("late"), system([{"type": "text", "text": "blocks"}]))
    view = await recorded.view()
    await recorded.manager.close()
    (receipt,) = controls(recorded.path, "view")
    assert receipt["tokens"] == sum(count_message(message, EstimateCounter()) for message in view)


@proof(quick=1)
@pytest.mark.parametrize("preserve_system", [True, False])
async def test_reminders_over_compactions_and_restarts_are_proved(tmp_path: Path, preserve_system: bool) -> None:
    """Between two plans a view goes on with what was appended, and every one is given back by its receipt."""
    options = {"late_system": "reminder", "preserve_system": preserve_system, "max_tokens": 4_000}
    recorded = Recorded(tmp_path / "log.jsonl", **options)
    breaks = 0
    await recorded.add(system("head"))
    for number in range(40):
        await recorded.add(
            user(f"{number} " + "word " * 60),
            system(f"Rule {number}. " + "Mind it. " * 4 * (number % 3)),
            {"role": "assistant", "content": f"answer {number}"},
        )
        await recorded.view()
        if number % 14 == 10:
            await recorded.restart()
        if len(recorded.views) > 1:
            breaks += not goes_on(recorded.views[-2], recorded.views[-1])
    history = await recorded.manager.get_messages()
    assert_valid(recorded.views[-1], history=history, late_system="reminder")
    await recorded.prove()
    plans = recorded.path.read_text(encoding="utf-8").count('"_record":"plan"')
    assert 0 < breaks <= plans
    assert any(message["content"].startswith("<system-reminder>\nRule") for message in recorded.views[-1])
