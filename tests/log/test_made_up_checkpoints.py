"""Checkpoints that somebody made up, whose checksums hold: a log opens all the same, in bounded time and memory."""

import random
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from amplifier_module_context_persistent.errors import LogUnreadableError
from amplifier_module_context_persistent.log.checkpoint_file import SUFFIX
from amplifier_module_context_persistent.log.reader import LogReader
from tests.support.checkpoints import always, is_used, known, put, some_log, stored
from tests.support.counted_reads import CountedReads
from tests.support.made_up_checkpoints import altered, as_described, parts_of, with_parts


@pytest.fixture(autouse=True)
def any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    always(monkeypatch)


@pytest.fixture
def path(tmp_path: Path) -> str:
    path = str(tmp_path / "log.jsonl")
    some_log(path)
    return path


def check_that_it_opens(path: str, expected: dict[str, Any]) -> None:
    """A read may find that it was told wrong; then the log is scanned, and the next read is right."""
    reader = LogReader(path)
    try:
        reader.follow()
        try:
            list(reader.read(reader.index.live))
        except LogUnreadableError:
            assert list(reader.read(reader.index.live)) == expected["messages"]
    finally:
        reader.close()


def test_whatever_a_checkpoint_says_the_log_opens(path: str) -> None:
    """Something in its description is another value, is missing, or stands twice; the checksums hold."""
    expected = known(path, trusting=False)
    described, parts = parts_of(stored(path))
    rng = random.Random(5)
    for _ in range(600):
        made_up = altered(described, rng)
        put(path, as_described(made_up, parts))
        check_that_it_opens(path, expected)


@pytest.mark.parametrize(
    "name",
    ["offsets", "lengths", "roles", "flags", "id_hashes", "seeds", "checks", "answered_by", "plain_users", "live"],
)
def test_whatever_its_columns_say_the_log_opens(path: str, name: str) -> None:
    """The bytes of one column are altered."""
    expected = known(path, trusting=False)
    described, parts = parts_of(stored(path))
    rng = random.Random(name)
    for _ in range(60):
        column = bytearray(parts[name])
        for _ in range(rng.choice((1, 4))):
            column[rng.randrange(len(column))] = rng.choice((0, 255, rng.randrange(256)))
        put(path, with_parts(described, {**parts, name: bytes(column)}))
        check_that_it_opens(path, expected)


def many_findings(described: dict[str, Any]) -> None:
    described["damage"] = [[1, 0, "checksum", "", 100]] * 200_000


def long_findings(described: dict[str, Any]) -> None:
    described["damage"] = [[1, 0, "checksum", "", 1 << 40]] * 9_000


def many_headers(described: dict[str, Any]) -> None:
    described["controls"]["headers"] *= 100_000


def many_reports(described: dict[str, Any]) -> None:
    described["controls"]["usage"] *= 100_000


def many_live_again(described: dict[str, Any]) -> None:
    state = described["scan"]["resets"]["states"][0]
    state["runs"] = [[0, [0, described["records"]]]] * 200_000


def more_records_than_bytes(described: dict[str, Any]) -> None:
    described["records"] = 1 << 40


@pytest.mark.parametrize(
    "change",
    [many_findings, long_findings, many_headers, many_reports, many_live_again, more_records_than_bytes],
    ids=lambda change: change.__name__,
)
def test_what_it_has_too_much_of_is_refused_at_once(path: str, change: Callable[[dict[str, Any]], None]) -> None:
    """Before anything is read or made for it."""
    expected = known(path, trusting=False)
    described, parts = parts_of(stored(path))
    change(described)
    put(path, as_described(described, parts))
    files = CountedReads()
    reader = LogReader(path, files=files)
    tracemalloc.start()
    try:
        reader.follow()
        assert reader.covered_bytes == 0
        assert list(reader.read(reader.index.live)) == expected["messages"]
        assert files.reads < 500
        assert tracemalloc.get_traced_memory()[1] < 200 << 20
    finally:
        tracemalloc.stop()
        reader.close()


def test_a_column_is_not_read_before_its_length_is_known_to_fit(path: str) -> None:
    """A gigabyte of roles, which a sparse file has for nothing."""
    described, parts = parts_of(stored(path))
    put(path, with_parts(described, {**parts, "roles": bytes(64 << 20)}))
    tracemalloc.start()
    try:
        assert not is_used(path)
        assert tracemalloc.get_traced_memory()[1] < 16 << 20
    finally:
        tracemalloc.stop()
    Path(path + SUFFIX).unlink()
