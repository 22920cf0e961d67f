"""Archive a log in a database: replace its rows with compressed frames, or the frames with rows again.

Rules:
- Each change is one transaction, so a killed client leaves the log unchanged. The written frames are read back and
  compared before any row is deleted.
- Other clients need not wait: the log's row is locked only for the last step. If another client appended in that time,
  or a session is known to have the log open, nothing is changed.
- A session that continues appends rows behind the frames, and no row is brought back. The next archive takes the new
  rows.
- The row with the text for `list` stays, so that no list has to unpack a frame.
- Only a role that may purge can archive, since rows are deleted.
"""

from __future__ import annotations

import errno
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ...errors import AppendError, ArchiveError, LogUnreadableError
from ..archive_estimate import ArchiveEstimate
from ..archive_format import FRAME_BYTES, LEAST_FRAME_BYTES, MOST_FRAME_BYTES, compressed, decompressed, frame_of_part
from ..archive_log import Archived
from ..database_location import Location, parse_location
from ..open_mark import SESSION_IS_OPEN
from . import archive_frames, rows
from .layout import LogId
from .migration_steps import ARCHIVE
from .open_marks import is_direct, may_go
from .pulse import Pulse
from .rows import Columns, Head, Row
from .server_connections import Server, ServerError, using
from .sqlstates import NO_RIGHTS
from .stored_lines import StoredLines

if TYPE_CHECKING:
    from .connection import Connection

Part = tuple[list[bytes], list[Columns]]
"""Lines of a frame, and their columns."""

_MOST_IDLE_S, _PULSE_S = 15.0, 3.0
_DELETED_AT_ONCE = 50_000
_SAMPLES = 4
_MEANWHILE = "the log was written to, purged or archived by another client; nothing was changed; try again"


def archive_stored_log(
    location: str, *, on_read: Callable[[int], None] = lambda _: None, timeout_s: float = 10.0
) -> Archived:
    """Archive a log in a database.

    Args:
        location: `postgresql://…#NAME`.
        on_read: called with the number of bytes read, for each block.
        timeout_s: how long each answer of the server may take, in seconds.

    Raises:
        ArchiveError: this log cannot be archived now; the text says why.
        LogUnreadableError: there is no such log, or it cannot be read.
        AppendError: the server refused, or the connection broke; check whether the log is archived before trying again.
    """
    with _Change(location, timeout_s) as change:
        connection = change.connection
        schema = change.schema
        head = change.head
        if head.head <= head.archived:
            raise ArchiveError("the log is archived already" if head.head else "the log is empty")
        before = _estimated(connection, schema, head, samples=0).file_bytes
        archive_frames.delete_frames(connection, schema, head.key, head.archived)
        frames = archive_frames.read_frames(connection, schema, head.key, head.archived)
        for lines, columns in _parts(_blocks(connection, schema, head, on_read)):
            content = b"\n".join(lines) + b"\n"
            frame, packed = frame_of_part(content, frames[-1] if frames else None, head.size)
            if frame.size > MOST_FRAME_BYTES:
                raise ArchiveError(f"line {frame.line + 1:,} is too long for a frame")
            archive_frames.insert_frame(connection, schema, key=head.key, frame=frame, packed=packed, columns=columns)
            stored = archive_frames.read_packed(connection, schema, head.key, frame.line) or b""
            facts = archive_frames.read_packed_columns(connection, schema, head.key, frame.line, frame.line + 1)
            if decompressed(frame, stored) != content or _unpacked(facts[frame.line], frame.lines) != columns:
                raise ArchiveError("the server does not give back what it was sent; nothing was changed")
            frames.append(frame)
        if archive_frames.read_frames(connection, schema, head.key, head.head) != frames:
            raise ArchiveError("the server does not give back what it was sent; nothing was changed")
        change.hold()
        _delete_rows(connection, schema, head)
        change.finish(archived=head.head)
        after = sum(frame.packed_bytes for frame in frames)
    return Archived(before, after)


