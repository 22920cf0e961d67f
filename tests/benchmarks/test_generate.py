"""The generated sessions are deterministic, valid, and of the sizes and the shape they promise."""

import hashlib
import json
import os
import subprocess
import sys
from collections import Counter
from itertools import islice
from statistics import fmean

import pytest

from amplifier_module_context_persistent.tokens.counter import count_message, open_counter
from amplifier_module_context_persistent.toolbox.replay.evidence import PlayedSession
from amplifier_module_context_persistent.toolbox.replay.policies import CachedCounter
from benchmarks.compaction import play_all
from fixtures.generate import generate_session
from fixtures.kinds import KINDS, generate_kind
from tests.support.checker import check_view
from tests.support.histories import numbered
from tests.support.places import ROOT
from tests.support.sweeps import proof

# The sha256 of the lines of seed 7: of 60 messages, and of 6,000 with the sizes that were recorded in real sessions.
SMALL_SESSION = "ec81870570ba4db9ab643c6ae0925ffd1710eb05ccdcc6df1ecab5e4c4c6942a"
LARGE_SESSION = "0a39ea3db914104c0310796d97a91ed8fb84119116a276dff52e30b3e170353f"


def lines(seed: int, messages: int, mean_bytes: int = 1_000) -> list[bytes]:
    session = generate_session(seed, messages, mean_bytes=mean_bytes)
    return [json.dumps(m, ensure_ascii=False, separators=(",", ":")).encode() + b"\n" for m in session]


@proof
def test_sessions_are_the_recorded_ones() -> None:
    """The bytes of a session are the same in every process and Python version: sizes, roles, repeated reads."""
    assert hashlib.sha256(b"".join(lines(7, 60))).hexdigest() == SMALL_SESSION
    assert hashlib.sha256(b"".join(lines(7, 6_000, 0))).hexdigest() == LARGE_SESSION


def test_command_line_writes_the_same_lines() -> None:
    """The command writes what the function yields, whatever the process's hash seed."""
    command = [sys.executable, "-m", "fixtures.generate", "--seed", "7", "--messages", "60"]
    root = str(ROOT)
    run = subprocess.run(command, cwd=root, env={**os.environ, "PYTHONHASHSEED": "4"}, capture_output=True, check=True)
    assert run.stdout == b"".join(lines(7, 60))


def test_a_shorter_session_is_a_beginning() -> None:
    """Sessions of one seed begin alike, up to the last calls, which a shorter one leaves out."""
    longer = list(generate_session(3, 200))
    assert list(generate_session(3, 100))[:85] == longer[:85]


@proof(quick=3)
@pytest.mark.parametrize("n", [*range(12), 57, 100, 101])
def test_length(n: int) -> None:
    """A session has exactly as many messages as were asked for, and ends whole."""
    session = list(generate_session(5, n))
    assert len(session) == n
    assert check_view(session) == []


@proof(quick=1)
@pytest.mark.parametrize("mean_bytes", [0, 500])
def test_valid(mean_bytes: int) -> None:
    """Every session is a valid view of itself."""
    history = numbered(list(generate_session(11, 1_000, mean_bytes=mean_bytes)))
    assert check_view(history, history=history) == []


def test_lazy() -> None:
    """Messages come as they are asked for, so a session of any length can be begun."""
    assert len(list(islice(generate_session(1, 10**9), 5))) == 5


@proof(quick=1)
@pytest.mark.parametrize("mean_bytes", [600, 4_000])
def test_mean_bytes(mean_bytes: int) -> None:
    """The mean line comes to the bytes that were asked for, within a tenth."""
    sizes = [len(line) for line in lines(13, 2_000, mean_bytes)]
    assert sum(sizes) / len(sizes) == pytest.approx(mean_bytes, rel=0.1)


MESSAGES = 300
SEEDS = {"service": range(1, 5)}
"""The sessions of a kind that are played, if not the first: few of their actions need what is far back."""


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_seed_gives_the_same_session(kind: str) -> None:
    """With a result for every call."""
    messages = generate_kind(kind, 1, MESSAGES)
    assert messages == generate_kind(kind, 1, MESSAGES) != generate_kind(kind, 2, MESSAGES)
    calls = Counter(call["id"] for message in messages for call in message.get("tool_calls", ()))
    assert calls == Counter(message["tool_call_id"] for message in messages if message["role"] == "tool")
    assert MESSAGES <= len(messages) < MESSAGES + 10


@proof
@pytest.mark.parametrize("kind", KINDS)
def test_a_view_knows_more_of_far_back_than_a_sliding_window(kind: str) -> None:
    """In the mean of some sessions and of two budgets, for about the same bill; each view is checked."""
    counter = CachedCounter(open_counter("estimate"))
    far: dict[str, list[float]] = {"sliding": [], "truncate": []}
    billed: dict[str, list[float]] = {"sliding": [], "truncate": []}
    for seed in SEEDS.get(kind, (1,)):
        messages = generate_kind(kind, seed, MESSAGES if kind in SEEDS else 200)
        session = PlayedSession.of(kind, messages, lambda message: count_message(message, counter))
        budgets = [session.tokens // 8, session.tokens // 4]
        for row in play_all([session], counter, list(far), budgets, {"tokenizer": "estimate"}):
            assert row.invalid == 0, row.violations
            far[row.policy].append(row.far)
            billed[row.policy].append(row.billed_ratio or 0.0)
    assert fmean(far["truncate"]) >= fmean(far["sliding"])
    assert fmean(billed["truncate"]) <= 1.05 * fmean(billed["sliding"])
