"""A host's list does not bring back what was purged while the session was open, however the session began."""

import asyncio
from pathlib import Path
from typing import Any

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


@pytest.mark.parametrize("purge", [["--redact", KEY], ["--everything"], ["--before", "LAST"]], ids=" ".join)
@pytest.mark.parametrize("has_ids", [True, False])
@pytest.mark.parametrize("more", [[], [{"role": "user", "content": "three"}]], ids=["the same", "one more"])
async def test_an_old_list_brings_nothing_back(
    tmp_path: Path, purge: list[str], more: list[dict[str, Any]], *, has_ids: bool
) -> None:
    path = tmp_path / "log.jsonl"
    async with PersistentContextManager(path) as manager:
        await manager.set_messages(SAID)
        known = await manager.get_messages()
        old = known if has_ids else SAID
        last_id = known[-1]["metadata"]["message_id"]
        options = [last_id if option == "LAST" else option for option in purge]
        await asyncio.to_thread(run, "purge", path, *options, "--yes")
        await manager.set_messages([*old, *more])
        assert KEY.encode() not in path.read_bytes()
        assert KEY not in str(await manager.get_messages())
    async with PersistentContextManager(path) as manager:
        assert KEY not in str(await manager.get_messages())


async def test_without_a_purge_a_list_replaces_the_history_of_a_new_session(tmp_path: Path) -> None:
    async with PersistentContextManager(tmp_path / "log.jsonl") as manager:
        await manager.set_messages(SAID)
        await manager.set_messages(SAID[:1])
        assert [message["content"] for message in await manager.get_messages()] == ["one"]
