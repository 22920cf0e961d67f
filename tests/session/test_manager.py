"""The manager: how it is made and closed, the contract's own examples, many tasks and threads, and its callers."""

from __future__ import annotations

import asyncio
import copy
import errno
import gc
import inspect
import random
import threading
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any

import pytest

from amplifier_module_context_persistent import (
    InMemoryContextManager,
    LogFailedError,
    LogUnreadableError,
    MemoryLog,
    PersistentContextManager,
)
from amplifier_module_context_persistent.config import Config
from amplifier_module_context_persistent.log import read_back
from amplifier_module_context_persistent.log.contract import Outcome, Prepare
from amplifier_module_context_persistent.log.file_log import FileLog
from amplifier_module_context_persistent.log.filesystem import FileSystem
from amplifier_module_context_persistent.log.scanner import Scanner
from amplifier_module_context_persistent.view.entry import Entry
from tests.support.checker import assert_valid
from tests.support.messages import Message, fill, spoil, user
from tests.support.resumed_sessions import (
    bytes_of,
    calling,
    open_manager,
    result,
    session_history,
    tokens_of,
    write_lines,
)
from tests.support.stored_logs import stored_bytes
from tests.support.sweeps import proof

MESSAGE = {"role": "user", "content": "hello"}


async def test_a_manager_shows_where_its_log_lies_and_how_many_messages_are_live(tmp_path: Path) -> None:
    """Before the log is opened, showing the manager reads and creates nothing."""
    path = tmp_path / "log.jsonl"
    manager = PersistentContextManager(path)
    assert repr(manager) == f"<PersistentContextManager {path}: not opened>"
    assert not path.exists()
    await manager.add_message(MESSAGE)
    assert repr(manager) == f"<PersistentContextManager {path}: 1 messages>"
    await manager.clear()
    assert repr(manager) == f"<PersistentContextManager {path}: 0 messages>"
    await manager.close()
    async with InMemoryContextManager() as manager:
        assert repr(manager) == "<InMemoryContextManager in memory: 0 messages>"


async def test_async_with_closes_the_manager(tmp_path: Path) -> None:
    """What waits for the next append is in the file after the statement, also where its body failed."""
    path = tmp_path / "log.jsonl"

    async def fail() -> None:
        async with PersistentContextManager(path) as manager:
            await manager.add_message(MESSAGE)
            await manager.get_messages_for_request()
            assert b'"_record":"view"' not in path.read_bytes()
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await fail()
    assert b'"_record":"view"' in path.read_bytes()


async def test_async_with_opens_the_log(tmp_path: Path) -> None:
    """A log that cannot be read is an error at the statement, not at the first message."""
    with pytest.raises(LogUnreadableError):
        async with PersistentContextManager(tmp_path):
            pytest.fail("the body of the statement ran")


async def test_a_path_by_position_wins_over_one_by_name(tmp_path: Path) -> None:
    """And every key of the configuration is an argument."""
    async with PersistentContextManager(
        tmp_path / "log.jsonl", storage_path="elsewhere", durability="write"
    ) as manager:
        assert manager.log_path == str(tmp_path / "log.jsonl")
        assert manager.config.durability == "write"


@pytest.mark.parametrize("manager", [PersistentContextManager, InMemoryContextManager])
def test_the_arguments_are_typed_one_by_one(manager: Any) -> None:
    """An editor can complete them and `help` lists them: each key of the configuration, and what is no key."""
    typed = inspect.signature(manager).parameters
    assert Config.options().keys() < typed.keys()
    code = manager.__init__.__code__
    taken = code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount]
    assert {*taken} == typed.keys() - Config.options().keys() | {"transcript_path"}


@proof
async def test_the_contracts_compaction_example(path: Path) -> None:
    """A tool sequence and fifty messages at 100 tokens: should_compact, compact, a valid view in the budget."""
    manager = open_manager(path, max_tokens=100, compaction_threshold=0.5)
    call = {"id": "call_123", "type": "function", "function": {"name": "read_file", "arguments": '{"path": "f"}'}}
    await manager.add_message(user("Read f."))
    assert not await manager.should_compact()
    await fill(
        manager,
        [
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "call_123", "content": "the file's text"},
        ],
    )
    for number in range(1, 51):
        await manager.add_message(user(f"Message {number}"))
        view = await manager.get_messages_for_request()
        assert_valid(view, history=await manager.get_messages(), budget_tokens=100, count=tokens_of)
    await fill(manager, [user(f"Further message {number}, and a little more") for number in range(8)])
    assert await manager.should_compact()
    await manager.compact()
    assert not await manager.should_compact()
    assert len(await manager.get_messages_for_request()) < 50
    assert len(await manager.get_messages()) == 61


