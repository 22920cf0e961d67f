"""What is read of a line: the message without what the log added, its membership of a reset, a checksum inside."""

from typing import Any

import pytest

from amplifier_module_context_persistent.log.record import (
    Member,
    decode,
    encode_plain,
    has_misplaced_crc,
    member_of,
    seal,
)
from tests.support.logs import STAMP

MESSAGE: dict[str, Any] = {"role": "user", "content": "text"}


def line_of(message: dict[str, Any], member: Member | None) -> bytes:
    """The line of a message, without LF."""
    line, _ = seal(encode_plain(message, message_id="x", timestamp=STAMP, member=member), 0)
    return line[:-1]


@pytest.mark.parametrize("reset_id", ["r", "", 'quo"te', "back\\slash", "ünï", '",3]', "7"])
@pytest.mark.parametrize("number", [0, 7, 999_999_999])
@pytest.mark.parametrize("content", ["text", 2**70])
def test_a_membership_is_read_and_is_no_part_of_the_message(reset_id: str, number: int, content: Any) -> None:
    """Whatever the reset's id is, with and without LF, and in a line that the standard library wrote."""
    line = line_of({"role": "user", "content": content}, Member(reset_id, number))
    assert member_of(line) == Member(reset_id, number)
    expected = {
        "role": "user",
        "content": content,
        "metadata": {"timestamp": STAMP, "message_id": "x"},
    }
    assert decode(line) == decode(line + b"\n") == expected


def test_what_was_written_by_hand_is_no_membership() -> None:
    """A line without a checksum keeps its `_reset`; a membership of another shape is none."""
    by_hand = b'{"role":"user","_reset":["r",0]}'
    assert member_of(by_hand) is None
    assert decode(by_hand)["_reset"] == ["r", 0]
    for reset in (b'["r"]', b'["r",-1]', b'["r",1234567890]', b'[["r"],1]', b'["\\ud8",1]'):
        line, _ = seal(b'{"role":"user","_reset":' + reset, 0)
        assert member_of(line[:-1]) is None, reset
    assert member_of(line_of(MESSAGE, None)) is None


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (b'{"_crc":"00000000","role":"user"}', True),
        (b'{"role":"user", "_crc": "00000000", "content": "edited"}', True),
        (b'{"role":"user","content":"text"}', False),
        (b'{"role":"user","content":{"_crc":"00000000"}}', False),
        (b'{"role":"user","content":"\\"_crc\\""}', False),
        (b'["_crc"]', False),
        (b'"_crc"', False),
        (b'{"_crc":"0000', False),
        (b'{"_crc":"\xff"}', False),
    ],
)
def test_a_checksum_that_is_not_at_the_end_is_told(line: bytes, expected: bool) -> None:
    """Of the message itself, in whatever order and spacing; not of what the message holds."""
    assert has_misplaced_crc(line) is expected
