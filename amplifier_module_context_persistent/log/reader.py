"""Reading a log's file: `LogReader`, what commands open a log with. `base` states the contract that it keeps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from .base import LogDescription, Snapshots
from .filesystem import FileSystem
from .index import Index, TornTail
from .open_log import OpenLog
from .read_back import NumberedLine, numbered_lines, parsed
from .record import MAX_RECORD_BYTES, Message
from .scanned_file import ScannedFile
from .scanner import Scanner


class LogReader:
    """A log's file, read.

    Args:
        path: the file; its last component is never followed if it is a link.
        files: the system calls, for tests to replace.
        max_record_bytes: longer lines are reported and skipped.
        writable: open for appending too, for who writes; command-line readers leave it out.
        snapshots: keeps what a scan knows, for the next one to begin with; else every byte is scanned.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        files: FileSystem | None = None,
        max_record_bytes: int = MAX_RECORD_BYTES,
        writable: bool = False,
        snapshots: Snapshots | None = None,
    ) -> None:
        self.file = OpenLog(path, files, writable=writable)
        self.scanned = ScannedFile(self.file, max_record_bytes, snapshots)
        self.path, self.max_record_bytes = self.file.path, max_record_bytes

    @property
    def index(self) -> Index:
        """The index of what is known; another object after the log was scanned anew."""
        return self.scanned.index

    @property
    def scanner(self) -> Scanner:
        """What stands where the scan has ended; another object after the log was scanned anew."""
        return self.scanned.scanner

    @property
    def size(self) -> int:
        """The file's size when last looked at."""
        return self.scanned.size

    @property
    def torn(self) -> TornTail | None:
        """What the next append will save aside and cut, as of the last `follow`."""
        return self.scanned.torn

    def follow(self) -> None:
        """Take in what others appended since; scan the whole log where that does not continue what is known.

        Raises:
            LogUnreadableError: the log cannot be read, or was removed while it was open.
        """
        self.scanned.follow()

    def read(self, ordinals: Sequence[int]) -> Iterator[Message]:
        """Parse records afresh from their bytes, in the given order; neighbours are read together.

        Raises:
            LogUnreadableError: the bytes of a record are no longer what was scanned.
        """
        return parsed(self.index, self.lines(ordinals), self.path)

    def lines(self, ordinals: Sequence[int]) -> Iterator[tuple[int, bytes]]:
        """Read records' lines as they were written, without LF, in the given order; errors as `read`."""
        return self.scanned.lines(ordinals)

    def records(self) -> Iterator[bytes]:
        """Give the line of every record that was taken in, oldest first, each with its LF."""
        return (line.content + b"\n" for line in self.whole_lines())

    def stored_bytes(self) -> Iterator[bytes]:
        """Give the bytes of the file line by line, a torn tail too."""
        left = self.scanned.size
        for line in self.file.lines(self.scanned.size):
            yield line[:left]  # the last one has an LF added
            left -= len(line)

    def whole_lines(self, start: int = 0) -> Iterator[NumberedLine]:
        """Give the lines that were taken in, from an offset on, in their order."""
        return numbered_lines(self.file.lines(min(self.scanner.offset, self.size), start), start)

    def describe(self) -> LogDescription:
        """Describe the log as it was when last looked at."""
        return self.scanned.describe()

    def close(self) -> None:
        """Close the file and forget what was read; `follow` opens it again."""
        self.scanned.close()
