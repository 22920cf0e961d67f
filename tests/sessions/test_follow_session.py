"""`follow_session`: every new message once, whatever becomes of the log, and nothing left of a follower that ends."""

from __future__ import annotations

import asyncio
import os
import random
import shutil
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, suppress
from pathlib import Path
from typing import Any

import pytest

from amplifier_module_context_persistent import (
    PersistentContextManager,
    SessionChange,
    SessionNameError,
    follow_session,
)
from amplifier_module_context_persistent.errors import LogUnreadableError
from amplifier_module_context_persistent.sessions import follow_session as module
from amplifier_module_context_persistent.sessions import log_watch
from amplifier_module_context_persistent.sessions.new_messages import SessionFollower
from amplifier_module_context_persistent.sessions.transcript import Transcript
from amplifier_module_context_persistent.toolbox.maintenance.purge_log import purge_log
from amplifier_module_context_persistent.toolbox.maintenance.purge_options import Purge
from amplifier_module_context_persistent.toolbox.transfer.rewind_session import rewind_session
from tests.support.messages import fill, user
from tests.support.sessions_of_a_home import log_of, write
from tests.support.stored_logs import place_of
from tests.support.sweeps import proof

NOW = "2026-01-05T10:00:00.000Z"
FDS = Path("/proc/self/fd")
TALK = [user("one"), {"role": "assistant", "content": "1"}, user("two"), {"role": "assistant", "content": "2"}]


def said(new: Any) -> Any:
    return new.kind if isinstance(new, SessionChange) else new["content"]


async def until(is_so: Callable[[], bool]) -> None:
    """Wait until something is so."""
    async with asyncio.timeout(30):
        while not is_so():  # noqa: ASYNC110 - it is seen from outside
            await asyncio.sleep(0.01)


class Followed:
    """A session that a task follows; `next` waits for so many items, and tells what each said."""

    def __init__(self, session: Any, **options: Any) -> None:
        self.got: list[Any] = []
        self.task = asyncio.create_task(self._follow(session, options))

    async def _follow(self, session: Any, options: dict[str, Any]) -> None:
        async for new in follow_session(session, **options):
            self.got.append(new)

    async def next(self, count: int) -> list[Any]:
        await until(lambda: len(self.got) >= count or self.task.done())
        got, self.got = self.got[:count], self.got[count:]
        return [said(new) for new in got]

    async def end(self) -> None:
        self.task.cancel()
        with suppress(asyncio.CancelledError):
            await self.task


@pytest.fixture
async def session(tmp_path: Path, each_log: None) -> AsyncIterator[PersistentContextManager]:
    """A session of one turn, in a file and in a database."""
    async with PersistentContextManager(tmp_path / "log.jsonl", durability="write", max_tokens=6_000) as manager:
        await fill(manager, TALK[:2])
        yield manager


