"""Read a log's file: `LogReader` opens, scans and follows the file, and reads and verifies messages.

Nothing here writes. `contract` says what callers may rely on. Commands open a log with a `LogReader`, and `FileLog`
builds on it.

Rules:
- Opening never writes. A torn tail (an incomplete record at the end) is a value (`torn`), damage in the middle is a
  list (`index.damage`), and both are logged once.
- A log that exists and cannot be read is an error, never an empty log.
- `follow` reads what others appended, in time proportional to the new bytes. The last known bytes (a checksum that
  covers everything before it) must be unchanged; if they are not, or the file was replaced, the file is scanned again.
- After a failed read no partial state stays: the file is closed, and the next use scans it from the start.
"""

from __future__ import annotations

import contextlib
import errno
import logging
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import TypeVar
from zlib import crc32

from ..errors import LogUnreadableError
from .bundle import torn_bundle
from .checksum import CRC_TAIL_BYTES
from .collector_paused import collector_paused
from .contract import LogDescription, Snapshots
from .count_lost import count_lost
from .file_handle import CHUNK_BYTES, FileHandle
from .file_trust import distrust
from .filesystem import FileSystem
from .forked_process import is_child_of
from .format_version import check_readable
from .index import Index, TornTail
from .read_back import Line, NumberedLine, checked, fetch_lines, fetch_neighbours, numbered_lines
from .record_limits import MAX_RECORD_BYTES
from .record_line import FORMAT_VERSION, Message, decode
from .scanner import Scanner
from .verified_pages import VerifiedPages

logger = logging.getLogger(__name__)

SCANNED_BYTES = 4 << 20
"""A scan of at least this many bytes is followed by a snapshot of the scan."""
END_BYTES = 32  # enough for a record's checksum


T = TypeVar("T")


