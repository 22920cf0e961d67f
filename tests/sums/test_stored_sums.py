"""The sums in a checkpoint: with them, `stats` says exactly what it says without."""

import os
import random
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from amplifier_module_context_persistent.log.checkpoint_file import read_checkpoint, write_checkpoint
from amplifier_module_context_persistent.log.reader import LogReader
from amplifier_module_context_persistent.sums import stored_sums
from amplifier_module_context_persistent.sums.add_up import add_up
from amplifier_module_context_persistent.sums.notes import whole_notes
from amplifier_module_context_persistent.sums.stored_sums import NOTE, StoredSums
from amplifier_module_context_persistent.tokens.counter import EstimateCounter
from amplifier_module_context_persistent.transcript.cost import Prices, cost_of, costs_by_row
from amplifier_module_context_persistent.transcript.outline import TurnTable
from amplifier_module_context_persistent.transcript.stats import statistics_of
from tests.support.busy_logs import lines, message_body, steps
from tests.support.checkpoints import always, put, stored
from tests.support.logs import write_file

COUNTER = EstimateCounter()


@pytest.fixture(autouse=True)
def any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    always(monkeypatch)
    monkeypatch.setattr(stored_sums, "MOST_MESSAGES", 8)


def opened(path: str, *, trusting: bool = True) -> LogReader:
    reader = LogReader(path, trusting=trusting)
    reader.follow()
    return reader


class Unknown:
    """A log of which is only known what every log can do."""

    def __init__(self, reader: LogReader) -> None:
        self.index, self.read, self.records = reader.index, reader.read, reader.records


def all_figures(path: str, *, trusting: bool, plain: bool = False) -> dict[str, Any]:
    """All that `stats` prints."""
    reader = opened(path, trusting=trusting)
    try:
        messages, records = add_up(Unknown(reader) if plain else reader, COUNTER)
        found = statistics_of(reader, messages, records, tokenizer=COUNTER.name).to_json()
        cost, costs = cost_of(records, Prices()), costs_by_row(messages, Prices())
        table = TurnTable(messages, costs)
        turns = [table.line(turn).to_json() for turn in range(len(table))]
        return {**found, "cost": cost.to_json(), "by_turn": turns, "rows": messages.rows.as_turns()[0].columns()}
    finally:
        reader.close()


def make_checkpoint(path: str, *, with_notes: bool = True) -> bool:
    """Write a log's checkpoint with its sums; whether there is one."""
    reader = opened(path, trusting=False)
    try:
        notes = whole_notes(reader, COUNTER) if with_notes else {}
        return write_checkpoint(reader.file, reader.scanner, reader.known_end, notes, anew=True) > 0
    finally:
        reader.close()


def has_sums(path: str) -> bool:
    reader = opened(path)
    try:
        return NOTE in reader.notes
    finally:
        reader.close()


def some_log(path: str, seed: int = 1, count: int = 30) -> bytes:
    content, _ = lines(list(chain.from_iterable(steps(count, random.Random(seed)))), 0, random.Random(0), 0.0)
    write_file(path, content)
    return content


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "log.jsonl")


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 1 << 30), count=st.integers(1, 40), damage=st.sampled_from([0.0, 0.0, 0.1, 0.4]))
def test_with_sums_the_figures_are_those_without(tmp_path: Path, seed: int, count: int, damage: float) -> None:
    """Made anywhere in any log, and followed by anything: resets that cut what was summed up, damage, other records."""
    rng, path = random.Random(seed), str(tmp_path / f"{seed}.jsonl")
    parts, crc = [b""], 0
    for bodies in steps(count, rng):
        written, crc = lines(bodies, crc, rng, damage)
        parts.append(written)
    at = rng.randrange(len(parts) + 1)
    write_file(path, b"".join(parts[:at]))
    while True:
        make_checkpoint(path)
        expected = all_figures(path, trusting=False)
        assert all_figures(path, trusting=True) == expected
        if at >= len(parts):
            break
        at = rng.randrange(at + 1, len(parts) + 1)
        write_file(path, b"".join(parts[:at]))
        assert all_figures(path, trusting=True) == all_figures(path, trusting=False)
    os.remove(path)
    os.remove(path + ".checkpoint") if os.path.exists(path + ".checkpoint") else None


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 1 << 30), count=st.integers(1, 40))
def test_sums_in_segments_are_those_of_all_at_once(tmp_path: Path, seed: int, count: int) -> None:
    """A log that can only be read from its beginning gives the same."""
    path = str(tmp_path / f"{seed}.jsonl")
    some_log(path, seed, count)
    assert all_figures(path, trusting=False) == all_figures(path, trusting=False, plain=True)