async def test_a_second_compaction_at_once_makes_no_plan(tmp_path: Path) -> None:
    """Also if the first one quoted what was said beside calls, on top of its target."""
    async with PersistentContextManager(tmp_path / "log.jsonl", max_tokens=20_000, tokenizer="estimate") as manager:
        await manager.add_message({"role": "user", "content": "Find out why the build of the service is slow."})
        for step in range(70):
            said = f"Step {step}: module_{step} spends {step} s in parser_{step}, as cache_{step} is never filled. "
            call = {"id": f"c{step}", "tool": "read_file", "arguments": {"path": f"src/module_{step}.py"}}
            await manager.add_message({"role": "assistant", "content": said * 2, "tool_calls": [call]})
            lines = "\n".join(f"line {number} of module_{step}" for number in range(120))
            await manager.add_message({"role": "tool", "tool_call_id": f"c{step}", "content": lines})
        await manager.compact()
        view = await manager.get_messages_for_request()
        assert "is never filled" in str(view[1]["content"])
        plans = (tmp_path / "log.jsonl").read_bytes().count(b'"_record":"plan"')
        assert plans == 1
        for _ in range(3):
            await manager.compact()
        assert (tmp_path / "log.jsonl").read_bytes().count(b'"_record":"plan"') == plans
        assert await manager.get_messages_for_request() == view


async def test_ephemeral_messages_stand_in_this_processs_views_only(path: Path) -> None:
    """Behind the record they came after; not in get_messages, not in the file, not after a restart."""
    reminder = user("<system-reminder>now</system-reminder>", source="hook", ephemeral=True)
    kept = user("<system-reminder>kept</system-reminder>", source="hook", ephemeral=True, persisted=True)
    async with open_manager(path) as manager:
        await fill(manager, [user("one"), reminder, {"role": "assistant", "content": "two"}, kept, user("three")])
        first = [message["content"] for message in await manager.get_messages_for_request()]
        assert first == ["one", reminder["content"], "two", kept["content"], "three"]
        stored = ["one", "two", kept["content"], "three"]
        assert [message["content"] for message in await manager.get_messages()] == stored
        assert b"now</system-reminder>" not in stored_bytes(path)
    manager = open_manager(path)
    assert [message["content"] for message in await manager.get_messages_for_request()] == stored


