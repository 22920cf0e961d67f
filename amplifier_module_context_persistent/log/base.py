"""The contract of a log: what the packages above rely on, and what an implementation must do, raise and promise.

`FileLog` (a file; `LogReader` reads one), `PostgresLog` (rows of a database), `MemoryLog` (nothing survives) and
`toolbox.replay.temporary_log.TemporaryLog` (a file that goes with its process) implement it, and so does a log over
SQLite rows in the tests; each runs the suite in `tests/support/log_contract.py`. To add one, implement `Log`, run that
suite against it, and let `log/open_log.py` choose it: that is the one place that knows them all. Nothing outside of
`log/` asks of which kind a log is; what only some can do is asked for by `finds_bytes` here, and `file_reader` in
`log/open_log.py`.

Records
    A log is a sequence of records, oldest first. A record is either a message record or a control record; a control
    record's body begins with `CONTROL_HEAD`. Records are only ever added at the end. Message records are numbered from
    0 in their order; this number is the *ordinal*. An ordinal stays valid as long as `index` is the same object.

Order
    Callers of one batch are stored in the order of the batch, and batches in the order of the calls to `append`. With
    several writers on one log, each batch's records may have others' records between two callers, never between two
    records of one caller.

Durability
    When `append` returns, what it reports as stored survives as the log's configuration says: with `fsync`, a killed
    process and a power cut; with `write`, a killed process; `MemoryLog` keeps nothing. What one caller prepares is
    stored as a whole or not at all. Memory changes after the storage does: `index` shows a record only once it is
    stored.

Errors
    Which exception is raised says what is known of the batch:

    - `AppendError`, `LogCreateError`, `LockTimeoutError`: nothing of the batch is stored; the caller may try again.
    - `LogFailedError`: whether the batch is stored is unknown. From then on the log serves what was acknowledged, and
      every further append raises `LogFailedError`, until `close` and a new use have settled what is stored.
    - `LogVersionError`: a later version wrote the log. It is read, and never appended to.
    - `LogUnreadableError`: there is a log and it cannot be read. It is never taken for an empty one.
    - `BlockingIOError`: only with `wait=False`; nothing was done.

    If an error arises after some callers of the batch were acknowledged, it is the outcome of the others instead.

Threads
    Calls block, come from any thread, and must not overlap. `group_commit.GroupCommit` serialises them.
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
"""Gives the bodies of the records that one caller wants appended, from the index as it is at that moment.

It runs while nobody else can append, and sees every record that was stored before: those of other writers, and the
control records (not necessarily the messages) of callers before it in the same batch. It may read messages from the
log. It runs any number of times for one append, since a log without a lock notices a conflict only afterwards; the last
run counts. So it must change nothing that outlives it. An empty result appends nothing and is a success. What it raises
is that caller's outcome, and concerns no other caller.
"""

Outcome = range | Exception
"""What one caller of a batch is told: the ordinals of its message records, or why all of it was refused."""


@dataclass(frozen=True, slots=True)
class LogDescription:
    """What is known of a log without reading its messages."""

    location: str
    """Where it lies, as a person would name it: a path, a URL without its password; empty in memory."""
    exists: bool = True
    size_bytes: int = 0
    torn_bytes: int = 0
    """Bytes at the end that are no whole record: an interrupted append that nobody was told was stored."""
    lost_messages: int = 0
    """Messages that this object saw in the log and that it no longer holds; those of a purge do not count."""
    restored_messages: int = 0
    """Of the lost messages, those that this object held in memory and wrote anew."""


class ReadableLog(Protocol):
    """A log that is read: what a session opened to be read needs."""

    @property
    def index(self) -> Index:
        """The index of all that is known; another object after the log was read anew.

        Its column `offsets` says where a record lies. What that number means is the log's own affair: a byte offset, a
        row's number. It grows with the ordinal.
        """
        ...

    def follow(self) -> None:
        """Take in what others appended since, at a cost that depends on what is new.

        Where the log no longer continues what is known (another file in its place, a purge), read it anew: then `index`
        is another object. A log that is not there yet is empty.

        Raises:
            LogUnreadableError: there is a log and it cannot be read, or it went away.
        """
        ...

    def read(self, ordinals: Sequence[int]) -> Iterator[Message]:
        """Parse messages afresh, in the order asked for; what is done to them does not reach the log.

        Raises:
            LogUnreadableError: they cannot be read, or are no longer what the index was made from.
        """
        ...

    def lines(self, ordinals: Sequence[int]) -> Iterator[tuple[int, bytes]]:
        """Give each record's ordinal and its line as it was written, without LF, in the order asked for.

        Raises:
            LogUnreadableError: as `read`.
        """
        ...

    def records(self) -> Iterator[bytes]:
        """Give the line of every record, control records and damaged ones too, oldest first, each with its LF.

        Raises:
            LogUnreadableError: as `read`.
        """
        ...

    def stored_bytes(self) -> Iterator[bytes]:
        """Give the bytes of the log's file, or of the file that it would be, line by line; a torn tail too."""
        ...

    def describe(self) -> LogDescription:
        """Describe the log as it was when last looked at; reads no messages."""
        ...

    def close(self) -> None:
        """Give back what the log holds; may be called twice. A later call opens it again."""
        ...


