"""The generated sessions are deterministic, valid, and of the sizes and the shape they promise."""

import hashlib
import json
import os
import re
import subprocess
import sys
from collections import Counter
from itertools import islice
from statistics import fmean
from typing import Any

import pytest

from amplifier_module_context_persistent.replay.evidence import PlayedSession
from amplifier_module_context_persistent.replay.policies import CachedCounter
from amplifier_module_context_persistent.tokens.counter import count_message, open_counter
from benchmarks.compaction import play_all
from fixtures.generate import generate_session
from fixtures.kinds import KINDS, generate_kind
from tests.support.checker import check_view, is_human
from tests.support.histories import numbered
from tests.support.places import ROOT

# The sha256 of the lines of seed 7, 60 messages.
SMALL_SESSION = "ec81870570ba4db9ab643c6ae0925ffd1710eb05ccdcc6df1ecab5e4c4c6942a"


def lines(seed: int, messages: int, mean_bytes: int = 1_000) -> list[bytes]:
    session = generate_session(seed, messages, mean_bytes=mean_bytes)
    return [json.dumps(m, ensure_ascii=False, separators=(",", ":")).encode() + b"\n" for m in session]


def results(session: list[dict[str, Any]]) -> list[str]:
    return [m["content"] for m in session if m["role"] == "tool"]


def test_small_session_is_the_recorded_one() -> None:
    """The bytes of a session are the same in every process and Python version."""
    assert hashlib.sha256(b"".join(lines(7, 60))).hexdigest() == SMALL_SESSION


def test_command_line_writes_the_same_lines() -> None:
    """The command writes what the function yields, whatever the process's hash seed."""
    command = [sys.executable, "-m", "fixtures.generate", "--seed", "7", "--messages", "60"]
    root = str(ROOT)
    run = subprocess.run(command, cwd=root, env={**os.environ, "PYTHONHASHSEED": "4"}, capture_output=True, check=True)
    assert run.stdout == b"".join(lines(7, 60))


def test_seeds_differ() -> None:
    """Another seed gives another session."""
    assert lines(1, 20) != lines(2, 20)


def test_a_shorter_session_is_a_beginning() -> None:
    """Sessions of one seed begin alike, up to the last calls, which a shorter one leaves out."""
    longer = list(generate_session(3, 200))
    assert list(generate_session(3, 100))[:85] == longer[:85]


@pytest.mark.parametrize("n", [*range(12), 57, 100, 101])
def test_length(n: int) -> None:
    """A session has exactly as many messages as were asked for, and ends whole."""
    session = list(generate_session(5, n))
    assert len(session) == n
    assert check_view(session) == []


@pytest.mark.parametrize("mean_bytes", [0, 500, 1_000])
def test_valid(mean_bytes: int) -> None:
    """Every session is a valid view of itself."""
    history = numbered(list(generate_session(11, 3_000, mean_bytes=mean_bytes)))
    assert check_view(history, history=history) == []


def test_lazy() -> None:
    """Messages come as they are asked for, so a session of any length can be begun."""
    assert len(list(islice(generate_session(1, 10**9), 5))) == 5


@pytest.mark.parametrize("mean_bytes", [600, 1_000, 2_000, 4_000])
def test_mean_bytes(mean_bytes: int) -> None:
    """The mean line comes to the bytes that were asked for, within a tenth."""
    sizes = [len(line) for line in lines(13, 10_000, mean_bytes)]
    assert sum(sizes) / len(sizes) == pytest.approx(mean_bytes, rel=0.1)


def test_natural_sizes() -> None:
    """Unscaled results have the sizes that were recorded in real sessions."""
    sizes = sorted(len(text) for text in results(list(generate_session(17, 20_000, mean_bytes=0))))
    quantile = {q: sizes[int(len(sizes) * q)] for q in (0.5, 0.9, 0.99)}
    assert quantile[0.5] == pytest.approx(412, rel=0.2)
    assert quantile[0.9] == pytest.approx(7_904, rel=0.2)
    assert quantile[0.99] == pytest.approx(31_700, rel=0.2)


