"""Reading a log's file: open, scan, follow, read back. Nothing here writes, not even to mend a tail.

Rules:
- Opening reads and never writes. A torn tail is a value (`torn`), damage in the middle a list (`index.damage`); both
  are logged once.
- A log that is there and cannot be read is an error, never an empty log.
- What others append is taken in by `follow`, in time proportional to what is new; a file that was replaced, or that
  does not continue what is known, is scanned anew.
"""

from __future__ import annotations

import errno
import logging
import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path
from zlib import crc32

from .errors import LogUnreadableError
from .files import Files
from .index import UNCHAINED, Index, TornTail
from .record import CRC_TAIL_BYTES, MAX_RECORD_BYTES, Message, decode
from .scan import Scanner, message_id_of

logger = logging.getLogger(__name__)

_CHUNK_BYTES = 1 << 20
_GAP_BYTES = 64 << 10  # records closer than this are read with one call
_SPAN_BYTES = 4 << 20


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
        files: Files | None = None,
        max_record_bytes: int = MAX_RECORD_BYTES,
        writable: bool = False,
    ) -> None:
        self.path = os.path.abspath(os.path.expanduser(path))
        self.files = files or Files()
        self.max_record_bytes = max_record_bytes
        self.fd: int | None = None
        self.size = 0
        """The file's size when last looked at."""
        self.scanner = Scanner(max_record_bytes)
        self._writable = writable
        self._identity = (-1, -1)
        self._pid = os.getpid()

    @property
    def index(self) -> Index:
        """The index of what is known; another object after the log was scanned anew."""
        return self.scanner.index

    @property
    def torn(self) -> TornTail | None:
        """What the next append will save aside and cut, as of the last `follow`."""
        start = self.scanner.pending.offset if self.scanner.pending else self.scanner.offset
        return TornTail(start, self.size - start) if self.fd is not None and self.size > start else None

    @property
    def lacks_newline(self) -> bool:
        """Whether the last record is whole but for its LF."""
        return self.scanner.offset > self.size

    @property
    def descriptor(self) -> int:
        """The open file.

        Raises:
            LogUnreadableError: no file is open.
        """
        if self.fd is None:
            raise LogUnreadableError(errno.ENOENT, "the log is not open", self.path)
        return self.fd

    def close(self) -> None:
        """Close the file and forget what was read; `follow` opens it again."""
        fd, self.fd, self.size = self.fd, None, 0
        self.scanner = Scanner(self.max_record_bytes)
        if fd is not None:
            self.files.close(fd)

    def ensure_open(self) -> bool:
        """Open the log if it is there and not open; whether it was opened just now.

        A process that forked opens anew: a lock belongs to the open file, which it shares with its parent.
        """
        if self._pid != os.getpid():
            self.close()
            self._pid = os.getpid()
        if self.fd is not None:
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
        if not self._is_current():
            logger.warning("%s was replaced; reading the new file", self.path)
            self.close()
            self.open(create=False)
            return True
        size = self.files.fstat(self.descriptor).st_size
        if size == self.size:
            return False
        if self._follows_on(size):
            self.size = size
            self._scan()
        else:
            logger.warning("%s changed otherwise than by appending; reading it anew", self.path)
            self.reload()
        return False

    def read(self, ordinals: Sequence[int]) -> Iterator[Message]:
        """Parse records afresh from their bytes, in the given order; neighbours are read together.

        Raises:
            LogUnreadableError: the bytes of a record are no longer what was scanned.
        """
        flags = self.index.flags
        for ordinal, line in self._lines(ordinals):
            try:
                message = decode(line)
                if flags[ordinal] & UNCHAINED:
                    metadata = message.get("metadata") or {}
                    message_id = message_id_of(message, line, self.index.offsets[ordinal])
                    message["metadata"] = {**metadata, "message_id": message_id}
            except (ValueError, TypeError) as error:
                place = self.index.offsets[ordinal]
                raise LogUnreadableError(
                    errno.EIO, f"the record at byte {place} was overwritten after it was read ({error})", self.path
                ) from error
            yield message

    def _lines(self, ordinals: Sequence[int]) -> Iterator[tuple[int, bytes]]:
        offsets, lengths = self.index.offsets, self.index.lengths
        at, count = 0, len(ordinals)
        while at < count:
            start = offsets[ordinals[at]]
            end = start + lengths[ordinals[at]]
            stop = at + 1
            while stop < count and 0 <= offsets[ordinals[stop]] - end <= _GAP_BYTES and end - start < _SPAN_BYTES:
                end = offsets[ordinals[stop]] + lengths[ordinals[stop]]
                stop += 1
            block = self._read_exactly(start, end - start)
            for ordinal in ordinals[at:stop]:
                begin = offsets[ordinal] - start
                yield ordinal, block[begin : begin + lengths[ordinal] - 1]
            at = stop

    def _read_exactly(self, offset: int, size: int) -> bytes:
        fd = self.descriptor
        block = self.files.read(fd, size, offset)
        while 0 < len(block) < size and (more := self.files.read(fd, size - len(block), offset + len(block))):
            block += more
        return block

    def open(self, *, create: bool) -> None:
        """Open and scan the log if it is there, or create it.

        Raises:
            LogUnreadableError: it is there and cannot be read.
            OSError: it is not there and cannot be created.
        """
        try:
            fd = self.files.open_log(self.path, create=create) if self._writable else self._open_read_only()
        except FileNotFoundError:
            if create:
                raise
            return
        except OSError:
            if create and not os.path.lexists(self.path):
                raise
            fd = self._open_read_only()
        status = self.files.fstat(fd)
        if not stat.S_ISREG(status.st_mode):
            self.files.close(fd)
            raise LogUnreadableError(errno.EINVAL, "this is no regular file, so it cannot be a log", self.path)
        self.fd, self._identity = fd, (status.st_dev, status.st_ino)
        self.reload()

    def _open_read_only(self) -> int:
        try:
            return self.files.open_readonly(self.path)
        except FileNotFoundError:
            raise
        except OSError as error:
            raise self._unreadable(error) from error

    def _unreadable(self, error: OSError) -> LogUnreadableError:
        reasons = {
            errno.ELOOP: "it is a symbolic link, which is not followed; configure the path it points to",
            errno.EISDIR: "it is a directory; configure a file, or a directory as storage_path",
            errno.EACCES: "this process may not read it; change its mode or owner",
        }
        reason = reasons.get(error.errno or 0, os.strerror(error.errno or errno.EIO))
        return LogUnreadableError(error.errno or errno.EIO, f"the log exists and cannot be read: {reason}", self.path)

    def reload(self) -> None:
        """Scan the whole file anew, into a new index."""
        self.scanner = Scanner(self.max_record_bytes)
        self.size = self.files.fstat(self.descriptor).st_size
        self._scan()
        damage, torn = self.index.damage, self.torn
        if damage:
            logger.warning("%s: %d findings; the first: %s", self.path, len(damage), damage[0])
        if torn:
            logger.warning(
                "%s ends in %d bytes that are no whole record (at byte %d); the next append saves them aside",
                self.path,
                torn.torn_bytes,
                torn.offset,
            )

    def _scan(self) -> None:
        """Scan from where the scanner stands to the size known."""
        scanner, want = self.scanner, _CHUNK_BYTES
        while scanner.offset < self.size:
            block = self._read_exactly(scanner.offset, min(want, self.size - scanner.offset))
            if whole := block.rfind(b"\n") + 1:
                scanner.feed(block[:whole])
                want = _CHUNK_BYTES
            elif scanner.offset + len(block) >= self.size or len(block) < want:
                self._scan_unended(block)
                return
            elif want <= self.max_record_bytes:
                want = min(want * 2, max(self.max_record_bytes, _CHUNK_BYTES) + 1)
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
        while block := self._read_exactly(at, _CHUNK_BYTES):
            end = block.find(b"\n")
            piece = block if end < 0 else block[:end]
            crc, tail = crc32(piece, crc), (tail + piece)[-CRC_TAIL_BYTES:]
            at += len(piece)
            if end >= 0:
                scanner.skip(at + 1 - scanner.offset, crc, tail)
                return True
        return False

    def _is_current(self) -> bool:
        try:
            status = self.files.stat(self.path)
        except FileNotFoundError as error:
            raise LogUnreadableError(
                errno.ENOENT, "the log was removed while it was open; put it back, or initialize() a new one", self.path
            ) from error
        return (status.st_dev, status.st_ino) == self._identity

    def _follows_on(self, size: int) -> bool:
        """Whether a file of `size` bytes holds what is known, continued."""
        known = self.scanner.offset
        if size < known:
            return False
        if self.size < known and self._read_exactly(known - 1, 1) != b"\n":  # the LF that was not there yet
            return False
        head = self._read_exactly(known, min(size - known, _CHUNK_BYTES))
        end = head.find(b"\n")
        return end < 0 or self.scanner.continues(head[:end])
