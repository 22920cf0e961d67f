"""Forks: where they end, what comes along, and that a session goes on from one as it would have from the origin."""

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from amplifier_module_context_persistent import LogUnreadableError, PersistentContextManager
from amplifier_module_context_persistent.errors import ConfigError, PlaceError
from amplifier_module_context_persistent.paths import LOG_NAME, project_slug
from amplifier_module_context_persistent.sessions.transcript import Transcript
from amplifier_module_context_persistent.toolbox.maintenance.verify import verify_log
from amplifier_module_context_persistent.toolbox.transfer.erasing.message_names import (
    answers_in_stored,
    names_in_stored,
)
from amplifier_module_context_persistent.toolbox.transfer.fork_session import fork_session
from tests.support.checker import assert_valid, same
from tests.support.forks import CONFIG, play, read, records, turn
from tests.support.histories import messages as any_histories
from tests.support.logs import assert_sound
from tests.support.messages import Message, fill
from tests.support.sweeps import proof, some, spread


@proof
async def test_a_turn_is_taken_over_in_whole(tmp_path: Path) -> None:
    """Turns count from 1, as in the host's session fork; the last one, or none named, is everything."""
    await play(tmp_path / "log", 3, session_id="origin")
    history, _ = await read(tmp_path / "log")
    for at, messages in ((1, 4), (2, 8), (3, 12), (None, 12)):
        made = fork_session(tmp_path / "log", at, path=tmp_path / f"fork-{at}")
        forked, _ = await read(made.path)
        assert same(forked, history[:messages])
        assert (made.messages, made.turn, made.message_id) == (
            messages,
            messages // 4,
            history[messages - 1]["metadata"]["message_id"],
        )
        assert_sound(made.path)


async def test_the_origin_is_named_and_not_changed(tmp_path: Path) -> None:
    """By session, by log, by turn and by the last message, in the new log's header."""
    await play(tmp_path / "log", 2, session_id="origin")
    before = (tmp_path / "log").read_bytes()
    made = fork_session(tmp_path / "log", 1, session_id="s2", path=tmp_path / "new", now=lambda: "2026-01-05T09:00:00Z")
    assert (tmp_path / "log").read_bytes() == before
    (header,) = records(made.path, "header")
    (origin,) = records(tmp_path / "log", "header")
    assert header["log_id"] != origin["log_id"]
    assert header == header | {
        "version": 2,
        "session_id": "s2",
        "created": "2026-01-05T09:00:00Z",
        "tokenizer": origin["tokenizer"],
        "parent_id": "origin",
        "parent_log_id": origin["log_id"],
        "forked_from": made.message_id,
        "forked_from_turn": 1,
    }
    assert made.to_json() == {
        "path": str(tmp_path / "new"),
        "session_id": "s2",
        "parent_id": "origin",
        "forked_from": made.message_id,
        "forked_from_turn": 1,
        "messages": 4,
        "plan": None,
        "not_carried": [],
    }


@proof
async def test_the_cache_holds_what_a_fork_sends(tmp_path: Path) -> None:
    """Wherever a session is forked, the fork's first view is what the session sent there, compactions and all."""
    views = await play(tmp_path / "log", 30)
    assert len(records(tmp_path / "log", "plan")) >= 3
    plans = set()
    for at in spread(range(1, 31), 2):
        made = fork_session(tmp_path / "log", at, path=tmp_path / f"fork-{at}")
        _, view = await read(made.path)
        assert same(view, views[at - 1]), f"turn {at}"
        assert len(records(made.path, "plan")) == bool(made.plan)
        plans.add(made.plan)
    assert len(plans) >= 4


async def test_what_was_learned_of_counts_comes_along(tmp_path: Path) -> None:
    """The last usage of each provider and model, so that the fork does not compact for want of it."""
    async with PersistentContextManager(tmp_path / "log", session_id="s", **CONFIG) as manager:
        await fill(manager, turn(1))
        for tokens in (300, 310):
            await manager.get_messages_for_request()
            event = {"session_id": "s", "provider": "p", "model": "m", "usage": {"input_tokens": tokens}}
            await manager.on_llm_response(event)
            await manager.add_message({"role": "assistant", "content": "x"})
    assert records(tmp_path / "log", "usage")
    made = fork_session(tmp_path / "log", path=tmp_path / "new")
    (usage,) = records(made.path, "usage")
    usage.pop("_crc")
    last = records(tmp_path / "log", "usage")[-1]
    last.pop("_crc")
    assert usage == last


async def test_a_message_is_a_place_too(tmp_path: Path) -> None:
    """It is the last one; a call left open there has a stand-in in views, and the history is as it was."""
    await play(tmp_path / "log", 3)
    history, _ = await read(tmp_path / "log")
    at = history[5]["metadata"]["message_id"]
    made = fork_session(tmp_path / "log", at, path=tmp_path / "new")
    forked, view = await read(made.path)
    assert same(forked, history[:6])
    assert view[-1]["role"] == "tool"
    assert "interrupted" in view[-1]["content"]
    assert made.turn == 2