@pytest.fixture(autouse=True)
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look often."""
    monkeypatch.setattr(log_watch, "FILES_S", 0.01)
    monkeypatch.setattr(log_watch, "DATABASES_S", 0.01)


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[SessionFollower]:
    """The followers that read, each time they do: what is new for them comes afterwards."""
    readers, original = list[SessionFollower](), SessionFollower.read_new

    def read_new(follower: SessionFollower) -> Any:
        readers.append(follower)
        return original(follower)

    monkeypatch.setattr(SessionFollower, "read_new", read_new)
    return readers


@pytest.fixture
async def followed(session: PersistentContextManager, tmp_path: Path) -> AsyncIterator[Followed]:
    """That session, followed with all that it holds."""
    followed = Followed(place_of(tmp_path / "log.jsonl"), after="")
    assert await followed.next(2) == ["one", "1"]
    yield followed
    await followed.end()


async def test_each_new_message_is_given_once_as_a_host_knows_it(
    session: PersistentContextManager, followed: Followed
) -> None:
    """In order, in the form of `get_messages`."""
    await fill(session, TALK[2:])
    await until(lambda: len(followed.got) == 2)
    assert followed.got == (await session.get_messages())[2:]
    followed.got.clear()
    for number in range(50):
        await session.add_message(user(f"more {number}"))
    assert await followed.next(50) == [f"more {number}" for number in range(50)]


async def test_without_after_only_what_comes_is_given(
    session: PersistentContextManager, tmp_path: Path, reads: list[SessionFollower]
) -> None:
    fresh = Followed(place_of(tmp_path / "log.jsonl"))
    await until(lambda: len(reads) > 0)
    await session.add_message(user("new"))
    assert await fresh.next(1) == ["new"]
    await fresh.end()


async def test_after_a_message_nothing_is_missed(session: PersistentContextManager, tmp_path: Path) -> None:
    """Also a rewind between it and the beginning of the following."""
    await fill(session, TALK[2:])
    ids = [message["metadata"]["message_id"] for message in await session.get_messages()]
    place = place_of(tmp_path / "log.jsonl")
    late = Followed(place, after=ids[1])
    assert await late.next(2) == ["two", "2"]
    await late.end()
    await session.clear()
    await session.add_message(user("anew"))
    later = Followed(place, after=ids[3])
    assert await later.next(2) == ["cleared", "anew"]
    await later.end()


async def test_a_message_that_is_not_there_cannot_be_gone_on_from(
    session: PersistentContextManager, tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match="after='' to begin with the whole history"):
        await anext(follow_session(place_of(tmp_path / "log.jsonl"), after="mffff"))


@proof
async def test_changes_are_told_and_what_comes_after_them_is_given(
    session: PersistentContextManager, followed: Followed
) -> None:
    """A clear, another history, and a compaction with its tokens."""
    await session.clear()
    await session.add_message(user("anew"))
    assert await followed.next(2) == ["cleared", "anew"]
    history = await session.get_messages()
    await session.set_messages([user("brought"), *history])
    assert sorted(await followed.next(2)) == ["brought", "replaced"]
    for number in range(6):
        await session.add_message(user(f"{number} " + "word " * 2_000))
    await followed.next(6)
    await session.get_messages_for_request()
    await session.add_message(user("last"))
    await until(lambda: len(followed.got) == 2)
    change, last = followed.got[:2]
    assert (change.kind, last["content"]) == ("compacted", "last")
    assert change.tokens_before > change.tokens_after > 0


@pytest.mark.parametrize("what", [Purge(everything=True), Purge(cleared=True), Purge(redact=lambda text: "x" + text)])
async def test_a_purge_is_told_and_nothing_is_given_twice(
    session: PersistentContextManager, followed: Followed, tmp_path: Path, what: Purge
) -> None:
    """Whatever stays of the history, and also if nothing that was given does."""
    await session.clear()
    await fill(session, TALK[2:])
    assert await followed.next(3) == ["cleared", "two", "2"]
    await asyncio.to_thread(purge_log, place_of(tmp_path / "log.jsonl"), what, now=lambda: NOW)
    await session.add_message(user("after"))
    assert await followed.next(2) == ["purged", "after"]


async def test_a_rewind_is_told(tmp_path: Path) -> None:
    path = write(tmp_path / "log.jsonl", TALK)
    followed = Followed(path, after="")
    await followed.next(4)
    rewind_session(path, 1)
    assert await followed.next(1) == ["rewound"]
    async with PersistentContextManager(path) as manager:
        await manager.add_message(user("another way"))
    assert await followed.next(1) == ["another way"]
    await followed.end()


async def test_a_backup_in_the_logs_place_is_told(tmp_path: Path) -> None:
    """What it holds was given before; what others append to it is new."""
    path, backup = tmp_path / "log.jsonl", tmp_path / "backup.jsonl"
    write(path, TALK[:2])
    shutil.copy(path, backup)
    write(path, TALK)
    followed = Followed(path, after="")
    await followed.next(4)
    backup.replace(path)
    assert await followed.next(1) == ["replaced"]
    async with PersistentContextManager(path) as manager:
        await manager.add_message(user("three"))
    assert await followed.next(1) == ["three"]
    await followed.end()


async def test_a_log_that_is_removed_ends_it(tmp_path: Path) -> None:
    path = write(tmp_path / "log.jsonl", TALK)
    followed = Followed(path, after="")
    await followed.next(4)
    path.unlink()
    with pytest.raises(LogUnreadableError, match="removed while it was open"):
        await followed.task


@pytest.mark.usefixtures("project")
async def test_a_session_is_named_as_in_commands() -> None:
    write(log_of("5f2c-1"), TALK)
    followed = Followed("5f2c", after="")
    assert await followed.next(4) == ["one", "1", "two", "2"]
    await followed.end()
    with pytest.raises(SessionNameError):
        await anext(follow_session("nobody"))
    followed = Followed(log_of("5f2c-1").parent, after="")
    assert len(await followed.next(4)) == 4
    await followed.end()
    with pytest.raises(LogUnreadableError, match="no such file"):
        await anext(follow_session(Path("5f2c")))


def leftovers(directory: Path) -> tuple[list[str], set[Any]]:
    """Open logs of this test, and tasks beside the one that asks; other tests may have left logs open."""
    files = [os.readlink(FDS / name) for name in os.listdir(FDS) if (FDS / name).exists()]
    own = [name for name in files if name.endswith(".jsonl") and name.startswith(str(directory))]
    return own, asyncio.all_tasks() - {asyncio.current_task()}


@pytest.mark.skipif(not FDS.exists(), reason="open files are counted in /proc")
class TestAnEnd:
    """Nothing is left of a follower, however it ends."""

    async def test_of_a_cancelled_task(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """While it waits; the log is closed, and not left to the garbage collector."""
        closed: list[Transcript] = []
        close = Transcript.close
        monkeypatch.setattr(Transcript, "close", lambda transcript: (closed.append(transcript), close(transcript)))
        many = [Followed(write(tmp_path / f"log{number}.jsonl", TALK), after="") for number in range(20)]
        for followed in many:
            await followed.next(4)
        assert len(leftovers(tmp_path)[0]) == 20
        for followed in many:
            followed.task.cancel()
        await asyncio.gather(*(followed.task for followed in many), return_exceptions=True)
        assert leftovers(tmp_path) == ([], set())
        assert len(closed) == 20

    @pytest.mark.parametrize("times", [1, 3])
    @pytest.mark.parametrize("where", ["_open", "read_new"])
    async def test_of_a_task_that_is_cancelled_while_it_reads(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str, times: int
    ) -> None:
        """The read comes to its end first, however often somebody cancels."""
        reading, may_end = threading.Event(), threading.Event()
        home = module if where == "_open" else SessionFollower
        original = getattr(home, where)

        def slow(*arguments: Any) -> Any:
            result = original(*arguments)
            reading.set()
            may_end.wait(30)
            return result

        monkeypatch.setattr(home, where, slow)
        followed = Followed(write(tmp_path / "log.jsonl", TALK), after="")
        await asyncio.to_thread(reading.wait, 30)
        for _ in range(times):
            followed.task.cancel()
            await asyncio.sleep(0.01)
        assert not followed.task.done()
        may_end.set()
        await followed.end()
        assert leftovers(tmp_path) == ([], set())

    async def test_of_a_loop_that_breaks(self, tmp_path: Path) -> None:
        """By `aclosing`, or by nothing but the garbage collector."""
        path = write(tmp_path / "log.jsonl", TALK)
        async with aclosing(follow_session(path, after="")) as following:
            async for new in following:
                assert said(new) == "one"
                break
        assert leftovers(tmp_path) == ([], set())
        async for _ in follow_session(path, after=""):
            break
        await until(lambda: leftovers(tmp_path) == ([], set()))

    async def test_of_one_among_several(self, tmp_path: Path, reads: list[SessionFollower]) -> None:
        """The others go on."""
        path = write(tmp_path / "log.jsonl", TALK)
        first, second = Followed(path), Followed(path)
        await until(lambda: len({*map(id, reads)}) == 2)
        await first.end()
        async with PersistentContextManager(path) as manager:
            await manager.add_message(user("new"))
        assert await second.next(1) == ["new"]
        await second.end()
        assert leftovers(tmp_path) == ([], set())


async def test_many_idle_followers_share_one_look(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A look at all of them is one call, so that idle followers cost next to nothing."""
    looks: list[set[str]] = []
    original = log_watch._file_stamps
    monkeypatch.setattr(log_watch, "_file_stamps", lambda places: looks.append({*places}) or original(places))
    many = [Followed(write(tmp_path / f"log{number}.jsonl", TALK), after="") for number in range(30)]
    for followed in many:
        await followed.next(4)
    before, began_s = len(looks), asyncio.get_running_loop().time()
    await until(lambda: [len(places) for places in looks[-10:]] == [30] * 10)
    passed_s = asyncio.get_running_loop().time() - began_s
    assert len(looks) - before <= passed_s / log_watch.FILES_S + 2
    for followed in many:
        await followed.end()


