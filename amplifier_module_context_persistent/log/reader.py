"""Reading a log's file: open, scan, follow, read back. Nothing here writes, not even to mend a tail.

Rules:
- Opening reads and never writes. A torn tail is a value (`torn`), damage in the middle a list (`index.damage`); both
  are logged once.
- A log that is there and cannot be read is an error, never an empty log.
- What others append is taken in by `follow`, in time proportional to what is new. The last bytes known (a checksum that
  stands for all before it) must still be where they were; a file that was replaced, or where they are not, is scanned
  anew.
- After a failed read nothing half-read stays: the file is closed, and the next use scans it from the start.
"""

from __future__ import annotations

import errno
import logging
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from zlib import crc32

import orjson

from ..errors import LogUnreadableError
from .base import LogDescription
from .filesystem import FileSystem
from .index import DAMAGED, UNCHAINED, Index, TornTail, fetch_lines
from .open_log import CHUNK_BYTES, OpenLog
from .record import CRC_TAIL_BYTES, MAX_RECORD_BYTES, Message, decode
from .scanner import Scanner, message_id_of

logger = logging.getLogger(__name__)

_END_BYTES = 32  # enough to hold a record's checksum


class LogReader:
    """A log's file, read.

    Args:
        path: the file; its last component is never followed if it is a link.
        files: the system calls, for tests to replace.
        max_record_bytes: longer lines are reported and skipped.
        writable: open for appending too, for `FileLog`; command-line readers leave it out.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        files: FileSystem | None = None,
        max_record_bytes: int = MAX_RECORD_BYTES,
        writable: bool = False,
    ) -> None:
        self.file = OpenLog(path, files, writable=writable)
        self.max_record_bytes = max_record_bytes
        self.size = 0
        """The file's size when last looked at."""
        self.scanner = Scanner(max_record_bytes)
        self._end = b""
        self._known_end = b""
        self._pid = os.getpid()

    @property
    def index(self) -> Index:
        """The index of what is known; another object after the log was scanned anew."""
        return self.scanner.index

    @property
    def path(self) -> str:
        """The file's absolute path."""
        return self.file.path

    @property
    def torn(self) -> TornTail | None:
        """What the next append will save aside and cut, as of the last `follow`."""
        start = self.scanner.pending.offset if self.scanner.pending else self.scanner.offset
        return TornTail(start, self.size - start) if self.file.fd is not None and self.size > start else None

    @property
    def lacks_newline(self) -> bool:
        """Whether the last record is whole but for its LF."""
        return self.scanner.offset > self.size

    def close(self) -> None:
        """Close the file and forget what was read; `follow` opens it again."""
        self.file.close()
        self.size = 0
        self.scanner = Scanner(self.max_record_bytes)
        self._end = self._known_end = b""

    def ensure_open(self) -> bool:
        """Open the log if it is there and not open; whether it was opened just now.

        A process that forked opens anew: a lock belongs to the open file, which it shares with its parent.
        """
        if self._pid != os.getpid():
            self.close()
            self._pid = os.getpid()
        if self.file.fd is not None:
            return False
        self.open(create=False)
        return True

    def follow(self) -> bool:
        """Take in what others appended since; scan the whole log where that does not continue what is known.

        Returns:
            Whether the file was opened anew, so that a lock that was held on it is gone.

        Raises:
            LogUnreadableError: the log cannot be read, or was removed while it was open.
        """
        if self.ensure_open():
            return True
        if self.take_in():
            return False
        logger.warning("%s was replaced; reading the new file", self.file.path)
        self.close()
        self.open(create=False)
        return True

    def take_in(self, *, at_most_bytes: int | None = None) -> bool:
        """Take in what the open file holds by now; False, and nothing done, if the path names another file.

        Raises:
            LogUnreadableError: as `follow`.
            BlockingIOError: more than `at_most_bytes` would have to be read.
        """
        status = self.file.status()
        if (status.st_dev, status.st_ino) != self.file.identity:
            return False
        size = status.st_size
        if size == self.size and (not size or self._bytes_before(size) == self._end):
            return True
        goes_on = self._goes_on(size)
        if at_most_bytes is not None and (not goes_on or size - self.size > at_most_bytes):
            raise BlockingIOError(errno.EWOULDBLOCK, "others have appended much", self.file.path)
        if goes_on:
            self.size = size
            self._scan_or_close()
        else:
            logger.warning("%s changed otherwise than by appending; reading it anew", self.file.path)
            self.reload()
        return True

    def appended(self, records: bytes) -> None:
        """Take in whole records that were just written at the end of what is known."""
        self.scanner.feed(records)
        self.size = self.scanner.offset
        self._end = self._known_end = records[-_END_BYTES:]

    def cut_torn(self) -> None:
        """Forget the torn tail, which was just cut off the file."""
        self.scanner.abandon_reset()
        self.size = self.scanner.offset
        self._end = self._known_end = self._bytes_before(self.size)

    def read(self, ordinals: Sequence[int]) -> Iterator[Message]:
        """Parse records afresh from their bytes, in the given order; neighbours are read together.

        Raises:
            LogUnreadableError: the bytes of a record are no longer what was scanned.
        """
        flags, loads, foreign = self.index.flags, orjson.loads, DAMAGED | UNCHAINED
        for ordinal, line in self.lines(ordinals):
            if not flags[ordinal] & foreign:  # what was written here, and so has its id
                try:
                    message: Message = loads(line)
                    if "_json" not in message and message["metadata"]["message_id"]:
                        del message["_crc"]
                        yield message
                        continue
                except (ValueError, KeyError, TypeError):
                    pass  # said below
            place = self.index.offsets[ordinal]
            try:
                message = decode(line)
            except ValueError as error:
                reason = f"the record at byte {place} was overwritten ({error})"
                raise LogUnreadableError(errno.EIO, reason, self.file.path) from error
            metadata = message.get("metadata")
            if not (isinstance(metadata, dict) and metadata.get("message_id")):
                known = metadata if isinstance(metadata, dict) else {}
                message["metadata"] = {**known, "message_id": message_id_of(message, line, place)}
            yield message

    def lines(self, ordinals: Sequence[int]) -> Iterator[tuple[int, bytes]]:
        """Read records' lines as they were written, without LF, in the given order."""
        return fetch_lines(self.index, ordinals, self.file.read)

    def records(self) -> Iterator[bytes]:
        """Give the line of every record that was taken in, oldest first, each with its LF."""
        return self.file.lines(min(self.scanner.offset, self.size))

    def describe(self) -> LogDescription:
        """Describe the log as it was when last looked at."""
        torn = self.torn
        return LogDescription(self.file.path, self.file.fd is not None, self.size, torn.torn_bytes if torn else 0)

    def _bytes_before(self, offset: int) -> bytes:
        start = max(0, offset - _END_BYTES)
        return self.file.read(start, offset - start) if offset else b""

    def open(self, *, create: bool) -> None:
        """Open and scan the log if it is there, or create it.

        Raises:
            LogUnreadableError: it is there and cannot be read.
            OSError: it is not there and cannot be created.
        """
        if self.file.open(create=create):
            self.reload()

    def reload(self) -> None:
        """Scan the whole file anew, into a new index."""
        self.scanner = Scanner(self.max_record_bytes)
        try:
            self.size = self.file.size()
        except LogUnreadableError:
            self.close()
            raise
        self._scan_or_close()
        damage, torn = self.index.damage, self.torn
        if damage:
            logger.warning("%s: %d findings; the first: %s", self.file.path, len(damage), damage[0])
        if torn:
            logger.warning(
                "%s ends in %d bytes that are no whole record (at byte %d); the next append saves them aside",
                self.file.path,
                torn.torn_bytes,
                torn.offset,
            )

    def _scan_or_close(self) -> None:
        """Scan to the size known; after an error, a half-read log must not be taken for the whole."""
        try:
            self._scan()
            self._end = self._bytes_before(self.size)
            known = min(self.scanner.offset, self.size)
            self._known_end = self._end if known == self.size else self._bytes_before(known)
        except BaseException:
            self.close()
            raise

    def _scan(self) -> None:
        """Scan from where the scanner stands to the size known."""
        scanner, want = self.scanner, CHUNK_BYTES
        while scanner.offset < self.size:
            block = self.file.read(scanner.offset, min(want, self.size - scanner.offset))
            if whole := block.rfind(b"\n") + 1:
                scanner.feed(block[:whole])
                want = CHUNK_BYTES
            elif scanner.offset + len(block) >= self.size or len(block) < want:
                self.size = scanner.offset + len(block)
                self._scan_unended(block)
                return
            elif want <= self.max_record_bytes:
                want = min(want * 2, max(self.max_record_bytes, CHUNK_BYTES) + 1)
            elif not self._skip_long_line():
                return

    def _scan_unended(self, block: bytes) -> None:
        """Take the bytes behind the last LF as a record if they are a whole one: its LF comes with the next append."""
        try:
            decode(block)
        except ValueError:
            return
        self.scanner.feed(block + b"\n")

    def _skip_long_line(self) -> bool:
        """Pass over a line that is too long; False if it does not end."""
        scanner = self.scanner
        at, crc, tail = scanner.offset, scanner.seed, b""
        while block := self.file.read(at, CHUNK_BYTES):
            end = block.find(b"\n")
            piece = block if end < 0 else block[:end]
            crc, tail = crc32(piece, crc), (tail + piece)[-CRC_TAIL_BYTES:]
            at += len(piece)
            if end >= 0:
                scanner.skip(at + 1 - scanner.offset, crc, tail)
                return True
        return False

    def _goes_on(self, size: int) -> bool:
        """Whether a file of `size` bytes holds what is known, and whole lines or a torn one behind it."""
        known = self.scanner.offset
        if self.lacks_newline and self.file.read(known - 1, 1) != b"\n":
            return False
        return size >= known and self._bytes_before(min(known, self.size)) == self._known_end
