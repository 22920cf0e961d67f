"""What a host's list does after a purge: no session takes back what was purged, and none loses what is new."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from amplifier_module_context_persistent import PersistentContextManager
from amplifier_module_context_persistent.session.store import Store
from tests.support.commands import run

KEY = "sk-leaked-0123456789"
SAID = [
    {"role": "user", "content": "one"},
    {"role": "assistant", "content": f"your key is {KEY}"},
    {"role": "user", "content": "two"},
    {"role": "assistant", "content": "Yes."},
]
PURGES = [["--redact", KEY], ["--everything"], ["--before", "LAST"]]


async def purge(path: Path, options: list[str], last_id: str) -> None:
    given = [last_id if option == "LAST" else option for option in options]
    await asyncio.to_thread(run, "purge", path, *given, "--yes")


@pytest.mark.parametrize("options", PURGES, ids=" ".join)
@pytest.mark.parametrize("has_ids", [True, False])
async def test_a_resumed_session_takes_nothing_back(tmp_path: Path, options: list[str], *, has_ids: bool) -> None:
    path = tmp_path / "log.jsonl"
    async with PersistentContextManager(path) as manager:
        await manager.set_messages(SAID)
        known = await manager.get_messages()
        await manager.add_message({"role": "user", "content": "three"})
    async with PersistentContextManager(path) as manager:
        await purge(path, options, known[-1]["metadata"]["message_id"])
        await manager.set_messages(known if has_ids else SAID)
        assert KEY not in str(await manager.get_messages())
    assert KEY.encode() not in path.read_bytes()


@pytest.mark.parametrize("options", PURGES, ids=" ".join)
async def test_what_is_new_in_the_list_of_a_new_session_is_stored(tmp_path: Path, options: list[str]) -> None:
    """Also without ids and times, as an agent has it that sets its own list each time."""
    path = tmp_path / "log.jsonl"
    async with PersistentContextManager(path) as manager:
        await manager.set_messages(SAID)
        await purge(path, options, (await manager.get_messages())[-1]["metadata"]["message_id"])
        await manager.set_messages([*await manager.get_messages(), {"role": "user", "content": "three"}])
        assert (await manager.get_messages())[-1]["content"] == "three"


THREE = {"role": "user", "content": "three"}
YES = {"role": "assistant", "content": "Yes."}
"""The same words as in a message that is purged."""


def said(messages: list[dict[str, Any]]) -> list[Any]:
    return [message["content"] for message in messages]


@pytest.mark.parametrize("options", PURGES, ids=" ".join)
@pytest.mark.parametrize("has_ids", [True, False])
async def test_a_new_session_takes_nothing_back(tmp_path: Path, options: list[str], *, has_ids: bool) -> None:
    """Neither when the old list is set again, nor when it grows; and what is new is stored once, in its place."""
    path = tmp_path / "log.jsonl"
    async with PersistentContextManager(path) as manager:
        await manager.set_messages(SAID[:2])
        await manager.set_messages(SAID)
        known = await manager.get_messages() if has_ids else SAID
        await purge(path, options, (await manager.get_messages())[-1]["metadata"]["message_id"])
        left = said(await manager.get_messages())
        for new in ([], [THREE], [THREE], [THREE, YES], [THREE, YES, THREE]):
            await manager.set_messages([*known, *new])
            assert said(await manager.get_messages()) == [*left, *said(new)]
    assert KEY.encode() not in path.read_bytes()
    assert path.read_bytes().count(b"three") == 2


@pytest.mark.parametrize("options", [["--redact", KEY], ["--secrets"]], ids=" ".join)
async def test_a_purged_text_does_not_come_back_in_another_list(tmp_path: Path, options: list[str]) -> None:
    """The agent shortened its list, and added messages one by one before: the list begins with nothing known."""
    key = "sk-ant-api03-" + "Zx81kQ" * 15 + "AA" if options == ["--secrets"] else KEY
    path = tmp_path / "log.jsonl"
    async with PersistentContextManager(path) as manager:
        await manager.set_messages([SAID[0]])
        await manager.add_message({"role": "assistant", "content": f"your key is {key}"})
        await manager.add_message(SAID[2])
        await purge(path, options, "")
        summary = {"role": "user", "content": f"Summary: the key {key} was found."}
        await manager.set_messages([summary, SAID[2], THREE])
        assert said(await manager.get_messages()) == ["Summary: the key [redacted] was found.", "two", "three"]
    assert key.encode() not in path.read_bytes()


async def test_messages_added_one_by_one_before_a_purge_are_not_taken_for_new(tmp_path: Path) -> None:
    """The list that the agent set last is then shorter than what it said before the purge."""
    path = tmp_path / "log.jsonl"
    async with PersistentContextManager(path) as manager:
        await manager.set_messages(SAID[:1])
        for message in SAID[1:]:
            await manager.add_message(message)
        await purge(path, ["--redact", KEY], "")
        await manager.set_messages([*SAID, THREE])
        assert said(await manager.get_messages()) == ["one", "your key is [redacted]", "two", "Yes.", "three"]
    assert KEY.encode() not in path.read_bytes()


async def test_what_is_said_after_a_purge_is_stored_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    async with PersistentContextManager(path) as manager:
        await manager.set_messages(SAID)
        await purge(path, ["--redact", KEY], "")
        again = {"role": "user", "content": f"Use {KEY} all the same."}
        await manager.set_messages([*SAID, again])
        assert said(await manager.get_messages())[-1] == again["content"]


@pytest.mark.parametrize("change", ["clear", "rewind"])
@pytest.mark.parametrize("is_purged_after", [True, False])
async def test_an_agent_begins_anew_in_a_purged_session(tmp_path: Path, change: str, *, is_purged_after: bool) -> None:
    """It clears or rewinds the history itself, and then sets the same list: it means the list."""
    async with PersistentContextManager(tmp_path / "log.jsonl") as manager:
        await manager.set_messages(SAID)
        for is_change in (is_purged_after, not is_purged_after):
            if is_change and change == "clear":
                await manager.clear()
            elif is_change:
                await manager.rewind(to=1)
            else:
                await purge(tmp_path / "log.jsonl", ["--redact", KEY], "")
                if not is_purged_after:
                    await manager.set_messages(SAID)
        await manager.set_messages([*SAID, THREE])
        assert said(await manager.get_messages()) == ["one", "your key is [redacted]", "two", "Yes.", "three"]


async def test_an_edit_in_the_middle_counts_in_a_purged_session(tmp_path: Path) -> None:
    async with PersistentContextManager(tmp_path / "log.jsonl") as manager:
        await manager.set_messages(SAID)
        await purge(tmp_path / "log.jsonl", ["--redact", KEY], "")
        await manager.set_messages(SAID)
        await manager.set_messages([*SAID[:2], {"role": "user", "content": "[cleared]"}, SAID[3], THREE])
        assert said(await manager.get_messages()) == ["one", "your key is [redacted]", "[cleared]", "Yes.", "three"]


async def test_an_agent_without_ids_goes_on_after_its_messages_were_purged(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    async with PersistentContextManager(path) as manager:
        await manager.set_messages([*SAID, THREE])
        last_id = (await manager.get_messages())[2]["metadata"]["message_id"]
    await purge(path, ["--before", "LAST"], last_id)
    async with PersistentContextManager(path) as manager:
        own = [*SAID[2:], THREE]
        for text in ("four", "five"):
            own.append({"role": "user", "content": text})
            await manager.set_messages(own)
            assert said(await manager.get_messages()) == said(own)


async def test_a_purge_between_comparing_and_storing_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The list is read once more under the log's lock."""
    path = tmp_path / "log.jsonl"
    async with PersistentContextManager(path) as manager:
        await manager.set_messages(SAID)
        append = Store.append

        async def purge_first(store: Store, *arguments: Any, **options: Any) -> Any:
            monkeypatch.undo()
            await purge(path, ["--redact", KEY], "")
            return await append(store, *arguments, **options)

        monkeypatch.setattr(Store, "append", purge_first)
        await manager.set_messages([*SAID, THREE])
        assert said(await manager.get_messages()) == ["one", "your key is [redacted]", "two", "Yes.", "three"]
    assert KEY.encode() not in path.read_bytes()
