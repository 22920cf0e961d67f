"""What is noted in the checkpoint of a log, and by whom: a session as it goes on, or the command `checkpoint`."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic

from ..errors import LogError
from ..log.checkpoint_file import is_large
from ..log.file import FileLog
from ..log.reader import LogReader
from ..tokens.counter import TokenCounter
from . import glance, stored_sums
from .stored_sums import StoredSums

SLICE_S = 0.004
"""How long the log's thread is kept from what a session waits for."""
LAST_SLICE_S = 0.1
"""Likewise when a session closes its log."""
MOST_MESSAGE_BYTES = 1 << 20
"""The tokens of larger messages are not counted beside a session: a megabyte takes a tenth of a second."""


def whole_notes(reader: LogReader, counter: TokenCounter) -> dict[str, bytes]:
    """Sum up all of a log, and give the notes of its checkpoint.

    Raises:
        LogUnreadableError: the log's bytes changed while they were read.
    """
    noted = {glance.NOTE: glance.note_of(reader)}
    if StoredSums.can_be_stored(reader):
        sums = StoredSums(reader, counter)
        sums.go_on()
        noted[stored_sums.NOTE] = sums.note()
    return {name: note for name, note in noted.items() if note is not None}


class KeptNotes:
    """The notes of a log that a session appends to: kept up a slice at a time, while nobody waits for the log.

    Args:
        reader: the log.
        counter: counts tokens.
    """

    def __init__(self, reader: LogReader, counter: TokenCounter) -> None:
        self._reader = reader
        self._sums = StoredSums(reader, counter, most_message_bytes=MOST_MESSAGE_BYTES)
        self._noted_bytes = self._left_out_bytes = 0

    @property
    def grown_bytes(self) -> int:
        """So much of the log was summed up since the notes were made last, or was too much then."""
        return self._sums.read_bytes - self._noted_bytes + self._left_out_bytes

    def go_on(self, slice_s: float = SLICE_S) -> bool:
        """Sum up what is not yet, for so long; whether there is more. On the log's thread."""
        reader = self._reader
        if reader.file.fd is None or not is_large(reader.size) or not StoredSums.can_be_stored(reader):
            return False
        end = monotonic() + slice_s
        try:
            return not self._sums.go_on(lambda: monotonic() >= end)
        except LogError:
            return False  # whoever reads the log is told

    def make(self, *, is_last: bool) -> dict[str, bytes]:
        """The notes, as far as they were kept up; the last ones of a session for a little longer first."""
        if is_last:
            self.go_on(LAST_SLICE_S)
        reader = self._reader
        try:
            noted = {glance.NOTE: glance.note_of(reader)}
        except LogError:
            return {}
        if StoredSums.can_be_stored(reader):
            noted[stored_sums.NOTE] = self._sums.note()
            self._noted_bytes, self._left_out_bytes = self._sums.read_bytes, self._sums.left_bytes
        return {name: note for name, note in noted.items() if note is not None}


def keep_notes(log: FileLog, counter: TokenCounter) -> Callable[[], bool]:
    """Let the checkpoints of a log be written with notes; give what keeps them up, as `KeptNotes.go_on`."""
    notes = KeptNotes(log.checkpoint_writer.reader, counter)
    log.checkpoint_writer.notes = notes
    return notes.go_on
