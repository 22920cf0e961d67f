"""A snapshot of the scan of a sound log, as plain data.

If it is stored (`base.Snapshots`), the next scan begins after it.

The module is pure. Rules:
- A snapshot has no content of messages: only columns, the live history, the state of the scan, and the places of the
  control records in use. These records are read from the log again and verified.
- No snapshot is taken within an open reset, of a damaged log, or of a log of a later version.
- Everything that is read is checked: every code and ordinal, and the leading byte of every length and offset. A
  snapshot may be forged, so a value of twice its bound is refused before anything is read or allocated for it.
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import astuple, dataclass
from typing import Any
from zlib import crc32

from ..log.checksum import CRC_TAIL_BYTES
from ..log.control_place import HeldControls, Place
from ..log.index import Index, ordinals_of, spans_of
from ..log.index_builder import IndexBuilder
from ..log.record_line import ROLES, Message, decode, name_of
from ..log.scanner import Scanner

VERSION = 4
"""The version of snapshots. Increase it with any change of the layout, or of the index that a scan makes from the same
bytes."""
CHUNK_RECORDS = 1 << 16
COLUMNS = ("offsets", "lengths", "roles", "flags", "id_hashes", "seeds", "checks", "answered_by", "plain_users")
_MOST_FLAGS = 31  # all of them

Read = Callable[[int, int], bytes]
"""Reads bytes, given an offset and a number of bytes; returns fewer only at the end of the file."""


class SnapshotError(Exception):
    """A snapshot cannot be used. The text says why."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The state of a scan at one moment. The log may have grown since."""

    index: Index
    """The index of the scan. Its columns only grow, except the flags."""
    flags: bytes
    live: array[int]
    state: dict[str, Any]
    """All but the columns and the live history, in plain JSON types."""

    @classmethod
    def of(cls, scanner: Scanner) -> Snapshot | None:
        """Take a snapshot of a scan. Return None if no snapshot is possible at this moment."""
        scan = scanner.snapshot()
        if scan is None:
            return None
        index = scanner.index
        session = index.session
        state = {
            "version": VERSION,
            "byte_order": sys.byteorder,
            "max_record_bytes": scanner.max_record_bytes,
            "records": len(index),
            "scan": scan,
            "controls": _places_of_controls(scanner),
            "pins": sorted(session.pins),
            "hidden": sorted(session.hidden),
            "heads": sorted(session.heads),
            "learned": sorted(session.learned),
            "models": list(index.models),
            "control_counts": dict(index.control_counts),
            "generation": index.generation,
        }
        return cls(index, bytes(index.columns.flags), index.live[:], state)

    def described(self) -> dict[str, Any]:
        """Return all but the columns, in plain JSON types."""
        return {**self.state, "live": spans_of(self.live).tolist()}

    def chunks(self) -> Iterator[bytes]:
        """Yield the columns in chunks of `CHUNK_RECORDS` records. A chunk has one column after the other."""
        for start in range(0, len(self.flags), CHUNK_RECORDS):
            part = slice(start, min(start + CHUNK_RECORDS, len(self.flags)))
            columns = (self.flags if name == "flags" else getattr(self.index.columns, name) for name in COLUMNS)
            yield b"".join(column[part] for column in columns)


def _places_of_controls(scanner: Scanner) -> dict[str, list[Any]]:
    """Return the places of the control records that a session needs. `restore` reads the records there."""
    session = scanner.index.session
    places = scanner.builder.places
    controls: dict[str, list[Any]] = {
        "headers": [astuple(place) for place in places.headers],
        "usage": [astuple(places.usage[name]) for name in session.usage],
        "plan": [],
        "side_plan": [],
    }
    if session.plan and places.plan:
        controls["plan"].append(astuple(places.plan))
    if session.side_plan and places.side_plan:
        controls["side_plan"].append(astuple(places.side_plan))
    return controls


def restore(
    description: dict[str, Any], chunks: Iterable[bytes], end: int, max_record_bytes: int, read: Read
) -> Scanner:
    """Make the scanner that continues at the end of a snapshot.

    Args:
        description: the result of `Snapshot.described`.
        chunks: the columns; they are taken one chunk at a time.
        end: the offset.
        max_record_bytes: the limit of the log's reader.
        read: reads the log.

    Raises:
        SnapshotError: the snapshot is malformed or does not fit.
        LogUnreadableError: the log cannot be read.
    """
    try:
        made_by = (
            description["version"],
            description["byte_order"],
            description["max_record_bytes"],
            description["scan"]["offset"],
        )
        if made_by != (VERSION, sys.byteorder, max_record_bytes, end):
            raise ValueError("another version, another machine, other limits, or another offset")
        index = _index(description, chunks, end, max_record_bytes)
        scanner = Scanner(max_record_bytes, IndexBuilder(index, _controls(description["controls"], index, end, read)))
        scanner.restore(description["scan"])
    except (ValueError, KeyError, TypeError, IndexError, OverflowError, AttributeError) as error:
        raise SnapshotError(f"it does not fit together: {error!r}") from error
    return scanner


