"""Resets of format version 2: in force by their commit or by their begin, whatever one line of the log suffers."""

import pytest

from amplifier_module_context_persistent.log.record_line import decode, member_of
from tests.support.logs import body, keep, reset_bodies, sealed
from tests.support.scans import ids, scan

BEFORE = [body(number) for number in range(6)]
CONTENT = [body(10), keep(2, 3), body(11), keep(5, 5)]
LIVE = [10, 2, 3, 11, 5]


def log_of(*after: bytes) -> list[bytes]:
    return sealed([*BEFORE, *reset_bodies("r", *CONTENT, upto="id-5"), *after])


@pytest.mark.parametrize("piece", [1, 3, 100])
def test_a_committed_reset_says_what_is_live(piece: int) -> None:
    """What it brings and what it keeps, in its order, and what follows."""
    scanner = scan(log_of(body(20)), piece=piece)
    assert ids(scanner) == [*LIVE, 20]
    assert scanner.index.damage == []
    assert (scanner.index.generation, len(scanner.index)) == (1, 9)


@pytest.mark.parametrize("stands", range(1, 3))
def test_an_interrupted_reset_is_not_in_force(stands: int) -> None:
    """Nobody holds its messages, and what is appended after them is live."""
    bodies = reset_bodies("r", *CONTENT, upto="id-5")[:stands]
    scanner = scan(sealed([*BEFORE, *bodies, body(20)]))
    assert ids(scanner) == [0, 1, 2, 3, 4, 5, 20]
    assert scanner.index.damage == []


def test_a_begin_with_all_its_messages_is_in_force() -> None:
    """It says all that the commit would say; but not where a message within a run is lost."""
    assert ids(scan(log_of()[:-1])) == LIVE
    long = sealed([*BEFORE, *reset_bodies("r", keep(1, 5), upto="id-5")])[:-1]
    assert ids(scan(long)) == [1, 2, 3, 4, 5]
    assert ids(scan([*long[:3], b"lost\n", *long[4:]])) == [0, 1, 2, 4, 5]


def test_a_message_that_was_moved_after_its_reset_is_read_there() -> None:
    """It is reported, and the reset is in force for what stands before it."""
    lines = sealed([*BEFORE, *reset_bodies("r", body(10), upto="id-5"), body(20)])
    scanner = scan([*lines[:5], *lines[6:], lines[5], *sealed([body(21)], scan(lines).seed)])
    assert ids(scanner) == [10, 20, 5, 21]
    assert scanner.index.damage


def test_a_message_of_a_reset_is_what_was_given() -> None:
    """Its membership is the log's affair."""
    line = log_of()[7].rstrip(b"\n")
    member = member_of(line)
    assert (member is not None and (member.reset_id, member.number)) == ("r", 0)
    assert decode(line) == decode(sealed([body(10)])[0])


def test_an_edited_copy_of_a_message_of_a_reset_is_left_out() -> None:
    """Wherever in the reset it stands, the message itself counts, and counts once."""
    lines = log_of(body(20))
    edited = lines[7].replace(b"message 10", b"Message 10")
    for place in range(6, 11):
        assert ids(scan([*lines[:place], edited, *lines[place:]])) == [*LIVE, 20], place


@pytest.mark.parametrize(("at", "named"), [(6, "begin"), (9, "commit")])
def test_an_edited_begin_or_commit_is_reported_and_the_other_one_decides(at: int, named: str) -> None:
    """It can be parsed, but what it says is not what was written."""
    lines = log_of(body(20))
    lines[at] = lines[at].replace(b'"upto":"id-5"', b'"upto":"id-2"')
    scanner = scan(lines)
    assert ids(scanner) == [*LIVE, 20]
    assert [found.kind for found in scanner.index.damage] == ["checksum", "reset"]
    assert f"the {named} of a reset is damaged" in scanner.index.damage[1].detail
