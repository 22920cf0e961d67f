"""Sessions over restarts: views stay as they were, interrupted turns go on, and what cannot be stored is told."""

import json
import logging
import math
import shutil
from pathlib import Path

import pytest

from amplifier_module_context_persistent import LogCreateError, LogError
from tests.support.checker import assert_valid, prefix_breaks
from tests.support.messages import Message, fill, user
from tests.support.real_sessions import (
    SECRET,
    Display,
    RecordEvents,
    StartSession,
    configured,
    context_of,
    files_below,
    named,
    texts,
)
from tests.support.resumed_sessions import (
    bytes_of,
    calling,
    first_session,
    open_manager,
    result,
    sanitised,
    session_history,
    tokens_of,
    without_stamps,
    write_lines,
)
from tests.support.stored_logs import stored_bytes
from tests.support.sweeps import proof


@proof
async def test_a_restart_changes_no_byte_of_the_view(path: Path) -> None:
    """Without a plan and with a stored one, before and after more was added."""
    config = {"max_tokens": 3000, "durability": "write"}
    manager, views = open_manager(path, **config), []
    for number in range(120):
        await fill(manager, [user(f"Step {number}."), calling(f"c{number}"), result(f"c{number}", "line\n" * 60)])
        if number % 10:
            continue
        view = await manager.get_messages_for_request()
        assert_valid(view, history=await manager.get_messages(), budget_tokens=3000, count=tokens_of)
        await manager.close()
        manager = open_manager(path, **config)
        assert bytes_of(await manager.get_messages_for_request()) == bytes_of(view)
        views.append(view)
    assert stored_bytes(path).count(b'{"_record":"plan"') >= 2
    assert len(views[-1]) < 3 * 111
    assert prefix_breaks(views) < len(views) - 1


@proof
async def test_a_file_of_the_older_module_opens_and_goes_on(path: Path) -> None:
    """Bare messages with a top-level timestamp are history; new records go after them, and they stay as they are."""
    old = [
        {**message, "timestamp": f"2025-11-02T10:00:{number:02}.000000+00:00"}
        for number, message in enumerate(session_history()[1:])
    ]
    lines = write_lines(path, old)
    async with open_manager(path) as manager:
        history = await manager.get_messages()
        assert without_stamps(history) == old
        await manager.set_messages([])
        await fill(manager, sanitised(old))
        await fill(manager, sanitised(history))
        assert stored_bytes(path) == lines
        await manager.add_message(user("Go on."))
        view = await manager.get_messages_for_request()
        assert_valid(view, history=await manager.get_messages())
    assert stored_bytes(path).startswith(lines)
    manager = open_manager(path)
    assert without_stamps(await manager.get_messages()) == [*old, user("Go on.")]
    assert bytes_of(await manager.get_messages_for_request()) == bytes_of(view)


INTERRUPTIONS: dict[str, list[Message]] = {
    "asked": [user("a")],
    "called": [user("a"), calling("c1", "c2")],
    "half answered": [user("a"), calling("c1", "c2"), result("c1")],
    "second answered": [user("a"), calling("c1", "c2"), result("c2")],
    "twice": [user("a"), calling("c1"), user("b"), calling("c2", "c3"), result("c3")],
    "late": [user("a"), calling("c1", "c2"), user("b"), result("c2"), result("c1")],
    "ids used again": [user("a"), calling("c1"), user("b"), calling("c1"), result("c1")],
    "assistant first": [{"role": "assistant", "content": "hm"}, calling("c1")],
    "orphan": [user("a"), result("c7"), {"role": "assistant", "content": "hm"}, result("c7")],
    "only blank": [user("a"), {"role": "assistant", "content": ""}, {"role": "assistant", "content": None}],
}


@proof(quick=1)
@pytest.mark.parametrize("name", INTERRUPTIONS)
async def test_after_any_interruption_the_view_is_valid_and_goes_on(path: Path, name: str) -> None:
    """Right away, after a restart, and when the person just types on; the log is not touched for it."""
    history, view = await first_session(path, INTERRUPTIONS[name])
    assert_valid(view, history=history)
    stored = stored_bytes(path)
    manager = open_manager(path)
    assert bytes_of(await manager.get_messages_for_request()) == bytes_of(view)
    assert stored_bytes(path) == stored
    for message in (user("Go on."), calling("d1", "d2"), result("d2"), result("d1"), user("Thanks.")):
        await manager.add_message(message)
        assert_valid(await manager.get_messages_for_request(), history=await manager.get_messages())
    assert (await manager.get_messages())[: len(history)] == history