class LogReader:
    """A reader of a log's file, with the index of the log.

    Args:
        path: the path of the file; a symbolic link as its last component is not followed.
        files: the system calls; tests replace them.
        max_record_bytes: longer lines are reported and skipped.
        writable: whether to open the file for appending too; readers of the command line do not.
        snapshots: keeps the result of a scan for the next opening; without it every byte is scanned.
        new_scanner: makes a scanner, for each scan from the start.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        files: FileSystem | None = None,
        max_record_bytes: int = MAX_RECORD_BYTES,
        writable: bool = False,
        snapshots: Snapshots | None = None,
        new_scanner: Callable[[int], Scanner] = Scanner,
    ) -> None:
        self.file = FileHandle(path, files, writable=writable)
        self.path = self.file.path
        self.max_record_bytes = max_record_bytes
        self.size = 0
        """The file's size at the last check."""
        self.lost_messages = 0
        """The number of messages that the file lost since this object was made."""
        self.covered_bytes = 0
        """The offset up to which the last snapshot, read or taken, covers the log."""
        self._new_scanner = new_scanner
        self.scanner = new_scanner(max_record_bytes)
        """The scanner, positioned at the end of the scanned bytes; a new object after each scan from the start."""
        self._pages = VerifiedPages(self.path)
        self._snapshots = snapshots
        self._is_restored = False
        self._keeping: threading.Thread | None = None
        """The thread that writes the last snapshot."""
        self._before: Index | None = None
        """The index before the log was closed or scanned again; kept until the next scan has ended."""
        self._end = b""
        """The file's last bytes at the last check."""
        self.known_end = b""
        """The last scanned bytes. They contain a checksum that covers everything before."""
        self._pid = os.getpid()

    @property
    def index(self) -> Index:
        """The index; a new object after each scan from the start."""
        return self.scanner.builder.index

    @property
    def torn(self) -> TornTail | None:
        """The torn tail at the last `follow`, or None if the log has none.

        The next append saves the tail aside and cuts it.
        """
        start = self.scanner.offset
        if self.size <= start or self.file.fd is None:
            return None
        return TornTail(start, self.size - start)

    @property
    def lacks_newline(self) -> bool:
        """Whether the last record is whole, but its LF is missing."""
        return self.scanner.offset > self.size

    def _open(self, *, create: bool = False) -> bool:
        """Open and scan the log, or with `create` make a log that does not exist.

        Return False if the log is open already. A forked child opens the file again: the lock belongs to the open file,
        which it shares with its parent.

        Raises:
            LogUnreadableError: the log exists and cannot be read.
            OSError: the log does not exist and cannot be created.
        """
        if is_child_of(self._pid):
            self._let_go()
            self._pid = os.getpid()
        if self.file.fd is not None:
            return False
        if self.file.open(create=create):
            status = self.file.opened_status
            reason = None
            if status is not None and not self.file.writable:
                reason = distrust(status)
            if reason:
                logger.warning("%s: %s; it is read all the same", self.path, reason)
            self._load(self._snapshots)
        return True

    def close(self) -> None:
        """Close the file and drop the index; `follow` opens the file again."""
        self._let_go()

    def _let_go(self) -> None:
        if self._keeping is not None:
            self._keeping.join()
            self._keeping = None
        self.file.close()
        self.size = 0
        self._forget()
        self._end = self.known_end = b""

    def follow(self) -> None:
        """Read records that others appended. If the log does not continue the known bytes, scan the whole log.

        If another file has taken the log's place, a lock on the old file is lost.

        Raises:
            LogUnreadableError: the log cannot be read, or was removed while it was open.
        """
        if self._open() or self.take_in():
            return
        logger.warning("%s was replaced; reading the new file", self.path)
        self._let_go()
        self._open()

    def take_in(self, *, at_most_bytes: int | None = None) -> bool:
        """Read new bytes of the open file. Return False, and do nothing, if the path now names another file.

        Raises:
            BlockingIOError: more than `at_most_bytes` would have to be read.
            LogUnreadableError: as for `follow`.
        """
        file = self.file
        status = file.status()
        if (status.st_dev, status.st_ino) != file.identity:
            return False
        size = status.st_size
        if size == self.size and file.before(size, END_BYTES) == self._end:
            return True
        goes_on = self._goes_on(size)
        if at_most_bytes is not None and (not goes_on or size - self.size > at_most_bytes):
            raise BlockingIOError(errno.EWOULDBLOCK, "others have appended much", self.path)
        if goes_on:
            self.size = size
            self._scan_or_close()
        else:
            logger.warning("%s changed otherwise than by appending; reading it anew", self.path)
            self._load(None)
        return True

    def reopen_same(self, before: os.stat_result) -> None:
        """Open the file that has replaced the open one and gives the same bytes of the log. The index stays valid.

        Args:
            before: the status of the log in the replaced file.

        Raises:
            LogUnreadableError: the file was removed, or cannot be read.
        """
        self.file.close()
        if not self.file.open(create=False):
            reason = "the log was removed while it was open; put it back, or begin a new session"
            raise LogUnreadableError(errno.ENOENT, reason, self.path)
        if self._snapshots is not None:
            self._snapshots.follow_file(self.path, before, self.file.open_status())

    def _take_written(self, lines: Sequence[bytes], checks: Sequence[int]) -> None:
        """Add lines that were just written after the known bytes to the index. There may be no lines.

        Args:
            lines: the lines, as `seal` made them.
            checks: their checksums.
        """
        for line, check in zip(lines, checks, strict=True):
            self.scanner.take_sealed(line, check)
        self.size = self.scanner.offset
        end = lines[-1][-END_BYTES:] if lines else b""
        self._end = self.known_end = end if len(end) == END_BYTES else self.file.before(self.size, END_BYTES)

    def read(self, ordinals: Sequence[int]) -> Iterator[Message]:
        """Parse messages, in the given order; adjacent records are read together.

        Raises:
            LogUnreadableError: the bytes of a record have changed since they were scanned.
        """
        if not self._is_restored:
            return chain.from_iterable(self._messages(self.index, ordinals))
        return chain.from_iterable(self._read_restored(self._messages, ordinals))

    def lines(self, ordinals: Sequence[int]) -> Iterator[Line]:
        """Yield the ordinal and the verified line (without LF) of each record, in the given order; errors as `read`."""
        if not self._is_restored:
            return self._verified(self.index, ordinals)
        return chain.from_iterable(self._read_restored(self._single_lines, ordinals))

    def records(self) -> Iterator[bytes]:
        """Yield the line of every scanned record, oldest first, each with its LF."""
        return (line.content + b"\n" for line in self.whole_lines())

    def stored_bytes(self) -> Iterator[bytes]:
        """Yield the bytes of the file line by line, with a torn tail."""
        left = self.size
        for line in self.file.lines(self.size):
            yield (line + b"\n")[:left]  # the last one may lack its LF
            left -= len(line) + 1

    def whole_lines(self, start: int = 0) -> Iterator[NumberedLine]:
        """Yield the scanned lines from an offset on, in order."""
        return numbered_lines(self.file.lines(min(self.scanner.offset, self.size), start), start)

    def describe(self) -> LogDescription:
        """Describe the log as of the last check."""
        torn = self.torn
        torn_bytes = torn.torn_bytes if torn is not None else 0
        is_archived = self.file.archive is not None
        exists = self.file.fd is not None
        return LogDescription(self.path, exists, self.size, torn_bytes, self.lost_messages, archived=is_archived)

    def _keep_snapshot(self, least_bytes: int, *, waits: bool = False) -> None:
        """Write a snapshot if the last one leaves at least `least_bytes` uncovered. Use another thread, unless `waits`.

        After a failure, the next snapshot is tried only after another `least_bytes`.
        """
        end = self.scanner.offset
        if end - self.covered_bytes < least_bytes or self._snapshots is None or self.file.fd is None:
            return
        self.covered_bytes = end
        write = self._snapshots.take(self.file, self.scanner, self.known_end)
        if write is None:
            return
        if self._keeping is not None:
            self._keeping.join()
        if waits:
            write()
            return
        thread = threading.Thread(target=write, name="context-snapshot")
        with contextlib.suppress(RuntimeError):  # the interpreter exits
            thread.start()
            self._keeping = thread

    def _verified(self, index: Index, ordinals: Sequence[int]) -> Iterator[Line]:
        return checked(index, fetch_lines(index, ordinals, self.file.read), self.path)

    def _single_lines(self, index: Index, ordinals: Sequence[int]) -> Iterator[list[Line]]:
        return ([line] for line in self._verified(index, ordinals))

    def _messages(self, index: Index, ordinals: Sequence[int]) -> Iterator[list[Message]]:
        return self._pages.read(
            index,
            ordinals,
            lambda neighbours: fetch_neighbours(index, neighbours, self.file.read),
            lambda some: fetch_lines(index, some, self.file.read),
        )

    def _read_restored(
        self, give: Callable[[Index, Sequence[int]], Iterator[list[T]]], ordinals: Sequence[int]
    ) -> Iterator[list[T]]:
        """Yield records of an index that a snapshot restored.

        If a record differs from the snapshot, scan the log and go on.

        Args:
            give: yields records of an index, some at a time.
            ordinals: the records.
        """
        read_count = 0
        index = self.index
        try:
            for some in give(index, ordinals):
                yield some
                read_count += len(some)
        except LogUnreadableError:
            if self.index is not index or self.file.fd is None:
                raise
            if self._is_restored:  # unless another reader has scanned the log first
                logger.warning("%s is not what its snapshot says; that is removed, and the log read anew", self.path)
                if self._snapshots is not None:
                    self._snapshots.discard(self.path)
                self._load(None, self.size)
                if not self.scanner.builder.adopt(index):
                    reason = "the log is not what its snapshot said, and was read anew; try again"
                    raise LogUnreadableError(errno.EIO, reason, self.path) from None
            yield from give(index, ordinals[read_count:])

    def _forget(self) -> None:
        """Begin a new index. Keep the last index to find lost messages."""
        if self._before is None and len(self.index):
            self._before = self.index
        self.scanner = self._new_scanner(self.max_record_bytes)
        self._is_restored = False
        self.covered_bytes = 0
        self._pages = VerifiedPages(self.path)

    def _load(self, snapshots: Snapshots | None, size: int | None = None) -> None:
        self._forget()
        try:
            restored = snapshots.load(self.file, self.max_record_bytes) if snapshots is not None else None
            self.size = self.file.size() if size is None else size
        except BaseException:
            self._let_go()
            raise
        if restored is not None and restored.offset <= self.size:
            self.scanner = restored
            self._is_restored = True
            self.covered_bytes = self.scanner.offset
        self._scan_or_close()
        if self._before is not None:
            lost = count_lost(self._before, self.index)
            self._before = None
            self.lost_messages += lost
            if lost:
                logger.error("%s: %d messages that it held are gone; restore them from a backup", self.file.path, lost)
        self._log_findings()
        self._keep_snapshot(SCANNED_BYTES)

    def _log_findings(self) -> None:
        """Log an unknown version, damage and a torn tail, each as one warning."""
        damage = self.index.damage
        torn = self.torn
        version = self.index.unknown_version
        if version:
            finding = "%s has format version %s, which is later than %d; it is only read"
            logger.warning(finding, self.path, version, FORMAT_VERSION)
        if damage:
            logger.warning("%s: %d findings; the first: %s", self.path, len(damage), damage[0])
        if torn:
            finding = "%s ends in %d bytes that are no whole record (at byte %d); the next append saves them aside"
            logger.warning(finding, self.path, torn.torn_bytes, torn.offset)

    def _scan_or_close(self) -> None:
        """Scan up to the known size. After an error the log is closed, so that a half-read log is never used."""
        try:
            with collector_paused():
                self.size = scan_file(self.file, self.scanner, self.size)
            check_readable(self.index, self.path)
            self._end = self.file.before(self.size, END_BYTES)
            known = min(self.scanner.offset, self.size)
            self.known_end = self._end if known == self.size else self.file.before(known, END_BYTES)
        except BaseException:
            self._let_go()
            raise

    def _goes_on(self, size: int) -> bool:
        """Return whether the file, which has `size` bytes now, still begins with the known bytes."""
        known = self.scanner.offset
        if self.lacks_newline and self.file.read(known - 1, 1) != b"\n":
            return False
        return size >= known and self.file.before(min(known, self.size), END_BYTES) == self.known_end