async def test_a_look_that_fails_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits for ever for what cannot come."""
    path = write(tmp_path / "log.jsonl", TALK)

    def broken(places: Any) -> Any:
        raise RuntimeError("no looks today")

    monkeypatch.setattr(log_watch, "_file_stamps", broken)
    with pytest.raises(RuntimeError, match="no looks today"):
        await Followed(path).task


@proof
@pytest.mark.parametrize("seed", range(12))
async def test_whatever_happens_each_message_is_given_at_most_once_and_none_is_missed(
    tmp_path: Path, seed: int
) -> None:
    """Against a plain set of what was added and is live at each look."""
    rng, path = random.Random(seed), tmp_path / "log.jsonl"
    write(path, TALK)
    given: list[str] = []
    number = 0
    with Transcript(path) as transcript:
        follower = SessionFollower(transcript)
        given += [message["metadata"]["message_id"] for message in transcript.messages()]
        for _ in range(40):
            for _ in range(rng.randrange(4)):
                async with PersistentContextManager(path, durability="write") as manager:
                    match rng.randrange(8):
                        case 0:
                            await manager.clear()
                        case 1 if len(await manager.get_messages()) > 2:
                            await manager.close()
                            with suppress(ValueError, LookupError):
                                rewind_session(path, 1)
                        case 2:
                            await manager.close()
                            purge_log(str(path), Purge(cleared=True), now=lambda: NOW)
                        case 3:
                            await manager.close()
                            purge_log(str(path), Purge(redact=lambda text: text.replace("7", "x")), now=lambda: NOW)
                        case _:
                            number += 1
                            await manager.add_message(user(f"message {number}"))
            new = [item for item in follower.read_new() if not isinstance(item, SessionChange)]
            given += [item.message["metadata"]["message_id"] for item in new]
            live = [message["metadata"]["message_id"] for message in transcript.messages()]
            assert {*live} <= {*given}
            assert len(given) == len({*given})
