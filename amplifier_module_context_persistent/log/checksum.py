"""The checksum at the end of a record's line: it is written, read and compared.

`_crc = crc32(line[:-20] + b"}", seed)`. The 20 bytes are `,"_crc":"xxxxxxxx"}` and LF, with eight lower-case
hexadecimal digits. A line with another end has no checksum. The seed is the checksum of the record before it, so
checksums form a chain (`chain_check`).
"""

from __future__ import annotations

from zlib import crc32

CRC_KEY = b',"_crc":"'
CRC_TAIL_BYTES = 19  # bytes of the checksum at the end of a line, without the LF


def seal(body: bytes, seed: int) -> tuple[bytes, int]:
    """Close a body with its checksum; return the line with its LF, and the seed of the next record."""
    crc = crc32(b"}", crc32(body, seed))
    return body + b',"_crc":"%08x"}\n' % crc, crc


def continues(body: bytes, stored: int, seed: int) -> bool:
    """Return whether `stored` is the checksum of a body (a line up to its checksum), computed with this seed."""
    return stored == crc32(b"}", crc32(body, seed))


def has_crc(line: bytes) -> bool:
    """Return whether a line (without LF) ends with a checksum."""
    return line[-CRC_TAIL_BYTES:-10] == CRC_KEY and line[-2:] == b'"}'


def stored_crc(line: bytes) -> int | None:
    """Return the checksum at the end of a line (without LF); None if the line has no checksum."""
    if not has_crc(line):
        return None
    digits = line[-10:-2]
    try:
        crc = int(digits, 16)
    except ValueError:
        return None
    return crc if b"%08x" % crc == digits else None
