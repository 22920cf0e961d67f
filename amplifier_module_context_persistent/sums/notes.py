"""What is noted in the checkpoint of a log, and by whom: a session as it goes on, or the command `checkpoint`."""

from __future__ import annotations

from ..log.reader import LogReader
from ..tokens.counter import TokenCounter
from .stored_sums import NOTE, StoredSums


def whole_notes(reader: LogReader, counter: TokenCounter) -> dict[str, bytes]:
    """Sum up all of a log, and give the notes of its checkpoint.

    Raises:
        LogUnreadableError: the log's bytes changed while they were read.
    """
    if not StoredSums.can_be_stored(reader):
        return {}
    sums = StoredSums(reader, counter)
    sums.go_on()
    note = sums.note()
    return {NOTE: note} if note is not None else {}
