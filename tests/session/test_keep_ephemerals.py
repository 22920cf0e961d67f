"""`keep_ephemerals`: ephemeral messages outlive the process in views, and are in no history and no search."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.commands import run
from tests.support.messages import Message, user
from tests.support.recorded_sessions import Recorded, assert_proved
from tests.support.sweeps import proof

ASIDE = {"role": "user", "content": "<system-reminder>aside</system-reminder>", "metadata": {"ephemeral": True}}


def answer(text: str) -> Message:
    """An answer with signed reasoning."""
    thinking = {"type": "thinking", "thinking": f"about {text}", "signature": f"signed {text}"}
    return {"role": "assistant", "content": [thinking, {"type": "text", "text": text}]}


async def session_with_aside(path: Path, **config: Any) -> Recorded:
    """Two turns; the first answer comes after an ephemeral message."""
    session = Recorded(path, max_tokens=100_000, recipient="somebody", **config)
    await session.add(user("go"), ASIDE)
    await session.view()
    await session.add(answer("done"), user("on"))
    await session.view()
    return session


def blocks_of(view: list[Message]) -> int:
    """How many answers show their reasoning."""
    return sum("signature" in str(message["content"]) for message in view)


@pytest.mark.parametrize(("keeps", "shown"), [(True, 1), (False, 0)])
async def test_reasoning_outlives_a_restart(tmp_path: Path, keeps: bool, shown: int) -> None:
    """With the option the view goes on as it began; without it, what followed the message loses its reasoning."""
    session = await session_with_aside(tmp_path / "log.jsonl", keep_ephemerals=keeps)
    assert blocks_of(session.views[-1]) == 1
    await session.restart()
    view = await session.view()
    assert blocks_of(view) == shown
    assert (view == session.views[-2]) == keeps
    await session.manager.close()
    if keeps:
        assert_proved(session.path, session.views)


async def test_history_and_search_do_not_have_them(tmp_path: Path) -> None:
    """Neither the host's history nor `recall` nor the command line."""
    session = await session_with_aside(tmp_path / "log.jsonl", keep_ephemerals=True)
    history = await session.manager.get_messages()
    assert [message["role"] for message in history] == ["user", "assistant", "user"]
    assert not (await session.manager.recall(query="aside")).hits
    await session.manager.close()
    run("search", "aside", session.path, code=1)
    run("search", "done", session.path)


@proof
async def test_a_host_that_hands_its_history_back_changes_nothing(tmp_path: Path) -> None:
    """At a resume it knows of no ephemeral message; one with a new message at its end is taken."""
    session = await session_with_aside(tmp_path / "log.jsonl", keep_ephemerals=True)
    before = await session.view()
    history = await session.manager.get_messages()
    await session.restart()
    await session.manager.set_messages(history)
    assert await session.view() == before
    await session.manager.set_messages([*history, {"role": "assistant", "content": "more"}])
    view = await session.view()
    assert view[: len(before)] == before
    assert [message["content"] for message in view][-1] != before[-1]["content"]
    await session.manager.close()


@proof
async def test_a_repair_by_the_host_keeps_the_order(tmp_path: Path) -> None:
    """A list with a result that the log lacks, put after its call, is taken, with the word that ends the turn."""
    async with Recorded(tmp_path / "log.jsonl", max_tokens=100_000, keep_ephemerals=True) as session:
        call = {"role": "assistant", "content": "", "tool_calls": [{"id": "c1", "tool": "run", "arguments": {}}]}
        await session.add(user("go"), ASIDE, call, ASIDE, user("on"))
        await session.view()
        history = await session.manager.get_messages()
        await session.restart()
        result = {"role": "tool", "tool_call_id": "c1", "content": "interrupted"}
        await session.manager.set_messages([*history[:2], result, *history[2:]])
        roles = [message["role"] for message in await session.manager.get_messages()]
        assert roles == ["user", "assistant", "tool", "assistant", "user"]
        await session.view()
