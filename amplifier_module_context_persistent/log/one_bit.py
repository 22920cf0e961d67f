"""Find the one flipped bit that explains why a line's checksum does not hold.

CRC-32 tells every single flipped bit of a line from every other one, so the line as it was written can be had back. It
is used to know what a damaged record was: which reset, which message. What is handed out stays what is stored, and the
damage is reported all the same.
"""

from __future__ import annotations

from zlib import crc32

from .chain import unshift_bit
from .record import CRC_TAIL_BYTES, decode, stored_crc

_MOST_BYTES = 64 << 10  # two steps a microsecond: about a quarter of a second for the longest


def corrected(line: bytes, seed: int) -> bytes | None:
    """The line (without LF) as it was written after `seed`; None if no single flipped bit explains what it is now.

    Nobody writes a line that is no JSON object: where such a one would be the explanation, there is none.
    """
    written = _explained(line, seed)
    try:
        return written if written is not None and decode(written) else None
    except ValueError:
        return None


def _explained(line: bytes, seed: int) -> bytes | None:
    """What `corrected` gives, whether or not it is JSON."""
    if len(line) <= CRC_TAIL_BYTES or len(line) > _MOST_BYTES:
        return None
    body = line[:-CRC_TAIL_BYTES]
    computed = crc32(b"}", crc32(body, seed))
    tail = b',"_crc":"%08x"}' % computed
    flipped = int.from_bytes(tail, "big") ^ int.from_bytes(line[-CRC_TAIL_BYTES:], "big")
    if flipped.bit_count() == 1:
        return body + tail
    stored = stored_crc(line)
    if stored is None:
        return None
    value = stored ^ computed
    for steps in range(1, 8 * len(body) + 9):
        value = unshift_bit(value)
        if value == 1:
            after, rest = divmod(steps - 1, 8)
            if not after:  # the bit of the closing brace, which is not stored
                return None
            at = len(body) - after
            return line[:at] + bytes([line[at] ^ 1 << 7 - rest]) + line[at + 1 :]
    return None
