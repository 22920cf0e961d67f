"""The statements of archived lines: frames in the table `frame`, which hold lines in place of rows of `record`.

A frame is what it is in a file (`log.archive_format`): about 1 MB of lines as one zstd frame, with a description. With
it are the columns that its rows had, compressed as well, so that a session is opened without unpacking its lines.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..archive_format import Frame, compressed, frame_of_entry, is_sealed, lost_frame, no_frame, unpack
from .layout import LogKey, layout_of
from .rows import Columns

if TYPE_CHECKING:
    import psycopg

    Connection = psycopg.Connection[Any]

_CODES = "hhhQIq"
"""The fields of `Columns` in their order, as `struct` names them; little endian, one column after the other."""
_ROW_BYTES = struct.calcsize(f"<{_CODES}")


def read_frames(connection: Connection, schema: str, key: LogKey, archived: int) -> list[Frame]:
    """Read the descriptions of a log's frames, in their order; a gap counts as a damaged frame.

    Args:
        connection: asked.
        schema: the tables' schema.
        key: the log.
        archived: how many lines its frames hold.

    Returns:
        Nothing if there is no sound description.
    """
    of_log = layout_of(connection).of_log
    statement = f"select described from {schema}.frame where {of_log} and seq < %(archived)s order by seq"
    frames = list[Frame]()
    for (described,) in connection.execute(statement.encode(), {**key._asdict(), "archived": archived}).fetchall():
        line = described.encode()
        if not is_sealed(line + b"\n"):
            continue
        frame, last = frame_of_entry(line, 0), frames[-1] if frames else no_frame(0)
        if frame.line > last.line + last.lines:
            frames.append(lost_frame(last, frame))
        frames.append(frame)
    if frames and (last := frames[-1]).line + last.lines < archived:
        end = Frame(0, 0, last.log_bytes, 0, archived, 0, last.next_seed, last.next_seed, 0, last.log_bytes)
        frames.append(lost_frame(last, end))
    return frames


def read_packed(connection: Connection, schema: str, key: LogKey, line: int) -> bytes | None:
    """Read the compressed lines of the frame that begins with a line; None if it is not there."""
    statement = f"select packed from {schema}.frame where {layout_of(connection).of_log} and seq = %(line)s"
    row = connection.execute(statement.encode(), {**key._asdict(), "line": line}, binary=True).fetchone()
    return row[0] if row else None


def read_packed_columns(connection: Connection, schema: str, key: LogKey, start: int, stop: int) -> dict[int, bytes]:
    """Read the columns of the frames that begin with a line from `start` up to `stop`, by those lines."""
    of_log = layout_of(connection).of_log
    statement = f"select seq, row_columns from {schema}.frame where {of_log} and seq >= %(start)s and seq < %(stop)s"
    values = {**key._asdict(), "start": start, "stop": stop}
    return dict(connection.execute(statement.encode(), values, binary=True).fetchall())


def insert_frame(
    connection: Connection, schema: str, key: LogKey, frame: Frame, packed: bytes, columns: Sequence[Columns]
) -> None:
    """Insert a frame, with the columns of its lines."""
    layout = layout_of(connection)
    statement = f"""
        insert into {schema}.frame ({layout.key_columns}, seq, described, row_columns, packed)
        values ({layout.key_values}, %(line)s, %(described)s, %(row_columns)b::bytea, %(packed)b::bytea)
    """
    described = frame.entry().decode().removesuffix("\n")
    values = {"line": frame.line, "described": described, "row_columns": pack_columns(columns), "packed": packed}
    connection.execute(statement.encode(), {**key._asdict(), **values})


def delete_frames(connection: Connection, schema: str, key: LogKey, start: int = 0) -> None:
    """Delete the frames of a log that begin with line `start` or later."""
    statement = f"delete from {schema}.frame where {layout_of(connection).of_log} and seq >= %(start)s"
    connection.execute(statement.encode(), {**key._asdict(), "start": start})


def frames_bytes(connection: Connection, schema: str, key: LogKey) -> int:
    """The bytes of a log's frames, with their columns and descriptions."""
    statement = f"""
        select coalesce(pg_catalog.sum(pg_catalog.length(packed) + pg_catalog.length(row_columns)
                                       + pg_catalog.length(described)), 0)::bigint
          from {schema}.frame where {layout_of(connection).of_log}
    """
    row = connection.execute(statement.encode(), key._asdict()).fetchone()
    return int(row[0]) if row else 0


def pack_columns(columns: Sequence[Columns]) -> bytes:
    """Compress the columns of some rows."""
    fields = zip(*columns, strict=True)
    content = [struct.pack(f"<{len(columns)}{code}", *values) for code, values in zip(_CODES, fields, strict=True)]
    return compressed(b"".join(content))


def unpack_columns(packed: bytes, count: int) -> list[Columns]:
    """The columns of some rows, from what `pack_columns` gave; `count` is their number.

    Raises:
        ValueError: they are damaged.
    """
    content, at = unpack(packed, count * _ROW_BYTES), 0
    fields = list[tuple[int, ...]]()
    for code in _CODES:
        layout = f"<{count}{code}"
        fields.append(struct.unpack_from(layout, content, at))
        at += struct.calcsize(layout)
    return list(map(Columns._make, zip(*fields, strict=True)))
