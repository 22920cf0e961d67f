"""One session's log and its part of the ranked index: what is stored, and how the rest is made.

The index of a log consists of segments, each of a number of adjacent messages. Older segments are in the project's
catalogue or in the log's database. Newer ones are made from the log and stored there, or kept in memory.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path

from ..catalogue.catalogue_file import Catalogue, CatalogueError, catalogue_of
from ..catalogue.index_snapshots import CatalogueSnapshots
from ..catalogue.log_coverage import Stamp, name_of
from ..catalogue.ranked_fill import Batch, FillTarget, RankedFill, batches, lacking, still_known
from ..catalogue.ranked_words import KnownWords, RankedWords, known_words
from ..catalogue.ranked_words_in_postgres import ServerFill, ends_of, kept_in_database
from ..errors import LogError, LogUnreadableError
from ..log.contract import ReadableLog
from ..log.file_handle import size_of_log
from ..log.open_reader import file_reader, open_reader
from ..log.postgres.ranked_rows import RankedLog
from ..log.reader import LogReader
from ..search.ranked_segment import Segment
from .session_files import SessionFile

logger = logging.getLogger(__name__)

Fills = dict[str, RankedFill]
"""The index parts that this process made for earlier questions, by the logs' paths."""


@dataclass(slots=True)
class IndexedLog:
    """A session's log and its segments: older ones from the catalogue, then newer ones in memory."""

    session: SessionFile
    catalogue: Path | None = field(init=False)
    """The catalogue of a log in a file; None for a log in a database."""
    name: str = field(init=False)
    """The log's name in the catalogue."""
    known: KnownWords | None = None
    """The words that the catalogue has of the log."""
    stored: RankedWords | None = None
    """The part of `known` that is used: the log's segments in the catalogue."""
    on_server: RankedLog | None = None
    """The log's entry in the index of its database; None for a log in a file."""
    memory_segments: list[Segment] = field(default_factory=list)
    """The log's segments in memory, which follow the stored ones."""
    end_offset: int = 0
    """The offset up to which the log is indexed, if `is_partial`."""
    is_partial: bool = False
    """Whether a part of the log is not indexed."""
    error: LogError | None = None

    def __post_init__(self) -> None:
        """Find the catalogue once, because each of many sessions needs the catalogue several times."""
        is_file = isinstance(self.session.path, Path)
        self.catalogue = catalogue_of(self.session.path) if is_file else None
        self.name = name_of(self.session.path) if is_file else ""

    @property
    def path(self) -> str:
        """The path or the location of the log."""
        return str(self.session.path)

    @property
    def is_fully_indexed(self) -> bool:
        """Whether the stored index covers the whole log, so that the log need not be opened."""
        if self.on_server is not None:
            return self.on_server.end_offset == self.on_server.size
        return self.known is not None and self.known.covered.is_whole_of(self.path)

    @property
    def stored_bytes(self) -> int:
        """The bytes of the log that the stored index covers."""
        if self.on_server is not None:
            return self.on_server.end_offset
        return self.known.covered.end_offset if self.known is not None else 0

    @property
    def size_bytes(self) -> int:
        """The size of the log, also of an archived log; 0 if the size is unknown."""
        if self.on_server is not None:
            return self.on_server.size
        try:
            return size_of_log(self.path)
        except OSError:
            return 0

    def use_stored(self) -> None:
        """Use the stored index, which covers the whole log."""
        if self.known is not None:
            self.stored = self.known.words
            self.memory_segments = []

    def take_from_memory(self, fills: Fills | None) -> bool:
        """Use the index parts that this process made for earlier questions; return whether they cover the whole log.

        These parts are used only if the catalogue or the database still has the part of the index before them.
        """
        fill = (fills or {}).get(self.path)
        if fill is None:
            return False
        if self.on_server is not None:
            return self._take_fill_of_database(fill, self.on_server)
        return self._take_fill_of_file(fill)

    def _take_fill_of_database(self, fill: RankedFill, on_server: RankedLog) -> bool:
        if not _follows(fill, on_server):
            return False
        self.memory_segments = list(fill.memory_segments)
        self.end_offset = fill.end_offset
        return fill.end_offset == on_server.size

    def _take_fill_of_file(self, fill: RankedFill) -> bool:
        follows_stored = fill.words_at_begin == self.known
        if not follows_stored or not fill.is_of(self.path):
            return False
        self.stored = fill.stored
        self.memory_segments = list(fill.memory_segments)
        self.end_offset = fill.end_offset
        return fill.is_whole_of(self.path)

    def take_from_others(self) -> bool:
        """Read what other processes have stored since the last time, and return whether there is something new."""
        if self.on_server is not None:
            stored = kept_in_database(self.path)
            if stored is None or _is_same_part(stored, self.on_server):
                return False
            self.on_server = stored
            return True
        if self.catalogue is None:
            return False
        try:
            with Catalogue(self.catalogue).reading() as connection:
                known = known_words(connection, self.name).get(self.name)
        except CatalogueError:
            return False
        is_new = known is not None and known != self.known
        self.known = known
        return is_new


