"""What a session is after it was interrupted, resumed, replayed, crowded and meddled with."""

import asyncio
import copy
import json
import random
import threading
import time
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from amplifier_module_context_persistent import InMemoryContextManager, MemoryFilesError, PersistentContextManager
from amplifier_module_context_persistent.tokens.counter import count_message, open_counter
from tests.support.checker import assert_valid, is_human, prefix_breaks
from tests.support.histories import messages as any_histories

Message = dict[str, Any]

THOUGHT = {"type": "thinking", "thinking": "First the tests.", "signature": "c2ln", "visibility": None}
SYSTEM = {"role": "system", "content": "You are careful."}


def user(text: str, **metadata: Any) -> Message:
    return {"role": "user", "content": text, **({"metadata": metadata} if metadata else {})}


def calling(*ids: str, text: str = "I call.") -> Message:
    calls = [{"id": call_id, "tool": "bash", "arguments": {"command": f"run {call_id}"}} for call_id in ids]
    return {"role": "assistant", "content": text, "tool_calls": calls}


def result(call_id: str, text: str = "done") -> Message:
    return {"role": "tool", "tool_call_id": call_id, "name": "bash", "content": f"{text} {call_id}"}


def session_history() -> list[Message]:
    """A session as a streaming orchestrator leaves it, cut off while one of two parallel calls runs."""
    blocks = [THOUGHT, {"type": "text", "text": "I look.", "visibility": None}]
    call = {"type": "tool_call", "id": "c1", "name": "bash", "input": {"command": "run c1"}}
    history = [
        SYSTEM,
        user("Fix the build."),
        {**calling("c1"), "content": [*blocks, call], "thinking_block": THOUGHT, "name": None},
        result("c1"),
        user("<system-reminder>mind the style</system-reminder>", source="hook", hook_name="style", ephemeral=False),
        {"role": "assistant", "content": "ok"},
        user("ok"),
        user("ok"),
        {"role": "assistant", "content": [THOUGHT, {"type": "text", "text": "Both."}], "thinking_block": THOUGHT},
        user("Both at once, please."),
        calling("c2", "c3"),
        result("c2"),
    ]
    return copy.deepcopy(history)


def stored_bytes(path: Path) -> bytes:
    return path.read_bytes() if path.exists() else b""


def write_lines(path: Path, messages: Sequence[Message]) -> bytes:
    """Write a file as the older module did, and return its bytes."""
    lines = "".join(json.dumps(message) + "\n" for message in messages).encode()
    path.write_bytes(lines)
    return lines


def open_manager(path: Path, **config: Any) -> PersistentContextManager:
    return PersistentContextManager(path, session_id="s1", tokenizer="estimate", **config)


async def fill(manager: PersistentContextManager, messages: Sequence[Message]) -> None:
    for message in messages:
        await manager.add_message(message)


async def first_session(path: Path, messages: Sequence[Message], **config: Any) -> tuple[list[Message], list[Message]]:
    """Add messages in a session that ends; its history and its last view."""
    manager = open_manager(path, **config)
    await fill(manager, messages)
    history, view = await manager.get_messages(), await manager.get_messages_for_request()
    await manager.close()
    return history, view


def bytes_of(value: Any) -> str:
    return json.dumps(value, ensure_ascii=True)


def without_stamps(messages: Sequence[Message]) -> list[Message]:
    """Messages without what the log adds to them."""
    cleaned = []
    for message in messages:
        metadata = dict(message.get("metadata") or {})
        for stamp in ("timestamp", "message_id"):
            metadata.pop(stamp, None)
        bare = {key: value for key, value in message.items() if key != "metadata"}
        cleaned.append({**bare, "metadata": metadata} if metadata else bare)
    return cleaned


def sanitised(value: Any) -> Any:
    """What is left of messages after a host wrote them to its own transcript."""
    if isinstance(value, dict):
        dropped = ("thinking_block", "content_blocks")
        return {key: sanitised(item) for key, item in value.items() if item is not None and key not in dropped}
    return [sanitised(item) for item in value] if isinstance(value, list) else value


def transcript_of(history: Sequence[Message]) -> list[Message]:
    return [message for message in sanitised(list(history)) if message["role"] not in ("system", "developer")]


