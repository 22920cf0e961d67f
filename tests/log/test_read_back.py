"""Reading back: what is handed out is what was scanned, however many lines are read together."""

from collections.abc import Sequence

import pytest

from amplifier_module_context_persistent.errors import LogUnreadableError
from amplifier_module_context_persistent.log.index import Index
from amplifier_module_context_persistent.log.read_back import checked, fetch_lines, parsed
from amplifier_module_context_persistent.log.record_line import encode_message
from tests.support.logs import STAMP, body, number_of, reset_bodies, sealed
from tests.support.scans import scan

BODIES = [body(number) for number in range(70)]


def read(index: Index, content: bytes, ordinals: Sequence[int]) -> list[dict[str, object]]:
    lines = fetch_lines(index, ordinals, lambda offset, size: content[offset : offset + size])
    return list(parsed(index, checked(index, lines, "log"), "log"))


@pytest.mark.parametrize("count", [0, 1, 2, 63, 64, 65, 70])
def test_lines_are_read_in_any_number(count: int) -> None:
    """Each message is the one that was written, with its id and without the log's own keys."""
    content = b"".join(sealed(BODIES))
    messages = read(scan([content]).index, content, range(count))
    assert [number_of(message) for message in messages] == list(range(count))
    assert all(list(message) == ["role", "content", "metadata"] for message in messages)


BIG = encode_message({"role": "user", "content": 2**70}, message_id="big", timestamp=STAMP)


@pytest.mark.parametrize(
    ("bodies", "contents"),
    [
        ([BODIES[0], BIG, BODIES[1]], ["message 0", 2**70, "message 1"]),
        ([BODIES[0], *reset_bodies("r", body(80), body(81))], ["message 0", "message 80", "message 81"]),
        ([BIG, *reset_bodies("r", BIG)], [2**70, 2**70]),
    ],
)
@pytest.mark.parametrize("bare", [b"", b'{"role":"user","content":"bare"}\n'])
def test_what_is_written_otherwise_than_most_lines_is_what_was_given(
    bodies: list[bytes], contents: list[object], bare: bytes
) -> None:
    """Marked values, members of a reset, lines of the older module; alone, and with lines that need no care."""
    content = bare + b"".join(sealed(bodies, 99 if bare else 0))
    scanner = scan([content])
    messages = read(scanner.index, content, range(len(scanner.index)))
    assert [message["content"] for message in messages] == (["bare"] if bare else []) + contents
    assert all({"_json", "_reset", "_crc"}.isdisjoint(message) for message in messages)
    assert all(message["metadata"]["message_id"] for message in messages)  # type: ignore[index]


@pytest.mark.parametrize("alone", [False, True])
def test_every_changed_bit_of_a_line_is_an_error_and_those_before_it_are_given(alone: bool) -> None:
    """Of its text, of its checksum, of its keys, at any place among lines that are read together."""
    content = b"".join(sealed(BODIES[:9]))
    index = scan([content]).index
    start, length = index.columns.offsets[6], index.columns.lengths[6]
    for at in range(start, start + length - 1):
        for bit in range(8):
            changed = bytearray(content)
            changed[at] ^= 1 << bit
            block = bytes(changed)
            lines = fetch_lines(
                index, [6] if alone else range(9), lambda offset, size, block=block: block[offset : offset + size]
            )  # type: ignore[misc]
            given = []
            with pytest.raises(LogUnreadableError, match="was changed since it was read"):
                given.extend(map(number_of, parsed(index, checked(index, lines, "log"), "log")))
            assert given == ([] if alone else [*range(6)])
            again = fetch_lines(index, [6], lambda offset, size, block=block: block[offset : offset + size])  # type: ignore[misc]
            with pytest.raises(LogUnreadableError):
                list(checked(index, again, "log"))


def test_exchanged_lines_are_an_error() -> None:
    """Two lines of the same length, each sound by itself, at each other's place."""
    lines = sealed(BODIES[:8])
    index = scan(lines).index
    lines[3], lines[4] = lines[4], lines[3]
    with pytest.raises(LogUnreadableError):
        read(index, b"".join(lines), range(8))
