"""Purging a log in a database: one transaction, in which new rows take the place of the log's.

What stays is written as a new log, while others go on appending. Then the log's row is held: what was appended
meanwhile is added, what was written is read back, and the new log gets the name, with the next generation. Running
sessions find that their log was replaced, and read it anew. The old rows are deleted in the same transaction. Their
bytes stay on the server's disk until it vacuums, and in its write-ahead log, its replicas and backups until those are
gone.
"""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ...errors import LogUnreadableError, PurgeError
from ...log.database_location import location_of, parse_location, split_location
from ...log.filesystem import FileSystem
from ...log.index import Index
from ...log.postgres.new_log import NewStoredLog
from ...log.postgres.reader import PostgresReader
from ...log.record_line import MAX_RECORD_BYTES

_BESIDE = " (purge)"  # a name within the transaction only; nobody else sees it


def open_rows(location: str, timeout_s: float, files: FileSystem | None = None) -> PostgresReader:
    """The reader of a log that is to be purged; it reports its progress to `files`."""
    return PostgresReader(
        parse_location(location),
        timeout_s=timeout_s,
        max_record_bytes=MAX_RECORD_BYTES,
        trusting=False,
        on_read=files.note_read if files is not None else lambda _: None,
    )


class PurgeRows:
    """New rows that take the place of a log's; use it in a `with` statement.

    Args:
        reader: the open log.
        location: its location.
        timeout_s: how long each step may wait for the server.

    Raises:
        AppendError: the server refused or went away; the log is what it was.
    """

    def __init__(self, reader: PostgresReader, location: str, timeout_s: float) -> None:
        storage, self._name = split_location(location)
        self._reader, self._held = reader, reader.head
        self._new = NewStoredLog(location_of(storage, self._name + _BESIDE), timeout_s=timeout_s, like=reader.head)
        self.write = self._new.write

    def __enter__(self) -> PurgeRows:
        with self.refusing():
            self._new.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._new.__exit__(*error)

    @contextmanager
    def refusing(self) -> Iterator[None]:
        """Raise a telling error if another purge came first and deleted the rows that this one reads."""
        try:
            yield
        except LogUnreadableError as error:
            if error.errno == errno.ENOENT:
                raise PurgeError("the log was purged or replaced meanwhile; nothing was changed; try again") from error
            raise

    def read_back(self) -> Index:
        """Send what was written, and read it back; what a reader finds in it."""
        self._new.read_back()
        return self._new.index

    @contextmanager
    def holding(self) -> Iterator[None]:
        """Let nobody append to the log until the transaction ends; records appended before are read first."""
        self._new.hurry()
        self._reader.take_in(self._new.connection, lock=True)
        yield

    def take_place(self) -> None:
        """Put the rows in the place of the log's.

        Raises:
            LogFailedError: the server did not say whether that was done.
        """
        assert self._held is not None  # noqa: S101 - the log is there
        self._new.take_place(self._held, self._name)
