"""A plan of one log that comes into force in another one, which has the same messages under other ids."""

import json
from typing import Any

import pytest

from amplifier_module_context_persistent import InMemoryContextManager
from amplifier_module_context_persistent.log.contract import Log
from amplifier_module_context_persistent.messages.metadata import given_id
from amplifier_module_context_persistent.session.change_history import HistoryChange
from amplifier_module_context_persistent.session.portable_plan import PortablePlan
from tests.support.messages import user

TEXT = "A sentence of some length that says nothing new. " * 90


def named(name: str, turns: int = 40) -> list[dict[str, Any]]:
    """The turns of a conversation, with ids of their own."""
    messages = [
        message
        for n in range(turns)
        for message in (user(f"question {n}"), {"role": "assistant", "content": f"answer {n} {TEXT}"})
    ]
    return [{**message, "metadata": {"message_id": f"{name}{at}"}} for at, message in enumerate(messages)]


def said(view: list[dict[str, Any]], name: str) -> str:
    """What a view says, with the ids of one conversation."""
    text = json.dumps([{**message, "metadata": None} for message in view])
    return text.replace(f"recall {name}", "recall ")


async def follow(manager: InMemoryContextManager, plan: PortablePlan) -> None:
    await manager.change_history(lambda log, _: HistoryChange(plan=plan.record_for(log.index)))


@pytest.fixture
async def planned() -> InMemoryContextManager:
    """A session with a plan, and its view."""
    manager = InMemoryContextManager(max_tokens=20_000)
    await manager.add_messages(named("a"))
    await manager.get_messages_for_request()
    return manager


async def test_the_view_is_the_same_under_other_ids(planned: InMemoryContextManager) -> None:
    """Also with messages in between that are not in the plan, as those of a branch that was left."""
    plan = await planned.look(PortablePlan.of)
    assert plan is not None
    other = InMemoryContextManager(max_tokens=20_000)
    await other.add_messages(named("b"))
    await follow(other, plan.renamed({f"a{n}": f"b{n}" for n in range(80)}))
    for manager in (planned, other):
        await manager.add_message(user("and now?"))
    assert said(await other.get_messages_for_request(), "b") == said(await planned.get_messages_for_request(), "a")
    assert (await other.look(PortablePlan.of)).id == plan.id
    branched = InMemoryContextManager(max_tokens=20_000)
    await branched.add_messages([*named("b")[:70], user("left"), *named("b")[70:]])
    await follow(branched, plan.renamed({f"a{n}": f"b{n}" for n in range(80)}))
    kept = [given_id(message) for message in await branched.look(lambda log: list(log.read(log.index.live)))]
    assert (await branched.look(PortablePlan.of)).keep == tuple(
        one for one in kept if one in {f"b{name[1:]}" for name in plan.keep}
    )


async def test_a_plan_of_messages_that_are_not_there_is_refused(planned: InMemoryContextManager) -> None:
    """By the other log, which stays as it was."""
    plan = await planned.look(PortablePlan.of)
    assert plan is not None
    other = InMemoryContextManager()
    await other.add_messages(named("b"))
    with pytest.raises(ValueError, match="lacks a message"):
        await follow(other, plan)
    assert await other.look(PortablePlan.of) is None
    assert len(await other.get_messages()) == 80


async def test_a_session_without_a_plan_has_none() -> None:
    """Nor one whose plan names what is gone."""
    manager = InMemoryContextManager()
    assert await manager.look(PortablePlan.of) is None

    def gone(log: Log, _: Any) -> HistoryChange:
        return HistoryChange(plan={"_record": "plan", "id": "x", "keep": [["no", "no"]], "upto": "no"})

    await manager.add_message(user("hello"))
    await manager.change_history(gone)
    assert await manager.look(PortablePlan.of) is None
