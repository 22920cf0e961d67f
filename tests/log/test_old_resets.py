"""Resets of format version 1, as they are read: in force once committed, whatever is damaged."""

import pytest

from amplifier_module_context_persistent.log.record import encode_control
from tests.support.logs import body, keep, old_reset_bodies, sealed
from tests.support.scans import found, ids, scan

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
    lines = sealed([*BEFORE, encode_control("plan"), *old_reset_bodies("r", *content), body(20)])
    scanner = scan(lines, piece=piece)
    assert ids(scanner) == [*live, 20]
    assert found(scanner) == []
    assert (scanner.index.generation, scanner.index.plan) == (1, None)
    assert len(scanner.index) == 6 + content.count(body(10)) + 1


def test_the_last_committed_reset_counts() -> None:
    """A later reset keeps from what the reset before it left."""
    bodies = [*BEFORE, *old_reset_bodies("a", keep(2, 5)), *old_reset_bodies("b", keep(3, 4))]
    assert ids(scan(sealed(bodies))) == [3, 4]


def test_keeping_what_an_earlier_reset_hid_is_reported() -> None:
    """Only what is live can be kept; a run from elsewhere is a finding, not a guess."""
    scanner = scan(
        sealed([*BEFORE, *old_reset_bodies("a", keep(2, 5)), *old_reset_bodies("b", keep(0, 1), keep(3, 3))])
    )
    assert [damage.kind for damage in scanner.index.damage] == ["reset"]
    assert ids(scanner) == [3]
    assert [damage.kind for damage in scan(sealed([*BEFORE, *old_reset_bodies("a", keep(4, 2))])).index.damage] == [
        "reset"
    ]


@pytest.mark.parametrize("stands", range(1, 3))
def test_an_interrupted_reset_is_not_in_force(stands: int) -> None:
    """Its messages are not live; what the next version appends after its header is."""
    reset = old_reset_bodies("r", body(10), body(11))
    scanner = scan(sealed([*BEFORE, *reset[:stands]]))
    assert ids(scanner) == [0, 1, 2, 3, 4, 5]
    header = encode_control("header", version=2)
    scanner.feed(b"".join(sealed([header, body(12)], scanner.seed)))
    assert ids(scanner) == [0, 1, 2, 3, 4, 5, 12]
    assert [damage.kind for damage in scanner.index.damage] == ["reset"]


def test_a_reset_that_has_all_its_records_is_in_force_without_its_commit() -> None:
    """A writer that was killed right before the commit had nothing else to write."""
    assert ids(scan(sealed([*BEFORE, *old_reset_bodies("r", body(10), keep(2, 3))[:3]]))) == [10, 2, 3]


def test_a_reset_goes_on_in_the_next_block() -> None:
    """What was read of a reset waits for the rest of it."""
    lines = sealed([*BEFORE, *old_reset_bodies("r", body(10), body(11))])
    scanner = scan(lines[:8])
    assert ids(scanner) == [0, 1, 2, 3, 4, 5]
    scanner.feed(b"".join(lines[8:]))
    assert ids(scanner) == [10, 11]


def test_a_reset_whose_commit_is_damaged_in_the_middle_was_committed() -> None:
    """Only an end can be torn, so a damaged commit with records after it is reported and honoured."""
    lines = sealed([*BEFORE, *old_reset_bodies("r", body(10), keep(5, 5)), body(20)])
    for damaged in (b"", b"x" * 40 + b"\n"):
        broken = [*lines[:9], *([damaged] if damaged else []), *lines[10:]]
        scanner = scan(broken)
        assert ids(scanner) == [10, 5, 20]
        assert scanner.index.damage


def test_damage_within_a_reset_costs_the_damaged_record_only() -> None:
    """An unreadable record of a reset takes its place in the count."""
    lines = sealed([*BEFORE, *old_reset_bodies("r", body(10), body(11), body(12)), body(20)])
    lines[8] = b"x" + lines[8][1:]
    scanner = scan(lines)
    assert ids(scanner) == [10, 12, 20]
    assert [damage.line for damage in scanner.index.damage] == [9]