def scan_file(file: FileHandle, scanner: Scanner, size: int) -> int:
    """Scan a file from the scanner's position up to `size`, and return the size that was found.

    A whole record at the end is scanned even without its LF; then the scanner's offset is one byte beyond the end.
    Other bytes after the last LF are not scanned, nor is an incomplete bundle at the end.

    Raises:
        LogUnreadableError: the system refuses.
    """
    want = CHUNK_BYTES
    while scanner.offset < size:
        left = size - scanner.offset
        wanted_bytes = min(want, left)
        block = file.read(scanner.offset, wanted_bytes)
        whole_bundles_end = torn_bundle(block, scanner.offset, size, file.read)
        if whole_bundles_end is not None:
            scanner.feed(block[:whole_bundles_end])
            return size
        if b"\n" in block:
            scanner.feed(block)
            want = CHUNK_BYTES
            continue
        # The block is the beginning of a line, or the last line without its LF.
        is_expected_end = len(block) >= left
        is_early_end = len(block) < wanted_bytes  # the file was shortened
        if is_expected_end or is_early_end:
            end = scanner.offset + len(block)
            if _is_whole(block):
                scanner.feed(block + b"\n")
            return end
        may_be_record = want <= scanner.max_record_bytes
        if may_be_record:
            want = min(want * 2, max(scanner.max_record_bytes, CHUNK_BYTES) + 1)
            continue
        is_skipped = _skip_long_line(file, scanner)
        if not is_skipped:
            return size
    return size


def _is_whole(block: bytes) -> bool:
    try:
        decode(block)
    except ValueError:
        return False
    return True


def _skip_long_line(file: FileHandle, scanner: Scanner) -> bool:
    """Skip a line that is too long. Return False, and skip nothing, if the file ends within the line."""
    offset = scanner.offset
    crc = scanner.seed
    tail = b""
    while block := file.read(offset, CHUNK_BYTES):
        piece, newline, _ = block.partition(b"\n")
        crc = crc32(piece, crc)
        tail = (tail + piece)[-CRC_TAIL_BYTES:]
        offset += len(piece)
        if newline:
            scanner.skip(offset + 1 - scanner.offset, crc, tail)
            return True
    return False
