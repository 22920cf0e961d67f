"""A session at a glance."""

from dataclasses import replace
from pathlib import Path

import pytest

from amplifier_module_context_persistent import PersistentContextManager
from amplifier_module_context_persistent.tokens.counter import EstimateCounter
from amplifier_module_context_persistent.transcript.find_session import SessionFile
from amplifier_module_context_persistent.transcript.overview import Overview, look_at
from tests.support.counted_sessions import MESSAGES, collected, counted_session


def session(path: Path) -> SessionFile:
    return SessionFile(path, "s1", "project", 1.0)


async def test_a_session_is_counted(tmp_path: Path) -> None:
    """Messages, tokens and the first line that a person wrote; nothing is open or torn."""
    path = await counted_session(tmp_path / "log.jsonl")
    seen = look_at(session(path), EstimateCounter(), held=set())
    assert (seen.messages, seen.hidden, seen.damage, seen.open_calls, seen.error) == (len(MESSAGES), 0, 0, 0, "")
    assert (seen.tokens, seen.size_bytes) == (collected(path).total.tokens, path.stat().st_size)
    assert seen.first_line == next(m["content"] for m in MESSAGES if m["role"] == "user").split("\n")[0]
    assert seen.state == "sound"
    assert seen.to_json()["tokens"] == seen.tokens


async def test_what_was_cleared_is_hidden(tmp_path: Path) -> None:
    """It is still in the log."""
    path = await counted_session(tmp_path / "log.jsonl")
    async with PersistentContextManager(path, tokenizer="estimate") as manager:
        await manager.clear()
    seen = look_at(session(path), EstimateCounter(), held=set())
    assert (seen.messages, seen.hidden, seen.tokens, seen.first_line) == (0, len(MESSAGES), 0, "")


@pytest.mark.parametrize(
    ("changes", "state"),
    [
        ({}, "sound"),
        ({"is_open": True}, "open"),
        ({"is_open": True, "open_calls": 1}, "open"),
        ({"damage": 1}, "damaged"),
        ({"damage": 1, "is_open": True}, "open, damaged"),
        ({"torn_bytes": 1}, "interrupted"),
        ({"error": "x", "damage": 1}, "unreadable"),
    ],
)
def test_a_state_is_one_word_or_two(changes: dict[str, object], state: str) -> None:
    """The worst that is known."""
    assert replace(Overview(session=session(Path("x"))), **changes).state == state
