"""Lines that changed places, and lines that stand twice: reported, read where they stand, and read once."""

import contextlib
from itertools import combinations, product
from pathlib import Path

import pytest

from amplifier_module_context_persistent.errors import PurgeError
from amplifier_module_context_persistent.log.file_log import FileLog
from amplifier_module_context_persistent.log.record_line import encode_control
from amplifier_module_context_persistent.toolbox.maintenance.purge_log import purge_log
from tests.support.logs import (
    STAMP,
    append,
    body,
    findings,
    keep,
    numbers,
    reset_bodies,
    sealed,
    stored_numbers,
    write_file,
)
from tests.support.purges import redact
from tests.support.scans import found, ids, scan
from tests.support.sweeps import proof, spread

LINES = sealed(
    [
        encode_control("header", version=2, log_id="l"),
        *map(body, range(9)),
        *reset_bodies("r", body(10), keep(2, 6), body(11), upto="id-8"),
        *map(body, range(20, 23)),
        *reset_bodies("w", keep(3, 5), keep(20, 21), upto="id-22"),
        *map(body, range(30, 34)),
    ]
)
LIVE = [3, 4, 5, 20, 21, 30, 31, 32, 33]


def named(line: bytes) -> int:
    """The number of a line's message; -1 for a control record."""
    return int(line.split(b'"content":"message ')[1].split(b'"')[0]) if b'"content"' in line else -1


def goes_on(path: str, exchanged: set[int] = frozenset()) -> None:  # type: ignore[assignment]
    """Of what was not exchanged the same is live, in its order; also after an append and in a new process."""
    log, expected = FileLog(path), [number for number in LIVE if number not in exchanged]
    found = numbers(log)
    assert log.index.damage
    assert [number for number in found if number not in exchanged] == expected
    assert set(found) <= {*LIVE, *exchanged}
    append(log, 40)
    assert numbers(log) == [*found, 40] == stored_numbers(path)
    log.close()


@proof
def test_any_two_lines_may_change_places(tmp_path: Path) -> None:
    """Nothing else leaves the live history, and nothing else that a reset hid comes back."""
    path, count = str(tmp_path / "log.jsonl"), 0
    for first, second in spread(combinations(range(len(LINES)), 2), 2):
        changed = list(LINES)
        changed[first], changed[second] = changed[second], changed[first]
        write_file(path, b"".join(changed))
        goes_on(path, {named(LINES[first]), named(LINES[second])})
        count += 1
    print(f"exchanged lines: {count}")


def test_a_message_that_was_moved_behind_its_reset_is_read_where_it_stands() -> None:
    """And is reported there, as is the line that took its place."""
    changed = list(LINES)
    changed[1], changed[-3] = LINES[-3], LINES[1]
    scanner = scan(changed)
    assert ids(scanner) == [3, 4, 5, 20, 21, 30, 0, 32, 33]
    assert {2, len(LINES) - 2} <= {one.line for one in scanner.index.damage}


def test_exchanged_lines_are_read_where_they_stand() -> None:
    """Neighbours and others, where no reset has to judge them."""
    lines = sealed([*map(body, range(8))])
    for first, second in combinations(range(8), 2):
        changed, expected = list(lines), list(range(8))
        changed[first], changed[second] = lines[second], lines[first]
        expected[first], expected[second] = second, first
        scanner = scan(changed)
        assert ids(scanner) == expected
        assert {found.kind for found in scanner.index.damage} == {"checksum"}


def test_a_control_record_that_was_moved_condemns_no_message() -> None:
    """What does not continue the line before it is reported and read."""
    lines = sealed([*map(body, range(3)), encode_control("pin", id="x"), *map(body, range(3, 5))])
    scanner = scan([lines[at] for at in (0, 1, 5, 3, 2, 4)])
    assert ids(scanner) == [0, 1, 4, 2, 3]
    assert {kind for kind, *_ in found(scanner)} == {"checksum"}


@proof
def test_any_line_may_stand_twice(tmp_path: Path) -> None:
    """A copy anywhere else counts once, and so do some neighbours that were copied together."""
    path, count = str(tmp_path / "log.jsonl"), 0
    for first in range(len(LINES)):
        for place in spread(range(0, len(LINES) + 1, 2), 2, first % 2):
            for length in (1, 3):
                copied = LINES[first : first + length]
                if length > 1 and any(named(line) < 0 or b'"_reset"' in line for line in copied):
                    continue  # a part of a reset that stands twice as a block
                write_file(path, b"".join([*LINES[:place], *copied, *LINES[place:]]))
                if length == 1:
                    goes_on(path)
                else:
                    found = stored_numbers(path)
                    assert sorted(found) == LIVE, (first, place, found)
                    assert findings(path)
                count += 1
    print(f"copied lines: {count}")


@pytest.mark.parametrize("kind", ["view", "plan", "pin", "usage", "unknown"])
def test_some_lines_that_begin_with_a_control_record_may_stand_twice(kind: str) -> None:
    """What continues the copy of a line may be a copy too, whatever that line is."""
    lines = sealed([*map(body, range(3)), encode_control(kind, id="x"), *map(body, range(3, 8))])
    for place in (0, 1, 2, 6, 7, 8, 9):
        assert sorted(ids(scan([*lines[:place], *lines[3:6], *lines[place:]]))) == [*range(8)], place


@proof
def test_a_block_that_stands_twice_is_read_once_in_its_order(tmp_path: Path) -> None:
    """Wherever its copy stands; a purge leaves the same history, or says that the damage is too much for it."""
    path, count = str(tmp_path / "log.jsonl"), 0
    blocks = [
        (first, length)
        for length in (2, 3, 5)
        for first in range(len(LINES))
        if all(named(line) >= 0 and b'"_reset"' not in line for line in LINES[first : first + length])
    ]
    for (first, length), place in spread(product(blocks, range(len(LINES) + 1)), 8):
        write_file(path, b"".join([*LINES[:place], *LINES[first : first + length], *LINES[place:]]))
        assert stored_numbers(path) == LIVE, (first, length, place)
        assert findings(path)
        with contextlib.suppress(PurgeError):
            purge_log(path, redact("message 8"), now=lambda: STAMP)
            assert stored_numbers(path) == LIVE, (first, length, place)
            assert findings(path)
        count += 1
    print(f"blocks that stand twice: {count}")