def test_sums_are_used(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The comparisons above are of sums that are believed: with all summed up, no message is counted."""
    some_log(path)
    assert make_checkpoint(path)
    assert has_sums(path)
    expected = all_figures(path, trusting=False)

    def refuse(*_: object) -> int:
        raise AssertionError("counted again")

    monkeypatch.setattr(stored_sums, "tokens_of", refuse)
    assert all_figures(path, trusting=True) == expected
    with pytest.raises(AssertionError, match="counted again"):
        all_figures(path, trusting=False)


def test_a_reset_costs_what_it_cuts(path: str) -> None:
    """Segments before a rewind's end are taken as they are."""
    rng = random.Random(3)
    content, _ = lines([message_body(number, rng) for number in range(100)], 0, rng, 0.0)
    write_file(path, content)
    make_checkpoint(path)
    reader = opened(path)
    live = list(reader.index.live)
    sums = StoredSums(reader, COUNTER)
    assert sums.go_on()
    assert sums.read_bytes == 0
    reader.index.replace_live(live[:-3])
    assert sums.go_on()
    assert 0 < sums.read_bytes < len(content) / 4
    reader.close()


def test_damaged_sums_change_nothing(path: str) -> None:
    """A flipped bit anywhere, and a cut anywhere."""
    some_log(path, count=12)
    make_checkpoint(path)
    expected, sound = all_figures(path, trusting=False), stored(path)
    for at in range(0, len(sound), 41):
        put(path, sound[:at] + bytes([sound[at] ^ (1 << at % 8)]) + sound[at + 1 :])
        assert all_figures(path, trusting=True) == expected
        put(path, sound[:at])
        assert all_figures(path, trusting=True) == expected


@pytest.mark.parametrize("note", [b"", b"{}\n", b"[1]\nxx", b'{"version":1}', b"\xff\n"])
def test_a_note_that_is_none_changes_nothing(path: str, note: bytes) -> None:
    """What cannot be read is as good as nothing."""
    some_log(path)
    expected = all_figures(path, trusting=False)
    reader = opened(path, trusting=False)
    write_checkpoint(reader.file, reader.scanner, reader.known_end, {NOTE: note}, anew=True)
    reader.close()
    assert all_figures(path, trusting=True) == expected


def test_the_sums_of_another_log_or_counter_change_nothing(path: str, tmp_path: Path, monkeypatch) -> None:
    """A checkpoint that was swapped is not used; sums that another counter or version made are not."""
    other = str(tmp_path / "other.jsonl")
    some_log(path)
    some_log(other, seed=9)
    make_checkpoint(path)
    make_checkpoint(other)
    expected = [all_figures(one, trusting=False) for one in (path, other)]
    first, second = stored(path), stored(other)
    put(path, second)
    put(other, first)
    assert [all_figures(one, trusting=True) for one in (path, other)] == expected
    put(path, first)
    monkeypatch.setattr(stored_sums, "VERSION", 99)
    assert all_figures(path, trusting=True) == expected[0]
    monkeypatch.undo()
    always(monkeypatch)

    reader = opened(path)
    sums = StoredSums(reader, EstimateCounter("other"))
    sums.go_on()
    assert sums.read_bytes > 0
    reader.close()


def test_sums_go_on_in_slices(path: str) -> None:
    """A little at a time, they come to the same; what is large is put off, and summed up when it is asked for."""
    some_log(path, seed=5, count=60)
    expected = all_figures(path, trusting=False)
    reader = opened(path, trusting=False)
    sums = StoredSums(reader, COUNTER, most_message_bytes=300)
    rounds = 1
    while not sums.go_on(lambda: True):
        rounds += 1
        note = sums.note()
        assert note is not None
        reader.notes[NOTE] = note
        sums = StoredSums(reader, COUNTER, most_message_bytes=300)
    assert rounds > 3
    write_checkpoint(reader.file, reader.scanner, reader.known_end, {NOTE: sums.note() or b""}, anew=True)
    reader.close()
    assert all_figures(path, trusting=True) == expected


def test_sums_are_carried_into_the_next_checkpoint(path: str) -> None:
    """Of one who does not keep them."""
    some_log(path)
    make_checkpoint(path)
    reader = opened(path)
    found = read_checkpoint(reader.file, reader.max_record_bytes)
    assert found is not None
    assert found[1] == reader.notes
    reader.close()
