"""Bundles: the messages of one append, which a crash leaves in a file together or not at all.

Before several messages of one caller a file has a record `bundle`: how many bytes their lines have, and a checksum of
each line. (Control records between them count as well.) If the file ends before them, the append was interrupted and
nobody was told that it was stored: the bundle is a torn tail from its record on. Rules:
- Only the end of a file can be torn. Behind a bundle that is followed by anything else, all is read: damage to one line
  takes no more than that line, and what an earlier version appended after half a bundle counts.
- A bundle at the end of a file that holds NUL bytes is torn too: a power cut left blocks of it that were not written.
- A storage that appends as a whole (a transaction of a database, memory) needs no bundles.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from zlib import crc32

from .record_line import CONTROL_HEAD, CRC_TAIL_BYTES, Message, decode, encode_control, has_crc

KIND = "bundle"
HEAD = CONTROL_HEAD + b':"bundle"'
_LINE_HEAD = b"\n" + HEAD
_RESET_HEAD = CONTROL_HEAD + b':"reset_'
_SEAL_BYTES = CRC_TAIL_BYTES + 1
_CRC_DIGITS = 8


def bundled(bodies: Sequence[bytes]) -> Sequence[bytes]:
    """Put a bundle's record before the messages of one caller; the very same bodies if they need none.

    Args:
        bodies: the records of one caller. A reset among them has its own frame.
    """
    if len(bodies) < 2:
        return bodies
    messages = [at for at, body in enumerate(bodies) if not body.startswith(CONTROL_HEAD)]
    if len(messages) < 2 or any(map(_frames_reset, bodies)):
        return bodies
    first = messages[0]
    together = bodies[first:]
    total = sum(map(len, together)) + _SEAL_BYTES * len(together)
    checks = "".join(f"{crc32(body):08x}" for body in together)
    return [*bodies[:first], encode_control(KIND, bytes=total, checks=checks), *together]


def _frames_reset(body: bytes) -> bool:
    return body.startswith(_RESET_HEAD)


def torn_bundle(block: bytes, offset: int, size: int, read: Callable[[int, int], bytes]) -> int | None:
    """Find the place in a block of a file where a bundle begins that the file does not hold to its end.

    Args:
        block: bytes of the file, from the beginning of a line on.
        offset: where they begin.
        size: the file's size.
        read: reads so many bytes of the file, from an offset on.
    """
    if _LINE_HEAD not in block and not block.startswith(HEAD):
        return None  # nearly every block; a search from the end takes twice as long
    start = block.rfind(_LINE_HEAD) + 1
    line = block[start:].partition(b"\n")[0]
    if (described := _described(line)) is None:
        return None
    total, checks = described
    end = start + len(line) + 1
    begins = offset + end
    stops = begins + total
    if size > stops:
        return None
    tail = block[end:] if size == offset + len(block) else read(begins, max(0, size - begins))
    if size >= stops - 1:  # the last line may lack its LF
        return start if b"\0" in tail else None
    return start if _is_beginning(tail, checks) else None


def _described(line: bytes) -> tuple[int, list[str]] | None:
    """The bytes and the checksums that a bundle's record names; None if it is damaged."""
    try:
        record: Message = decode(line)
    except ValueError:
        return None
    total, checks = record.get("bytes"), record.get("checks")
    if not isinstance(total, int) or not isinstance(checks, str):
        return None
    return total, [checks[at : at + _CRC_DIGITS] for at in range(0, len(checks), _CRC_DIGITS)]


def _is_beginning(tail: bytes, checks: Sequence[str]) -> bool:
    """Whether bytes are the beginning of a bundle's lines, which may end within a line."""
    *lines, rest = tail.split(b"\n")
    if rest.endswith(b'"}') and has_crc(rest):
        lines.append(rest)
    return [f"{crc32(line[:-CRC_TAIL_BYTES]):08x}" for line in lines] == list(checks[: len(lines)])