async def test_a_session_without_a_place_goes_on_in_memory_and_says_so(
    start_session: StartSession, record_events: RecordEvents, impossible: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """One line on the display, no error beside it, and an event; the session works, and obeys `set_messages`."""
    display = Display()
    caplog.set_level(logging.INFO)
    session = await start_session(configured(impossible), display_system=display)
    context, events = context_of(session), record_events(session.coordinator)
    await fill(context, [user(SECRET), {"role": "assistant", "content": "kept"}])
    assert [r.levelno for r in caplog.records if "memory only" in r.message] == [logging.INFO]
    ((message, level, source),) = display.shown
    assert "NOT saved" in message
    assert level == "warning"
    assert source == "context-persistent"
    (told,) = named(events, "context:degraded")
    assert str(impossible) in told["reason"]
    assert SECRET not in json.dumps(events)
    assert context.log_path is None
    assert texts(await context.get_messages()) == [SECRET, "kept"]
    await context.set_messages([user("instead")])
    assert texts(await context.get_messages_for_request()) == ["instead"]


async def test_require_persistence_raises_instead(
    start_session: StartSession, impossible: Path, tmp_path: Path
) -> None:
    """Every append raises until a log can be created, and then works."""
    context = context_of(await start_session(configured(impossible, require_persistence=True)))
    for _ in range(2):
        with pytest.raises(LogCreateError, match="no log can be created here"):
            await context.add_message(user("hello"))
    assert await context.get_messages() == []
    (tmp_path / "file").unlink()
    await context.add_message(user("hello"))
    assert texts(await context.get_messages()) == ["hello"]
    assert files_below(tmp_path) == ["file", "file/below", "file/below/log.jsonl", "file/below/log.jsonl.open"]


@pytest.mark.parametrize("closed", [False, True])
async def test_what_was_acknowledged_on_disk_is_never_gone_on_with_in_memory(
    start_session: StartSession, record_events: RecordEvents, tmp_path: Path, closed: bool
) -> None:
    """A log that vanishes after the first append raises; the session does not degrade in silence."""
    path = tmp_path / "logs" / "log.jsonl"
    session = await start_session(configured(path))
    context, events = context_of(session), record_events(session.coordinator)
    await context.add_message(user("one"))
    if closed:
        await context.close()
    path.unlink()
    shutil.rmtree(path.parent)
    path.parent.write_text("in the way", encoding="utf-8")
    with pytest.raises(LogError):
        await context.add_message(user("two"))
    assert named(events, "context:degraded") == []
    assert context.log_path == str(path)


async def test_a_log_that_was_removed_after_a_close_is_not_begun_anew(
    start_session: StartSession, record_events: RecordEvents, tmp_path: Path
) -> None:
    """Nothing is created in its place in silence; put back, it goes on."""
    path = tmp_path / "log.jsonl"
    session = await start_session(configured(path))
    context, events = context_of(session), record_events(session.coordinator)
    await context.add_message(user("one"))
    await context.close()
    path.rename(tmp_path / "away")
    for _ in range(2):
        with pytest.raises(LogError, match="removed"):
            await context.add_message(user("two"))
    assert files_below(tmp_path) == ["away"]
    assert named(events, "context:degraded") == []
    (tmp_path / "away").rename(path)
    await context.add_message(user("three"))
    assert texts(await context.get_messages()) == ["one", "three"]


@pytest.mark.parametrize("closed", [False, True])
async def test_messages_that_the_log_lost_are_told_by_an_event(
    start_session: StartSession, record_events: RecordEvents, tmp_path: Path, closed: bool
) -> None:
    """An acknowledged message that is gone is no warning in some file: hooks hear how many there are, once."""
    path = tmp_path / "log.jsonl"
    session = await start_session(configured(path))
    context, events = context_of(session), record_events(session.coordinator)
    await context.add_message(user("one"))
    size = path.stat().st_size
    for text in ("two", "three"):
        await context.add_message(user(text))
    if closed:
        await context.close()
    with path.open("r+b") as file:
        file.truncate(size)
    await context.add_message(user("four"))
    await context.get_messages_for_request()
    assert named(events, "context:log_lost_tail") == [{"lost_messages": 2, "path": str(path)}]
    assert texts(await context.get_messages()) == ["one", "four"]


async def test_what_a_host_gives_as_id_and_time_is_kept(path: Path) -> None:
    """What is no id stands beside the id that the log gives; a time that is none stays what it is."""
    async with open_manager(path) as manager:
        await fill(
            manager,
            [
                {**user("one"), "metadata": {"message_id": 7, "timestamp": 0}},
                {**user("two"), "metadata": {"message_id": "", "timestamp": ""}},
            ],
        )
        before = await manager.get_messages()
        await manager.get_messages_for_request()
    async with open_manager(path) as manager:
        await fill(manager, before)
        stored = await manager.get_messages()
        assert stored == before
        assert [m["metadata"]["given_message_id"] for m in stored] == [7, ""]
        assert [m["metadata"]["timestamp"] for m in stored] == [0, ""]
        assert all(isinstance(m["metadata"]["message_id"], str) and m["metadata"]["message_id"] for m in stored)


@proof(quick=1)
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
async def test_floats_that_json_cannot_say_come_back(path: Path, value: float) -> None:
    """Of a message that an older version stored, and a host hands back: they are not turned into null."""
    async with open_manager(path) as manager:
        await manager.set_messages([{**user("a"), "value": [value, None, 1.5], "metadata": {"message_id": "m1"}}])
    async with open_manager(path) as manager:
        (stored,) = await manager.get_messages()
    assert repr(stored["value"]) == repr([value, None, 1.5])