def test_a_commit_whose_reset_is_lost_takes_what_was_read_since() -> None:
    """The line that cannot be read, or that is missing, is where the reset began."""
    lines = sealed([*BEFORE, *old_reset_bodies("r", body(10), keep(5, 5)), body(20)])
    for damaged in ([b"x" + lines[6][1:]], []):
        scanner = scan([*lines[:6], *damaged, *lines[7:]])
        assert ids(scanner) == [10, 5, 20]
        assert "reset" in [damage.kind for damage in scanner.index.damage]


@pytest.mark.parametrize("place", [6, 9])
def test_a_flipped_id_of_a_reset_or_its_commit_changes_nothing(place: int) -> None:
    """The count and the place say to which reset a commit belongs."""
    lines = sealed([*BEFORE, *old_reset_bodies("r", body(10), keep(5, 5)), body(20)])
    lines[place] = lines[place].replace(b'"id":"r"', b'"id":"s"')
    scanner = scan(lines)
    assert ids(scanner) == [10, 5, 20]
    assert "checksum" in [damage.kind for damage in scanner.index.damage]


@pytest.mark.parametrize("place", [2, 4, 6])
def test_a_flipped_id_in_a_run_or_in_its_message_is_found(place: int) -> None:
    """An id that differs in one bit from the one that is named is that one."""
    lines = sealed([*BEFORE, *old_reset_bodies("r", keep(2, 4)), body(20)])
    lines[place if place < 6 else 7] = lines[place if place < 6 else 7].replace(
        b"id-%d" % (place if place < 6 else 4), b"id-6"
    )
    assert len(ids(scan(lines))) == 4


def test_a_rewind_whose_run_is_lost_hides_nothing() -> None:
    """Nobody knows what it kept."""
    lines = sealed([*BEFORE, *old_reset_bodies("r", keep(0, 3), reason="rewind"), body(20)])
    for damaged in ([], [b'{"_rec' + b"x" * 40 + b"\n"]):
        assert ids(scan([*lines[:7], *damaged, *lines[8:]])) == [0, 1, 2, 3, 4, 5, 20]


def test_a_reset_whose_first_record_is_lost_is_told_after_a_header_of_version_1() -> None:
    """Every log of version 1 begins with one; only a header of a later version ends the search."""
    lines = sealed([encode_control("header", version=1), *BEFORE, *old_reset_bodies("r", body(10)), body(20)])
    assert ids(scan([*lines[:7], *lines[8:]])) == [10, 20]


def test_a_reset_that_a_plan_follows_was_never_committed() -> None:
    """A killed writer left it so; what comes after the plan is live by itself."""
    interrupted = old_reset_bodies("r", body(10), body(11))[:2]
    scanner = scan(sealed([*BEFORE, *interrupted, encode_control("plan"), body(12)]))
    assert ids(scanner) == [0, 1, 2, 3, 4, 5, 12]
    assert [damage.kind for damage in scanner.index.damage] == ["reset"]


def test_an_edited_message_of_a_reset_belongs_to_it() -> None:
    """Its checksum does not hold, but its place says what it is."""
    lines = sealed([*BEFORE, *old_reset_bodies("r", body(10), body(11)), body(20)])
    lines[7] = lines[7].replace(b"message 10", b"massage 10")
    assert ids(scan(lines)) == [10, 11, 20]


@pytest.mark.parametrize("reason", ["clear", "rewind"])
@pytest.mark.parametrize("damage", ["unreadable", "oversized"])
def test_what_cannot_be_read_of_a_reset_counts(reason: str, damage: str) -> None:
    """With it the reset has all its records, and a commit with another id is its own."""
    reset = old_reset_bodies("r", keep(0, 1), body(11, text="x" * 1_000), reason=reason)[:3]
    commit = encode_control("commit", id="other")
    lines = sealed([*BEFORE, *reset, commit])
    if damage == "unreadable":
        lines[8] = b"x" + lines[8][1:]
    assert ids(scan(lines, max_record_bytes=1_000 if damage == "oversized" else 1 << 20)) == [0, 1]
    assert ids(scan(sealed([*BEFORE, *reset[:2], commit]))) == [0, 1, 2, 3, 4, 5]
