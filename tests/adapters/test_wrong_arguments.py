"""What a kit's user may give by mistake: each adapter says what it was given and what it expects."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("agents", reason="openai-agents is not installed (the extra `kits`)")
pytest.importorskip("claude_agent_sdk", reason="claude-agent-sdk is not installed (the extra `kits`)")
pytest.importorskip("pydantic_ai", reason="pydantic-ai-slim is not installed (the extra `kits`)")
pytest.importorskip("agent_framework", reason="agent-framework-core is not installed (the extra `kits`)")

from agent_framework import Message

from amplifier_module_context_persistent import open_session
from amplifier_module_context_persistent.adapters.agent_framework import PersistentHistory
from amplifier_module_context_persistent.adapters.claude_agent_sdk import PersistentSessionStore
from amplifier_module_context_persistent.adapters.openai_agents import PersistentSession
from amplifier_module_context_persistent.adapters.pydantic_ai import PersistentConversationStore, ViewOfHistory

MAKERS: dict[str, Callable[..., Any]] = {
    "open_session": lambda place, **more: open_session("s", place, **more),
    "openai_agents": lambda place, **more: PersistentSession("s", place, **more),
    "claude_agent_sdk": PersistentSessionStore,
    "pydantic_ai": PersistentConversationStore,
    "agent_framework": PersistentHistory,
}


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_what_is_no_place_is_refused(make: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A URL of something else, another type, an empty text, two places at once."""
    monkeypatch.chdir(tmp_path)
    for place in ("mysql://u:secret@h/db", Path("postgresql://u:secret@h/db"), "file:///x", 5, b"x", "", ["a"], "a\0b"):
        with pytest.raises(ValueError, match=r"give |a place of sessions is") as caught:
            make(place)
        assert "secret" not in str(caught.value)
    for option in ({"storage_path": "x"}, {"transcript_path": "x"}, {"storage": "postgresql://h/d"}):
        with pytest.raises(ValueError, match="the place is given already"):
            make("place", **option)
    assert list(tmp_path.iterdir()) == []


KEY: Any = {"project_key": "p", "session_id": "s"}
ONE: Any = Message("user", ["x"])
WRONG: dict[str, Callable[[Any], Any]] = {
    "items: a list of messages is expected, not NoneType": lambda at: PersistentSession("s", at).add_items(None),
    "items: a list of messages is expected, not dict": lambda at: PersistentSession("s", at).add_items(
        {"role": "user"}
    ),
    "items: a message must be a JSON object, not str": lambda at: PersistentSession("s", at).add_items(["x"]),
    "limit must be a whole number, not str": lambda at: PersistentSession("s", at).get_items("5"),
    "is an object with project_key and session_id, not None": lambda at: PersistentSessionStore(at).load(None),
    "is an object with project_key and session_id, not {}": lambda at: PersistentSessionStore(at).list_subkeys({}),
    "an entry must be a JSON object, not int": lambda at: PersistentSessionStore(at).append(KEY, [5]),
    "entries: a list of messages is expected, not dict": lambda at: PersistentSessionStore(at).append(KEY, KEY),
    "save: a list of messages is expected, not Message": lambda at: PersistentHistory(at).provider.save_messages(
        "s", ONE
    ),
    "a message of the framework is expected, not dict": lambda at: PersistentHistory(at).provider.save_messages(
        "s", [{}]
    ),
    "compact: a message of the framework is expected, not str": lambda at: PersistentHistory(at).compaction(["x"]),
    "no conversation holds the entry None": lambda at: PersistentConversationStore(at).read_entry(None),
    "store: a PersistentConversationStore is expected, not .*Path": ViewOfHistory,
    "add: a list of messages is expected, not NoneType": lambda at: open_session("s", at).add_messages(None),
    "set: a list of messages is expected, not str": lambda at: open_session("s", at).set_messages("x"),
    "a place is a turn's number or a message's id, not list": lambda at: open_session("s", at).rewind([1]),
}


@pytest.mark.parametrize("said", WRONG)
def test_a_wrong_argument_is_named(said: str, tmp_path: Path) -> None:
    """By what it is and what is expected, not by an error from inside; nothing is stored."""

    async def call() -> None:
        await WRONG[said](tmp_path)

    with pytest.raises((ValueError, TypeError, LookupError), match=said.rpartition(": ")[2]):
        asyncio.run(call())
    assert not list(tmp_path.rglob("*.jsonl"))


async def test_an_item_of_any_kind_comes_back(tmp_path: Path) -> None:
    """Also one whose type is no text."""
    session = PersistentSession("s", tmp_path)
    items: Any = [{"type": [1]}, {"role": 5, "type": {}}, {"role": "user", "content": [{"type": [2]}]}]
    await session.add_items(items)
    assert await session.get_items() == items
    await session.close()
