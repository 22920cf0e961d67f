"""What `list` says from a checkpoint is what it says without one."""

import os
import random
from bisect import bisect_right
from dataclasses import asdict
from itertools import accumulate, chain
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from amplifier_module_context_persistent.log.checkpoint_file import write_checkpoint
from amplifier_module_context_persistent.log.reader import LogReader
from amplifier_module_context_persistent.sums import glance
from amplifier_module_context_persistent.sums.glance import SAMPLES, Glance, glance_at, noted_glance
from amplifier_module_context_persistent.sums.notes import whole_notes
from amplifier_module_context_persistent.sums.summary import tokens_of
from amplifier_module_context_persistent.tokens.counter import EstimateCounter
from tests.support.busy_logs import lines, steps
from tests.support.checkpoints import always, put, stored
from tests.support.counted_reads import CountedReads
from tests.support.logs import append_to, body, content_of, sealed, write_file

COUNTER = EstimateCounter()


@pytest.fixture(autouse=True)
def any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    always(monkeypatch)


def make_checkpoint(path: str) -> bool:
    reader = LogReader(path, trusting=False)
    reader.follow()
    try:
        notes = whole_notes(reader, COUNTER)
        return write_checkpoint(reader.file, reader.scanner, reader.known_end, notes, anew=True) > 0
    finally:
        reader.close()


def looked_at(path: str) -> Glance:
    reader = LogReader(path, trusting=False)
    reader.follow()
    try:
        return glance_at(reader, COUNTER)
    finally:
        reader.close()


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "log.jsonl")


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 1 << 30), count=st.integers(1, 25), damage=st.sampled_from([0.0, 0.0, 0.3]))
def test_a_noted_glance_is_that_of_the_log(tmp_path: Path, seed: int, count: int, damage: float) -> None:
    """Of any log; none is given where a checkpoint cannot be."""
    path, rng = str(tmp_path / f"{seed}.jsonl"), random.Random(seed)
    content, _ = lines(list(chain.from_iterable(steps(count, rng))), 0, rng, damage)
    write_file(path, content)
    expected = looked_at(path) if make_checkpoint(path) else None
    assert noted_glance(path, None) == expected
    assert expected is not None or damage or b'"reset' in content
    os.remove(path)


def test_what_is_not_the_whole_log_as_it_is_is_no_glance(path: str) -> None:
    """After more was appended, and after the file was touched, nothing is given; nor without a checkpoint."""
    assert noted_glance(path, None) is None
    write_file(path, b"".join(sealed([body(number) for number in range(3)])))
    assert noted_glance(path, None) is None
    assert make_checkpoint(path)
    assert noted_glance(path, None) == looked_at(path)
    os.utime(path, ns=(0, 0))
    assert noted_glance(path, None) is None
    assert make_checkpoint(path)
    checkpoint = stored(path)
    append_to(path, 3)
    put(path, checkpoint)
    assert noted_glance(path, None) is None


def test_a_first_line_that_was_altered_is_not_given(path: str) -> None:
    """The checkpoint says where it stands and what it was, not what it says."""
    write_file(path, b"".join(sealed([body(0, source="hook"), body(1), body(2)])))
    assert make_checkpoint(path)
    assert b"message 1" not in stored(path)
    assert noted_glance(path, None) == looked_at(path)
    kept, content = os.stat(path), content_of(path)
    write_file(path, content.replace(b"message 1", b"massage 1"))
    os.utime(path, ns=(kept.st_atime_ns, kept.st_mtime_ns))
    assert noted_glance(path, None) is None


def test_another_version_is_not_used(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor a note that is none."""
    write_file(path, b"".join(sealed([body(0)])))
    assert make_checkpoint(path)
    monkeypatch.setattr(glance, "VERSION", 99)
    assert noted_glance(path, None) is None


def test_a_sample_of_a_long_log_is_counted(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same sample, however the log is opened."""
    monkeypatch.setattr(glance, "SAMPLES", 4)
    write_file(path, b"".join(sealed([body(number, text="word " * number) for number in range(50)])))
    assert make_checkpoint(path)
    found = noted_glance(path, None)
    assert found == looked_at(path)
    assert asdict(looked_at(path))["first_line"] == "message 0"


@pytest.mark.parametrize("hidden", [[], [0], [600], [3, 4, 5, 511, 700, 1_199], list(range(0, 1_200, 2))])
def test_the_sample_is_picked_at_even_distances_in_bytes(path: str, hidden: list[int]) -> None:
    """Of the live messages in their order, whichever of them a reset hid."""
    write_file(path, b"".join(sealed([body(number, text="word " * (number % 70)) for number in range(1_200)])))
    reader = LogReader(path, trusting=False)
    reader.follow()
    try:
        index = reader.index
        index.replace_live([number for number in range(1_200) if number not in hidden])
        ends = list(accumulate(index.lengths[ordinal] for ordinal in index.live))
        marks = [(2 * number + 1) * ends[-1] // (2 * SAMPLES) for number in range(SAMPLES)]
        picked = [index.live[bisect_right(ends, mark)] for mark in marks]
        per_byte = [
            tokens_of(m, COUNTER) / index.lengths[at] for at, m in zip(picked, reader.read(picked), strict=True)
        ]
        assert glance_at(reader, COUNTER).tokens == round(ends[-1] * sum(per_byte) / SAMPLES)
    finally:
        reader.close()


def test_the_first_line_is_the_first_in_the_live_history(path: str) -> None:
    """Not in the file: a reset may have brought a later message before it."""
    write_file(path, b"".join(sealed([body(number) for number in range(6)])))
    reader = LogReader(path, trusting=False)
    reader.follow()
    try:
        for order in ([4, 5, 0, 1], [3], [2, 1]):
            reader.index.replace_live(order)
            assert glance_at(reader, COUNTER).first_line == f"message {order[0]}"
    finally:
        reader.close()


def test_a_message_that_is_most_of_a_log_is_read_a_few_times(path: str) -> None:
    """Nearly every sample falls on it; its tokens count for all of them."""
    bodies = [body(number) for number in range(300)]
    bodies.insert(150, body(999, text=" a few more words" * 100_000))
    write_file(path, b"".join(sealed(bodies)))
    files = CountedReads()
    reader = LogReader(path, files=files, trusting=False)
    reader.follow()
    try:
        scanned = files.bytes_read
        found = glance_at(reader, COUNTER)
        assert files.bytes_read - scanned < 3 * os.path.getsize(path)
        whole = sum(tokens_of(message, COUNTER) for message in reader.read(reader.index.live))
        assert abs(found.tokens - whole) < whole / 10
    finally:
        reader.close()
