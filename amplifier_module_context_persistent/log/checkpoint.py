"""The checkpoint of a log: a disposable copy of its index, so that opening need not scan what is known already.

Pure: this module makes bytes of what a scan knows, and a scanner of bytes; `checkpoint_file` reads and writes files.
Rules:
- It holds no content of a message: columns, the live history, the state of the scan, findings, and the places of the
  control records that matter. Those are read from the log again, and verified.
- It holds a digest of the lines that are damaged. Once one of them is restored, it is not used.
- It is never made inside an open reset.
- All that is read is checked: the length, the checksums, every offset, code and ordinal. What does not fit is refused
  with the reason, and the log is scanned in full.

Layout: `MAGIC`; the length of the description (4 bytes, little-endian); its BLAKE2b digest of 16 bytes; the description
in JSON, which has the CRC-32 of each column; the columns one after the other, in the machine's byte order.
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Iterable, Iterator
from dataclasses import asdict, astuple, dataclass
from hashlib import blake2b
from typing import Any, TypeVar
from zlib import crc32

import orjson

from .checkpoint_bounds import MOST_OF_A_LINE, are_few, exceeds, findings_of
from .checkpoint_controls import CheckpointError, Read, control_places, restore_controls
from .index import Damage, Index, ordinals_of, spans_of
from .index_builder import IndexBuilder
from .record import ROLES
from .scanner import Scanner

MAGIC = b"CPCHKPT\n"
VERSION = 6
"""To be raised with any change of the layout, and of what a scan makes of the same bytes."""

HEAD_BYTES = len(MAGIC) + 4 + 16
END_BYTES = 64 << 10
"""So much of the log's beginning, and of what stands before the checkpoint's offset, must be what it was."""

_MOST_DESCRIPTION_BYTES = 16 << 20
_MOST_FLAGS = 32
_BLOCK_BYTES = 1 << 20
_COLUMNS = ("offsets", "lengths", "roles", "flags", "id_hashes", "seeds", "checks", "answered_by", "plain_users")

T = TypeVar("T", "array[int]", bytearray)


@dataclass(frozen=True, slots=True)
class LogStatus:
    """The log's file when it was looked at."""

    size_bytes: int
    mtime_ns: int


def encode(scanner: Scanner, status: LogStatus, read_log: Read, known_end: bytes) -> Iterator[bytes]:
    """Give the blocks of a checkpoint; the index must not change until the last one was taken.

    Args:
        scanner: what a scan knows.
        status: the log's file as it is.
        read_log: reads the log.
        known_end: the last bytes of what is known.

    Raises:
        CheckpointError: there can be none now.
        LogUnreadableError: the log cannot be read.
    """
    index, snapshot = scanner.index, scanner.snapshot()
    if snapshot is None:
        raise CheckpointError("a reset is open")
    if scanner.offset > status.size_bytes or not are_few(index.damage) or len(index.live) > len(index):
        raise CheckpointError("the log's last line is open, or there are too many findings")
    ends, controls = _ends(read_log, scanner.offset), control_places(scanner, read_log)
    if read_log(scanner.offset - len(known_end), len(known_end)) != known_end:
        raise CheckpointError("the log was changed otherwise than by appending")
    columns = {name: _raw(getattr(index, name)) for name in _COLUMNS}
    columns["live"] = _raw(spans_of(index.live))
    description = {
        "version": VERSION,
        "byte_order": sys.byteorder,
        "log": {**asdict(status), "ends": ends, "damaged": _damaged(read_log, index.damage)},
        "max_record_bytes": scanner.max_record_bytes,
        "records": len(index),
        "columns": [[name, raw.nbytes, crc32(raw)] for name, raw in columns.items()],
        "scan": snapshot,
        "controls": controls,
        "pins": sorted(index.pins),
        "heads": sorted(index.heads),
        "models": index.models,
        "control_counts": index.control_counts,
        "damage": list(map(astuple, index.damage)),
        "generation": index.generation,
        "unknown_version": index.unknown_version,
    }
    try:
        encoded = orjson.dumps(description)
    except TypeError as error:  # beyond 64 bits, a lone surrogate
        raise CheckpointError(f"what is known cannot be written: {error}") from error
    if len(encoded) > _MOST_DESCRIPTION_BYTES:
        raise CheckpointError("it would be too large")
    yield MAGIC + len(encoded).to_bytes(4, "little") + _digest(encoded) + encoded
    for raw in columns.values():
        for start in range(0, raw.nbytes, _BLOCK_BYTES):
            yield bytes(raw[start : start + _BLOCK_BYTES])


