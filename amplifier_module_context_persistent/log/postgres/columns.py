"""An index from the columns of rows, without their lines.

What a row's columns say about its line is settled when it is written, by the scan that reads the line then: a sound
message (`INDEXED`) with its role, its flags and the hash of its id, or a sound receipt (`RECEIPT`) with a hash that
says who was asked; of each hash, one line is read. All other lines are fetched and scanned, whenever a log is read. So
rows of any age may stand in one log, and whoever does not know these kinds reads the lines.

The chain is believed as far as the columns carry it from row to row: each line is verified when it is read back.
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from zlib import crc32

from ..index import ASSISTANT, LIVE, PINNED, id_hash_of
from ..index import Row as IndexRow
from ..record import CONTROL_HEAD, CRC_TAIL_BYTES, member_of, stored_crc
from ..scanner import Scanner
from .rows import CONTROL, INDEXED, MESSAGE, NO_NEWLINE, OTHER, PLAIN_USER, RECEIPT, ColumnBytes, Row

_IS_MESSAGE = bytes(kind == INDEXED for kind in range(256))
_SWAPS = sys.byteorder == "little"  # the server sends numbers with their highest byte first


def scan_line(scanner: Scanner, line: bytes) -> None:
    """Take one line, without LF, after those taken before; one that is too long is reported and skipped."""
    if len(line) > scanner.max_record_bytes:
        scanner.skip(len(line) + 1, crc32(line, scanner.seed), line[-CRC_TAIL_BYTES:])
    else:
        scanner.feed(line + b"\n")


def new_rows(lines: Sequence[bytes], after: Scanner) -> list[Row]:
    """The rows of lines of our own, without LF, that are not stored yet; `after` stands where they begin, and stays."""
    scanner = Scanner(after.max_record_bytes)
    scanner.go_on(after)
    return list(rows_of(lines, scanner))


def rows_of(lines: Iterable[bytes], scanner: Scanner, *, lacks_newline: bool = False) -> Iterator[Row]:
    """The rows of lines, without LF; each is scanned, since that says what it is.

    Args:
        lines: in their order, after what the scanner has taken.
        scanner: stands at the end of the lines before.
        lacks_newline: whether the last line has no LF.
    """
    waiting: Row | None = None
    for line in lines:
        if waiting is not None:
            yield waiting
        waiting = _row(line, scanner)
    if waiting is not None and lacks_newline:
        flags = waiting.flags | NO_NEWLINE
        waiting = Row(waiting.at, waiting.kind, waiting.crc, waiting.role, flags, waiting.id_hash, waiting.line)
    if waiting is not None:
        yield waiting


def _row(line: bytes, scanner: Scanner) -> Row:
    """Scan a line, and say in its row what it was found to be."""
    index, at, number, seed = scanner.index, scanner.offset, len(scanner.index), scanner.seed
    findings, receipts = len(index.damage), index.control_counts["view"]
    scan_line(scanner, line)
    crc = stored_crc(line)
    if crc is None or len(index.damage) != findings or crc32(b"}", crc32(line[:-CRC_TAIL_BYTES], seed)) != crc:
        return Row(at, OTHER, scanner.seed, 0, 0, 0, line)
    if line.startswith(CONTROL_HEAD):
        if index.control_counts["view"] > receipts:
            asked = "\0".join(index.models[scanner.builder.pending_model])
            return Row(at, RECEIPT, crc, 0, 0, 1 + id_hash_of(asked), line)
        return Row(at, CONTROL, crc, 0, 0, 0, line)
    is_one = len(index) == number + 1 and index.flags[number] & ~PINNED == LIVE and member_of(line) is None
    if not is_one:
        return Row(at, MESSAGE, crc, 0, 0, 0, line)
    flags = index.flags[number] & PINNED | (PLAIN_USER if index.plain_users[number] else 0)
    return Row(at, INDEXED, crc, index.roles[number], flags, index.id_hashes[number], line)


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of neighbouring rows."""

    at: array[int]
    kinds: bytes
    crcs: array[int]
    roles: bytes
    flags: bytes
    id_hashes: array[int]
    lengths: array[int]
    """Of the lines with LF."""

    @classmethod
    def decode(cls, packed: ColumnBytes) -> Columns:
        """Decode what the server packed."""
        return cls(
            _numbers("Q", packed.at),
            packed.kinds[1::2],
            _numbers("I", packed.crcs),
            packed.roles[1::2],
            packed.flags[1::2],
            _numbers("q", packed.id_hashes),
            _numbers("I", packed.lengths),
        )

    def __len__(self) -> int:
        return len(self.kinds)

    def unknown(self) -> list[int]:
        """The places of the rows whose lines are to be read."""
        positions, seen = [], {0}
        for position, (is_message, kind) in enumerate(zip(self.kinds.translate(_IS_MESSAGE), self.kinds, strict=True)):
            if is_message or (kind == RECEIPT and self.id_hashes[position] in seen):
                continue
            if kind == RECEIPT:
                seen.add(self.id_hashes[position])
            positions.append(position)
        return positions

    def continue_at(self, offset: int) -> bool:
        """Whether each row begins where the one before it ends, the first at `offset`."""
        ends = array("Q", (at + length for at, length in zip(self.at, self.lengths, strict=True)))
        return bool(self.at) and self.at[0] == offset and self.at[1:] == ends[:-1]


def take_columns(scanner: Scanner, columns: Columns, lines: Mapping[int, bytes]) -> None:
    """Take rows after those that were taken before.

    Args:
        scanner: fills the index.
        columns: of the rows.
        lines: by their places, those that `Columns.unknown` names.
    """
    start, codes = 0, dict[int, int]()
    for position in [*sorted(lines), len(columns)]:
        _take_known(scanner, columns, start, position, codes)
        if position < len(columns):
            scan_line(scanner, lines[position])
            if columns.kinds[position] == RECEIPT:
                codes[columns.id_hashes[position]] = scanner.builder.pending_model
        start = position + 1


def _take_known(scanner: Scanner, columns: Columns, start: int, stop: int, codes: Mapping[int, int]) -> None:
    """Take rows all of which are known, as a scan of their lines would; `codes` says whom receipts asked."""
    if start == stop:
        return
    builder, seed, rows = scanner.builder, scanner.seed, list[IndexRow]()
    for position in range(start, stop):
        crc, hashed, given = columns.crcs[position], columns.id_hashes[position], columns.flags[position]
        if columns.kinds[position] == RECEIPT:
            builder.pending_model = codes[hashed]
            builder.index.control_counts["view"] += 1
        else:
            role, plain = columns.roles[position], int(given & PLAIN_USER > 0)
            model = builder.pop_pending_model() if role == ASSISTANT else 0
            place = columns.at[position], columns.lengths[position]
            rows.append((*place, role, given & PINNED | LIVE, hashed, seed, crc, model, plain))
        seed = crc
    builder.withdraw_copies(row[4] for row in rows)
    builder.index.add(rows)
    scanner.skip_indexed(stop - start, columns.at[stop - 1] + columns.lengths[stop - 1], seed)


def _numbers(typecode: str, packed: bytes) -> array[int]:
    numbers: array[int] = array(typecode)
    numbers.frombytes(packed)
    if _SWAPS:
        numbers.byteswap()
    return numbers
