"""The SQL statements for archived lines. Frames in the table `frame` contain lines in place of rows of `record`.

A frame is the same as in a file (`log.archive_format`): about 1 MB of lines as one zstd frame, with a description. The
columns of its former rows are stored with it, compressed too, so that a session can be opened without unpacking lines.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ..archive_format import Frame, compressed, frame_of_entry, is_sealed, lost_frame, no_frame, unpack
from .layout import LogKey
from .rows import Columns

if TYPE_CHECKING:
    from .connection import Connection

_CODES = "hhhQIq"
"""The `struct` format of each field of `Columns`, in order. The fields are packed little-endian, column by column."""
_ROW_BYTES = struct.calcsize(f"<{_CODES}")


def read_frames(connection: Connection, schema: str, key: LogKey, archived: int) -> list[Frame]:
    """Read the descriptions of a log's frames, in order. A gap between two frames is returned as a damaged frame.

    Args:
        connection: a connection to the log's database.
        schema: the tables' schema.
        key: the log.
        archived: the number of lines in its frames.

    Returns:
        The frames; an empty list if no description is sound.
    """
    of_log = connection.layout.of_log
    statement = f"select described from {schema}.frame where {of_log} and seq < %(archived)s order by seq"
    frames = list[Frame]()
    values = {**key._asdict(), "archived": archived}
    last = no_frame(0)
    for (described,) in connection.execute(statement.encode(), values).fetchall():
        line = described.encode()
        if not is_sealed(line + b"\n"):
            continue
        frame = frame_of_entry(line, 0)
        if frame.line > last.line + last.lines:
            frames.append(lost_frame(last, frame))
        frames.append(frame)
        last = frame
    if frames and last.line + last.lines < archived:
        after_last = replace(
            no_frame(0), offset=last.log_bytes, line=archived, seed=last.next_seed, log_bytes=last.log_bytes
        )
        frames.append(lost_frame(last, after_last))
    return frames


def read_packed(connection: Connection, schema: str, key: LogKey, line: int) -> bytes | None:
    """Read the compressed lines of the frame whose first line is number `line`; None if there is no such frame."""
    statement = f"select packed from {schema}.frame where {connection.layout.of_log} and seq = %(line)s"
    row = connection.execute(statement.encode(), {**key._asdict(), "line": line}, binary=True).fetchone()
    return row[0] if row else None


def read_packed_columns(connection: Connection, schema: str, key: LogKey, start: int, stop: int) -> dict[int, bytes]:
    """Read the compressed columns of the frames whose first line is from `start` to before `stop`, by first line."""
    of_log = connection.layout.of_log
    statement = f"select seq, row_columns from {schema}.frame where {of_log} and seq >= %(start)s and seq < %(stop)s"
    values = {**key._asdict(), "start": start, "stop": stop}
    return dict(connection.execute(statement.encode(), values, binary=True).fetchall())


def insert_frame(
    connection: Connection, schema: str, key: LogKey, frame: Frame, packed: bytes, columns: Sequence[Columns]
) -> None:
    """Insert a frame, with the columns of its lines."""
    layout = connection.layout
    statement = f"""
        insert into {schema}.frame ({layout.key_columns}, seq, described, row_columns, packed)
        values ({layout.key_values}, %(line)s, %(described)s, %(row_columns)b::bytea, %(packed)b::bytea)
    """
    described = frame.entry().decode().removesuffix("\n")
    values = {"line": frame.line, "described": described, "row_columns": pack_columns(columns), "packed": packed}
    connection.execute(statement.encode(), {**key._asdict(), **values})


def delete_frames(connection: Connection, schema: str, key: LogKey, start: int = 0) -> None:
    """Delete the frames of a log that begin with line `start` or later."""
    statement = f"delete from {schema}.frame where {connection.layout.of_log} and seq >= %(start)s"
    connection.execute(statement.encode(), {**key._asdict(), "start": start})


def frames_bytes(connection: Connection, schema: str, key: LogKey) -> int:
    """Return the size of a log's frames in bytes, with their columns and descriptions."""
    statement = f"""
        select coalesce(pg_catalog.sum(pg_catalog.length(packed) + pg_catalog.length(row_columns)
                                       + pg_catalog.length(described)), 0)::bigint
          from {schema}.frame where {connection.layout.of_log}
    """
    row = connection.execute(statement.encode(), key._asdict()).fetchone()
    return int(row[0]) if row else 0


def pack_columns(columns: Sequence[Columns]) -> bytes:
    """Compress the columns of some rows."""
    packed = list[bytes]()
    for code, values in zip(_CODES, zip(*columns, strict=True), strict=True):
        packed.append(struct.pack(f"<{len(columns)}{code}", *values))
    return compressed(b"".join(packed))


def unpack_columns(packed: bytes, count: int) -> list[Columns]:
    """Decompress the result of `pack_columns` for `count` rows.

    Raises:
        ValueError: the bytes are damaged.
    """
    content = unpack(packed, count * _ROW_BYTES)
    offset = 0
    fields = list[tuple[int, ...]]()
    for code in _CODES:
        layout = f"<{count}{code}"
        fields.append(struct.unpack_from(layout, content, offset))
        offset += struct.calcsize(layout)
    return list(map(Columns._make, zip(*fields, strict=True)))
