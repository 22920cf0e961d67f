"""A session at a glance."""

from dataclasses import replace
from pathlib import Path

import pytest

from amplifier_module_context_persistent import PersistentContextManager
from amplifier_module_context_persistent.catalogue.session_list_cache import LEAST_LOG_BYTES, Glances
from amplifier_module_context_persistent.sessions.find_session import SessionFile
from amplifier_module_context_persistent.sessions.overview import Overview, look_at
from amplifier_module_context_persistent.tokens.counter import EstimateCounter
from tests.support.counted_sessions import MESSAGES, collected, counted_session
from tests.support.counters import DoubleCounter
from tests.support.sessions_of_a_home import write


def session(path: Path) -> SessionFile:
    return SessionFile(path, "s1", "project", 1.0)


async def test_a_session_is_counted(tmp_path: Path) -> None:
    """Messages, tokens and the first line that a person wrote; nothing is open or torn."""
    path = await counted_session(tmp_path / "log.jsonl")
    seen = look_at(session(path), held=set())
    assert (seen.messages, seen.hidden, seen.damage, seen.open_calls, seen.error) == (len(MESSAGES), 0, 0, 0, "")
    assert (seen.tokens, seen.size_bytes) == (collected(path).total.tokens, path.stat().st_size)
    assert seen.first_line == next(m["content"] for m in MESSAGES if m["role"] == "user").split("\n")[0]
    assert seen.state == "sound"
    assert seen.to_json()["tokens"] == seen.tokens


def test_what_another_counter_counts_is_neither_kept_nor_taken_from_what_is_kept(tmp_path: Path) -> None:
    path = write(tmp_path / "log.jsonl", [{"role": "user", "content": "some words " * 100}] * 100)
    path.chmod(0o600)
    assert path.stat().st_size > LEAST_LOG_BYTES

    def tokens(counter: EstimateCounter | None) -> tuple[int, str]:
        glances = Glances()
        seen = look_at(session(path), held=set(), glances=glances, counter=counter)
        glances.keep()
        return seen.tokens, seen.tokenizer

    other = DoubleCounter()
    expected = {counter: tokens(counter) for counter in (other, None)}
    assert len(set(expected.values())) == 2
    for counter in (None, other, None):
        assert tokens(counter) == expected[counter]


async def test_what_was_cleared_is_hidden(tmp_path: Path) -> None:
    """It is still in the log."""
    path = await counted_session(tmp_path / "log.jsonl")
    async with PersistentContextManager(path, tokenizer="estimate") as manager:
        await manager.clear()
    seen = look_at(session(path), held=set())
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