def repaired(history: Sequence[Message]) -> list[Message]:
    """What the command line makes of a history in which calls lack their results."""
    answered = {message.get("tool_call_id") for message in history}
    whole: list[Message] = []
    for message in history:
        whole.append(message)
        missing = [call["id"] for call in message.get("tool_calls") or () if call["id"] not in answered]
        whole.extend({"role": "tool", "tool_call_id": call_id, "content": "[lost]"} for call_id in missing)
    return whole


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "log.jsonl"


# -- what hosts do at a resume -----------------------------------------------------------------------------------------


async def test_the_command_lines_resume_changes_nothing(path: Path) -> None:
    """get, set filtered, get, set with system: the history stays as it was, to the byte."""
    history, view = await first_session(path, session_history())
    stored = stored_bytes(path)
    manager = open_manager(path)
    assert await manager.get_messages() == history
    await manager.set_messages(transcript_of(history))
    restored = await manager.get_messages()
    assert restored == history
    await manager.set_messages([SYSTEM, *restored])
    assert await manager.get_messages() == history
    resumed_view = await manager.get_messages_for_request()
    assert bytes_of(resumed_view) == bytes_of(view)
    assert_valid(resumed_view, history=history)
    assert stored_bytes(path) == stored


async def test_the_repair_before_a_turn_is_ignored_and_not_needed(path: Path) -> None:
    """The host sees a call without a result and sets a repaired history; the view is valid without it."""
    history, _ = await first_session(path, session_history())
    manager = open_manager(path)
    await manager.set_messages(repaired(await manager.get_messages()))
    assert await manager.get_messages() == history
    await manager.add_message(user("Go on."))
    assert_valid(await manager.get_messages_for_request(), history=await manager.get_messages())
    await manager.set_messages(repaired(await manager.get_messages()))
    await fill(manager, [calling("c9"), result("c9")])
    assert without_stamps(await manager.get_messages()) == [
        *session_history(),
        user("Go on."),
        calling("c9"),
        result("c9"),
    ]
    assert_valid(await manager.get_messages_for_request(), history=await manager.get_messages())


async def test_a_replayed_transcript_is_not_stored_again(path: Path) -> None:
    """Sub-session resume sends the whole sanitised transcript through add_message, at every resume."""
    history, view = await first_session(path, session_history())
    stored = stored_bytes(path)
    for _ in range(2):
        manager = open_manager(path, receipts=False)
        for message in sanitised(history):
            await manager.add_message(message)
            assert_valid(await manager.get_messages_for_request(), history=history)
        assert await manager.get_messages() == history
        assert bytes_of(await manager.get_messages_for_request()) == bytes_of(view)
        assert stored_bytes(path) == stored
        await manager.close()


async def test_after_a_replay_new_messages_are_stored_as_ever(path: Path) -> None:
    """What is said behind a replay is added, even if it was said before in the same words."""
    history, _ = await first_session(path, session_history())
    manager = open_manager(path)
    await fill(manager, sanitised(history))
    await fill(manager, [user("ok"), user("ok")])
    assert without_stamps(await manager.get_messages()) == [*session_history(), user("ok"), user("ok")]


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(any_histories(max_messages=14))
async def test_any_history_survives_resume_and_replay(tmp_path_factory: Any, drawn: list[Message]) -> None:
    """Whatever was stored: resume and replay change no byte, and every view is valid and the same."""
    path = tmp_path_factory.mktemp("any") / "log.jsonl"
    drawn = [message for message in drawn if not (message.get("metadata") or {}).get("ephemeral")]
    history, view = await first_session(path, drawn, durability="write")
    stored = stored_bytes(path)
    manager = open_manager(path, durability="write")
    if history:
        await manager.set_messages(transcript_of(history))
    await fill(manager, [message for message in sanitised(history) if "role" in message])
    resumed = await manager.get_messages()
    assert bytes_of(resumed) == bytes_of(history)
    assert bytes_of(await manager.get_messages_for_request()) == bytes_of(view)
    assert stored_bytes(path) == stored
    await manager.close()