def bring_back_stored_log(location: str, *, timeout_s: float = 10.0) -> Archived:
    """Turn the archived lines of a log into the same rows again; arguments and errors as for `archive_stored_log`."""
    with _Change(location, timeout_s) as change:
        connection = change.connection
        schema = change.schema
        head = change.head
        if not head.archived:
            raise ArchiveError("the log is not archived")
        before = _estimated(connection, schema, head, samples=0).file_bytes
        lines_of = StoredLines(schema, change.location.shown)
        lines_of.follow(head)
        of_log = connection.layout.of_log
        connection.execute(
            f"delete from {schema}.record where {of_log} and seq < %(stop)s".encode(),
            {**head.key._asdict(), "stop": head.archived},
        )
        for number, frame in enumerate(lines_of.described(connection)):
            lines = lines_of.content_of(connection, number)
            columns = lines_of.columns(connection, frame.line, frame.line + frame.lines)
            if lines_of.damaged or not len(lines) == len(columns) == frame.lines:
                where = lines_of.place_of(number)
                raise ArchiveError(
                    f"the archive is damaged: {where}: {lines_of.damaged.get(number, 'its columns are not its lines')};"
                    " put a backup in its place, or go on with a fork of what can be read"
                )
            rows.insert(connection, schema, head.key, frame.line, _rows_of(frame.offset, lines, columns))
            stored = rows.read_lines(connection, schema, head.key, frame.line, frame.line + frame.lines)
            if list(stored) != lines:
                raise ArchiveError("the server does not give back what it was sent; nothing was changed")
        change.hold()
        archive_frames.delete_frames(connection, schema, head.key)
        change.finish(archived=0)
    return Archived(before, head.size)


def estimate_stored(location: str, *, timeout_s: float = 10.0) -> ArchiveEstimate:
    """Estimate the size of a log after archiving, from a sample of its lines.

    The present size is the total size of its lines and frames; the server's own compression is not considered.

    Raises:
        ArchiveError: the database has no tables for archived logs.
        LogUnreadableError: there is no such log, or the server cannot be read.
    """
    parsed = parse_location(location)

    def ask(connection: Connection) -> ArchiveEstimate:
        return _estimated(connection, parsed.schema, _head(connection, parsed), samples=_SAMPLES)

    try:
        with using(parsed) as server:
            return server.ask(ask, timeout_s)
    except ServerError as error:
        reason = f"the log cannot be read from the server: {error}"
        raise LogUnreadableError(errno.EIO, reason, parsed.shown) from error


class _Change:
    """The transaction in which a log is archived or brought back.

    If a `with` block ends without `finish`, the transaction is rolled back.
    """

    def __init__(self, location: str, timeout_s: float) -> None:
        self.location = parse_location(location)
        self._timeout_s = timeout_s
        self.schema = self.location.schema
        self._open = self._transaction()

    def __enter__(self) -> _Change:
        self._open.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._open.__exit__(*error)

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        limit_s = self._timeout_s
        try:
            with (
                using(self.location) as self._server,
                self._server.connected(time.monotonic() + limit_s, answer_s=limit_s) as self.connection,
            ):
                self.head = _head(self.connection, self.location)
                rows.begin(self.connection, limit_s=limit_s, idle_s=_MOST_IDLE_S)
                with Pulse(self.connection, min(_PULSE_S, limit_s / 2)):
                    yield
        except ServerError as error:
            advice = "; look whether it is archived before trying again"
            if error.sqlstate == NO_RIGHTS:
                advice = "; archiving needs the rights of a purge (storage init --grant-purge)"
            raise AppendError(errno.EIO, f"the server refused: {error}{advice}", self.location.shown) from error

    def hold(self) -> None:
        """Lock the log's row, so that nobody can append to the log until the transaction ends.

        Raises:
            ArchiveError: the log was changed since it was read, or a session has it open.
        """
        rows.limit_waits(self.connection, limit_s=self._timeout_s)
        if rows.read_head(self.connection, self.schema, self.location.name, lock=True) != self.head:
            raise ArchiveError(_MEANWHILE)
        knows = self.location.prepares and is_direct(self.connection)
        if knows and not may_go(self.connection, self.location):
            raise ArchiveError(SESSION_IS_OPEN)

    def finish(self, *, archived: int) -> None:
        """Store the number of archived lines and commit. If the commit gets no answer, find out whether it was done."""
        statement = f"update {self.schema}.log set archived = %s where log_id = %s"
        self.connection.execute(statement.encode(), [archived, self.head.log_id])
        try:
            with self._server.telling(self.connection):
                self.connection.execute(b"commit")
        except ServerError as error:
            if error.is_refusal or not _is_done(self._server, self.schema, self.head.log_id, archived, self._timeout_s):
                raise


def _is_done(server: Server, schema: str, log_id: LogId, archived: int, limit_s: float) -> bool:
    return server.ask(lambda connection: rows.read_archived(connection, schema, log_id), limit_s) == archived


