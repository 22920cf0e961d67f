"""Rewinds: the history ends at an earlier place again, nothing is erased, and everybody follows."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from amplifier_module_context_persistent import LockTimeoutError, LogUnreadableError, PersistentContextManager
from amplifier_module_context_persistent.errors import PlaceError
from amplifier_module_context_persistent.log.file_log import FileLog
from amplifier_module_context_persistent.log.filesystem import FileSystem
from amplifier_module_context_persistent.log.reader import LogReader
from amplifier_module_context_persistent.tokens.counter import EstimateCounter
from amplifier_module_context_persistent.toolbox.transfer.fork_session import fork_session
from amplifier_module_context_persistent.toolbox.transfer.rewind_session import RewindError, rewind_session
from tests.support.checker import assert_valid, same
from tests.support.counted_sessions import collect
from tests.support.forks import CONFIG, play, read, records, turn
from tests.support.logs import append, assert_sound, body, numbers, sealed
from tests.support.messages import fill
from tests.support.purges import purged, redact
from tests.support.recorded_sessions import made
from tests.support.sweeps import proof

Message = dict[str, Any]


@proof
async def test_what_comes_behind_a_turn_is_hidden_and_stays(tmp_path: Path) -> None:
    """The old bytes stand as they were; a reset with one kept run stands after them."""
    await play(tmp_path / "log", 3)
    history, _ = await read(tmp_path / "log")
    before = (tmp_path / "log").read_bytes()
    done = rewind_session(tmp_path / "log", 2, now=lambda: "2026-01-05T09:00:00Z", new_id=lambda: "r1")
    assert (tmp_path / "log").read_bytes().startswith(before)
    assert same((await read(tmp_path / "log"))[0], history[:8])
    added = [json.loads(line) for line in (tmp_path / "log").read_bytes()[len(before) :].splitlines()]
    ids = [message["metadata"]["message_id"] for message in history]
    run = {"position": 0, "count": 8, "first": ids[:2], "last": ids[6:8]}
    for kind, record in zip(("reset_begin", "reset_commit"), added, strict=False):
        assert (record["_record"], record["id"], record["reason"]) == (kind, "r1", "rewind")
        assert (record["upto"], record["count"], record["live"], record["keep"]) == (ids[11], 0, 8, [run])
    assert done.to_json() == {
        "path": str(tmp_path / "log"),
        "message_id": ids[7],
        "turn": 2,
        "messages": 8,
        "hidden": 4,
        "hidden_to": ids[11],
        "plan": None,
    }
    assert_sound(str(tmp_path / "log"))


async def test_the_plan_that_was_in_force_is_so_after_a_rewind(tmp_path: Path) -> None:
    """The next view is the one that was sent there."""
    views = await play(tmp_path / "log", 12)
    assert len(records(tmp_path / "log", "plan")) >= 1
    rewind_session(tmp_path / "log", 11)
    _, view = await read(tmp_path / "log")
    assert same(view, views[10])


@proof
async def test_the_cache_holds_what_a_rewound_session_sends(tmp_path: Path) -> None:
    """Its next view is what was sent there, with the compaction that was in force; rewinds may follow rewinds."""
    views = await play(tmp_path / "log", 24)
    assert len(records(tmp_path / "log", "plan")) >= 3
    for to in (23, 17, 16, 9, 2, 1):
        rewind_session(tmp_path / "log", to)
        _, view = await read(tmp_path / "log")
        assert same(view, views[to - 1]), f"turn {to}"
    assert_sound(str(tmp_path / "log"))


@proof
async def test_views_that_were_handed_out_before_can_still_be_proved(tmp_path: Path) -> None:
    """A rewind, and the plan that it writes again, take nothing from the receipts."""
    await play(tmp_path / "log", 12)
    rewind_session(tmp_path / "log", 7)
    await play(tmp_path / "log", 2)
    views = made(tmp_path / "log")
    assert len(views) == 14
    assert all(view.proved for view in views)


@proof
async def test_a_plan_that_is_written_again_is_one_compaction(tmp_path: Path) -> None:
    """Statistics count it once."""
    await play(tmp_path / "log", 12)
    reader = LogReader(tmp_path / "log")
    reader.follow()
    before = collect(reader, EstimateCounter()).plans
    rewind_session(tmp_path / "log", 11)
    assert len(records(tmp_path / "log", "plan")) == len(before) + 1
    reader.follow()
    assert collect(reader, EstimateCounter()).plans == before
    reader.close()


@proof
async def test_a_session_that_is_open_follows(tmp_path: Path) -> None:
    """With its next call, plan and all, and appends after the place that was gone back to."""
    async with PersistentContextManager(tmp_path / "log", **CONFIG) as manager:
        views = []
        for number in range(1, 16):
            await fill(manager, turn(number))
            views.append(await manager.get_messages_for_request())
        rewind_session(tmp_path / "log", 10)
        assert len(await manager.get_messages()) == 40
        assert same(await manager.get_messages_for_request(), views[9])
        await fill(manager, turn(99))
        history = await manager.get_messages()
        assert [message["content"] for message in history][39:41] == ["answer 10", "question 99"]
        assert_valid(await manager.get_messages_for_request(), history=history)
    assert_sound(str(tmp_path / "log"))


@proof
async def test_a_message_is_a_place_too(tmp_path: Path) -> None:
    """It is the last one that stays; the call that it leaves open has a stand-in in views."""
    await play(tmp_path / "log", 3)
    history, _ = await read(tmp_path / "log")
    rewind_session(tmp_path / "log", history[5]["metadata"]["message_id"])
    after, view = await read(tmp_path / "log")
    assert same(after, history[:6])
    assert "interrupted" in view[-1]["content"]


@proof
async def test_a_fork_is_the_way_back(tmp_path: Path) -> None:
    """At the message that is named as the last hidden one: it has all that the rewind hid."""
    await play(tmp_path / "log", 5)
    history, view = await read(tmp_path / "log")
    done = rewind_session(tmp_path / "log", 1)
    back = fork_session(tmp_path / "log", done.hidden_to, path=tmp_path / "back")
    assert same(await read(back.path), (history, view))


async def test_at_its_end_there_is_nothing_to_do(tmp_path: Path) -> None:
    """Nothing is written, nor in a dry run."""
    await play(tmp_path / "log", 3)
    before = (tmp_path / "log").read_bytes()
    assert rewind_session(tmp_path / "log", 3).hidden == 0
    assert rewind_session(tmp_path / "log", 1, dry_run=True).hidden == 8
    assert (tmp_path / "log").read_bytes() == before
    assert os.listdir(tmp_path) == ["log"]


async def test_what_is_not_there_is_refused(tmp_path: Path) -> None:
    """A turn, a message, a hidden message, a log."""
    await play(tmp_path / "log", 3)
    history, _ = await read(tmp_path / "log")
    rewind_session(tmp_path / "log", 2)
    before = (tmp_path / "log").read_bytes()
    for to in (0, 3, "nobody"):
        with pytest.raises(PlaceError):
            rewind_session(tmp_path / "log", to)
    with pytest.raises(RewindError, match="hidden"):
        rewind_session(tmp_path / "log", history[-1]["metadata"]["message_id"])
    with pytest.raises(LogUnreadableError):
        rewind_session(tmp_path / "nobody", 1)
    assert (tmp_path / "log").read_bytes() == before


def meanwhile(monkeypatch: pytest.MonkeyPatch, change: Callable[[], object]) -> None:
    """Let something happen between the look at the log and the lock on it."""
    real = FileLog.append

    def append_later(log: FileLog, batch: Any) -> Any:
        monkeypatch.setattr(FileLog, "append", real)
        change()
        return real(log, batch)

    monkeypatch.setattr(FileLog, "append", append_later)


def test_what_others_append_meanwhile_is_hidden_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The history ends where it was asked to."""
    append(FileLog(tmp_path / "log"), 0, 1, 2)
    meanwhile(monkeypatch, lambda: append(FileLog(tmp_path / "log"), 3))
    rewind_session(tmp_path / "log", 2)
    assert numbers(FileLog(tmp_path / "log")) == [0, 1]


