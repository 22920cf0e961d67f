"""The table of ids' hashes: what it finds, and what a lookup costs however long the column is."""

from array import array
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from amplifier_module_context_persistent import PersistentContextManager
from amplifier_module_context_persistent.log import id_table
from amplifier_module_context_persistent.log.checksum import seal
from amplifier_module_context_persistent.log.file_log import FileLog
from amplifier_module_context_persistent.log.id_table import FEW, MOST_AT_ONCE, IdTable
from amplifier_module_context_persistent.log.index import LIVE, UNHELD, Index, id_hash_of
from amplifier_module_context_persistent.log.record_line import encode_message
from tests.support.logs import row


class CountedColumn(array):  # type: ignore[type-arg]
    """A column that counts how many of its items are looked at."""

    looked_at = 0

    def __getitem__(self, key: Any) -> Any:
        found = super().__getitem__(key)
        CountedColumn.looked_at += len(found) if isinstance(key, slice) else 1
        return found


def index_of(count: int) -> Index:
    """An index of records with the ids `m0`, `m1` and so on, whose column of hashes counts."""
    index = Index()
    index.columns.offsets.extend(range(count))
    index.columns.flags.extend(bytes([LIVE]) * count)
    index.columns.id_hashes = CountedColumn("q", (id_hash_of(b"m%d" % number) for number in range(count)))
    return index


def write_messages(path: Path, count: int) -> None:
    """A log of messages with the ids `m0`, `m1` and so on."""
    seed, lines = 0, list[bytes]()
    for number in range(count):
        message = {"role": "user", "content": f"text {number}"}
        line, seed = seal(encode_message(message, message_id=f"m{number}", timestamp=None), seed)
        lines.append(line)
    path.write_bytes(b"".join(lines))


def looked_at_for(index: Index, message_id: str) -> int:
    before = CountedColumn.looked_at
    index.find(message_id)
    return CountedColumn.looked_at - before


@pytest.mark.parametrize("count", [2 * FEW, 20_000, 100_000])
def test_a_lookup_costs_the_same_however_long_the_log_is(count: int) -> None:
    """Once the table is made, a lookup looks at a bounded number of hashes, for new ids and for known ones."""
    index = index_of(count)
    for _ in range(count // MOST_AT_ONCE + 1):
        index.find("new")
    asked = ["new", "m0", f"m{count // 2}", f"m{count - 1}", *(f"x{number}" for number in range(500))]
    assert max(looked_at_for(index, one) for one in asked) <= FEW + 100


async def test_a_message_with_an_id_costs_the_same_however_long_the_session_is(tmp_path: Path) -> None:
    """Through `add_message`: ids that are new, that are live, and that come again with other content."""
    path = tmp_path / "log.jsonl"
    write_messages(path, 20_000)
    manager = PersistentContextManager(log=(log := FileLog(path, durability="write")), tokenizer="estimate")
    await manager.add_message({"role": "user", "content": "one", "metadata": {"message_id": "one"}})
    log.index.columns.id_hashes = CountedColumn("q", log.index.columns.id_hashes)
    before = CountedColumn.looked_at
    for number in range(50):
        for message_id, content in ((f"new{number}", "new"), (f"m{number}", f"text {number}"), (f"m{number}", "other")):
            await manager.add_message({"role": "user", "content": content, "metadata": {"message_id": message_id}})
    assert (CountedColumn.looked_at - before) / 150 <= 2 * FEW + 100
    assert len(log.index) == 20_001 + 100
    await manager.close()


def test_one_lookup_takes_in_only_so_much() -> None:
    """The first lookup in a long log is answered soon; the table is complete after some more."""
    index = index_of(3 * MOST_AT_ONCE)
    known = []
    for number in range(4):
        assert index.find(f"m{number}") == number
        known.append(index.id_table.count)
    assert known == [MOST_AT_ONCE, 2 * MOST_AT_ONCE, 3 * MOST_AT_ONCE, 3 * MOST_AT_ONCE]


def test_a_short_log_has_no_table() -> None:
    """A few hashes are searched as they are, and no memory is taken."""
    index = index_of(FEW)
    assert [index.find(f"m{number}") for number in (0, FEW - 1, FEW)] == [0, FEW - 1, None]
    assert index.id_table.count == 0


def test_records_that_nothing_finds_are_passed_over() -> None:
    """The newest record that is held counts, in the table and after it."""
    index = index_of(3 * FEW)
    for _ in range(3):
        index.add(row(id_hash=id_hash_of(b"m5")))
    assert index.find("m5") == len(index) - 1
    for expected in (len(index) - 2, len(index) - 3, 5, None):
        index.columns.flags[index.find("m5") or 0] |= UNHELD
        assert index.find("m5") == expected


@example([1 << 8, 0, 1], [])
@given(st.lists(st.integers(0, 40) | st.integers(0, (1 << 61) - 2), max_size=60), st.lists(st.integers(0, 9)))
def test_it_finds_what_a_search_of_the_column_finds(hashes: list[int], steps: list[int]) -> None:
    """Positions of equal hashes, the last one first, whatever was taken in when."""
    column, table = array("q"), IdTable()
    few, id_table.FEW = id_table.FEW, 2
    first, id_table.FIRST_SEGMENT = id_table.FIRST_SEGMENT, 4
    try:
        for step in [*steps, len(hashes)]:
            column.extend(hashes[len(column) : len(column) + step])
            table.catch_up(column)
            for hashed in {*hashes, 7}:
                expected = [position for position, one in enumerate(column) if one == hashed][::-1]
                assert list(table.positions(hashed, column)) == expected
    finally:
        id_table.FEW, id_table.FIRST_SEGMENT = few, first


def test_ids_that_count_upwards_are_spread() -> None:
    """Hashes of such ids differ in a few bytes only; no remainder is common to many of them."""
    for form in ("m%016x", "%d", "msg_%06d", "call-%d-result"):
        column = array("q", (id_hash_of((form % number).encode()) for number in range(20_000)))
        table = IdTable()
        table.catch_up(column)
        counted = CountedColumn("q", column)
        before = CountedColumn.looked_at
        for hashed in column[::100]:
            list(table.positions(hashed, counted))
        assert (CountedColumn.looked_at - before) / 200 < 40, form
