"""`rewind`, `pop` and decisions under the log's lock; sessions by ids that other programs choose."""

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from amplifier_module_context_persistent import (
    InMemoryContextManager,
    PersistentContextManager,
    PlaceError,
    RecordError,
    open_session,
)
from amplifier_module_context_persistent.log.contract import Log
from amplifier_module_context_persistent.messages.message import Message
from amplifier_module_context_persistent.session.change_history import HistoryChange
from tests.support.logs import assert_sound
from tests.support.messages import user
from tests.support.sweeps import proof


def answer(text: str) -> dict:
    return {"role": "assistant", "content": text}


def turn(number: int, words: int = 0) -> list[dict]:
    return [user(f"question {number}"), answer(f"answer {number}" + " word" * words)]


async def texts(manager: PersistentContextManager) -> list[str]:
    return [str(message["content"]).split(" word")[0] for message in await manager.get_messages()]


@pytest.fixture(params=["file", "memory"])
async def manager(request: pytest.FixtureRequest, path: Path):
    made = InMemoryContextManager() if request.param == "memory" else PersistentContextManager(path, max_tokens=20_000)
    async with made:
        yield made


@proof
async def test_a_rewind_ends_the_history_at_a_turn_or_a_message(manager: PersistentContextManager) -> None:
    """What came after it is hidden, stays in the log, and the session goes on."""
    for number in (1, 2, 3):
        await manager.add_messages(turn(number))
    assert await manager.rewind(to=3) == 0
    assert await manager.rewind(to=2) == 2
    assert await texts(manager) == ["question 1", "answer 1", "question 2", "answer 2"]
    first = (await manager.get_messages())[0]["metadata"]["message_id"]
    assert await manager.rewind(to=first) == 3
    await manager.add_message(answer("another"))
    assert await texts(manager) == ["question 1", "another"]
    for place in (0, 2, "nowhere"):
        with pytest.raises(PlaceError):
            await manager.rewind(to=place)


async def test_a_pop_takes_back_what_one_call_added(manager: PersistentContextManager) -> None:
    """Also a foreign message that is stored as several; nothing in an empty history."""
    await manager.add_messages(turn(1))
    results = [{"type": "tool_result", "tool_use_id": f"c{n}", "content": f"r{n}"} for n in (1, 2)]
    await manager.add_message({"role": "user", "content": [*results, {"type": "text", "text": "go on"}]})
    assert [message["role"] for message in await manager.pop()] == ["tool", "tool", "user"]
    assert [message["content"] for message in await manager.pop()] == ["answer 1"]
    assert await texts(manager) == ["question 1"]
    await manager.pop()
    assert await manager.pop() == []
    assert await texts(manager) == []


async def test_what_is_done_at_once_is_done_in_order(manager: PersistentContextManager) -> None:
    """A pop takes back the message before it, though both wait for the disk together, and nothing else is lost."""
    more = [user(f"b{n}") for n in range(2)]
    adds, pops = manager.add_message, manager.pop
    await asyncio.gather(adds(user("a")), pops(), *map(adds, more), pops(), adds(user("c")))
    assert await texts(manager) == ["b0", "c"]


async def test_a_message_with_an_id_that_is_added_at_once_is_stored_once(manager: PersistentContextManager) -> None:
    """Alone or in a list; another message with that id gets one of its own."""
    given = [{**user(text), "metadata": {"message_id": "m"}} for text in ("same", "same", "other", "same")]
    await asyncio.gather(manager.add_message(user("first")), *map(manager.add_message, given))
    await asyncio.gather(*(manager.add_messages([user("x"), one]) for one in given[:2]))
    assert [text for text in await texts(manager) if text != "x"] == ["first", "same", "other"]
    ids = [message["metadata"]["message_id"] for message in await manager.get_messages()]
    assert len(ids) == len(set(ids))


async def test_of_two_decisions_at_once_the_second_sees_the_first(manager: PersistentContextManager) -> None:
    """A revision that is compared is the last one that was stored."""
    revision = 1

    def decide(log: Log, ready: Sequence[Message]) -> HistoryChange:
        return HistoryChange(added=ready if len(log.index.live) == revision else ())

    await manager.initialize()
    changes = (manager.change_history(decide, [user(f"change {n}")]) for n in range(5))
    await asyncio.gather(manager.add_message(user("first")), *changes)
    assert await texts(manager) == ["first", "change 0"]


