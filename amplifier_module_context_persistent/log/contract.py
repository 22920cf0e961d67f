"""The contract of a log: what callers may rely on, and what an implementation must do, raise and promise.

`FileLog` (a file; `LogReader` reads one), `PostgresLog` (rows of a database), `MemoryLog` (nothing survives) and
`toolbox.replay.temporary_log.TemporaryLog` (a file that goes with its process) implement it, and so does a log over
SQLite rows in the tests; each runs the suite in `tests/support/log_contract.py`. To add one, implement `Log`, run that
suite against it, and let `log/open_log.py` choose it for appending and `log/open_reader.py` for reading, the only
places that know all of them. No code outside of `log/` checks the kind of a log; for abilities of some kinds there are
`finds_bytes` and `damaged_frames` here and `file_reader` in `log/open_reader.py`.

Records
    A log is a sequence of records, oldest first. A record is either a message record or a control record; a control
    record's body begins with `CONTROL_HEAD`. Records are only added at the end. Message records are numbered from 0;
    this number is the *ordinal*. An ordinal is valid as long as `index` is the same object.

Order
    The records of a batch are stored in the order of its callers, and batches in the order of the calls to `append`. If
    several processes write to one log, records of another process may come between two callers of a batch, but never
    between two records of one caller.

Durability
    When `append` returns, the records that it reports as stored survive a killed process (`write`), or also a power cut
    (`fsync`); `MemoryLog` keeps nothing. The records of one caller are stored together or not at all. Memory changes
    after the storage: `index` has a record only once it is stored.

Errors
    The exception tells the state of the batch:

    - `AppendError`, `LogCreateError`, `LockTimeoutError`: nothing of the batch is stored; the caller may try again.
    - `LogFailedError`: it is unknown whether the batch is stored. From then on the log serves acknowledged records, and
      every further append raises `LogFailedError`, until the log is closed and opened again.
    - `LogVersionError`: a later version wrote the log. It can be read, but not appended to.
    - `LogUnreadableError`: the log exists and cannot be read. It is never taken for an empty log.
    - `BlockingIOError`: only with `wait=False`; nothing was done.

    If an error occurs after some callers of the batch were acknowledged, it is not raised, but is the outcome of the
    other callers.

Threads
    Calls may block and may come from any thread, but must not overlap. `append_queue.AppendQueue` serialises them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeGuard, runtime_checkable

from .file_handle import FileHandle
from .index import Index
from .record_line import Message
from .scanner import Scanner

Prepare = Callable[[Index], Sequence[bytes]]
"""A function that returns the bodies of the records that one caller wants to append, given the current index.

It runs while no other process can append. The index has every stored record: also records of other writers, and the
control records (not necessarily the messages) of callers before it in the same batch. It may read messages from the
log. It may run several times for one append, since a log without a lock notices a conflict only afterwards; the last
run counts. So the function must have no lasting side effects. An empty result appends nothing and is a success. If the
function raises, the exception is the outcome of this caller only.
"""

Outcome = range | Exception
"""The outcome of one caller of a batch: the ordinals of its message records, or the exception that says why they were
refused."""


@dataclass(frozen=True, slots=True)
class LogDescription:
    """Facts about a log that need no reading of messages."""

    location: str
    """The location for a person to read: a path, or a URL without its password; "" for a log in memory."""
    exists: bool = True
    size_bytes: int = 0
    torn_bytes: int = 0
    """Bytes at the end that are not a whole record: an interrupted append that was not acknowledged."""
    lost_messages: int = 0
    """The number of messages that the log lost since this object read it, not counting purged messages."""
    restored_messages: int = 0
    """The number of lost messages that this object had in memory and wrote again."""
    archived: bool = False
    """Whether the whole log is compressed (`archive`)."""


class ReadableLog(Protocol):
    """A log that can be read."""

    @property
    def index(self) -> Index:
        """The index of the log. It is a new object after the log was read from the start again.

        Its column `offsets` has the place of each record: a byte offset or the number of a row, depending on the kind
        of log. The places grow with the ordinals.
        """
        ...

    def follow(self) -> None:
        """Read records that other processes appended. The time depends only on the number of new records.

        If the log no longer continues the known records (another file is in its place, or it was purged), it is read
        from the start again, and `index` is a new object. A log that does not exist yet is empty.

        Raises:
            LogUnreadableError: the log exists and cannot be read, or it was removed.
        """
        ...

    def read(self, ordinals: Sequence[int]) -> Iterator[Message]:
        """Parse messages, in the given order. Each call returns new objects, which the caller may change.

        Raises:
            LogUnreadableError: they cannot be read, or have changed since the index was made.
        """
        ...

    def lines(self, ordinals: Sequence[int]) -> Iterator[tuple[int, bytes]]:
        """Yield the ordinal and the line of each record, without LF, in the given order.

        Raises:
            LogUnreadableError: as `read`.
        """
        ...

    def records(self) -> Iterator[bytes]:
        """Yield the lines of all records, also of control records and damaged ones, oldest first, each with its LF.

        Raises:
            LogUnreadableError: as `read`.
        """
        ...

    def stored_bytes(self) -> Iterator[bytes]:
        """Yield the bytes of the log's file line by line, with a torn tail.

        A log without a file yields what a file would have.
        """
        ...

    def describe(self) -> LogDescription:
        """Describe the log as of the last check; reads no messages."""
        ...

    def close(self) -> None:
        """Release the resources of the log; this method may be called twice.

        A later call of another method opens the log again.
        """
        ...


class Log(ReadableLog, Protocol):
    """A log that can be read and appended to."""

    @property
    def waits_for_storage(self) -> bool:
        """Whether an append waits for a disk or a server. If not, small appends may be made on the caller's thread."""
        ...

    def append(self, batch: Sequence[Prepare], *, wait: bool = True) -> list[Outcome]:
        """Append the records of each caller of a batch, and return the outcome of each caller.

        Args:
            batch: each caller's function.
            wait: if false, raise BlockingIOError instead of waiting for another writer, for a repair of the log, or for
                reading many records of others. The caller then tries again on a thread that may wait.

        Raises:
            LogError: as described in the module; nothing of the batch was acknowledged.
            BlockingIOError: with `wait=False`.
        """
        ...


