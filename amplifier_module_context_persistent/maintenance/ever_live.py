"""Which messages of a log were ever part of its live history."""

from __future__ import annotations

from ..log.reader import LogReader
from ..log.scanner import Scanner


def was_live(reader: LogReader) -> bytearray:
    """For each message of a log whether it ever was live."""
    scanner = Scanner(reader.max_record_bytes)
    index, found = scanner.index, bytearray(len(reader.index))
    live = index.live
    for line in reader.whole_lines():
        scanner.take(line.content, line.number, line.offset)
        if index.live is not live:
            for ordinal in live:
                found[ordinal] = 1
            live = index.live
    for ordinal in live:
        found[ordinal] = 1
    return found