class Log(ReadableLog, Protocol):
    """A log that is read and appended to."""

    @property
    def waits_for_storage(self) -> bool:
        """Whether an append waits for a disk or a server. If not, small appends may be made on the caller's thread."""
        ...

    def append(self, batch: Sequence[Prepare], *, wait: bool = True) -> list[Outcome]:
        """Append what each caller of the batch prepares; one outcome for each.

        Args:
            batch: each caller's function.
            wait: False raises BlockingIOError instead of waiting for another writer, for a disk that must be repaired
                first, or for much that others appended. The caller then tries again on a thread that may wait.

        Raises:
            LogError: as the module says; nothing of the batch was acknowledged.
            BlockingIOError: with `wait=False`.
        """
        ...


@runtime_checkable
class FindsBytes(Protocol):
    """What a log has besides whose storage can search lines, so that they need not be fetched."""

    def find_bytes(self, ordinals: Sequence[int], needle: bytes, *, ignores_case: bool) -> set[int]:
        """Find the records, of some, whose lines may hold bytes: all that do, and perhaps some that do not.

        Args:
            ordinals: which records.
            needle: the bytes; with `ignores_case`, their ASCII letters are small.
            ignores_case: whether the case of ASCII letters in a line counts for nothing.

        Raises:
            LogUnreadableError: the storage cannot be asked.
        """
        ...


def finds_bytes(log: ReadableLog) -> TypeGuard[FindsBytes]:
    """Whether a log's storage can search lines."""
    return isinstance(log, FindsBytes)


class Snapshots(Protocol):
    """Keeps what scans know of logs' files, so that the next opening need not read all of them.

    It is handed to a log that is opened. What it keeps is disposable: whatever fails is no error, but for the log's.
    """

    def load(self, log: FileHandle, max_record_bytes: int) -> Scanner | None:
        """Make the scanner that goes on where what is kept of a log ends; None if there is none that can be believed.

        Raises:
            LogUnreadableError: the log cannot be read.
        """
        ...

    def take(self, log: FileHandle, scanner: Scanner, known_end: bytes) -> Callable[[], None] | None:
        """Take what is known now; what writes it, to be called on any thread. None if nothing can be kept now.

        Args:
            log: the open file.
            scanner: what is known of it.
            known_end: the last bytes of what is known.
        """
        ...

    def discard(self, path: str) -> None:
        """Remove what is kept of a log, since it proved wrong."""
        ...

    def follow_file(self, path: str, before: os.stat_result, after: os.stat_result) -> None:
        """Let what is kept count for another file, which took the log's place and holds the same bytes.

        Args:
            path: the log's file.
            before: the status of the log in the file that it was (`FileHandle.open_status`).
            after: the same of the file that it is now.
        """
        ...