def fill_log(
    log: IndexedLog,
    fills: Fills | None,
    *,
    in_memory: bool,
    tell: Callable[[int], None],
    may_go_on: Callable[[], bool],
) -> bool:
    """Bring the index of a log up to date; stop early if `may_go_on` returns False.

    Args:
        log: the log, with the segments that are known of it.
        fills: the parts of earlier questions, by log path; None to keep none.
        in_memory: whether to make the index in memory only, without the catalogue.
        tell: called with the offset in the log up to which messages are indexed.
        may_go_on: returns whether to continue.

    Returns:
        Whether another process has stored the same part of the index first. Then this process has stopped, and what
        it made is lost.

    Raises:
        LogError: the log cannot be read.
    """
    with closing(open_reader(log.path, snapshots=CatalogueSnapshots())) as reader:
        reader.follow()
        file = file_reader(reader)
        if log.on_server is not None:
            return _fill_on_server(log, reader, log.on_server, fills, tell=tell, may_go_on=may_go_on)
        if file is not None:
            fill = _begun(log, file, fills, in_memory=in_memory)
            if fills is not None:
                fills[log.path] = fill
            read = lacking(file, fill.end_offset, Stamp.of(file.file.status()))
        else:
            fill = RankedFill(None, None, None)
            read = _all_of(reader)
        for batch in read:
            fill.take(batch)
            tell(fill.end_offset)
            if fill.is_overtaken or not may_go_on():
                break
        fill.finish()
        log.stored = fill.stored
        log.memory_segments = fill.memory_segments
        log.end_offset = fill.end_offset
        log.is_partial = next(iter(read), None) is not None
        return fill.is_overtaken


def _fill_on_server(
    log: IndexedLog,
    reader: ReadableLog,
    indexed: RankedLog,
    fills: Fills | None,
    *,
    tell: Callable[[int], None],
    may_go_on: Callable[[], bool],
) -> bool:
    """Bring the index of a log in a database up to date; stop early if `may_go_on` returns False.

    If the database refuses messages, their index is kept in memory.

    Returns:
        Whether another process has stored the same part first.

    Raises:
        LogError: the log cannot be read.
    """
    on_server = ServerFill(log.path, indexed)
    in_memory = (fills or {}).get(log.path)
    if in_memory is None or not _follows(in_memory, indexed):
        in_memory = RankedFill(None, None, None)
        in_memory.server_part = indexed
        in_memory.end_offset = indexed.end_offset
    is_kept = not in_memory.memory_segments
    first = indexed.messages + in_memory.memory_messages
    lacking_ones = list(batches(reader, first)) or [range(len(reader.index), len(reader.index))]
    for ordinals in lacking_ones:
        batch, end_offset = _batch_of(reader, ordinals), ends_of(reader, ordinals)
        is_kept = is_kept and on_server.take(batch, end_offset)
        if on_server.is_overtaken:
            return True
        if is_kept:
            in_memory.server_part = on_server.kept
        else:
            in_memory.take(batch)
        in_memory.end_offset = end_offset
        tell(end_offset)
        if not may_go_on() and ordinals.stop < len(reader.index):
            log.is_partial = True
            break
    in_memory.finish()
    if fills is not None:
        fills[log.path] = in_memory
    log.on_server = on_server.kept
    log.memory_segments = list(in_memory.memory_segments)
    log.end_offset = in_memory.end_offset
    return False


def _follows(fill: RankedFill, on_server: RankedLog) -> bool:
    """Return whether a fill continues the part of a log's index that the database has now."""
    return fill.server_part is not None and _is_same_part(fill.server_part, on_server)


def _is_same_part(earlier: RankedLog, later: RankedLog) -> bool:
    """Return whether two reads of a log's index in a database gave the same part, apart from the log's size."""
    return replace(earlier, size=later.size) == later


def _begun(log: IndexedLog, reader: LogReader, fills: Fills | None, *, in_memory: bool) -> RankedFill:
    """Return a fill that continues the index of this process for the log's file, or else the index in the catalogue."""
    earlier_fill = (fills or {}).get(log.path)
    if earlier_fill is not None and earlier_fill.words_at_begin == log.known and earlier_fill.still_holds(reader):
        return earlier_fill
    known = still_known(reader, log.known)
    if in_memory or reader.index.damage or log.catalogue is None:
        return RankedFill(None, log.known, known)
    return RankedFill(FillTarget(Catalogue(log.catalogue), log.name, log.path), log.known, known)


def _all_of(reader: ReadableLog) -> Iterator[Batch]:
    """Return an iterator over all messages of a log without a file, in batches."""
    return (_batch_of(reader, ordinals) for ordinals in batches(reader, 0))


def _batch_of(reader: ReadableLog, ordinals: range) -> Batch:
    offsets = reader.index.columns.offsets[ordinals.start : ordinals.stop]
    return Batch(list(zip(offsets, reader.read(ordinals), strict=True)), None)


def share_of(logs: Iterable[IndexedLog]) -> float:
    """Return the indexed share of the bytes of logs, from 0 to 1."""
    lacking_bytes = all_bytes = 0
    for log in logs:
        size = log.size_bytes
        all_bytes += size
        lacking_bytes += max(0, size - log.end_offset) if log.is_partial else 0
    return 1 - lacking_bytes / all_bytes if all_bytes else 1.0


def error_of_session(error: Exception) -> LogError:
    """Return an error of one session as a `LogError`, so that it can be reported beside the results of other sessions.

    An error of another type is wrapped in a `LogUnreadableError`.
    """
    if isinstance(error, LogError):
        return error
    logger.debug("a session cannot be searched", exc_info=error)
    unexpected = LogUnreadableError(f"it cannot be searched: {type(error).__name__}: {error}")
    unexpected.__cause__ = error
    return unexpected