@runtime_checkable
class FindsBytes(Protocol):
    """A log whose storage can search lines itself, so that this process need not fetch the lines."""

    def find_bytes(self, ordinals: Sequence[int], needle: bytes, *, ignores_case: bool) -> set[int]:
        """Find records whose lines may contain bytes: all that do, and perhaps some that do not.

        Args:
            ordinals: the records to search.
            needle: the bytes; with `ignores_case`, in lower case.
            ignores_case: whether to ignore the case of ASCII letters in a line.

        Raises:
            LogUnreadableError: the storage cannot be queried.
        """
        ...


def finds_bytes(log: ReadableLog) -> TypeGuard[FindsBytes]:
    """Return whether a log's storage can search lines."""
    return isinstance(log, FindsBytes)


@dataclass(frozen=True, slots=True)
class FrameDamage:
    """The damage of one frame of an archived log. A frame is a compressed block of lines."""

    detail: str
    """A description of the place and the damage, for a person."""
    line: int
    """The number of its first line, from 1."""
    offset: int
    """The offset of its first line in the log."""


@runtime_checkable
class ChecksFrames(Protocol):
    """A log whose archived lines are frames in a database."""

    def damaged_frames(self) -> list[FrameDamage]:
        """Return the damage of the frames that were read so far."""
        ...


def damaged_frames(log: ReadableLog) -> list[FrameDamage]:
    """Return the damage of the frames in a database that were read so far; an empty list for a log in a file.

    For an archived file, `ArchivedBytes.damaged` has the damage.
    """
    return log.damaged_frames() if isinstance(log, ChecksFrames) else []


@runtime_checkable
class CountsLeftover(Protocol):
    """A log in a database, whose table of lines may have rows under the log's id that are not lines of the log."""

    def leftover_lines(self) -> int:
        """Count the rows of lines that belong to no log.

        Raises:
            LogUnreadableError: the storage cannot be queried.
        """
        ...


def leftover_lines(log: ReadableLog) -> int:
    """Count the rows under a log's id that are not lines of the log; 0 for a log in a file.

    Raises:
        LogUnreadableError: the storage cannot be queried.
    """
    return log.leftover_lines() if isinstance(log, CountsLeftover) else 0


class Snapshots(Protocol):
    """Keeps snapshots of scans, so that the next opening of a log need not read the whole file.

    It is passed to a log that is opened. Snapshots are disposable: a failure to keep one is not an error of the log.
    """

    def load(self, log: FileHandle, max_record_bytes: int) -> Scanner | None:
        """Make a scanner that continues at the end of a log's snapshot; None without a valid snapshot.

        Raises:
            LogUnreadableError: the log cannot be read.
        """
        ...

    def take(self, log: FileHandle, scanner: Scanner, known_end: bytes) -> Callable[[], None] | None:
        """Take a snapshot of a scan.

        Return a function that writes the snapshot, on any thread; None if none can be taken now.

        Args:
            log: the open file.
            scanner: the scanner of the file.
            known_end: the last scanned bytes.
        """
        ...

    def discard(self, path: str) -> None:
        """Remove the snapshot of a log, because the snapshot proved wrong."""
        ...

    def follow_file(self, path: str, before: os.stat_result, after: os.stat_result) -> None:
        """Make the snapshot valid for another file, which replaced the log's file and has the same bytes.

        Args:
            path: the log's file.
            before: the status of the log in the replaced file (`FileHandle.open_status`).
            after: the status of the log in the new file.
        """
        ...
