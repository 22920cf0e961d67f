"""Reasoning through the life of a session: what ends it, and what does not."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import pytest_asyncio

from amplifier_module_context_persistent.errors import RecordError
from amplifier_module_context_persistent.toolbox.transfer.fork_session import fork_session
from tests.support.answers import result
from tests.support.messages import Message, user
from tests.support.reasoning_rules import bound_of
from tests.support.recorded_sessions import Recorded, controls
from tests.support.sweeps import proof

NEWER = SimpleNamespace(name="anthropic", default_model="claude-opus-5-5")
OLDER = SimpleNamespace(name="anthropic", default_model="claude-opus-4-5")
FILLER = "The order keeps its total until it was acknowledged. " * 20


def reply(number: int, *, calls: bool = False) -> Message:
    """An answer with signed thinking."""
    blocks = [{"type": "thinking", "thinking": f"thought {number}", "signature": f"s{number}"}]
    message = {"role": "assistant", "content": [*blocks, {"type": "text", "text": f"said {number}"}]}
    return {**message, "tool_calls": [{"id": f"c{number}", "tool": "look", "arguments": {}}]} if calls else message


def thoughts(view: list[Message]) -> list[int]:
    """The numbers of the answers whose reasoning a view shows."""
    return [number for number in range(100) if f'"signature": "s{number}"' in json.dumps(view)]


class Thinking(Recorded):
    """A session whose answers come with reasoning."""

    async def turn(self, number: int, maker: Any = NEWER, *, calls: bool = False, text: str = "") -> None:
        await self.add(user(f"Question {number}. {text}"))
        await self.view(None, maker)
        await self.add(reply(number, calls=calls))


@pytest_asyncio.fixture
async def session(tmp_path: Path) -> AsyncIterator[Thinking]:
    """In the end every view is proved."""
    async with Thinking(tmp_path / "log.jsonl", max_tokens=100_000) as session:
        yield session


async def test_an_answer_that_is_added_again_keeps_its_reasoning(tmp_path: Path) -> None:
    """It could not be stored at first."""
    async with Thinking(tmp_path / "log.jsonl", max_tokens=100_000, max_record_bytes=2_000) as session:
        await session.add(user("Question"))
        await session.view(None, NEWER)
        with pytest.raises(RecordError):
            await session.add({**reply(1), "name": "x" * 2_000})
        await session.add(reply(1), user("And?"))
        assert thoughts(await session.view(None, NEWER)) == [1]


async def test_reasoning_lasts_while_the_session_only_grows(session: Thinking, tmp_path: Path) -> None:
    """Over restarts and in a fork; each receipt names what its request was sent, each answer its request."""
    for number in range(4):
        await session.turn(number)
        await session.restart()
    await session.add(user("And?"))
    assert thoughts(await session.view(None, NEWER)) == [0, 1, 2, 3]
    await session.manager.close()
    bounds = [receipt["bound"] for receipt in controls(session.path, "view")]
    assert bounds == [bound_of(view) for view in session.views]
    answers = [m for m in session.views[-1] if m["role"] == "assistant"]
    assert [m["metadata"]["bound"] for m in answers] == bounds[:-1]
    forked = Thinking(tmp_path / "fork.jsonl", max_tokens=100_000)
    fork_session(session.path, path=forked.path)
    assert thoughts(await forked.view(None, NEWER)) == [0, 1, 2, 3]
    await forked.manager.close()


async def test_another_system_prompt_ends_it_and_the_old_one_brings_it_back(session: Thinking) -> None:
    """The views are proved in any case."""
    await session.head("Be brief.")
    await session.turn(0)
    await session.head("Be long.")
    await session.turn(1)
    await session.add(user("And?"))
    assert thoughts(await session.view(None, NEWER)) == [1]
    await session.head("Be brief.")
    assert thoughts(await session.view(None, NEWER)) == [0]


async def test_a_switch_of_model_and_back_keeps_what_each_one_thought(session: Thinking) -> None:
    """Newer models do not read older ones' thinking here, nor older ones theirs."""
    other = SimpleNamespace(name="anthropic", default_model="claude-sonnet-5-5")
    for number in range(6):
        await session.turn(number, NEWER if number // 2 % 2 == 0 else other)
    await session.add(user("And?"))
    assert thoughts(await session.view(None, NEWER)) == [0, 1, 4, 5]
    assert thoughts(await session.view(None, other)) == [2, 3]


@proof
async def test_a_plan_ends_it_and_what_is_thought_then_lasts(tmp_path: Path) -> None:
    """Of what was thought before a plan nothing is shown behind its first change; all that came since is."""
    session = Thinking(tmp_path / "log.jsonl", max_tokens=2_000)
    plans, since = 0, 0
    for number in range(20):
        await session.turn(number, text=FILLER)
        shown = thoughts(session.views[-1])
        if (made := len(controls(session.path, "plan"))) > plans:
            plans, since = made, number
            assert len(shown) < number
        else:
            assert shown[-(number - since) :] == list(range(since, number))[-number:]
        if number % 7 == 6:
            await session.restart()
    assert plans >= 3


async def test_an_older_model_keeps_the_thinking_of_its_running_tool_loop(session: Thinking) -> None:
    """Whatever changed before it: it demands that; the newest ones do not get what is not valid."""
    await session.add(user("Go."), reply(0, calls=True), result(0))
    assert thoughts(await session.view(None, OLDER)) == [0]
    assert thoughts(await session.view(None, NEWER)) == []


async def test_a_late_result_is_told_where_the_next_turn_begins(session: Thinking) -> None:
    """The stand-in that requests had stays, and so does what was thought after it; the next plan moves the result."""
    await session.turn(0, calls=True)
    await session.turn(1)
    await session.add(result(0, "At last."), user("And?"))
    view = await session.view(None, NEWER)
    assert thoughts(view) == [0, 1]
    told = [message for message in view if "At last." in json.dumps(message)]
    assert [message["metadata"]["source"] for message in told] == ["late-result"]
    assert view.index(told[0]) == len(view) - 2
    await session.restart()
    assert await session.view(None, NEWER) == view
    await session.manager.compact()


async def test_a_result_that_no_request_missed_is_shown_at_once(session: Thinking) -> None:
    """Also where a person's word came before it."""
    await session.turn(0, calls=True)
    await session.add(user("Wait."), result(0, "At last."))
    assert "At last." in json.dumps(await session.view(None, NEWER))


async def test_reasoning_of_nobody_known_is_left_out(session: Thinking) -> None:
    """As in a log that another module wrote; a view for nobody is the history, until a plan shortens it."""
    await session.add(user("Go."), reply(0), user("And?"))
    assert thoughts(await session.view(None, NEWER)) == []
    assert thoughts(await session.view()) == [0]
    assert thoughts(await session.manager.get_messages()) == [0]
