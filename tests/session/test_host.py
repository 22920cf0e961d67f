"""Our module in a real `AmplifierSession`: configuration, place of the log, events."""

import json
from pathlib import Path
from typing import Any

import pytest

from amplifier_module_context_persistent import PersistentContextManager
from tests.support.messages import fill, user
from tests.support.real_sessions import (
    SECRET,
    RecordEvents,
    StartSession,
    configured,
    context_of,
    files_below,
    named,
    texts,
)
from tests.support.recorded_sessions import controls
from tests.support.sweeps import proof

# -- the mount plan ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("context", "plan"),
    [
        ("context-persistent", {"context": {"config": {"compaction_threshold": 0.7}}}),
        ({"module": "context-persistent", "config": {"compaction_threshold": 0.7}}, None),
    ],
    ids=["a name, and `context: {config: …}`", "a module with its config"],
)
async def test_a_mount_plan_configures_our_manager(start_session: StartSession, context: Any, plan: Any) -> None:
    """In both forms of `session: {context: …}`."""
    assert context_of(await start_session(context, plan=plan)).config.compact_threshold == 0.7


# -- where the log lies ------------------------------------------------------------------------------------------------


async def test_the_log_lies_in_the_hosts_directory_of_the_session(
    start_session: StartSession, home: Path, tmp_path: Path
) -> None:
    """The slug is made from the declared working directory as the command line makes it."""
    work = tmp_path / "my app:1"
    work.mkdir()
    context = context_of(await start_session(working_dir=work))
    slug = str(work.resolve()).replace("/", "-").replace("\\", "-").replace(":", "")
    expected = home / ".amplifier" / "projects" / slug / "sessions" / "s1" / "context-messages.jsonl"
    assert slug.startswith("-")
    assert slug.endswith("my app1")
    assert not (home / ".amplifier").exists()
    await context.add_message(user("hello"))
    assert context.log_path == str(expected)
    assert expected.exists()


async def test_a_child_session_gets_a_file_beside_the_configured_one(
    start_session: StartSession, tmp_path: Path
) -> None:
    """Parent and child inherit one configured path and share no log."""
    path = tmp_path / "logs" / "work.jsonl"
    parent = context_of(await start_session(configured(path)))
    child = context_of(await start_session(configured(path), session_id="s1_explorer", parent_id="s1"))
    await parent.add_message(user("to the parent"))
    await child.add_message(user("to the child"))
    assert parent.log_path == str(path)
    assert child.log_path != parent.log_path
    assert Path(str(child.log_path)).parent == path.parent
    assert "s1_explorer" in str(child.log_path)
    assert texts(await parent.get_messages()) == ["to the parent"]
    assert texts(await child.get_messages()) == ["to the child"]


@proof
async def test_a_root_session_continues_another_ones_configured_file(
    start_session: StartSession, record_events: RecordEvents, tmp_path: Path
) -> None:
    """It appends a header of its own with the log's id, and the log decides against `set_messages`."""
    path = tmp_path / "work.jsonl"
    await context_of(await start_session(configured(path), session_id="monday")).add_message(user("one"))
    session = await start_session(configured(path), session_id="tuesday")
    context, events = context_of(session), record_events(session.coordinator)
    assert texts(await context.get_messages()) == ["one"]
    assert len(controls(path, "header")) == 1
    await context.set_messages([])
    await fill(context, [user("two"), user("three")])
    headers = controls(path, "header")
    assert [header["session_id"] for header in headers] == ["monday", "tuesday"]
    assert len({header["log_id"] for header in headers}) == 1
    assert texts(await context.get_messages()) == ["one", "two", "three"]
    assert named(events, "context:set_messages_ignored") == [
        {"ignored_messages": 0, "stored_messages": 1, "unknown_messages": 0}
    ]


@pytest.mark.parametrize("session_id", ["../out", "a/b", "a\\b", "..", "."])
async def test_a_session_id_that_leads_out_is_refused(start_session: StartSession, home: Path, session_id: str) -> None:
    """The session does not start, says which id it was, and nothing is created."""
    with pytest.raises(RuntimeError, match=r"session_id: .* is not allowed"):
        await start_session(session_id=session_id)
    assert files_below(home) == []


