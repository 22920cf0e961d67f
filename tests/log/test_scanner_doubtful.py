"""What a scan says of lines that are not what they were, and that it says it of them alone."""

import pytest

from amplifier_module_context_persistent.log.index import UNCHAINED
from amplifier_module_context_persistent.log.read_back import fetch_lines, parsed
from amplifier_module_context_persistent.log.record import encode_control, seal
from tests.support.logs import body, sealed
from tests.support.scans import found, ids, scan

LINES = sealed([body(number) for number in range(4)])
BARE = b'{"role": "user", "content": "text"}\n'


def details(lines: list[bytes], **options: int) -> list[str]:
    return [damage.detail for damage in scan(lines, **options).index.damage]


@pytest.mark.parametrize(
    "content", [b'{"_record" no json', b'{"role":"user","content":"a""', b'{"_record":"plan"', b'{"role":"user"', b"7"]
)
def test_a_flipped_bit_in_a_line_that_was_no_record_stops_no_scan(content: bytes) -> None:
    """Somebody may have put in a line that is none, with a checksum that holds."""
    line = seal(content, 0)[0]
    for at in range(8 * (len(line) - 1)):
        flipped = bytearray(line)
        flipped[at // 8] ^= 1 << at % 8
        scanner = scan([bytes(flipped), *LINES])
        assert scanner.index.offsets[-4] == len(line)
        assert list(scanner.index.live[-4:]) == list(range(len(scanner.index)))[-4:]
        assert found(scanner)


def test_a_header_of_which_one_bit_was_flipped_counts() -> None:
    """As it is, if it is the first; the damage is one finding."""
    header = sealed([encode_control("header", version=2, log_id="l")])[0]
    for changed in (header.replace(b'"l"', b'"m"'), header.replace(b"_crc", b"_crb")):
        scanner = scan([changed, *sealed([body(0)], int(header[-11:-3], 16))])
        assert scanner.index.control_counts == {"header": 1}
        assert scanner.index.headers[0]["log_id"] in "lm"
        assert len(scanner.index.damage) == 1
        assert ids(scanner) == [0]


def test_an_altered_line_begins_the_chain() -> None:
    """A line without a checksum after it is reported."""
    altered = LINES[0].replace(b"message 0", b"something else")
    assert [kind for kind, *_ in found(scan([altered, BARE]))] == ["checksum", "unchained"]


@pytest.mark.parametrize(("zeros", "others", "is_named"), [(5, 5, False), (6, 5, True), (3, 7, False), (9, 0, True)])
def test_nul_bytes_are_named_where_they_are_most_of_a_line(zeros: int, others: int, is_named: bool) -> None:
    """So a person knows what happened."""
    (detail,) = details([b"\0" * zeros + b"x" * others + b"\n"])
    assert ("NUL" in detail) is is_named


def test_how_many_bytes_are_no_record_is_said() -> None:
    """Of a line with whole records among other bytes, and of one that is too long."""
    between = LINES[0][:-1] + b"0123456789" + LINES[1]
    assert details([between])[0] == "10 bytes that are no record stand in one line with 2 that are read"
    (detail,) = details([LINES[0]], max_record_bytes=len(LINES[0]) - 1)
    assert detail == f"a line of {len(LINES[0])} bytes; at most {len(LINES[0]) - 1} are read; skipped"


def test_records_in_one_line_are_read_back() -> None:
    """With and without a checksum: each is checked against what was scanned."""
    for lines in ([LINES[0][:-1] + LINES[1]], [BARE[:-1] + BARE], [LINES[0], b"xx" + BARE], [b"xx" + LINES[0]]):
        content = b"".join(lines)
        index = scan(lines).index
        stored = fetch_lines(index, index.live, lambda offset, size, all_of=content: all_of[offset : offset + size])
        assert len(list(parsed(index, stored, "log"))) == len(index.live) > 0


def test_sound_messages_with_the_same_id_are_both_live() -> None:
    """Also those that have to be parsed; a copy without a checksum among them is not."""
    pinned = body(0, pinned=True)
    scanner = scan(sealed([pinned, pinned, body(1, pinned=True)]))
    assert (ids(scanner), found(scanner)) == ([0, 0, 1], [])
    bare = b'{"role": "user", "content": "x", "metadata": {"pinned": true, "message_id": "id-0"}}\n'
    scanner = scan([bare, bare])
    assert (ids(scanner), found(scanner)) == ([0, 0], [])
    assert scanner.index.flags[0] & UNCHAINED
    assert [kind for kind, *_ in found(scan([*sealed([pinned]), bare]))] == ["unchained", "repeated"]
