"""When the checkpoint of an open log is written.

It is written where scanning what it does not cover would cost more than writing it: a checkpoint of a million messages
has 30 MB, and unsynced writes of that size slow down the appends of everybody on the disk.
"""

from __future__ import annotations

from .checkpoint_file import is_large, write_checkpoint
from .reader import LogReader

LEAST_TAIL_BYTES = 4 << 20
TAIL_SHARE = 8
"""While a log is appended to, one is written when the uncovered tail exceeds both this many bytes and this part of what
is covered."""
CLOSE_TAIL_BYTES = 64 << 10
CLOSE_TAIL_SHARE = 256
"""Likewise when a log is closed."""


class CheckpointWriter:
    """Write the checkpoint of a log that this process appends to.

    Args:
        reader: the log.
    """

    def __init__(self, reader: LogReader) -> None:
        self._reader = reader
        self.has_appended = False
        """Whether this process appended to the log since it was opened; who only reads writes none."""

    @property
    def reader(self) -> LogReader:
        """The log, read."""
        return self._reader

    @property
    def is_due(self) -> bool:
        """Whether one is worth its writing while the log is appended to."""
        reader = self._reader
        if reader.scanner.offset - reader.covered_bytes <= LEAST_TAIL_BYTES:  # asked after every append: nearly always
            return False
        return self.has_appended and self._is_worth(LEAST_TAIL_BYTES, TAIL_SHARE)

    def write_if_due(self) -> None:
        """Write one if it is due; whatever fails is only noted."""
        if self.is_due:
            self._write()

    def close(self) -> None:
        """Write one if it is worth it before the log is closed."""
        if self.has_appended and self._is_worth(CLOSE_TAIL_BYTES, CLOSE_TAIL_SHARE):
            self._write()
        self.has_appended = False

    def _is_worth(self, least_bytes: int, share: int) -> bool:
        covered, end = self._reader.covered_bytes, self._reader.scanner.offset
        uncovered = end - covered
        return uncovered > least_bytes and uncovered > covered // share and is_large(end)

    def _write(self) -> None:
        reader = self._reader
        if reader.file.fd is not None:
            end = reader.scanner.offset  # what fails is tried again only after as much was appended once more
            written = write_checkpoint(reader.file, reader.scanner, reader.known_end)
            reader.covered_bytes = written or end