async def test_resume_by_set_messages_on_a_fresh_session_is_obeyed(path: Path) -> None:
    """Where the log holds no conversation, what the host sets is the history, and lies in the log."""
    manager = open_manager(path)
    await manager.set_messages([user("one"), {"role": "assistant", "content": "two"}])
    await manager.set_messages([SYSTEM, *await manager.get_messages()])
    await manager.add_message(user("three"))
    expected = [SYSTEM, user("one"), {"role": "assistant", "content": "two"}, user("three")]
    assert without_stamps(await manager.get_messages()) == expected
    await manager.close()
    manager = open_manager(path)
    assert without_stamps(await manager.get_messages()) == expected
    await manager.set_messages([])
    assert without_stamps(await manager.get_messages()) == expected


async def test_a_cleared_session_stays_clear_when_it_is_resumed(path: Path) -> None:
    """`/clear` survives the restart, what it hid stays in the file, and the log still decides."""
    history, _ = await first_session(path, [user("before"), {"role": "assistant", "content": "yes"}])
    manager = open_manager(path)
    await manager.clear()
    await manager.close()
    manager = open_manager(path)
    assert await manager.get_messages() == []
    await manager.set_messages(transcript_of(history))
    assert await manager.get_messages() == []
    await manager.add_message(user("after"))
    assert without_stamps(await manager.get_messages_for_request()) == [user("after")]
    assert b'"before"' in stored_bytes(path)


# -- views over restarts -----------------------------------------------------------------------------------------------


async def test_a_restart_changes_no_byte_of_the_view(path: Path) -> None:
    """Without a plan and with a stored one, before and after more was added."""
    config = {"max_tokens": 3000, "durability": "write"}
    manager, views = open_manager(path, **config), []
    for number in range(120):
        await fill(manager, [user(f"Step {number}."), calling(f"c{number}"), result(f"c{number}", "line\n" * 60)])
        if number % 10:
            continue
        view = await manager.get_messages_for_request()
        assert_valid(view, history=await manager.get_messages(), budget_tokens=3000, count=_count)
        await manager.close()
        manager = open_manager(path, **config)
        assert bytes_of(await manager.get_messages_for_request()) == bytes_of(view)
        views.append(view)
    assert stored_bytes(path).count(b'{"_record":"plan"') >= 2
    assert len(views[-1]) < 3 * 111
    assert prefix_breaks(views) < len(views) - 1


_COUNTER = open_counter("estimate")


def _count(message: Message) -> int:
    return count_message(message, _COUNTER)


async def test_between_two_plans_a_resumed_view_is_its_predecessor_and_more(path: Path) -> None:
    """I6 over a restart: with a stored plan, the prefix that a provider cached stays."""
    config = {"max_tokens": 3000, "durability": "write"}
    manager = open_manager(path, **config)
    await fill(manager, [user(f"{number} " + "word " * 50) for number in range(100)])
    before = await manager.get_messages_for_request()
    assert len(before) < 100
    await manager.close()
    manager = open_manager(path, **config)
    await fill(manager, [{"role": "assistant", "content": "Yes."}, user("More.")])
    after = await manager.get_messages_for_request()
    assert bytes_of(after[: len(before)]) == bytes_of(before)
    assert len(after) == len(before) + 2


async def test_a_file_of_the_older_module_opens_and_goes_on(path: Path) -> None:
    """Bare messages with a top-level timestamp are history; new records go behind them, and they stay as they are."""
    old = [
        {**message, "timestamp": f"2025-11-02T10:00:{number:02}.000000+00:00"}
        for number, message in enumerate(session_history()[1:])
    ]
    lines = write_lines(path, old)
    manager = open_manager(path)
    history = await manager.get_messages()
    assert without_stamps(history) == old
    await manager.set_messages([])
    await fill(manager, sanitised(old))
    await fill(manager, sanitised(history))
    assert stored_bytes(path) == lines
    await manager.add_message(user("Go on."))
    view = await manager.get_messages_for_request()
    assert_valid(view, history=await manager.get_messages())
    await manager.close()
    assert stored_bytes(path).startswith(lines)
    manager = open_manager(path)
    assert without_stamps(await manager.get_messages()) == [*old, user("Go on.")]
    assert bytes_of(await manager.get_messages_for_request()) == bytes_of(view)


# -- the contract's own examples ---------------------------------------------------------------------------------------


