"""Read what a damaged frame of an archive still gives. The file is not changed.

- One flipped bit is found by the frame's CRC-32: in fewer than 2^32 bits, each flipped bit changes the checksum in
  another way. The mended frame is decompressed, and its second checksum (zstd's own) has to be correct too.
- Otherwise a frame is read up to its damage. zstd decompresses in blocks of 128 KB, and a damaged block may give wrong
  bytes, so only lines whose checksums continue the log's chain are taken.
"""

from __future__ import annotations

from dataclasses import replace
from zlib import crc32

from .archive_format import Frame, decompressed, zstd
from .checksum import CRC_TAIL_BYTES, continues, stored_crc

_POLYNOMIAL = 0xEDB88320  # of CRC-32, with the lowest bit first
_STEP_BYTES = 4 << 10


def with_bit_put_right(frame: Frame, packed: bytes) -> bytes | None:
    """Return a frame's content if exactly one bit of its compressed bytes was flipped; else None.

    None also for a frame whose description is lost, because its checksum is not known.

    Args:
        frame: the frame's description.
        packed: the compressed bytes, which are damaged.
    """
    if frame.is_lost or len(packed) != frame.packed_bytes:
        return None
    place = _flipped_bit(len(packed), crc32(packed) ^ frame.crc)
    if place is None:
        return None
    at, bit = place
    mended = bytearray(packed)
    mended[at] ^= bit
    try:
        return decompressed(frame, bytes(mended))
    except ValueError:
        return None


def _flipped_bit(size: int, difference: int) -> tuple[int, int] | None:
    """Return the byte and the bit in it whose change gives this difference of two CRC-32; None if no bit does.

    The difference is followed back byte by byte, from the last one. At the changed byte it is that of a single bit.
    """
    table = [_crc_of_byte(byte) for byte in range(256)]
    by_highest = {value >> 24: byte for byte, value in enumerate(table)}
    bits = {table[1 << number]: 1 << number for number in range(8)}
    for at in range(size - 1, -1, -1):
        bit = bits.get(difference)
        if bit is not None:
            return at, bit
        byte = by_highest[difference >> 24]
        difference = ((difference ^ table[byte]) << 8) | byte
    return None


def _crc_of_byte(byte: int) -> int:
    for _ in range(8):
        byte = (byte >> 1) ^ (_POLYNOMIAL if byte & 1 else 0)
    return byte


def beginning_of(frame: Frame, packed: bytes) -> tuple[bytes, Frame]:
    """Return the whole lines before the damage of a frame, and the part of the frame that is lost.

    Args:
        frame: the frame's description.
        packed: the compressed bytes, which are damaged.
    """
    content = _decompressed_beginning(packed, frame.size)
    seed = frame.seed
    end = 0
    lines = 0
    while (line_end := content.find(b"\n", end)) >= 0:
        line = content[end:line_end]
        stored = stored_crc(line)
        if stored is None or not continues(line[:-CRC_TAIL_BYTES], stored, seed):
            break
        seed = stored
        end = line_end + 1
        lines += 1
    if lines >= frame.lines:
        return b"", frame
    lost = replace(
        frame,
        offset=frame.offset + end,
        size=frame.size - end,
        line=frame.line + lines,
        lines=frame.lines - lines,
        seed=seed,
    )
    return content[:end], lost


def _decompressed_beginning(packed: bytes, size: int) -> bytes:
    """Decompress a damaged frame up to the first block that cannot be decompressed; at most `size` bytes."""
    library = zstd()
    stream = library.ZstdDecompressor()
    content = bytearray()
    try:
        for at in range(0, len(packed), _STEP_BYTES):
            content += stream.decompress(packed[at : at + _STEP_BYTES])
            if stream.eof or len(content) > size:
                break
    except (library.ZstdError, EOFError):
        pass
    return bytes(content[:size])
