"""Snapshots that somebody made up, whose checksums hold: a log opens all the same, in bounded time and memory."""

import random
import tracemalloc
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from amplifier_module_context_persistent.catalogue.index_snapshots import CatalogueSnapshots
from amplifier_module_context_persistent.catalogue.snapshot_data import COLUMNS
from amplifier_module_context_persistent.errors import LogUnreadableError
from amplifier_module_context_persistent.log.reader import LogReader
from tests.support.counted_sessions import CountedReads
from tests.support.made_up_snapshots import altered, parts_of, put_parts
from tests.support.snapshots import known, some_log
from tests.support.sweeps import proof, whole

pytestmark = pytest.mark.usefixtures("snapshots_of_any_size")


@pytest.fixture
def path(tmp_path: Path) -> str:
    path = str(tmp_path / "log.jsonl")
    some_log(path)
    return path


def check_that_it_opens(path: str, expected: dict[str, Any]) -> bool:
    """A read may find that it was told wrong; then the log is scanned, and the next read is right. Whether it did."""
    with closing(LogReader(path, snapshots=CatalogueSnapshots())) as reader:
        reader.follow()
        begun = reader.covered_bytes > 0
        try:
            list(reader.read(reader.index.live))
        except LogUnreadableError:
            assert list(reader.read(reader.index.live)) == expected["messages"]
        return begun


@proof
def test_whatever_a_snapshot_says_the_log_opens(path: str) -> None:
    """Something in its description is another value, is missing, or stands twice; the checksums hold."""
    expected = known(path, trusting=False)
    described, chunks = parts_of(path)
    rng, begun = random.Random(5), 0
    with closing(LogReader(path)) as reader:
        reader.follow()
    tries = 120 if whole() else 40
    for _ in range(tries):
        make_whole(path)
        put_parts(path, altered(described, rng), chunks)
        begun += check_that_it_opens(path, expected)
    assert 0 < begun < tries


def make_whole(path: str) -> None:
    """Write the snapshot anew: one that proved wrong was removed, with how far it covered."""
    with closing(LogReader(path)) as reader:
        reader.follow()
        write = CatalogueSnapshots().take(reader.file, reader.scanner, reader.known_end)
        assert write is not None
        write()


@proof(quick=2)
@pytest.mark.parametrize("name", COLUMNS)
def test_whatever_its_columns_say_the_log_opens(path: str, name: str) -> None:
    """The bytes of one column are altered."""
    expected = known(path, trusting=False)
    described, (chunk,) = parts_of(path)
    sizes = {"offsets": 8, "id_hashes": 8, "lengths": 4, "seeds": 4, "checks": 4}
    ends = [0]
    for one in COLUMNS:
        ends.append(ends[-1] + sizes.get(one, 1) * described["records"])
    assert ends[-1] == len(chunk)
    at = COLUMNS.index(name)
    rng = random.Random(name)
    for _ in range(15 if whole() else 5):
        column = bytearray(chunk)
        for _ in range(rng.choice((1, 4))):
            column[rng.randrange(ends[at], ends[at + 1])] = rng.choice((0, 255, rng.randrange(256)))
        make_whole(path)
        put_parts(path, described, [bytes(column)])
        check_that_it_opens(path, expected)


def many_headers(described: dict[str, Any]) -> None:
    described["controls"]["headers"] *= 10_000


def many_reports(described: dict[str, Any]) -> None:
    described["controls"]["usage"] *= 10_000


def many_live_again(described: dict[str, Any]) -> None:
    described["live"] = [0, described["records"]] * 20_000


def more_records_than_bytes(described: dict[str, Any]) -> None:
    described["records"] = 1 << 40


@proof(quick=1)
@pytest.mark.parametrize(
    "change",
    [many_headers, many_reports, many_live_again, more_records_than_bytes],
    ids=lambda change: change.__name__,
)
def test_what_it_has_too_much_of_is_refused_at_once(path: str, change: Callable[[dict[str, Any]], None]) -> None:
    """Before anything is read or made for it."""
    expected = known(path, trusting=False)
    described, chunks = parts_of(path)
    change(described)
    put_parts(path, described, chunks)
    files = CountedReads()
    tracemalloc.start()
    try:
        with closing(LogReader(path, files=files, snapshots=CatalogueSnapshots())) as reader:
            reader.follow()
            assert reader.covered_bytes == 0
            assert list(reader.read(reader.index.live)) == expected["messages"]
        assert files.reads < 500
        assert tracemalloc.get_traced_memory()[1] < 200 << 20
    finally:
        tracemalloc.stop()


def test_a_chunk_is_no_longer_than_it_should_be(path: str) -> None:
    """Whatever its length, no more of it is kept."""
    described, (chunk,) = parts_of(path)
    put_parts(path, described, [chunk + bytes(8 << 20)])
    tracemalloc.start()
    try:
        assert not check_that_it_opens(path, known(path, trusting=False))
        assert tracemalloc.get_traced_memory()[1] < 40 << 20
    finally:
        tracemalloc.stop()