async def test_the_contracts_compaction_example(path: Path) -> None:
    """A tool sequence and fifty messages at 100 tokens: should_compact, compact, a valid view in the budget."""
    manager = open_manager(path, max_tokens=100, compaction_threshold=0.5)
    call = {"id": "call_123", "type": "function", "function": {"name": "read_file", "arguments": '{"path": "f"}'}}
    await manager.add_message(user("Read f."))
    assert not await manager.should_compact()
    await manager.add_message({"role": "assistant", "content": None, "tool_calls": [call]})
    await manager.add_message({"role": "tool", "tool_call_id": "call_123", "content": "the file's text"})
    for number in range(50):
        await manager.add_message(user(f"Message {number}"))
        view = await manager.get_messages_for_request()
        assert_valid(view, history=await manager.get_messages(), budget_tokens=100, count=_count)
    await fill(manager, [user(f"Further message {number}, and a little more") for number in range(8)])
    assert await manager.should_compact()
    await manager.compact()
    assert not await manager.should_compact()
    assert len(await manager.get_messages_for_request()) < 50
    assert len(await manager.get_messages()) == 61


async def test_the_contracts_round_trip_example() -> None:
    """Two messages come back in order; clear leaves none."""
    manager = InMemoryContextManager(max_tokens=1000)
    await fill(manager, [user("Hello"), {"role": "assistant", "content": "Hi there!"}])
    assert without_stamps(await manager.get_messages()) == [
        user("Hello"),
        {"role": "assistant", "content": "Hi there!"},
    ]
    assert not await manager.should_compact()
    await manager.clear()
    assert await manager.get_messages() == []


# -- memory files ------------------------------------------------------------------------------------------------------