def _index(description: dict[str, Any], chunks: Iterable[bytes], end: int, max_record_bytes: int) -> Index:
    """Make the index of a snapshot. The arguments and the errors of a malformed snapshot are those of `restore`."""
    models = [(str(provider), str(model)) for provider, model in description["models"]]
    largest_values = {
        "offsets": end,
        "lengths": max_record_bytes + 1,
        "roles": len(ROLES) - 1,
        "flags": _MOST_FLAGS,
        "answered_by": len(models) - 1,
        "plain_users": 1,
    }
    index = _columns(int(description["records"]), chunks, largest_values)
    index.models = models
    index.live = ordinals_of(description["live"], len(index))
    index.generation = int(description["generation"])
    index.control_counts.update({str(kind): int(number) for kind, number in description["control_counts"].items()})
    session = index.session
    session.pins = {int(ordinal) for ordinal in description["pins"]}
    session.hidden = {int(ordinal) for ordinal in description["hidden"]}
    if not all(0 <= ordinal < len(index) for ordinal in session.pins | session.hidden):
        raise ValueError("a pin or a hidden message beyond the end")
    session.heads = {str(head) for head in description["heads"]}
    session.learned = {(str(what), str(provider), str(model)) for what, provider, model in description["learned"]}
    return index


def _columns(count: int, chunks: Iterable[bytes], most: Mapping[str, int]) -> Index:
    """Read the columns of an index from the chunks of a snapshot.

    Raises:
        ValueError: the chunks do not fit the number of records, or a value is beyond its bound.
    """
    index = Index()
    if not 0 <= count <= most["offsets"]:
        raise ValueError("more records than bytes")
    left = iter(chunks)
    for start in range(0, count, CHUNK_RECORDS):
        chunk = next(left, b"")
        records = min(CHUNK_RECORDS, count - start)
        at = 0
        for name in COLUMNS:
            column = getattr(index.columns, name)
            size = getattr(column, "itemsize", 1)
            part = memoryview(chunk)[at : at + records * size]
            if name in most and _may_exceed(chunk, at, at + len(part), size, most[name]):
                raise ValueError(f"{name}: a code that is none, or a record beyond the end")
            column.extend(part) if isinstance(column, bytearray) else column.frombytes(part)
            at += len(part)
        if at != len(chunk) or len(index.columns.plain_users) != start + records:
            raise ValueError("a chunk of another length")
        del chunk, part  # free the chunk before the next one is read; `zip` would keep it
    if next(left, None) is not None:
        raise ValueError("more chunks than records")
    return index


def _may_exceed(chunk: bytes, start: int, stop: int, size: int, most: int) -> bool:
    """Return whether any number in a column may be over a bound. Only leading bytes are compared.

    A code of one byte is checked exactly. A larger number that passes is less than twice the bound, and reading its
    record then fails, because the bytes are missing. Comparing each number took fifty times as long: a third of the
    time in which a million messages are restored.

    Args:
        chunk: the bytes that contain the column.
        start: where the column begins in the chunk.
        stop: where it ends.
        size: the bytes of each number.
        most: the bound.
    """
    leading = (max(most, 1).bit_length() - 1) // 8  # the place of the bound's leading byte; 0 is the lowest byte
    for place in range(leading, size):
        at = place if sys.byteorder == "little" else size - 1 - place
        bytes_at_place = chunk[start + at : stop : size]  # one of each number
        largest = most >> 8 * leading if place == leading else 0
        beyond = bytes_at_place.translate(None, bytes(range(largest + 1)))
        if beyond:
            return True
    return False


def _controls(description: dict[str, Any], index: Index, end: int, read: Read) -> HeldControls:
    """Read the control records in force from the log again.

    Raises:
        ValueError: a record is not the one that the snapshot describes, is beyond the end, or is named twice.
    """
    places = HeldControls()
    met = set[int]()
    for kind in ("headers", "usage", "plan", "side_plan"):
        for numbers in description.get(kind, ()):
            place = Place(*map(int, numbers))
            is_in_log = 0 <= place.offset < place.offset + place.length <= end
            if place.offset in met or not is_in_log:
                raise ValueError("a control record beyond the end, or twice")
            met.add(place.offset)
            value = _read_control(place, read)
            if kind == "headers":
                places.headers.append(place)
                index.headers.append(value)
            elif kind == "usage":
                name = name_of(value.get("provider")), name_of(value.get("model"))
                places.usage[name] = place
                index.session.usage[name] = value
            else:
                setattr(places, kind, place)
                setattr(index.session, kind, value)
    return places


def _read_control(place: Place, read: Read) -> Message:
    line = read(place.offset, place.length)[:-1]
    body = line[:-CRC_TAIL_BYTES]
    tail = line[-CRC_TAIL_BYTES:]
    if tail != b',"_crc":"%08x"}' % place.check or crc32(b"}", crc32(body, place.seed)) != place.check:
        raise ValueError("a control record of the log was changed")
    return decode(line)
