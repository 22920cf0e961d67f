"""A session over a log that lost a block which its snapshot covers: it notices, and nothing is interrupted."""

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from amplifier_module_context_persistent import PersistentContextManager
from tests.support.messages import fill, user
from tests.support.resumed_sessions import open_manager
from tests.support.snapshots import alter_unseen, always, is_used, remove

Ask = Callable[[PersistentContextManager], Awaitable[object]]

ASKED: dict[str, Ask] = {
    "the history": lambda manager: manager.get_messages(),
    "a request": lambda manager: manager.get_messages_for_request(),
    "whether to compact": lambda manager: manager.should_compact(),
    "a given history": lambda manager: manager.set_messages([user("Step 0."), user("Step 1.")]),
}


@pytest.mark.parametrize("asked", list(ASKED))
async def test_a_session_reads_what_it_reads_without_the_snapshot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, asked: str
) -> None:
    """Whatever meets the loss first answers, and then the same is known."""
    always(monkeypatch)
    path = tmp_path / "log.jsonl"
    async with open_manager(path) as manager:
        await fill(manager, [user(f"Step {number}.") for number in range(40)])
    content = path.read_bytes()
    alter_unseen(str(path), content[:1_000] + bytes(700) + content[1_700:])
    async with open_manager(path) as manager:
        await ASKED[asked](manager)
        found = await manager.get_messages(), await manager.get_messages_for_request()
        assert not is_used(str(path))
    assert 30 < len(found[0]) < 40
    remove(str(path))
    async with open_manager(path) as manager:
        assert found == (await manager.get_messages(), await manager.get_messages_for_request())
