"""What `list` says from the catalogue is what it says from the log."""

from __future__ import annotations

import os
import random
from contextlib import closing
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from amplifier_module_context_persistent.catalogue import session_list_cache
from amplifier_module_context_persistent.catalogue.catalogue_file import Catalogue, catalogue_of
from amplifier_module_context_persistent.catalogue.glance import Glance, told_of
from amplifier_module_context_persistent.catalogue.session_list_cache import Glances
from amplifier_module_context_persistent.log.reader import LogReader
from amplifier_module_context_persistent.messages.normalize import tokens_of
from amplifier_module_context_persistent.tokens.counter import EstimateCounter
from tests.support.busy_logs import lines, steps
from tests.support.counted_sessions import CountedReads
from tests.support.logs import append_to, body, content_of, sealed, write_file
from tests.support.sweeps import some


@pytest.fixture(autouse=True)
def any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_list_cache, "LEAST_LOG_BYTES", 0)


def kept_as(glance: dict[str, Any], line: tuple[int, ...]) -> str:
    return told_of({"last_request": {}, **glance}, line)  # type: ignore[arg-type]


def looked_at(path: str, *, keeps: bool = False) -> Glance:
    glances = Glances()
    with closing(LogReader(path)) as reader:
        reader.follow()
        found = glances.look_at(reader)
    if keeps:
        glances.keep()
    return found


def kept(path: str) -> Glance | None:
    return Glances().of(path)


@settings(max_examples=some(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 1 << 30), count=st.integers(1, 25), damage=st.sampled_from([0.0, 0.0, 0.3]))
def test_a_kept_glance_is_that_of_the_log(tmp_path: Path, seed: int, count: int, damage: float) -> None:
    """Of any log; one that is damaged is looked at each time."""
    path, rng = str(tmp_path / f"{seed}.jsonl"), random.Random(seed)
    content, _ = lines(list(chain.from_iterable(steps(count, rng))), 0, rng, damage)
    write_file(path, content)
    expected = looked_at(path, keeps=True)
    assert kept(path) == (None if expected.damage else expected)
    os.remove(path)
    Catalogue(catalogue_of(path)).remove()


def test_what_is_not_the_whole_log_as_it_is_is_no_glance(path: str) -> None:
    """After more was appended, and after the file was touched, nothing is given."""
    write_file(path, b"".join(sealed([body(number) for number in range(3)])))
    assert kept(path) is None
    assert looked_at(path, keeps=True) == kept(path)
    os.utime(path, ns=(0, 0))
    assert kept(path) is None
    assert looked_at(path, keeps=True) == kept(path)
    append_to(path, 3)
    assert kept(path) is None


def test_the_first_line_is_read_from_the_log(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The catalogue says where it stands and what it was, not what it says; one that was altered is not given."""
    write_file(path, b"".join(sealed([body(0, source="hook"), body(1), body(2)])))
    assert looked_at(path, keeps=True).first_line == "message 1"
    assert b"message 1" not in catalogue_of(path).read_bytes()
    found = kept(path)
    assert found.first_line == "message 1"
    stamp = session_list_cache.Stamp.of(os.stat(path))
    write_file(path, content_of(path).replace(b"message 1", b"massage 1"))
    monkeypatch.setattr(session_list_cache.Stamp, "of", lambda _: stamp)  # as where a file system keeps no times
    assert kept(path) is None


@pytest.mark.parametrize(
    "told",
    [
        "",
        "[]",
        kept_as({}, (0, 0)),
        kept_as({"messages": "many"}, (0, 0, 0)),
        kept_as({"messages": -1}, (0, 0, 0)),
        kept_as({"more": 1}, (0, 0, 0)),
        kept_as({"size_bytes": 9}, (0, 10, 0)),
        kept_as({"size_bytes": 9}, (-1, 4, 0)),
        kept_as({"messages": 3}, (0, 0, 0)).replace("3", "2", 1),
        '{"glance":{"messages":3,"last_request":{}},"line":[0,0,0]}',
        kept_as({"last_request": {"tokens": -1}}, (0, 0, 0)),
        kept_as({"last_request": {"tokens": "many"}}, (0, 0, 0)),
        told_of({"messages": 3}, (0, 0, 0)),  # as an earlier version kept it
    ],
)
def test_what_somebody_else_wrote_or_was_altered_is_no_glance(path: str, told: str) -> None:
    write_file(path, b"".join(sealed([body(0)])))
    looked_at(path, keeps=True)
    with Catalogue(catalogue_of(path)).writing() as connection:
        connection.execute("UPDATE sessions SET glance = ?", (told,))
    assert kept(path) is None
    with Catalogue(catalogue_of(path)).writing() as connection:
        connection.execute("UPDATE sessions SET glance = ?", (kept_as({"messages": 3}, (0, 0, 0)),))
    assert kept(path) == Glance(messages=3)


def test_the_first_line_is_the_first_in_the_live_history(path: str) -> None:
    """Not in the file: a reset may have brought a later message before it."""
    write_file(path, b"".join(sealed([body(number) for number in range(6)])))
    with closing(LogReader(path)) as reader:
        reader.follow()
        for order in ([4, 5, 0, 1], [3], [2, 1]):
            reader.index.replace_live(order)
            assert Glances().look_at(reader).first_line == f"message {order[0]}"


def test_a_message_that_is_most_of_a_log_is_read_a_few_times(path: str) -> None:
    """Nearly every sample falls on it; its tokens count for all of them."""
    bodies = [body(number) for number in range(300)]
    bodies.insert(150, body(999, text=" a few more words" * 100_000))
    write_file(path, b"".join(sealed(bodies)))
    files = CountedReads()
    with closing(LogReader(path, files=files)) as reader:
        reader.follow()
        scanned = files.bytes_read
        found = Glances().look_at(reader)
        assert files.bytes_read - scanned < 3 * os.path.getsize(path)
        whole = sum(tokens_of(message, EstimateCounter()) for message in reader.read(reader.index.live))
        assert abs(found.tokens - whole) < whole / 10
