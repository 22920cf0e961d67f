"""Purge a log in a database: replace the log's rows by new rows in one transaction.

The records that stay are written as a new log, while others continue to append. Then the log's row is locked. The
records appended since then are added, the new log is read back, and it gets the old log's name with the next generation
number. Running sessions notice that their log was replaced, and read it again. The old rows are deleted in the same
transaction. Their bytes stay on the server's disk until it vacuums, and in its write-ahead log, its replicas and
backups until those are gone.
"""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ...errors import LockTimeoutError, LogUnreadableError, PurgeError
from ...log.database_location import location_of, parse_location, split_location
from ...log.filesystem import FileSystem
from ...log.index import Index
from ...log.postgres.new_log import NewStoredLog
from ...log.postgres.reader import PostgresReader
from ...log.record_limits import MAX_RECORD_BYTES

_BESIDE = " (purge)"  # only this transaction sees the name


def open_rows(location: str, timeout_s: float, files: FileSystem | None = None) -> PostgresReader:
    """Open a log in a database for a purge; the reader reports its progress to `files`."""
    return PostgresReader(
        parse_location(location),
        timeout_s=timeout_s,
        max_record_bytes=MAX_RECORD_BYTES,
        trusting=False,
        on_read=files.note_read if files is not None else lambda _: None,
    )


class NewLogRows:
    """New rows in a database, which replace a log's rows at the end. Use it in a `with` statement.

    Args:
        reader: the open log.
        location: the log's location.
        timeout_s: the longest wait of each step for the server, in seconds.

    Raises:
        PurgeError: another purge of the log is running; the log is unchanged.
        AppendError: the server refused or the connection was lost; the log is unchanged.
    """

    def __init__(self, reader: PostgresReader, location: str, timeout_s: float) -> None:
        storage, self._name = split_location(location)
        self._reader = reader
        self._held = reader.head
        self._new = NewStoredLog(location_of(storage, self._name + _BESIDE), timeout_s=timeout_s, like=reader.head)
        self.write = self._new.write

    def __enter__(self) -> NewLogRows:
        with self.refusing():
            self._new.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._new.__exit__(*error)

    @contextmanager
    def refusing(self) -> Iterator[None]:
        """Raise a `PurgeError` if another purge is running, or finished first so that the log's rows disappeared."""
        try:
            yield
        except LockTimeoutError as error:
            reason = (
                "another purge of this session is running, or another client holds the tables; nothing was changed; "
                "try again when it has ended"
            )
            raise PurgeError(reason) from error
        except LogUnreadableError as error:
            if error.errno == errno.ENOENT:
                raise PurgeError(
                    "the log was purged or replaced by another process; nothing was changed; try again"
                ) from error
            raise

    def read_back(self) -> Index:
        """Send the written rows to the server, read them back, and return their index."""
        self._new.read_back()
        return self._new.index

    @contextmanager
    def holding(self) -> Iterator[None]:
        """Prevent appends to the log until the transaction ends, and read the records appended before the block."""
        self._new.hurry()
        self._reader.take_in(self._new.connection, lock=True)
        yield

    def take_place(self) -> None:
        """Replace the log's rows by the new rows.

        Raises:
            LogFailedError: the server did not say whether the rows were replaced.
        """
        assert self._held is not None  # noqa: S101 - the log is there
        self._new.take_place(self._held, self._name)
