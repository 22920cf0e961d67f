"""The ranked index of logs in a PostgreSQL database: stored and queried there. Messages are ranked here.

Terms and weights are computed as for files (`search/message_terms.py`), so the order of answers is the same. A log
has a segment for each `CHUNK` of its messages.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Collection, Iterator, Sequence
from itertools import groupby

from ..errors import LogError, LogUnreadableError
from ..log.contract import Log, ReadableLog
from ..log.database_location import split_location, stored_name
from ..log.postgres.ranked_rows import CHUNK, RankedLog, RankedRow, RankedServer, ranked_server
from ..messages.message import Message
from ..messages.message_times import instant_of, timestamp_of
from ..search.message_terms import VERSION, weights_of
from ..search.ranked_segment import Postings, key_of
from .catalogue_file import may_be_written
from .ranked_fill import Batch, batches

logger = logging.getLogger(__name__)

CLOSE_S = 2.0
"""The longest time for indexing a session at its close; the rest is left to the next close or question."""


def kept_in_databases(locations: Sequence[str]) -> tuple[dict[str, RankedLog], str]:
    """Return how far logs in databases are indexed, by location, and an error's text if a database gave no answer.

    The text is "" if all databases answered.
    """
    indexed: dict[str, RankedLog] = {}
    reason = ""
    by_storage: dict[str, dict[str, str]] = {}
    for location in locations:
        name = stored_name(location)
        if name:
            by_storage.setdefault(split_location(location)[0], {})[name] = location
    for storage, names in by_storage.items():
        try:
            with ranked_server(storage, VERSION) as server:
                indexed |= {names[name]: log for name, log in server.logs(list(names)).items()}
        except LogUnreadableError as error:
            reason = str(error.strerror)
    return indexed, reason


def kept_in_database(location: str) -> RankedLog | None:
    """Return how far a log is indexed, or None for a log in a file, and if the database does not answer."""
    return kept_in_databases([location])[0].get(location)


class ServerFill:
    """Adds messages to the index of a log, which is stored in the log's database.

    Args:
        location: the location of the log.
        known: the state of the log's index.
    """

    def __init__(self, location: str, known: RankedLog) -> None:
        self._storage = split_location(location)[0]
        self.kept = known
        """The part of the log that is indexed."""
        self.is_overtaken = False
        """Whether another process has stored words of the log during this fill. Then the fill stores none."""

    def take(self, batch: Batch, end_offset: int) -> bool:
        """Store the words of messages up to an offset of the log. Return False if the database refuses the words."""
        if not may_be_written():
            return False
        first = self.kept.messages
        rows = [_row_of(number, offset, message) for number, (offset, message) in enumerate(batch.messages, first)]
        try:
            with ranked_server(self._storage, VERSION) as server:
                indexed = server.keep(self.kept, rows, end_offset)
        except LogUnreadableError as error:
            logger.debug("%s: its words are not kept: %s", self._storage, error)
            return False
        self.is_overtaken = indexed is None
        self.kept = indexed or self.kept
        return indexed is not None


def _row_of(number: int, offset: int, message: Message) -> RankedRow:
    weights = {_signed(key_of(term)): weight for term, weight in sorted(weights_of(message)[0].items())}
    written = instant_of(timestamp_of(message))
    seconds = max(0, int(written.timestamp())) if written is not None else 0
    return RankedRow(number, offset, seconds, list(weights), bytes(weights.values()))


def _signed(key: int) -> int:
    """Return a checksum as a signed 32-bit number, which is the server's type `integer`."""
    return key - (1 << 32) if key >> 31 else key


def ends_of(log: ReadableLog, ordinals: range) -> int:
    """Return the offset up to which a log is covered once the messages at some adjacent ordinals are indexed."""
    if ordinals.stop >= len(log.index):
        return log.describe().size_bytes
    last = ordinals.stop - 1
    return log.index.columns.offsets[last] + log.index.columns.lengths[last]


def keep_ranked_words(log: Log) -> None:
    """Index a closed log in a database, for at most `CLOSE_S`.

    Failures are not reported: the next question indexes the rest.
    """
    location = log.describe().location
    deadline = time.monotonic() + CLOSE_S
    if stored_name(location) is None:
        return
    try:
        known = kept_in_database(location)
        if known is None:
            return
        fill = ServerFill(location, known)
        for ordinals in batches(log, known.messages):
            offsets = log.index.columns.offsets[ordinals.start : ordinals.stop]
            batch = Batch(list(zip(offsets, log.read(ordinals), strict=True)), None)
            is_taken = fill.take(batch, ends_of(log, ordinals))
            if not is_taken or time.monotonic() > deadline:
                return
    except LogError as error:
        logger.debug("%s: its words are not kept: %s", location, error)


class ServerWords:
    """The ranked words of the given logs of one database, as segments of an index.

    Args:
        server: the connection, which must stay open.
        logs: how far each log is indexed, with the number of its first segment.
    """

    def __init__(self, server: RankedServer, logs: Sequence[tuple[RankedLog, int]]) -> None:
        self._server = server
        self._logs = [log for log, _ in logs]
        self._first = {log.key.log_id: first for log, first in logs}
        self._log_of: dict[int, tuple[int | str, int]] = {}
        """The id of the log and the number of its chunk, by the number of the segment."""
        for log, first in logs:
            for chunk in range(segments_of(log.messages)):
                self._log_of[first + chunk] = log.key.log_id, chunk
        self._met: dict[tuple[int, int], tuple[int, int]] = {}
        """Offset and time of found messages, by segment and number."""

    def frequencies(self, keys: Sequence[int]) -> list[int]:
        """Return the number of messages with each term."""
        counts = self._server.frequencies(self._logs, list(map(_signed, keys)))
        return [counts.get(_signed(key), 0) for key in keys]

    def postings(self, key: int, among: Collection[int] | None) -> Iterator[tuple[int, Postings]]:
        """Yield the postings of a term, each with the number of its segment. `among` limits the segments."""
        chunks = None
        if among is not None:
            chunks = [self._log_of[segment] for segment in among if segment in self._log_of]
        rows = self._server.messages(self._logs, _signed(key), chunks)
        for (log_id, chunk), messages in groupby(rows, lambda row: (row[0], row[1] // CHUNK)):
            segment = self._first[log_id] + chunk
            numbers = list[int]()
            weights = bytearray()
            for _, number, offset, seconds, weight in messages:
                numbers.append(number % CHUNK)
                weights.append(weight)
                self._met[segment, number % CHUNK] = offset, seconds
            yield segment, Postings.of(numbers, bytes(weights))

    def __contains__(self, segment: int) -> bool:
        return segment in self._log_of

    def place(self, segment: int, number: int) -> tuple[int, int]:
        """Return the offset and the time, in seconds since 1970, of a message that `postings` found."""
        return self._met[segment, number]


def segments_of(messages: int) -> int:
    """Return the number of segments of a log, given its number of messages."""
    return -(-messages // CHUNK)


def counts_of(log: RankedLog) -> list[int]:
    """Return the number of messages in each segment of a log."""
    return [min(CHUNK, log.messages - first) for first in range(0, log.messages, CHUNK)]