def _head(connection: Connection, location: Location) -> Head:
    if not connection.has(ARCHIVE):
        raise ArchiveError("the tables cannot hold archived logs yet; their owner runs storage init --migrate")
    head = rows.read_head(connection, location.schema, location.name)
    if head is None:
        raise LogUnreadableError(errno.ENOENT, "there is no such log; look again", location.shown)
    return head


def _blocks(connection: Connection, schema: str, head: Head, on_read: Callable[[int], None]) -> Iterator[Part]:
    """Yield the lines that are not archived yet, block by block, with their columns.

    Raises:
        ArchiveError: another client changed the log.
    """
    start = head.archived
    while start < head.head:
        lines = rows.read_block(connection, schema, head.key, start, head.head)
        columns = rows.read_columns(connection, schema, head.key, start, start + len(lines))
        if not lines or len(columns) != len(lines):
            raise ArchiveError(_MEANWHILE)
        on_read(sum(row.length for row in columns))
        yield lines, columns
        start += len(lines)


def _parts(blocks: Iterator[Part]) -> Iterator[Part]:
    """Divide lines into parts of about `FRAME_BYTES`, one for each frame."""
    lines = list[bytes]()
    columns = list[Columns]()
    size = 0
    for block_lines, block_columns in blocks:
        for line, row in zip(block_lines, block_columns, strict=True):
            if size + row.length > FRAME_BYTES and size >= LEAST_FRAME_BYTES:
                yield lines, columns
                lines = []
                columns = []
                size = 0
            lines.append(line)
            columns.append(row)
            size += row.length
    if lines:
        yield lines, columns


def _rows_of(offset: int, lines: list[bytes], columns: list[Columns]) -> list[Row]:
    """Return the rows for the lines of a frame; `offset` is the place of its first line in the log."""
    found = list[Row]()
    for line, row in zip(lines, columns, strict=True):
        found.append(Row(offset, row, line))
        offset += row.length
    return found


def _unpacked(packed: bytes, count: int) -> list[Columns]:
    try:
        return archive_frames.unpack_columns(packed, count)
    except ValueError:
        return []


def _delete_rows(connection: Connection, schema: str, head: Head) -> None:
    """Delete the rows whose lines are in frames now, except for the row whose text `list` shows."""
    statement = f"""
        delete from {schema}.record where {connection.layout.of_log} and seq >= %(start)s and seq < %(stop)s
           and seq is distinct from (select line from {schema}.glance where glance.log_id = %(log_id)s)
    """
    for start in range(head.archived, head.head, _DELETED_AT_ONCE):
        stop = min(head.head, start + _DELETED_AT_ONCE)
        connection.execute(statement.encode(), {**head.key._asdict(), "start": start, "stop": stop})


def _estimated(connection: Connection, schema: str, head: Head, *, samples: int) -> ArchiveEstimate:
    """Estimate the archived size of a log by compressing up to about `samples` frames of its lines that are rows."""
    frames = archive_frames.read_frames(connection, schema, head.key, head.archived)
    frames_bytes = archive_frames.frames_bytes(connection, schema, head.key)
    archived_bytes = frames[-1].end if frames else 0
    plain_bytes = head.size - archived_bytes
    packed_bytes = plain_bytes
    if samples:
        sampled_bytes, packed_sample_bytes = _compress_samples(connection, schema, head, samples)
        if sampled_bytes:
            packed_bytes = packed_sample_bytes * plain_bytes // sampled_bytes
    is_archived = 0 < head.head <= head.archived
    return ArchiveEstimate(
        frames_bytes + plain_bytes,
        frames_bytes + packed_bytes,
        is_archived=is_archived,
        is_exact=is_archived,
        is_partly_archived=0 < head.archived < head.head,
    )


def _compress_samples(connection: Connection, schema: str, head: Head, samples: int) -> tuple[int, int]:
    """Compress up to about `samples` frames of the lines that are rows; return their bytes before and after."""
    sampled_bytes = 0
    packed_bytes = 0
    step = max(1, (head.head - head.archived) // samples)
    for start in range(head.archived, head.head, step):
        lines = rows.read_block(connection, schema, head.key, start, head.head)
        columns = rows.read_columns(connection, schema, head.key, start, start + len(lines))
        first_part = next(_parts(iter([(lines, columns)])), None)
        if first_part is not None:
            part_lines, part_columns = first_part
            content = b"\n".join(part_lines) + b"\n"
            sampled_bytes += len(content)
            packed_bytes += len(compressed(content)) + len(archive_frames.pack_columns(part_columns))
    return sampled_bytes, packed_bytes
