"""Bundles: several messages of one append, of which a crash leaves either all or none in a file.

Before several messages of one caller, a file has a record `bundle`: the number of bytes of their lines, and a checksum
of each line (including control records between them). If the file ends before the last of these lines, the append was
interrupted and never acknowledged. Then all bytes from the bundle's record on are a torn tail. Rules:
- Only the end of a file can be torn. If any line follows a bundle, all its lines are read: damage to one line affects
  only that line, and lines that an earlier version appended after an incomplete bundle are valid.
- A bundle at the end of a file that contains NUL bytes is torn too: a power cut left unwritten blocks in it.
- A storage that appends as a whole (a transaction of a database, memory) needs no bundles.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from zlib import crc32

from .checksum import CRC_TAIL_BYTES, has_crc
from .record_limits import SEAL_BYTES
from .record_line import CONTROL_HEAD, Message, decode, encode_control

KIND = "bundle"
HEAD = CONTROL_HEAD + b':"bundle"'
_LINE_HEAD = b"\n" + HEAD
_RESET_HEAD = CONTROL_HEAD + b':"reset_'
_CRC_DIGITS = 8


def bundled(bodies: Sequence[bytes]) -> Sequence[bytes]:
    """Put a bundle's record before the messages of one caller; return the bodies unchanged if they need no bundle.

    Args:
        bodies: the records of one caller. They need no bundle with fewer than two messages, or if they are a reset,
            which has its own begin and commit.
    """
    if len(bodies) < 2:
        return bodies
    controls = [body for body in bodies if body.startswith(CONTROL_HEAD)]
    messages = len(bodies) - len(controls)
    are_framed = any(map(_frames_reset, controls))
    if messages < 2 or are_framed:
        return bodies
    first = next(position for position, body in enumerate(bodies) if not body.startswith(CONTROL_HEAD))
    together = bodies[first:]
    total = sum(map(len, together)) + SEAL_BYTES * len(together)
    checks = b"".join([crc32(body).to_bytes(_CRC_DIGITS // 2, "big") for body in together]).hex()
    return [*bodies[:first], encode_control(KIND, bytes=total, checks=checks), *together]


def _frames_reset(body: bytes) -> bool:
    return body.startswith(_RESET_HEAD)


def torn_bundle(block: bytes, offset: int, size: int, read: Callable[[int, int], bytes]) -> int | None:
    """Find the torn bundle in a block of a file, and return its position in the block; None if there is none.

    Args:
        block: bytes of the file; they begin at the beginning of a line.
        offset: the offset of the block in the file.
        size: the file's size.
        read: reads bytes of the file, given an offset and a number of bytes.
    """
    if _LINE_HEAD not in block and not block.startswith(HEAD):
        return None  # the case of nearly every block; a search from the end would take twice as long
    start = block.rfind(_LINE_HEAD) + 1
    line = block[start:].partition(b"\n")[0]
    described = _described(line)
    if described is None:
        return None
    total, checks = described
    first = start + len(line) + 1  # of the bundle's lines, in the block
    first_offset = offset + first
    end_offset = first_offset + total
    if size > end_offset:
        return None
    has_tail = size == offset + len(block)
    tail = block[first:] if has_tail else read(first_offset, max(0, size - first_offset))
    is_complete = size >= end_offset - 1  # the last line may lack its LF
    is_torn = b"\0" in tail if is_complete else _is_beginning(tail, checks)
    return start if is_torn else None


def _described(line: bytes) -> tuple[int, list[str]] | None:
    """Return the number of bytes and the checksums in a bundle's record; None if the record is damaged."""
    try:
        record: Message = decode(line)
    except ValueError:
        return None
    total = record.get("bytes")
    checks = record.get("checks")
    if not isinstance(total, int) or not isinstance(checks, str):
        return None
    return total, [checks[position : position + _CRC_DIGITS] for position in range(0, len(checks), _CRC_DIGITS)]


def _is_beginning(tail: bytes, checks: Sequence[str]) -> bool:
    """Return whether `tail` is the beginning of a bundle's lines, judged by their checksums.

    It may end within a line.
    """
    *lines, rest = tail.split(b"\n")
    if rest.endswith(b'"}') and has_crc(rest):
        lines.append(rest)
    return [f"{crc32(line[:-CRC_TAIL_BYTES]):08x}" for line in lines] == list(checks[: len(lines)])