async def test_what_a_clear_hid_can_be_forked(tmp_path: Path) -> None:
    """By the id of a hidden message: the history as it was when that was live."""
    await play(tmp_path / "log", 2)
    before, _ = await read(tmp_path / "log")
    async with PersistentContextManager(tmp_path / "log", **CONFIG) as manager:
        await manager.clear()
        await manager.add_message({"role": "user", "content": "anew"})
    made = fork_session(tmp_path / "log", before[-1]["metadata"]["message_id"], path=tmp_path / "old")
    assert same((await read(made.path))[0], before)
    now = fork_session(tmp_path / "log", 1, path=tmp_path / "now")
    assert [message["content"] for message in (await read(now.path))[0]] == ["anew"]


async def test_a_fork_lies_beside_its_origin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where that is one of the host's sessions or of a storage directory's; else with this project's sessions."""
    monkeypatch.chdir(tmp_path)
    async with PersistentContextManager(storage_path=tmp_path / "store", session_id="s1", **CONFIG) as manager:
        await manager.add_message({"role": "user", "content": "x"})
    made = fork_session(str(manager.log_path), session_id="s2")
    assert made.path == str(tmp_path / "store" / "s2" / LOG_NAME)
    async with PersistentContextManager(
        storage_path=tmp_path / "store", session_id="s2", parent_id="s1", **CONFIG
    ) as again:
        assert [message["content"] for message in await again.get_messages()] == ["x"]
        await again.add_message({"role": "user", "content": "y"})
    assert len(records(made.path, "header")) == 1
    assert_sound(made.path)
    await play(tmp_path / "elsewhere", 1)
    other = fork_session(tmp_path / "elsewhere")
    sessions = Path.home() / ".amplifier" / "projects" / project_slug(tmp_path) / "sessions"
    assert Path(other.path) == sessions / str(other.session_id) / LOG_NAME


async def test_nothing_is_written_over(tmp_path: Path) -> None:
    """A log that is there stays; a session id cannot lead elsewhere; an origin must be one."""
    await play(tmp_path / "log", 1)
    with pytest.raises(FileExistsError):
        fork_session(tmp_path / "log", path=tmp_path / "log")
    with pytest.raises(ConfigError):
        fork_session(tmp_path / "log", session_id="../x")
    for bad in ("nobody", "."):
        with pytest.raises(LogUnreadableError):
            fork_session(tmp_path / bad, path=tmp_path / "new")
    (tmp_path / "empty").write_bytes(b"")
    with pytest.raises(PlaceError, match="empty"):
        fork_session(tmp_path / "empty", path=tmp_path / "new")
    assert sorted(os.listdir(tmp_path)) == ["empty", "log"]


async def test_damage_elsewhere_does_not_hinder(tmp_path: Path) -> None:
    """What cannot be read is no part of the history; a message that cannot be carried is told with its line."""
    await play(tmp_path / "log", 2)
    content = (tmp_path / "log").read_bytes()
    bare = b'{"role":"user","content":"by hand","metadata":"no object"}\n'
    (tmp_path / "log").write_bytes(content + b"oops\n" + bare + b'{"role":"us')
    made = fork_session(tmp_path / "log", path=tmp_path / "new")
    assert made.messages == 8
    assert [(loss.line, loss.offset) for loss in made.not_carried] == [
        (content.count(b"\n") + 2, len(content) + len(b"oops\n"))
    ]
    assert verify_log(made.path).is_sound


@proof
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=some(30))
@given(any_histories(), st.integers(0, 30))
async def test_any_history_can_be_forked(
    tmp_path_factory: pytest.TempPathFactory, history: list[Message], place: int
) -> None:
    """At any message: the beginning of the history is the fork's, and its view is valid."""
    if not history:
        return
    directory = tmp_path_factory.mktemp("any")
    async with PersistentContextManager(directory / "log", durability="write") as manager:
        await fill(manager, history)
        stored = await manager.get_messages()
    if not stored:
        return
    place %= len(stored)
    made = fork_session(directory / "log", stored[place]["metadata"]["message_id"], path=directory / "new")
    async with PersistentContextManager(made.path, durability="write", recipient="somebody") as forked:
        assert same(await forked.get_messages(), stored[: place + 1])
        assert_valid(await forked.get_messages_for_request(), history=stored[: place + 1])
    assert verify_log(made.path).is_sound


async def test_a_fork_has_names_for_its_own_messages_alone(tmp_path: Path) -> None:
    """Those before them are its origin's; answers that say little name no session."""
    await play(tmp_path / "log", 2)
    made = fork_session(tmp_path / "log", path=tmp_path / "new")
    async with PersistentContextManager(tmp_path / "new", **CONFIG) as manager:
        await manager.add_messages([{"role": "assistant", "content": "A long answer. " * 20}])
    with Transcript(tmp_path / "log") as origin, Transcript(made.path) as fork:
        assert len(names_in_stored(origin.reader)) == 8
        assert len(names_in_stored(fork.reader)) == 1
        assert answers_in_stored(origin.reader) == []
        assert len(answers_in_stored(fork.reader)) == 1
