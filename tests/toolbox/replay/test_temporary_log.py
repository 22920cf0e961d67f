"""A log in a temporary file: nothing stays in memory or on the disk; `test_contract` runs the contract on it."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from amplifier_module_context_persistent.log.memory import MemoryLog
from amplifier_module_context_persistent.log.record_line import encode_control
from amplifier_module_context_persistent.toolbox.replay import temporary_log
from amplifier_module_context_persistent.toolbox.replay.temporary_log import TemporaryLog
from tests.support.logs import append, append_bodies, body


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[TemporaryLog]:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    log = TemporaryLog()
    yield log
    log.close()


def test_it_holds_what_a_log_in_memory_holds(log: TemporaryLog, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same records, read in any order, also across the blocks in which they are read."""
    monkeypatch.setattr(temporary_log, "_BLOCK_BYTES", 7)
    memory = MemoryLog()
    for one in (log, memory):
        append(one, *range(5))
        append_bodies(one, encode_control("pin", message_id="m1", pinned=True), body(6))
    assert list(log.records()) == list(memory.records())
    ordinals = [5, 0, 3, 3]
    assert list(log.read(ordinals)) == list(memory.read(ordinals))
    assert list(log.lines(ordinals)) == list(memory.lines(ordinals))


def test_nothing_stays(log: TemporaryLog, tmp_path: Path) -> None:
    """The file has no name, so a killed process leaves none either."""
    append(log, *range(5))
    assert list(log.read([0]))
    assert os.listdir(tmp_path) == []
    log.close()
    with pytest.raises(ValueError, match="closed"):
        list(log.read([0]))


@pytest.mark.parametrize("needle", [b"id-17", b"MESSAGE 17", b"content", b"nowhere", b"", b"7", "ä".encode()])
@pytest.mark.parametrize("ignores_case", [False, True])
def test_bytes_are_found_where_they_stand(log: TemporaryLog, needle: bytes, ignores_case: bool) -> None:
    """In messages before and after a search, in any order; of no others than those asked for."""
    append(log, *range(40))
    for more in (range(40, 50), range(50, 200)):
        asked = [*range(5, len(log.index), 3), 1]
        lines = {ordinal: line.lower() if ignores_case else line for ordinal, line in log.lines(asked)}
        expected = {ordinal for ordinal, line in lines.items() if needle in line}
        found = log.find_bytes(asked, needle, ignores_case=ignores_case)
        assert found == expected if needle.isascii() else found == {*asked}
        append(log, *more)
    assert log.find_bytes([], needle, ignores_case=ignores_case) == set()


def test_no_line_is_read_to_find_bytes_that_are_watched(log: TemporaryLog, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each line is looked through once, also those appended between two searches; other bytes are found as ever."""
    needles = [b"id-7", b"id-77", b"message 1"]
    seen: list[bytes] = []
    log.watch(needles, lambda line: [seen.append(line), [one for one in needles if one in line]][1])  # type: ignore[func-returns-value]
    append(log, *range(100))
    for count in (100, 180):
        append(log, *range(len(log.index), count))
        lines = {ordinal: line.lower() for ordinal, line in log.lines(range(count))}
        for needle in [*needles, b"id-5"]:
            holders = {ordinal for ordinal, line in lines.items() if needle in line}
            assert log.find_bytes(range(count), needle, ignores_case=True) == holders
            for asked in (range(7, 78), range(count - 1, 0, -7), [77, 7, 3]):
                assert log.find_bytes(asked, needle, ignores_case=True) == holders.intersection(asked)
        assert seen == [*lines.values()]
    monkeypatch.setattr(log, "_read", lambda *_: pytest.fail("read a line"))
    assert log.find_bytes(range(180), b"id-77", ignores_case=True) == {77}