def test_roles() -> None:
    """Roles are mixed as in recorded sessions."""
    session = list(generate_session(19, 10_000))
    share = {role: n / len(session) for role, n in Counter(m["role"] for m in session).items()}
    assert share == pytest.approx({"user": 0.02, "assistant": 0.45, "tool": 0.53}, abs=0.02)
    parallel = Counter(len(m.get("tool_calls", ())) for m in session if m["role"] == "assistant")
    assert parallel[1] > 5 * parallel[2] > 5 * parallel[3] > 0
    assert max(parallel) > 4
    assert sum(is_human(m) for m in session) > 50
    assert any(m["metadata"].get("source") == "hook" for m in session)


def test_contents() -> None:
    """Code, logs, diffs, JSON, Markdown, Chinese text, signed thinking and errors at the end all occur."""
    session = list(generate_session(23, 4_000, mean_bytes=0))
    found = results(session)
    everything = "\n".join(found)
    for sign in ("\tdef ", "ERROR shop.api", "diff --git", '"price": ', "# About the", "说明", " PASSED ["):
        assert sign in everything, sign
    assert sum(len(text) > 3_000 and "1 failed" in text[-100:] for text in found) > 10
    thinking = [b for m in session if m["role"] == "assistant" for b in m["content"] if b["type"] == "thinking"]
    assert len(thinking) > 100
    assert all(len(b["signature"]) > 300 for b in thinking)


def test_reads_repeat() -> None:
    """Files are read again, also with the very same arguments."""
    reads = Counter(
        json.dumps(call["arguments"])
        for m in generate_session(29, 4_000)
        for call in m.get("tool_calls", ())
        if call["tool"] == "read_file"
    )
    assert sum(n - 1 for n in reads.values()) > 30
    paths = Counter(json.loads(arguments)["path"] for arguments in reads.elements())
    assert sum(n > 3 for n in paths.values()) > 20


def test_far_evidence() -> None:
    """Values that stood in a result come up again over a thousand messages later."""
    first: dict[str, int] = {}
    far = set()
    for i, message in enumerate(generate_session(31, 6_000)):
        text = json.dumps(message, ensure_ascii=False)
        for value in re.findall(r"\b(?:req_[0-9a-f]{8}|[1-9][0-9]{4}|src/shop/\w+/\w+\.py)\b", text):
            if i - first.setdefault(value, i) > 1_000:
                far.add(value)
    assert sum(value.startswith("req_") for value in far) > 10
    assert sum(value.isdigit() for value in far) > 30
    assert sum(value.startswith("src/") for value in far) > 50


def test_timestamps_rise() -> None:
    """Every message is later than the one before it, in the form the log uses."""
    stamps = [m["metadata"]["timestamp"] for m in generate_session(37, 300)]
    assert stamps == sorted(set(stamps))
    assert all(re.fullmatch(r"2026-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", stamp) for stamp in stamps)


MESSAGES = 300
SEEDS = {"service": 4}
"""How many sessions of a kind are played, if not two: few of their actions need what is far back."""


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_seed_gives_the_same_session(kind: str) -> None:
    """With a result for every call."""
    messages = generate_kind(kind, 1, MESSAGES)
    assert messages == generate_kind(kind, 1, MESSAGES) != generate_kind(kind, 2, MESSAGES)
    calls = Counter(call["id"] for message in messages for call in message.get("tool_calls", ()))
    assert calls == Counter(message["tool_call_id"] for message in messages if message["role"] == "tool")
    assert MESSAGES <= len(messages) < MESSAGES + 10


@pytest.mark.parametrize("kind", KINDS)
def test_a_view_knows_more_of_far_back_than_a_sliding_window(kind: str) -> None:
    """In the mean of some sessions and of two budgets, for about the same bill; every view is valid."""
    counter = CachedCounter(open_counter("estimate"))
    far: dict[str, list[float]] = {"sliding": [], "truncate": []}
    billed: dict[str, list[float]] = {"sliding": [], "truncate": []}
    for seed in range(1, 1 + SEEDS.get(kind, 2)):
        messages = generate_kind(kind, seed, MESSAGES)
        session = PlayedSession.of(kind, messages, lambda message: count_message(message, counter))
        budgets = [session.tokens // 8, session.tokens // 4]
        for row in play_all([session], counter, list(far), budgets, {"tokenizer": "estimate"}):
            assert row.invalid == 0, row.violations
            far[row.policy].append(row.far)
            billed[row.policy].append(row.billed_ratio or 0.0)
    assert fmean(far["truncate"]) >= fmean(far["sliding"])
    assert fmean(billed["truncate"]) <= 1.05 * fmean(billed["sliding"])