class Checkpoint:
    """A checkpoint that is read.

    Args:
        read: reads its file.
        size_bytes: the file's size.

    Raises:
        CheckpointError: it is none, or damaged, or of another version or machine.
    """

    def __init__(self, read: Read, size_bytes: int) -> None:
        self._read = read
        head = read(0, HEAD_BYTES)
        if len(head) < HEAD_BYTES or not head.startswith(MAGIC):
            raise CheckpointError("it is no checkpoint")
        length = int.from_bytes(head[8:12], "little")
        if length > min(size_bytes, _MOST_DESCRIPTION_BYTES):
            raise CheckpointError("it is cut")
        encoded = read(HEAD_BYTES, length)
        if len(encoded) != length or _digest(encoded) != head[12:]:
            raise CheckpointError("its description is damaged")
        try:
            self._description: dict[str, Any] = orjson.loads(encoded)
            if self._description["version"] != VERSION or self._description["byte_order"] != sys.byteorder:
                raise CheckpointError("another version or another machine made it")
            self.offset = int(self._description["scan"]["offset"])
            """The end of what it covers."""
            self.max_record_bytes = self._description["max_record_bytes"]
            self._columns = _parts(self._description["columns"])
        except (ValueError, KeyError, TypeError) as error:
            raise CheckpointError(f"its description cannot be read: {error!r}") from error
        self._start = HEAD_BYTES + length
        self._findings: list[Damage] = []
        if self._start + sum(nbytes for _, nbytes, _ in self._columns) != size_bytes:
            raise CheckpointError("it is cut, or something was appended to it")

    def check_log(self, status: LogStatus, read_log: Read) -> None:
        """Check that a log begins with what the checkpoint was made of.

        Raises:
            CheckpointError: it does not.
            LogUnreadableError: the log cannot be read.
        """
        try:
            known = self._description["log"]
            size_bytes, mtime_ns, ends = int(known["size_bytes"]), int(known["mtime_ns"]), known["ends"]
            damaged = known["damaged"]
        except (ValueError, KeyError, TypeError) as error:
            raise CheckpointError(f"its description cannot be read: {error!r}") from error
        if status.size_bytes == size_bytes and status.mtime_ns != mtime_ns:
            raise CheckpointError("the log has the same size and another time: it may have been edited")
        if not 0 <= self.offset <= min(size_bytes, status.size_bytes) or _ends(read_log, self.offset) != ends:
            raise CheckpointError("it was made of another log, or the log was cut or edited")
        try:
            self._findings = findings_of(self._description["damage"], self.offset)
        except (ValueError, KeyError, TypeError) as error:
            raise CheckpointError(f"its description cannot be read: {error!r}") from error
        if _damaged(read_log, self._findings) != damaged:
            raise CheckpointError("a damaged line of the log is no longer what it was: it may have been restored")

    def scanner(self, max_record_bytes: int, read_log: Read) -> Scanner:
        """Make the scanner that goes on at `offset`.

        Raises:
            CheckpointError: something in it does not fit.
            LogUnreadableError: the log cannot be read.
        """
        given = self._description
        try:
            if given["max_record_bytes"] != max_record_bytes:
                raise CheckpointError("it was made with another max_record_bytes")
            index = self._index(int(given["records"]))
            builder = IndexBuilder(index, restore_controls(given["controls"], index, self.offset, read_log))
            scanner = Scanner(max_record_bytes, builder)
            scanner.restore(given["scan"])
        except (ValueError, KeyError, TypeError, IndexError, OverflowError, AttributeError) as error:
            raise CheckpointError(f"it does not fit together: {error!r}") from error
        return scanner

    def _index(self, count: int) -> Index:
        given, index = self._description, Index()
        if [name for name, _, _ in self._columns] != [*_COLUMNS, "live"]:
            raise ValueError("columns")
        if not 0 <= count <= self.offset:
            raise ValueError("more records than bytes")
        at, spans = self._start, array("I")
        for name, nbytes, crc in self._columns:
            column = spans if name == "live" else getattr(index, name)
            size = getattr(column, "itemsize", 1)
            if nbytes != count * size if name != "live" else nbytes > 2 * count * size:
                raise ValueError("a column has another length")
            self._fill(column, at, nbytes, crc)
            at += nbytes
        if any(index.roles.translate(None, bytes(range(len(ROLES))))):
            raise ValueError("a role that is none")
        if any(index.flags.translate(None, bytes(range(_MOST_FLAGS)))):
            raise ValueError("flags that are none")
        index.models = [(str(provider), str(model)) for provider, model in given["models"]]
        if any(index.answered_by.translate(None, bytes(range(len(index.models))))):
            raise ValueError("a model that is not known")
        if exceeds(index.offsets, self.offset) or exceeds(index.lengths, given["max_record_bytes"] + 1):
            raise ValueError("a record beyond the end")
        if 0 in index.lengths:
            raise ValueError("a record without a byte")
        index.live = ordinals_of(spans, count)
        index.pins = {int(ordinal) for ordinal in given["pins"]}
        if not all(0 <= ordinal < count for ordinal in index.pins):
            raise ValueError("a pin beyond the end")
        index.heads = set(map(str, given["heads"]))
        index.control_counts.update({str(kind): int(number) for kind, number in given["control_counts"].items()})
        index.damage = self._findings
        index.generation, index.unknown_version = int(given["generation"]), str(given["unknown_version"])
        return index

    def _fill(self, column: T, at: int, nbytes: int, crc: int) -> T:
        """Read a column into its place, a block at a time."""
        computed, end = 0, at + nbytes
        while at < end:
            block = self._read(at, min(_BLOCK_BYTES, end - at))
            if not block:
                raise CheckpointError("it is cut")
            computed = crc32(block, computed)
            at += len(block)
            if isinstance(column, bytearray):
                column += block
            else:
                column.frombytes(block)
        if computed != crc:
            raise CheckpointError("a column is damaged")
        return column


def _parts(given: list[list[Any]]) -> list[tuple[str, int, int]]:
    """The name, the length and the CRC-32 of each part."""
    return [(str(name), max(0, int(nbytes)), int(crc)) for name, nbytes, crc in given]


def _ends(read_log: Read, offset: int) -> list[str]:
    """Digests of the log's beginning, and of what stands before an offset."""
    start = max(0, offset - END_BYTES)
    blocks = read_log(0, min(END_BYTES, offset)), read_log(start, offset - start)
    return [_digest(block).hex() for block in blocks]


def _damaged(read_log: Read, findings: Iterable[Damage]) -> str:
    """A digest of the lines that are findings."""
    digest = blake2b(digest_size=16)
    for found in findings:
        digest.update(read_log(found.offset, min(found.length, MOST_OF_A_LINE)))
    return digest.hexdigest()


def _digest(content: bytes) -> bytes:
    return blake2b(content, digest_size=16).digest()


def _raw(column: array[int] | bytearray) -> memoryview:
    return memoryview(column).cast("B")
