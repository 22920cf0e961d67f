"""Resets, as the scanner takes them: in force once committed, whatever is damaged."""

import json

import pytest

from amplifier_module_context_persistent.log.record import encode_control, seal
from tests.support.logs import body, reset_bodies, sealed
from tests.support.scans import found, ids, scan


def keep(first: int, last: int) -> bytes:
    return encode_control("keep", **{"from": f"id-{first}", "to": f"id-{last}"})


BEFORE = [body(number) for number in range(6)]


@pytest.mark.parametrize("piece", [1, 3, 100])
@pytest.mark.parametrize(
    ("content", "live"),
    [
        ([], []),
        ([body(10)], [10]),
        ([keep(1, 3)], [1, 2, 3]),
        ([keep(4, 4), body(10), keep(0, 1)], [4, 10, 0, 1]),
        ([keep(0, 5)], [0, 1, 2, 3, 4, 5]),
    ],
)
def test_a_committed_reset_says_what_is_live(content: list[bytes], live: list[int], piece: int) -> None:
    """The live history is what the reset keeps and brings, and what follows it."""
    lines = sealed([*BEFORE, encode_control("plan"), *reset_bodies("r", *content), body(20)])
    scanner = scan(lines, piece=piece)
    assert ids(scanner) == [*live, 20]
    assert found(scanner) == []
    assert (scanner.index.generation, scanner.index.plan, scanner.pending) == (1, None, None)
    assert len(scanner.index) == 6 + content.count(body(10)) + 1


def test_the_last_committed_reset_counts() -> None:
    """A later reset keeps from what the reset before it left."""
    bodies = [*BEFORE, *reset_bodies("a", keep(2, 5)), *reset_bodies("b", keep(3, 4))]
    assert ids(scan(sealed(bodies))) == [3, 4]


def test_keeping_what_an_earlier_reset_hid_is_reported() -> None:
    """Only what is live can be kept; a run from elsewhere is a finding, not a guess."""
    scanner = scan(sealed([*BEFORE, *reset_bodies("a", keep(2, 5)), *reset_bodies("b", keep(0, 1), keep(3, 3))]))
    assert [damage.kind for damage in scanner.index.damage] == ["reset"]
    assert ids(scanner) == [3]
    assert [damage.kind for damage in scan(sealed([*BEFORE, *reset_bodies("a", keep(4, 2))])).index.damage] == ["reset"]


@pytest.mark.parametrize("stands", range(1, 4))
def test_an_uncommitted_reset_at_the_end_is_not_in_force(stands: int) -> None:
    """Until its commit is there the history before it is live, and it can be given up without a trace."""
    reset = reset_bodies("r", body(10), body(11))
    before = scan(sealed(BEFORE))
    scanner = scan(sealed([*BEFORE, *reset[:stands]]))
    assert ids(scanner) == [0, 1, 2, 3, 4, 5]
    assert scanner.pending is not None
    assert scanner.pending.offset == before.offset
    scanner.abandon_reset()
    assert (scanner.offset, scanner.line, scanner.seed) == (before.offset, before.line, before.seed)
    assert scanner.index.control_counts == {}
    scanner.feed(b"".join(sealed([body(12)], scanner.seed)))
    assert ids(scanner) == [0, 1, 2, 3, 4, 5, 12]
    assert found(scanner) == []


def test_a_reset_goes_on_in_the_next_block() -> None:
    """What was read of a reset waits for the rest of it."""
    lines = sealed([*BEFORE, *reset_bodies("r", body(10), body(11))])
    scanner = scan(lines[:8])
    assert ids(scanner) == [0, 1, 2, 3, 4, 5]
    scanner.feed(b"".join(lines[8:]))
    assert ids(scanner) == [10, 11]


def test_a_reset_whose_commit_is_damaged_in_the_middle_was_committed() -> None:
    """Only an end can be torn, so a damaged commit with records behind it is reported and honoured."""
    lines = sealed([*BEFORE, *reset_bodies("r", body(10), keep(5, 5)), body(20)])
    for damaged in (b"", b"x" * 40 + b"\n"):
        broken = [*lines[:9], *([damaged] if damaged else []), *lines[10:]]
        scanner = scan(broken)
        assert ids(scanner) == [10, 5, 20]
        assert "reset" in [damage.kind for damage in scanner.index.damage]


def test_damage_within_a_reset_costs_the_damaged_record_only() -> None:
    """An unreadable record of a reset takes its place in the count."""
    lines = sealed([*BEFORE, *reset_bodies("r", body(10), body(11), body(12)), body(20)])
    lines[8] = b"x" + lines[8][1:]
    scanner = scan(lines)
    assert ids(scanner) == [10, 12, 20]
    assert [damage.line for damage in scanner.index.damage] == [9]


def test_a_commit_without_its_reset_is_reported() -> None:
    """When the reset itself cannot be read, the history before it shows again, and that is told."""
    lines = sealed([*BEFORE, *reset_bodies("r", body(10)), body(20)])
    lines[6] = b"x" + lines[6][1:]
    scanner = scan(lines)
    assert ids(scanner) == [0, 1, 2, 3, 4, 5, 10, 20]
    assert [damage.kind for damage in scanner.index.damage] == ["unreadable", "reset"]


def test_a_reset_glued_behind_garbage_is_cut_with_its_line() -> None:
    """What is given up of an uncommitted reset begins where its line begins."""
    lines = sealed([*BEFORE])
    (reset, _) = seal(reset_bodies("r", body(10))[0], 0)
    scanner = scan([*lines, b"garbage" + reset])
    assert scanner.pending is not None
    assert scanner.pending.offset == sum(map(len, lines))
    scanner.abandon_reset()
    assert scanner.seed == int(json.loads(lines[-1])["_crc"], 16)
