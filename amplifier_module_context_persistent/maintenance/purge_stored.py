"""Purging a log in a database: one transaction, in which new rows take the place of the log's.

What stays is written as a new log, while others go on appending. Then the log's row is held: what was appended
meanwhile is added, what was written is read back, and the new log gets the name, with the next generation. Running
sessions find that their log was replaced, and read it anew. The old rows are deleted in the same transaction. Their
bytes stay on the server's disk until it vacuums, and in its write-ahead log, its replicas and backups until those are
gone.
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ..errors import LogUnreadableError, PurgeError
from ..log.location import Location, location_of, parse_location, split_location
from ..log.open import not_there
from ..log.postgres.new_log import NewStoredLog
from ..log.postgres.reader import PostgresReader
from ..log.postgres.rows import Head
from ..log.record import MAX_RECORD_BYTES, encode_control
from .purge_options import Purge, PurgeCounts
from .purge_rewrite import ChainedLines, Rewrite, check_written

_PURGED_MEANWHILE = "the log was purged or replaced meanwhile; nothing was changed; try again"
_BESIDE = " (purge)"  # a name within the transaction only; nobody else sees it


def plan_stored_purge(location: str, purge: Purge) -> PurgeCounts:
    """Count what a purge would remove; writes nothing.

    Raises:
        PurgeError: this log cannot be purged so.
        LogUnreadableError: there is no log, or it cannot be read.
    """
    with _opened(parse_location(location)) as (reader, _):
        counts = _begin(reader, purge)
        if not purge.is_torn_only:
            Rewrite(reader, purge, counts, lambda _body: None, lambda _line: None, time="").run()
        return counts


def purge_stored(location: str, purge: Purge, *, now: Callable[[], str], lock_timeout_s: float) -> PurgeCounts:
    """Remove history for good; what was removed. Where nothing goes, nothing is written.

    Raises:
        PurgeError: this log cannot be purged so, or another purge came first; nothing was changed.
        AppendError: the server refused or went away; the log is what it was.
        LogFailedError: the server did not say whether the log was purged.
        LogUnreadableError: there is no log, or it cannot be read.
    """
    parsed = parse_location(location)
    beside = location_of(split_location(location)[0], parsed.name + _BESIDE)
    with _opened(parsed, lock_timeout_s) as (reader, held):
        index, counts, written = reader.index, _begin(reader, purge), now()
        if purge.is_torn_only:
            return counts
        with NewStoredLog(beside, timeout_s=lock_timeout_s) as new:
            lines = ChainedLines(new.write)
            with _refusing_other_purges():
                rewrite = Rewrite(reader, purge, counts, lines.put, lines.put_raw, time=written)
                rewrite.run()
            if counts.is_nothing:
                return counts
            end = reader.scanner.offset
            reader.take_in(new.connection, lock=True)
            if reader.index is not index:
                raise PurgeError(_PURGED_MEANWHILE)
            rewrite.take_appended(reader.whole_lines(end))
            lines.put(encode_control("purge", time=written, mode=purge.mode, **counts.to_record()))
            new.flush()
            check_written(new.index, rewrite.expected())
            new.take_place(held, parsed.name)
        return counts


@contextmanager
def _refusing_other_purges() -> Iterator[None]:
    """Another purge that comes first deletes the rows that this one reads."""
    try:
        yield
    except LogUnreadableError as error:
        if error.errno == errno.ENOENT:
            raise PurgeError(_PURGED_MEANWHILE) from error
        raise


@contextmanager
def _opened(location: Location, timeout_s: float = 10.0) -> Iterator[tuple[PostgresReader, Head]]:
    reader = PostgresReader(location, timeout_s=timeout_s, max_record_bytes=MAX_RECORD_BYTES, trusting=False)
    try:
        reader.follow()
        if reader.head is None:
            raise not_there(location.shown)
        yield reader, reader.head
    finally:
        reader.close()


def _begin(reader: PostgresReader, purge: Purge) -> PurgeCounts:
    if reader.index.unknown_version:
        raise PurgeError(f"the log has format version {reader.index.unknown_version}; use the version that wrote it")
    return PurgeCounts(bytes_before=reader.scanner.offset)
