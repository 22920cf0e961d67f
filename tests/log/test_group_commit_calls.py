"""Calls that group commit makes on the log's thread for nobody who waits."""

import asyncio
import threading

from amplifier_module_context_persistent.log.base import Log
from amplifier_module_context_persistent.log.group_commit import GroupCommit
from amplifier_module_context_persistent.log.memory import MemoryLog
from tests.support.logs import body, giving


async def test_what_nobody_waits_for_is_done_in_its_turn() -> None:
    """On the log's thread, with the log, after what was queued before and alone with the log."""
    log = MemoryLog()
    commit = GroupCommit(log, inline=True)
    own = await commit.run(lambda _: threading.get_ident())
    begun, release = threading.Event(), threading.Event()
    found: list[tuple[bool, int]] = []

    def note(given: Log) -> None:
        begun.set()
        assert release.wait(60)
        found.append((given is log, threading.get_ident()))

    commit.call(note)
    assert await asyncio.to_thread(begun.wait, 60)
    appending = asyncio.ensure_future(commit.append(giving(body(0))))
    await asyncio.sleep(0)
    assert len(log.index) == 0
    release.set()
    assert await appending == range(1)
    assert found == [(True, own)]
    await commit.close()