async def test_memory_files_are_stored_in_a_fresh_session_only(
    path: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Each becomes `[Context from NAME]`; missing ones warn; at a resume they are not loaded again."""
    (tmp_path / "NOTES.md").write_text("Use tabs.", encoding="utf-8")
    files = {"memory_files": [str(tmp_path / "NOTES.md"), str(tmp_path / "absent.md")]}
    manager = open_manager(path, **files)
    assert [m["content"] for m in await manager.get_messages()] == ["[Context from NOTES.md]\n\nUse tabs."]
    assert "absent.md is skipped" in caplog.text
    assert stored_bytes(path) == b""
    await manager.add_message(user("hello"))
    history = await manager.get_messages()
    assert [message["role"] for message in history] == ["system", "user"]
    await manager.close()
    (tmp_path / "NOTES.md").write_text("Use spaces. " * 1000, encoding="utf-8")
    manager = open_manager(path, max_tokens=1000, **files)  # what it has grown to would not fit
    assert await manager.get_messages() == history
    assert_valid(await manager.get_messages_for_request(), history=history)
    await manager.close()


@pytest.mark.parametrize("stored", [False, True])
async def test_memory_files_do_not_make_a_session_look_resumed(path: Path, tmp_path: Path, stored: bool) -> None:
    """With nothing but memory files in the log, `set_messages` is obeyed, and the files stay in front."""
    (tmp_path / "NOTES.md").write_text("Use tabs.", encoding="utf-8")
    if stored:
        write_lines(path, [{"role": "system", "content": "[Context from NOTES.md]\n\nUse tabs."}])
    manager = open_manager(path, memory_files=[str(tmp_path / "NOTES.md")])
    await manager.set_messages([user("one")])
    assert [message["content"] for message in await manager.get_messages()][1:] == ["one"]
    assert [message["role"] for message in await manager.get_messages_for_request()] == ["system", "user"]


async def test_memory_files_over_the_budget_list_their_tokens(path: Path, tmp_path: Path) -> None:
    """Together over the budget is an error that names each file and its tokens."""
    names = [tmp_path / "one.md", tmp_path / "two.md"]
    for name in names:
        name.write_text("word " * 300, encoding="utf-8")
    with pytest.raises(MemoryFilesError, match=r"(?s)budget is 400.*one\.md.*two\.md"):
        await open_manager(path, max_tokens=400, memory_files=[str(name) for name in names]).get_messages()


# -- ephemeral messages ------------------------------------------------------------------------------------------------


async def test_ephemeral_messages_stand_in_this_processs_views_only(path: Path) -> None:
    """Behind the record they came after; not in get_messages, not in the file, not after a restart."""
    reminder = user("<system-reminder>now</system-reminder>", source="hook", ephemeral=True)
    kept = user("<system-reminder>kept</system-reminder>", source="hook", ephemeral=True, persisted=True)
    manager = open_manager(path)
    await fill(manager, [user("one"), reminder, {"role": "assistant", "content": "two"}, kept, user("three")])
    first = [message["content"] for message in await manager.get_messages_for_request()]
    assert first == ["one", reminder["content"], "two", kept["content"], "three"]
    stored = ["one", "two", kept["content"], "three"]
    assert [message["content"] for message in await manager.get_messages()] == stored
    assert b"now</system-reminder>" not in stored_bytes(path)
    await manager.close()
    manager = open_manager(path)
    assert [message["content"] for message in await manager.get_messages_for_request()] == stored


# -- interrupted turns -------------------------------------------------------------------------------------------------

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


async def test_a_late_result_takes_the_place_of_its_stand_in(path: Path) -> None:
    """When the result of an interrupted call arrives after all, the view shows it where it belongs."""
    await first_session(path, [user("a"), calling("c1", "c2"), result("c1")])
    manager = open_manager(path)
    await manager.add_message(user("Go on."))
    before = await manager.get_messages_for_request()
    assert "interrupted" in before[3]["content"]
    await manager.add_message(result("c2", "at last"))
    after = await manager.get_messages_for_request()
    assert after[3]["content"] == "at last c2"
    assert after[:3] + after[4:] == before[:3] + before[4:]


# -- concurrency -------------------------------------------------------------------------------------------------------


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


@pytest.mark.parametrize("durability", ["fsync", "write"])
async def test_thirty_two_tasks_lose_nothing(path: Path, durability: str) -> None:
    """Every message is there once, each task's in its order, in the file too."""
    manager = open_manager(path, durability=durability)
    await asyncio.gather(*(write(manager, f"t{task}", 10) for task in range(32)))
    expected = {f"t{task}": list(range(10)) for task in range(32)}
    assert by_writer(await manager.get_messages()) == expected
    await manager.close()
    assert by_writer(await open_manager(path).get_messages()) == expected


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


# -- what callers do to what they hold ---------------------------------------------------------------------------------


def spoil(value: Any) -> None:
    """Change everything that can be changed in place."""
    if isinstance(value, dict):
        for item in value.values():
            spoil(item)
        for key in list(value):
            value[key] = "spoilt"
        value["spoilt"] = True
    elif isinstance(value, list):
        for item in value:
            spoil(item)
        value.append("spoilt")


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


# -- the event loop ----------------------------------------------------------------------------------------------------


async def gap_and_duration_s(work: Coroutine[Any, Any, Any]) -> tuple[float, float]:
    """How long the loop's other tasks had to wait at worst while something was awaited, and how long that took."""
    gaps, done = [0.0], asyncio.Event()

    async def tick() -> None:
        last = time.perf_counter()
        while not done.is_set():
            await asyncio.sleep(0.002)
            now = time.perf_counter()
            gaps.append(now - last)
            last = now

    ticker = asyncio.create_task(tick())
    await asyncio.sleep(0.02)
    started = time.perf_counter()
    await work
    duration = time.perf_counter() - started
    done.set()
    await ticker
    return max(gaps), duration


async def test_a_large_history_does_not_block_the_event_loop(path: Path) -> None:
    """Opening, a view, all messages and a long append leave the loop to others (20 ms promised, 250 allowed here)."""
    write_lines(path, [user(f"{number} " + "0123456789abcde\n" * 250) for number in range(5000)])
    assert len(stored_bytes(path)) > 20 << 20
    for attempt in range(5):  # a busy machine makes gaps now and then; code that blocks makes them every time
        manager = open_manager(path)
        opening = await gap_and_duration_s(manager.get_messages_for_request())
        reading = await gap_and_duration_s(manager.get_messages())
        added = [user("Go on."), calling(f"c{attempt}"), result(f"c{attempt}", "x" * (8 << 20))]
        adding = await gap_and_duration_s(fill(manager, added))
        await manager.close()
        if max(opening[0], reading[0], adding[0]) < 0.25 and opening[0] < opening[1] / 2:
            return
    pytest.fail(f"gaps and durations: opening {opening}, reading {reading}, adding {adding}")


def test_the_history_of_these_tests_is_one_that_needs_care() -> None:
    """It has what sanitising drops, an open call, equal messages and a hook's word."""
    history = session_history()
    assert sanitised(history) != history
    assert repaired(history) != history
    assert sum(is_human(message) for message in history) == 4
