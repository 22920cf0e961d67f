"""Feed a scanner from an open file, in bounded memory."""

from __future__ import annotations

from collections import Counter
from zlib import crc32

from .index import Index
from .open_log import CHUNK_BYTES, OpenLog
from .record import CRC_TAIL_BYTES, decode
from .scanner import Scanner


def scan_file(file: OpenLog, scanner: Scanner, size: int) -> int:
    """Scan from where the scanner stands up to `size`; the size that was found.

    A whole record at the end that lacks its LF is taken; then the scanner stands one byte after the end. Any other
    bytes after the last LF are left.

    Raises:
        LogUnreadableError: the system refuses.
    """
    want = CHUNK_BYTES
    while scanner.offset < size:
        block = file.read(scanner.offset, min(want, size - scanner.offset))
        if b"\n" in block:
            scanner.feed(block)
            want = CHUNK_BYTES
        elif scanner.offset + len(block) >= size or len(block) < want:
            size = scanner.offset + len(block)
            if _is_whole(block):
                scanner.feed(block + b"\n")
            return size
        elif want <= scanner.max_record_bytes:
            want = min(want * 2, max(scanner.max_record_bytes, CHUNK_BYTES) + 1)
        elif not _skip_long_line(file, scanner):
            return size
    return size


def _is_whole(block: bytes) -> bool:
    try:
        decode(block)
    except ValueError:
        return False
    return True


def _skip_long_line(file: OpenLog, scanner: Scanner) -> bool:
    """Pass over a line that is too long; False if it does not end."""
    at, crc, tail = scanner.offset, scanner.seed, b""
    while block := file.read(at, CHUNK_BYTES):
        end = block.find(b"\n")
        piece = block if end < 0 else block[:end]
        crc, tail = crc32(piece, crc), (tail + piece)[-CRC_TAIL_BYTES:]
        at += len(piece)
        if end >= 0:
            scanner.skip(at + 1 - scanner.offset, crc, tail)
            return True
    return False


def count_lost(known: Index, found: Index) -> int:
    """Count the messages that were known, and so acknowledged or read, and that no purge removed since."""
    if found.control_counts["purge"] > known.control_counts["purge"]:
        return 0
    return (Counter(known.id_hashes) - Counter(found.id_hashes)).total()
