"""Instructions that another context module stored: history keeps them, and models see only those in force."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from amplifier_module_context_persistent import PersistentContextManager, RecallError
from tests.support.messages import Message, user
from tests.support.sweeps import proof

PILOT = "Speak like a pilot."


def instruction(disposition: Any, *, role: str = "system", text: str = PILOT) -> Message:
    """A message as context-simple stores it."""
    descriptor = {"version": 1, "entry_id": "s:mode:pilot", "binding": "fixed", "target": {"kind": "conversation_head"}}
    if disposition is not None:
        descriptor["disposition"] = disposition
    return {"role": role, "content": text, "metadata": {"amplifier:instruction": descriptor}}


def open_session(path: Path, **more: Any) -> PersistentContextManager:
    return PersistentContextManager(path, tokenizer="estimate", durability="write", **more)


@proof(quick=1)
@pytest.mark.parametrize("role", ["system", "developer", "user"])
@pytest.mark.parametrize(
    ("disposition", "is_shown"),
    [
        ("active", True),
        (None, True),
        ("retired", False),
        ("pending", False),
        ("anchor_pruned", False),
        ("of a later version", False),
        (["active"], False),
        (3, False),
    ],
)
async def test_a_model_sees_only_instructions_in_force(
    tmp_path: Path, role: str, disposition: Any, is_shown: bool
) -> None:
    """Before and after a plan and a restart, however they came in; the host gets all of them back."""
    path = tmp_path / "log.jsonl"
    manager = open_session(path)
    given = [instruction(disposition, role=role), user("hi")]
    await manager.set_messages(given)
    await manager.add_message(instruction(disposition, role=role, text=f"{PILOT} Again."))
    for _ in range(2):
        assert (PILOT in str(await manager.get_messages_for_request())) is is_shown
        await manager.compact()
        assert (PILOT in str(await manager.get_messages_for_request())) is is_shown
        assert [message["content"] for message in await manager.get_messages()] == [PILOT, "hi", f"{PILOT} Again."]
        await manager.close()
        manager = open_session(path)
    await manager.close()


@pytest.mark.parametrize("descriptor", ["retired", None, 7, []])
async def test_a_descriptor_of_another_form_changes_nothing(tmp_path: Path, descriptor: Any) -> None:
    """Only an object says how an instruction stands."""
    manager = open_session(tmp_path / "log.jsonl")
    await manager.add_message({"role": "user", "content": PILOT, "metadata": {"amplifier:instruction": descriptor}})
    assert PILOT in str(await manager.get_messages_for_request())
    await manager.close()


async def test_a_model_finds_no_retired_instruction(tmp_path: Path) -> None:
    """Neither by a search nor by its id."""
    manager = open_session(tmp_path / "log.jsonl")
    await manager.set_messages([instruction("retired"), user("hi")])
    assert not (await manager.recall(query="pilot")).hits
    retired = (await manager.get_messages())[0]
    with pytest.raises(RecallError, match="not shown to a model"):
        await manager.recall(retired["metadata"]["message_id"])
    await manager.close()


async def test_a_retired_instruction_is_no_system_prompt(tmp_path: Path) -> None:
    """A resumed sub-session, whose host sets no prompt, gets back the one that headed its views."""
    path = tmp_path / "log.jsonl"
    first = open_session(path, session_id="child", parent_id="parent")

    async def prompt() -> str:
        return "You are a careful helper."

    await first.set_system_prompt_factory(prompt)
    await first.add_message(user("hi"))
    await first.get_messages_for_request()
    await first.add_message(instruction("retired"))
    await first.close()
    resumed = open_session(path, session_id="child", parent_id="parent")
    assert (await resumed.get_messages_for_request())[0]["content"] == "You are a careful helper."
    await resumed.close()