def test_another_history_meanwhile_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After another rewind, or where another file took the log's place, nothing is written."""
    append(FileLog(tmp_path / "log"), 0, 1, 2, 3)
    with monkeypatch.context() as patch:
        meanwhile(patch, lambda: rewind_session(tmp_path / "log", "id-0"))
        with pytest.raises(RewindError, match="by another process"):
            rewind_session(tmp_path / "log", 3)
    assert numbers(FileLog(tmp_path / "log")) == [0]
    append(FileLog(tmp_path / "log"), 4, 5)
    (tmp_path / "other").write_bytes(b"".join(sealed([body(number) for number in range(10, 20)])))
    meanwhile(monkeypatch, lambda: (tmp_path / "other").replace(tmp_path / "log"))
    with pytest.raises(RewindError):
        rewind_session(tmp_path / "log", 1)
    assert numbers(FileLog(tmp_path / "log")) == list(range(10, 20))


async def test_a_purge_meanwhile_is_not_undone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The plan that a rewind writes again may hold what was purged."""
    await play(tmp_path / "log", 8)
    meanwhile(monkeypatch, lambda: purged(str(tmp_path / "log"), redact("question 1")))
    with pytest.raises(RewindError, match="purged by another process"):
        rewind_session(tmp_path / "log", 4)


def test_an_id_that_two_messages_have_is_no_place(tmp_path: Path) -> None:
    """A run that is kept is named by its ends, so they must be unique."""
    (tmp_path / "log").write_bytes(b"".join(sealed([body(0), body(1), body(0), body(2)])))
    before = (tmp_path / "log").read_bytes()
    with pytest.raises(RewindError, match="same id"):
        rewind_session(tmp_path / "log", 2)
    assert (tmp_path / "log").read_bytes() == before


def test_the_lock_is_waited_for(tmp_path: Path) -> None:
    """And a timeout changes nothing."""
    append(FileLog(tmp_path / "log"), 0, 1)
    files = FileSystem()
    fd = files.open_log(str(tmp_path / "log"), create=False)
    lock = files.try_lock(str(tmp_path / "log"), fd)
    assert lock is not None
    before = (tmp_path / "log").read_bytes()
    with pytest.raises(LockTimeoutError):
        rewind_session(tmp_path / "log", 1, lock_timeout_s=0.05)
    files.unlock(lock)
    files.close(fd)
    assert (tmp_path / "log").read_bytes() == before


def test_a_file_of_the_older_module_can_be_rewound(tmp_path: Path) -> None:
    """Its lines stay as they are; ids that are derived from them name what stays."""
    lines = b"".join(b'{"role":"user","content":"message %d"}\n' % number for number in range(3))
    (tmp_path / "log").write_bytes(lines + b'{"role":"us')
    rewind_session(tmp_path / "log", 2)
    assert numbers(FileLog(tmp_path / "log")) == [0, 1]
    assert (tmp_path / "log").read_bytes().startswith(lines)
    assert len(os.listdir(tmp_path)) == 2, "the torn tail is saved aside"
