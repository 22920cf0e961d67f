"""The names of the beginnings of a conversation."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from amplifier_module_context_persistent import PersistentContextManager
from amplifier_module_context_persistent.log.open_reader import open_reader
from amplifier_module_context_persistent.toolbox.transfer.erasing import talk_names
from amplifier_module_context_persistent.toolbox.transfer.erasing.talk_names import TalkName, talk_in_stored


def names(log: Path, gone: set[int] | None = None) -> list[TalkName]:
    with closing(open_reader(str(log))) as reader:
        reader.follow()
        return talk_in_stored(reader, gone)


async def test_only_what_people_and_the_agent_said_is_searched_for_secrets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Results of tools can be long, and no name has them."""
    searched = list[str]()
    call = {"id": "c1", "tool": "read", "arguments": {}}
    async with PersistentContextManager(tmp_path / "log", durability="write") as manager:
        await manager.add_message({"role": "user", "content": "question"})
        await manager.add_message({"role": "assistant", "content": "calling", "tool_calls": [call]})
        await manager.add_message({"role": "tool", "tool_call_id": "c1", "content": "a long result"})
        await manager.add_message({"role": "assistant", "content": "answer"})
    redact = talk_names.redact_text
    monkeypatch.setattr(talk_names, "redact_text", lambda text: searched.append(text) or redact(text))
    assert len(names(tmp_path / "log")) == 1
    assert searched == ["question", "calling", "answer"]


async def test_a_beginning_with_a_purged_message_is_own_though_older_ones_follow(tmp_path: Path) -> None:
    """A host may put the messages of a history in another order."""
    async with PersistentContextManager(tmp_path / "log", durability="write") as manager:
        for turn in ("one", "two"):
            await manager.add_message({"role": "user", "content": turn})
            await manager.add_message({"role": "assistant", "content": f"answer {turn}"})
        said = await manager.get_messages()
        await manager.set_messages([*said[2:], *said[:2]])
    with closing(open_reader(str(tmp_path / "log"))) as reader:
        reader.follow()
        assert list(reader.index.live) == [2, 3, 0, 1]
    assert [name.is_own for name in names(tmp_path / "log", gone={2, 3})][:2] == [True, True]
