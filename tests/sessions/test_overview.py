"""A session at a glance."""

from dataclasses import replace
from pathlib import Path

import pytest

from amplifier_module_context_persistent import PersistentContextManager
from amplifier_module_context_persistent.catalogue.session_list_cache import LEAST_LOG_BYTES, Glances
from amplifier_module_context_persistent.messages.secrets.redact import redact_text
from amplifier_module_context_persistent.sessions.overview import Overview, overview_of, without_secrets
from amplifier_module_context_persistent.sessions.session_files import SessionFile
from amplifier_module_context_persistent.tokens.counter import EstimateCounter
from tests.support.counted_sessions import MESSAGES, collected, counted_session
from tests.support.counters import DoubleCounter
from tests.support.secret_forms import FORMS, line_with_secrets
from tests.support.secret_ways import filled, ways
from tests.support.sessions_of_a_home import write
from tests.support.sweeps import spread


def session(path: Path) -> SessionFile:
    return SessionFile(path, "s1", "project", 1.0)


async def test_a_session_is_counted(tmp_path: Path) -> None:
    """Messages, tokens and the first line that a person wrote; nothing is open or torn."""
    path = await counted_session(tmp_path / "log.jsonl")
    seen = overview_of(session(path), held=set())
    assert (seen.messages, seen.hidden, seen.damage, seen.open_calls, seen.error) == (len(MESSAGES), 0, 0, 0, "")
    assert (seen.tokens, seen.size_bytes) == (collected(path).total.tokens, path.stat().st_size)
    assert seen.first_line == next(m["content"] for m in MESSAGES if m["role"] == "user").split("\n")[0]
    assert seen.state == "sound"
    assert seen.to_json()["tokens"] == seen.tokens


@pytest.mark.parametrize(("name", "form"), list(spread(FORMS, 6)))
def test_a_first_line_is_redacted_as_any_text(name: str, form: str) -> None:
    """The quick test before the rules misses no published form of a secret."""
    line, _ = line_with_secrets(form, 1)
    assert without_secrets(line) == redact_text(line)


@pytest.mark.parametrize("name", ["build", "check", "kinds", "pasted", "sources", "spread"])
def test_no_line_of_the_lists_of_ways_keeps_its_secret(name: str) -> None:
    """A password has no word beside it that the quick test knows: `mysql -u root -p…`, a line of `.pgpass`."""
    texts = [filled(template, seed)[0] for seed, (_, template) in spread(enumerate(ways(name)), 6)]
    lines = [line for text in texts for line in text.splitlines()]
    assert [line for line in lines if without_secrets(line) != redact_text(line)] == []


@pytest.mark.parametrize(
    "line", ["PA\u017fSWORD=Ab3dE5gH7jK9xx", "to\u212aen=Ab3dE5gH7jK9xx", "p\u0131n: 4821 is my p\u0131n"]
)
def test_a_letter_that_only_folds_to_another_hides_no_secret(line: str) -> None:
    assert without_secrets(line) == redact_text(line)


def test_what_another_counter_counts_is_neither_kept_nor_taken_from_what_is_kept(tmp_path: Path) -> None:
    path = write(tmp_path / "log.jsonl", [{"role": "user", "content": "some words " * 100}] * 100)
    path.chmod(0o600)
    assert path.stat().st_size > LEAST_LOG_BYTES

    def tokens(counter: EstimateCounter | None) -> tuple[int, str]:
        glances = Glances()
        seen = overview_of(session(path), held=set(), glances=glances, counter=counter)
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
    seen = overview_of(session(path), held=set())
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
