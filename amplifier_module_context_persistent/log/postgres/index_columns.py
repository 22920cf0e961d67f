"""Build an index from the columns of rows, without reading most of their lines.

The columns of a row are written after a scan of its line. They describe a sound message (`INDEXED`) by its role, its
flags and the hash of its id, or a sound receipt (`RECEIPT`) by a hash of its recipient. A receipt is the record of a
request to a model; one line is read for each recipient. All other lines are fetched and scanned whenever a log is read.
So a log may have rows from any version, and a version that does not know these kinds reads the lines.

The chain of checksums is checked from row to row by the columns alone; each line is verified when it is read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from zlib import crc32

from ..checksum import CRC_TAIL_BYTES, stored_crc
from ..index import ASSISTANT, LIVE, PINNED, id_hash_of
from ..message_columns import Row as IndexRow
from ..record_line import CONTROL_HEAD, member_of
from ..scanner import Scanner
from .rows import CONTROL, INDEXED, MESSAGE, OTHER, PLAIN_USER, RECEIPT, Columns, Row


def scan_line(scanner: Scanner, line: bytes) -> None:
    """Scan the next line of a log, given without LF. A line that is too long is reported and skipped."""
    if len(line) > scanner.max_record_bytes:
        scanner.skip(len(line) + 1, crc32(line, scanner.seed), line[-CRC_TAIL_BYTES:])
    else:
        scanner.feed(line + b"\n")


def row_of(line: bytes, scanner: Scanner) -> Row:
    """Scan the next line of a log, given without LF, and return its row. The scan finds the values of the columns."""
    offset = scanner.offset
    kind, role, flags, crc, id_hash = _scanned(line, scanner)
    return Row(offset, Columns(kind, role, flags, len(line) + 1, crc, id_hash), line)


def row_of_sealed(line: bytes, crc: int, scanner: Scanner) -> Row | None:
    """Make the row of a sealed line (with its LF) that follows the scanner's last line. The scanner does not advance.

    Returns:
        The row; None if the columns cannot describe the message completely. Then the caller uses `row_of`.
    """
    known = scanner.look_at_sealed(line)
    if known is None or len(line) > scanner.max_record_bytes:
        return None
    role, id_hash, plain = known
    return Row(scanner.offset, Columns(INDEXED, role, PLAIN_USER if plain else 0, len(line), crc, id_hash), line[:-1])


def _scanned(line: bytes, scanner: Scanner) -> tuple[int, int, int, int, int]:
    """Scan a line, and return its kind, role, flags, checksum and hash."""
    index = scanner.index
    number = len(index)
    seed = scanner.seed
    findings_before = len(index.damage)
    receipts_before = index.control_counts["view"]
    scan_line(scanner, line)
    crc = stored_crc(line)
    if crc is None or len(index.damage) != findings_before:
        return OTHER, 0, 0, scanner.seed, 0
    continues_chain = crc32(b"}", crc32(line[:-CRC_TAIL_BYTES], seed)) == crc
    if not continues_chain:
        return OTHER, 0, 0, scanner.seed, 0
    if line.startswith(CONTROL_HEAD):
        is_receipt = index.control_counts["view"] > receipts_before
        if not is_receipt:
            return CONTROL, 0, 0, crc, 0
        recipient = "\0".join(index.models[scanner.builder.session.pending_model])
        return RECEIPT, 0, 0, crc, 1 + id_hash_of(recipient)
    columns = index.columns
    is_one_message = len(index) == number + 1
    is_live_only = is_one_message and columns.flags[number] & ~PINNED == LIVE
    if not is_live_only or member_of(line) is not None:
        return MESSAGE, 0, 0, crc, 0
    flags = columns.flags[number] & PINNED
    if columns.plain_users[number]:
        flags |= PLAIN_USER
    return INDEXED, columns.roles[number], flags, crc, columns.id_hashes[number]


def lines_to_read(columns: Sequence[Columns]) -> list[int]:
    """Return the positions in `columns` of the rows whose lines an index needs.

    These are all rows except for indexed messages and most receipts. The needed receipts are the last one, the first
    one for each hash, and all receipts after the last message, because the next answer may depend on one of them.
    """
    places = list[int]()
    seen = set[int]()
    last_receipt = max((place for place, row in enumerate(columns) if row.kind == RECEIPT), default=-1)
    last_message = max((place for place, row in enumerate(columns) if row.kind in (INDEXED, MESSAGE)), default=-1)
    for place, row in enumerate(columns):
        if row.kind == INDEXED:
            continue
        if row.kind == RECEIPT:
            is_known = row.id_hash in seen and place != last_receipt and place < last_message
            seen.add(row.id_hash)
            if is_known:
                continue
        places.append(place)
    return places


def take_columns(scanner: Scanner, columns: Sequence[Columns], lines: Mapping[int, bytes]) -> None:
    """Add the next rows of a log to a scanner's index.

    Args:
        scanner: the scanner that fills the index.
        columns: the columns of the rows.
        lines: the lines that `lines_to_read` names, by their positions in `columns`.
    """
    model_positions = dict[int, int]()  # in `Index.models`, by the hash of the recipient
    start = 0
    for position in sorted(lines):
        _take_known(scanner, columns[start:position], model_positions)
        scan_line(scanner, lines[position])
        row = columns[position]
        if row.kind == RECEIPT:
            model_positions[row.id_hash] = scanner.builder.session.pending_model
        start = position + 1
    _take_known(scanner, columns[start:], model_positions)


def _take_known(scanner: Scanner, columns: Sequence[Columns], model_positions: Mapping[int, int]) -> None:
    """Add messages and receipts to the index by their columns alone, with the same result as a scan of their lines.

    Args:
        scanner: the scanner that fills the index.
        columns: the columns of the rows; only rows of the kinds `INDEXED` and `RECEIPT`.
        model_positions: the positions of recipients in `Index.models`, by the hash of the recipient.
    """
    if not columns:
        return
    builder = scanner.builder
    offset = scanner.offset
    seed = scanner.seed
    rows = list[IndexRow]()
    id_hashes = list[int]()
    for kind, role, flags, length, crc, id_hash in columns:
        if kind == RECEIPT:
            builder.session.pending_model = model_positions[id_hash]
            builder.index.control_counts["view"] += 1
        else:
            model = builder.session.pop_pending_model() if role == ASSISTANT else 0
            plain = int(flags & PLAIN_USER > 0)
            rows.append((offset, length, role, flags & PINNED | LIVE, id_hash, seed, crc, model, plain))
            id_hashes.append(id_hash)
        offset += length
        seed = crc
    builder.withdraw_copies(id_hashes)
    for row in rows:
        builder.index.add(row)
    scanner.skip_indexed(len(columns), offset, seed)