@proof
async def test_a_plan_outlives_a_pop_of_what_it_does_not_cover(path: Path) -> None:
    """Views keep their prefix, in this process and in the next one."""
    async with PersistentContextManager(path, max_tokens=8_000) as manager:
        for number in range(40):
            await manager.add_messages(turn(number, 300))
        view = await manager.get_messages_for_request()
        await manager.add_message(user("never mind"))
        await manager.pop()
        assert view == (await manager.get_messages_for_request())[: len(view)]
    async with PersistentContextManager(path, max_tokens=8_000) as manager:
        assert await manager.get_messages_for_request() == view
        await manager.rewind(to=1)
        assert await texts(manager) == ["question 0", "answer 0"]
    assert_sound(str(path))


async def test_pops_of_two_processes_take_different_messages(path: Path) -> None:
    """Each decides under the lock."""
    async with PersistentContextManager(path) as one, PersistentContextManager(path) as other:
        await one.add_messages([message for number in range(10) for message in turn(number)])
        popped = await asyncio.gather(*(manager.pop() for manager in (one, other) * 6))
        found = [message["content"] for (message,) in popped]
        assert len(set(found)) == 12
        assert len(await one.get_messages()) == 8


async def test_a_decision_that_raises_changes_nothing(manager: PersistentContextManager) -> None:
    """Its error is the caller's, and what it would have added is not stored."""
    await manager.add_message(user("one"))

    def refuse(log: Log, messages: object) -> HistoryChange:
        raise KeyError("no")

    with pytest.raises(KeyError):
        await manager.change_history(refuse, [user("two")])
    with pytest.raises(RecordError):
        await manager.change_history(lambda log, ready: HistoryChange(added=ready), [{"content": "no role"}])
    await manager.change_history(lambda log, ready: HistoryChange(log.index.live[:0], ready), [user("three")])
    assert await texts(manager) == ["three"]


HOSTILE = [
    "",
    ".",
    "..",
    "../../etc/passwd",
    "a\0b",
    "x" * 300,
    "x" * 301,
    "CON",
    "con",
    "Con",
    "nul.txt",
    "a/b",
    "a\\b",
]
HOSTILE += ["é", "E\u0301", "~", "%41", "A", "a", " ", "a.", "a. ", "\ud83d", "-", "a..b", "a%2E%2Eb", "日本" * 50]


@proof
async def test_any_text_is_a_sessions_id(tmp_path: Path) -> None:
    """Each has its own log inside the directory, on any file system; opened again it is the same one."""
    where = tmp_path / "sessions"
    for session_id in HOSTILE:
        async with open_session(session_id, where) as manager:
            await manager.add_message(user(repr(session_id)))
    for session_id in HOSTILE:
        async with open_session(session_id, str(where)) as manager:
            assert await texts(manager) == [repr(session_id)]
    names = os.listdir(where)
    assert len({name.casefold() for name in names}) == len(HOSTILE)
    assert all(len(name) < 200 and name.isascii() and name not in (".", "..") for name in names)
    assert os.listdir(tmp_path) == ["sessions"]


@proof
async def test_a_session_in_a_database_is_the_same_from_any_directory(
    storage: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its name there depends on its id alone, and on the project that is named."""
    for number, name in enumerate(("one", "two")):
        (tmp_path / name).mkdir()
        monkeypatch.chdir(tmp_path / name)
        async with open_session("Team A", storage) as manager:
            await manager.add_message(user(name))
            assert await texts(manager) == ["one", "two"][: number + 1]
    async with open_session("Team A", storage, project="other") as manager:
        assert await texts(manager) == []


async def test_a_rewind_tells_how_many_messages_it_hides() -> None:
    """None if the history ends there already."""
    async with InMemoryContextManager() as manager:
        await manager.add_messages([*turn(1), *turn(2)])
        assert [await manager.rewind(to=2), await manager.rewind(to=1), await manager.rewind(to=1)] == [0, 2, 0]
        assert await texts(manager) == ["question 1", "answer 1"]