# -- events ------------------------------------------------------------------------------------------------------------


async def test_an_added_message_is_told_without_its_content(
    start_session: StartSession, record_events: RecordEvents
) -> None:
    """`context:message_added:debug` carries role, length of the content and the number of messages."""
    session = await start_session()
    events = record_events(session.coordinator)
    await fill(
        context_of(session), [user(SECRET), {"role": "assistant", "content": [{"type": "text", "text": SECRET * 2}]}]
    )
    assert named(events, "context:message_added:debug") == [
        {"role": "user", "content_length": len(SECRET), "total_messages": 1},
        {"role": "assistant", "content_length": 2 * len(SECRET), "total_messages": 2},
    ]
    assert SECRET not in json.dumps(events)


async def test_compaction_is_told_before_and_after_in_counts_alone(
    start_session: StartSession, record_events: RecordEvents, tmp_path: Path
) -> None:
    """The events of a compaction come in order, with the documented keys, and hold no content."""
    session = await start_session(configured(tmp_path / "log.jsonl", max_tokens=2000))
    context, events = context_of(session), record_events(session.coordinator)
    for number in range(60):
        await context.add_message(user(f"{SECRET} {number} " + "word " * 40))
    view = await context.get_messages_for_request()
    names = [event for event, _ in events if event != "context:message_added:debug"]
    assert names == [
        *("context:pre_compact", "context:compaction_started"),
        "context:compaction",
        *("context:post_compact", "context:compaction_finished"),
    ]
    (before,), (after,) = named(events, "context:pre_compact"), named(events, "context:post_compact")
    (told,) = named(events, "context:compaction")
    assert before.keys() == after.keys() == {"message_count", "tokens", "token_count"}
    assert before["message_count"] == 60
    assert after["message_count"] == len(view)
    assert before["tokens"] == before["token_count"] > 2000 >= after["tokens"] == after["token_count"]
    assert told["budget"] == 2000
    assert 1000 <= told["target"] <= 1100  # half of the budget that is left above what cannot go
    assert (told["before_messages"], told["after_messages"]) == (60, len(view))
    assert (told["before_tokens"], told["after_tokens"]) == (before["tokens"], after["tokens"])
    assert told["step"] in range(1, 7)
    assert SECRET not in json.dumps(events)
    events.clear()
    await context.get_messages_for_request()
    assert events == []  # the view follows the plan


class BrokenHost:
    """A coordinator whose hooks and display raise."""

    def __init__(self) -> None:
        self.hooks = self.display_system = self
        self.config: dict[str, Any] = {}

    async def emit(self, *_: Any) -> None:
        raise RuntimeError("broken hooks")

    def show_message(self, *_: Any) -> None:
        raise RuntimeError("broken display")

    def get(self, _: str) -> None:
        return None

    get_capability = get


@pytest.mark.parametrize("place", ["log.jsonl", "file/below/log.jsonl"])
async def test_what_a_host_does_wrong_does_no_harm(
    tmp_path: Path, impossible: Path, caplog: pytest.LogCaptureFixture, place: str
) -> None:
    """Hooks and a display that raise are logged; the message is kept, in the log or in memory."""
    context = PersistentContextManager(tmp_path / place, coordinator=BrokenHost())
    await context.add_message(user("hello"))
    assert texts(await context.get_messages()) == ["hello"]
    assert "could not be emitted" in caplog.text
    assert (context.log_path is None) == (tmp_path / place == impossible)


# -- degradation -------------------------------------------------------------------------------------------------------


async def test_an_unknown_key_is_one_warning_in_a_session(
    start_session: StartSession, caplog: pytest.LogCaptureFixture
) -> None:
    """A host mounts a session twice, first to validate it; the next session warns again."""
    for number in range(2):
        config = {"max_token": 5, "auto_compact": True}
        await start_session({"module": "context-persistent", "config": config}, session_id=f"s{number}")
        (text,) = [record.getMessage() for record in caplog.records if "configuration" in record.getMessage()]
        assert text == "unknown configuration key 'max_token' is ignored; did you mean 'max_tokens'?"
        caplog.clear()
