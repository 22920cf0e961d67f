"""What a host's list does after a purge: a resumed session takes nothing back, and no session loses what is new."""

import asyncio
from pathlib import Path

import pytest

from amplifier_module_context_persistent import PersistentContextManager
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
