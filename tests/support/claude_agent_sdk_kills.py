"""The mirror of the Claude Agent SDK: appends batches until it is killed, and tries the last one again."""

from __future__ import annotations

import json

from amplifier_module_context_persistent.adapters.claude_agent_sdk import PersistentSessionStore
from tests.support.claude_entries import says
from tests.support.kit_kills import STORED, note

KEY = {"project_key": "p", "session_id": "s"}
BATCH = 3


async def run(place: str, window_tokens: int) -> None:
    """Append for ever, from the batch before the end on: nobody knows whether it was acknowledged."""
    store = PersistentSessionStore(place, durability="write")
    number = max(0, len(await store.load(KEY) or []) - BATCH)
    known = number + BATCH
    while True:
        batch = [says(f"k{n}", None, f"{n} " + "x" * (n % 7) * 20_000) for n in range(number, number + BATCH)]
        await store.append(KEY, batch)
        number += BATCH
        if number > known:
            for entry in batch:
                note(STORED, entry["uuid"])


async def stored(place: str) -> list[str]:
    """What the session holds; whole batches, in order."""
    store = PersistentSessionStore(place)
    uuids = [entry["uuid"] for entry in await store.load(KEY) or []]
    await store.close()
    assert uuids == [f"k{n}" for n in range(len(uuids))]
    assert len(uuids) % BATCH == 0
    return [json.dumps(uuid) for uuid in uuids]
