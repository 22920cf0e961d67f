"""What a scanner knows besides its index, and where it goes on: after skipped lines, passed lines, and a snapshot."""

import json
import zlib
from dataclasses import replace
from itertools import accumulate

import pytest

from amplifier_module_context_persistent.log.index import DAMAGED
from amplifier_module_context_persistent.log.index_builder import IndexBuilder
from amplifier_module_context_persistent.log.record_line import encode_control
from amplifier_module_context_persistent.log.scanner import Scanner
from amplifier_module_context_persistent.log.session_records import SessionRecords
from tests.support.logs import body, sealed
from tests.support.scans import found, ids, scan

LINES = sealed([body(number) for number in range(6)])
ENDS = [0, *accumulate(map(len, LINES))]


def bare(number: int) -> bytes:
    """A line of the older module."""
    return b'{"role": "user", "content": "message %d"}\n' % number


@pytest.mark.parametrize("has_checksum", [True, False])
def test_a_skipped_line_with_a_checksum_begins_the_chain(has_checksum: bool) -> None:
    """A line without one after it is reported."""
    line = LINES[0] if has_checksum else bare(0)
    scanner = Scanner()
    scanner.skip(len(line), zlib.crc32(line[:-1]), line[:-1][-19:])
    scanner.feed(bare(1))
    assert [kind for kind, *_ in found(scanner)] == ["oversized", *["unchained"] * has_checksum]


def test_a_scan_goes_on_where_lines_were_passed_over() -> None:
    """Those that are known to be sound already; also after a line that another scanner took."""
    passed = scan([])
    passed.skip_indexed(3, ENDS[3], scan(LINES[:3]).seed)
    other = scan([bare(0), *LINES[:2]])
    went_on = scan([])
    went_on.go_on(other)
    for scanner, first, before in ((passed, 3, 0), (went_on, 2, len(bare(0)))):
        scanner.feed(b"".join(LINES[first:]))
        assert found(scanner) == []
        assert ids(scanner) == list(range(first, 6))
        assert list(scanner.index.columns.offsets) == [before + end for end in ENDS[first:6]]
        assert scanner.line == 6 + bool(before)
        scanner.feed(bare(9))
        assert [kind for kind, *_ in found(scanner)] == ["unchained"]
    went_on = scan([])
    went_on.go_on(scan([bare(9)]))
    went_on.feed(b"".join(LINES))
    assert found(went_on) == found(scan([bare(9), *LINES])) == [("checksum", 1, 0)]  # the line before is reported


def test_a_scan_goes_on_from_its_snapshot() -> None:
    """As JSON keeps it, with lines without a checksum before it; the state is the same in all that it says."""
    assert scan([*LINES, bare(0)]).snapshot() is None  # a finding
    for lines in (
        [],
        [bare(0), bare(1)],
        [bare(0), *sealed([body(number) for number in range(6)], zlib.crc32(bare(0)[:-1]))],
        LINES,
    ):
        scanner = scan(lines)
        snapshot = json.loads(json.dumps(scanner.snapshot()))
        other = Scanner(builder=IndexBuilder(scanner.index))
        other.restore(snapshot)
        assert json.loads(json.dumps(other.snapshot())) == snapshot
        assert (other.line, other.offset, other.seed) == (scanner.line, scanner.offset, scanner.seed)


def test_a_snapshot_says_what_views_showed_last() -> None:
    """The line of facts, how many messages stood before it, and when the last view was made."""
    view = encode_control("view", id="v", render={"line": "facts"}, time="2026-01-02")
    scanner = scan(sealed([body(0), view, body(1)]))
    assert (scanner.index.session.line_shown, scanner.index.session.viewed_at) == ((1, "facts"), "2026-01-02")
    bare_index = replace(scanner.index, session=SessionRecords())
    Scanner(builder=IndexBuilder(bare_index)).restore(json.loads(json.dumps(scanner.snapshot())))
    assert (bare_index.session.line_shown, bare_index.session.viewed_at) == ((1, "facts"), "2026-01-02")


def test_behind_a_snapshot_a_line_continues_the_last_one() -> None:
    """Not the beginning of the log."""
    scanner = Scanner()
    scanner.restore(json.loads(json.dumps(scan(LINES[:1]).snapshot())))
    scanner.feed(sealed([body(9)])[0])
    assert [kind for kind, *_ in found(scanner)] == ["checksum"]


def test_a_line_that_another_program_wrote_anew_is_damaged() -> None:
    """Its checksum stands inside; whatever it says, it is reported, and a chain has begun."""
    value = json.loads(LINES[0])
    anew = json.dumps({"_crc": value.pop("_crc"), **value}).encode() + b"\n"
    scanner = scan([anew, bare(1)])
    assert [kind for kind, *_ in found(scanner)] == ["checksum", "unchained"]
    assert [bool(flag & DAMAGED) for flag in scanner.index.columns.flags] == [True, False]
