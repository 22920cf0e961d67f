"""A session at a glance."""

from dataclasses import replace
from pathlib import Path

import pytest

from amplifier_module_context_persistent import PersistentContextManager
from amplifier_module_context_persistent.tokens.counter import EstimateCounter
from amplifier_module_context_persistent.transcript.find_session import SessionFile
from amplifier_module_context_persistent.transcript.overview import Overview, look_at
from tests.support.counted_sessions import MESSAGES, collected, counted_session
from tests.support.messages import fill


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


async def test_a_call_without_a_result_and_a_torn_end_are_interruptions(tmp_path: Path) -> None:
    """Each by itself."""
    calls = [{"id": call_id, "tool": "bash", "arguments": {}} for call_id in ("c1", "c2", "c3")]
    async with PersistentContextManager(tmp_path / "log.jsonl", tokenizer="estimate") as manager:
        await fill(
            manager,
            [
                {"role": "user", "content": "go"},
                {"role": "assistant", "content": "", "tool_calls": calls},
                {"role": "tool", "tool_call_id": "c2", "content": "done"},
            ],
        )
    seen = look_at(session(tmp_path / "log.jsonl"), EstimateCounter(), held=set())
    assert (seen.open_calls, seen.torn_bytes, seen.state) == (2, 0, "interrupted")
    whole = await counted_session(tmp_path / "torn.jsonl")
    with whole.open("ab") as file:
        file.write(b'{"role":"us')
    seen = look_at(session(whole), EstimateCounter(), held=set())
    assert (seen.open_calls, seen.torn_bytes, seen.state) == (0, 11, "interrupted")


def test_what_cannot_be_read_is_told(tmp_path: Path) -> None:
    """With no figures."""
    (tmp_path / "log.jsonl").symlink_to(tmp_path / "elsewhere")
    seen = look_at(session(tmp_path / "log.jsonl"), EstimateCounter(), held=set())
    assert seen.state == "unreadable"
    assert "symbolic link" in seen.error
    assert seen.messages == 0


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