def by_writer(history: Sequence[Message]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for message in history:
        writer, number = message["content"].split()
        found.setdefault(writer, []).append(int(number))
    return found


async def write(manager: PersistentContextManager, writer: str, count: int) -> None:
    for number in range(count):
        await manager.add_message(user(f"{writer} {number}"))
        if number % 5 == 0:
            await manager.get_messages_for_request()


@proof
@pytest.mark.parametrize("durability", ["fsync", "write"])
async def test_thirty_two_tasks_lose_nothing(path: Path, durability: str) -> None:
    """Every message is there once, each task's in its order, in the file too."""
    async with open_manager(path, durability=durability) as manager:
        await asyncio.gather(*(write(manager, f"t{task}", 10) for task in range(32)))
        expected = {f"t{task}": list(range(10)) for task in range(32)}
        assert by_writer(await manager.get_messages()) == expected
    assert by_writer(await open_manager(path).get_messages()) == expected


@proof(quick=1)
@pytest.mark.parametrize("durability", ["fsync", "write"])
async def test_two_threads_with_a_loop_each_lose_nothing(path: Path, durability: str) -> None:
    """One manager may be used from two event loops at the same time."""
    manager = open_manager(path, durability=durability)
    failures: list[BaseException] = []

    def run(work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        try:
            asyncio.run(work())
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=run, args=[lambda n=n: write(manager, f"w{n}", 60)]) for n in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        await asyncio.to_thread(thread.join)
    assert failures == []
    assert by_writer(await manager.get_messages()) == {f"w{n}": list(range(60)) for n in range(2)}


async def test_a_cancelled_add_is_stored_once_or_not_at_all(path: Path) -> None:
    """What returned is there; what was cancelled is there once or never; the session goes on."""
    manager = open_manager(path)
    await manager.initialize()
    chance = random.Random(7)
    tasks = [asyncio.create_task(manager.add_message(user(f"n {number}"))) for number in range(200)]
    for _ in range(10):
        await asyncio.sleep(0)
        for task in chance.sample(tasks, 8):
            task.cancel()
    outcomes = await asyncio.gather(*tasks, return_exceptions=True)
    returned = [number for number, outcome in enumerate(outcomes) if outcome is None]
    cancelled = {number for number, outcome in enumerate(outcomes) if isinstance(outcome, asyncio.CancelledError)}
    assert cancelled
    assert len(returned) + len(cancelled) == 200
    await manager.add_message(user("n 200"))
    stored = by_writer(await manager.get_messages())["n"]
    assert len(stored) == len(set(stored))
    assert [number for number in stored if number not in cancelled] == [*returned, 200]


@proof(quick=1)
@pytest.mark.parametrize("kind", ["file", "memory"])
async def test_a_caller_that_changes_what_it_holds_changes_nothing(path: Path, kind: str) -> None:
    """Neither what was handed in, nor what was handed out, nor a memory file or ephemeral message in a view."""
    manager = open_manager(path) if kind == "file" else InMemoryContextManager(tokenizer="estimate")
    reminder = user("<system-reminder>now</system-reminder>", ephemeral=True)
    given_messages = [*session_history(), reminder]
    untouched = copy.deepcopy(given_messages)
    await fill(manager, given_messages)
    assert given_messages == untouched
    history, view = await manager.get_messages(), await manager.get_messages_for_request()
    expected = bytes_of([history, view])
    for held in (given_messages, history, view):
        spoil(held)
    assert bytes_of([await manager.get_messages(), await manager.get_messages_for_request()]) == expected


async def test_a_history_is_worked_on_beside_the_event_loop(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Opening, a view, all messages and an append: what is read, parsed and written is so on the log's own thread."""
    write_lines(path, [user(f"{number} " + "0123456789abcde\n" * 250) for number in range(50)])
    on = dict[str, set[int]]()

    def noting(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def noted(*arguments: Any) -> Any:
            on.setdefault(name, set()).add(threading.get_ident())
            return function(*arguments)

        return noted

    files = FileSystem()
    for name in ("read", "write", "sync"):
        monkeypatch.setattr(files, name, noting(name, getattr(files, name)))
    monkeypatch.setattr(read_back, "decode", noting("decode", read_back.decode))
    monkeypatch.setattr(Scanner, "take", noting("take", Scanner.take))
    async with PersistentContextManager(log=FileLog(path, files=files)) as manager:
        assert len(await manager.get_messages_for_request()) == len(await manager.get_messages()) == 50
        await fill(manager, [user("Go on."), calling("c"), result("c", "x" * (1 << 20))])
    assert {name: threading.get_ident() in threads for name, threads in on.items()} == dict.fromkeys(
        ("read", "write", "sync", "decode", "take"), False
    )


class Forgetful(MemoryLog):
    """A log whose next append is stored or not, and nobody is told which."""

    fails, stores = False, True

    def append(self, batch: Sequence[Prepare], *, wait: bool = True) -> list[Outcome]:
        if not self.fails:
            return super().append(batch, wait=wait)
        self.fails = False
        if self.stores:
            super().append(batch, wait=wait)
        raise LogFailedError(errno.EIO, "nobody knows whether this is stored")


@proof(quick=1)
@pytest.mark.parametrize("stores", [True, False])
async def test_a_message_of_an_unknown_append_may_be_added_again(stores: bool) -> None:
    """It is stored once, whatever became of the first attempt; a later one with the same words is another message."""
    log = Forgetful()
    log.stores = stores
    async with PersistentContextManager(log=log) as manager:
        await manager.add_message({"role": "user", "content": "yes"})
        log.fails = True
        with pytest.raises(LogFailedError):
            await manager.add_message({"role": "user", "content": "go on"})
        await manager.add_message({"role": "user", "content": "go on"})
        assert [message["content"] for message in await manager.get_messages()] == ["yes", "go on"]
        await manager.add_message({"role": "user", "content": "go on"})
        assert [message["content"] for message in await manager.get_messages()] == ["yes", "go on", "go on"]


@proof
async def test_a_closed_session_that_a_host_still_holds_keeps_no_view(tmp_path: Path) -> None:
    """Hosts hold sub-agents' sessions until their process ends; a later call makes the same view again."""
    async with PersistentContextManager(tmp_path / "log.jsonl", durability="write") as manager:
        for number in range(1, 51):
            await manager.add_message({"role": "user", "content": "word " * number})
        view = await manager.get_messages_for_request()
        ids = {message["metadata"]["message_id"] for message in view}

        def held() -> int:
            gc.collect()
            return sum(type(one) is Entry and one.id in ids for one in gc.get_objects())

        assert held() >= 50
    assert held() == 0
    assert await manager.get_messages_for_request() == view
    await manager.close()
