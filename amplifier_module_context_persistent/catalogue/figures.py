"""What a session adds up to, asked of the catalogue after it was brought up to the log as it is.

A log that has no catalogue, is damaged, or whose catalogue cannot be used now is added up in one in memory, by the same
code; so the answer is the same, only slower.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any
from zlib import crc32

from ..log.base import ReadableLog
from ..log.index import Index
from ..log.open import file_reader
from ..log.read_back import NumberedLine
from ..log.reader import LogReader
from ..messages.message import Message
from ..messages.normalize import tokens_of
from ..tokens.counter import TokenCounter, open_counter
from .covered import FIGURES, Covered, Stamp, can_be_named, cover, covered_of, is_same_file, name_of, session_id
from .database import SQLITE_ERRORS, UNUSABLE, Catalogue, CatalogueError, catalogue_of, in_memory
from .fill import MessagePass, RecordPass, cut, forget_figures
from .requests import MetAnswers, is_repeated

if TYPE_CHECKING:
    import sqlite3

logger = logging.getLogger(__name__)

LEAST_LOG_BYTES = 64 << 10
"""A smaller log is added up in a moment: nothing is kept of it."""
LINES_AT_ONCE, MESSAGES_AT_ONCE = 128, 128
"""So many in one transaction; messages are read and counted before it."""
_MOST_EXTRA_ROUNDS = 32
"""Transactions beyond those that a log takes: others may write to its catalogue, too."""


@dataclass(slots=True)
class Figures:
    """What one session adds up to; to be asked while the catalogue is open."""

    connection: sqlite3.Connection
    session: int
    add_up: Callable[[], Figures] | None = None
    """Adds the log up in memory, for when the catalogue breaks while it is asked."""
    catalogue: Catalogue | None = None
    """Whose file may be cut while it is asked."""

    def rows(self, query: str, *parameters: Any) -> list[tuple[Any, ...]]:
        """Ask a query whose first parameter is the session."""
        try:
            rows = self.connection.execute(query, (self.session, *parameters)).fetchall()
            if self.add_up is None or self.catalogue is None or not self.catalogue.is_cut(self.connection):
                return rows
            logger.info("the catalogue was cut; figures are added up anew")
        except SQLITE_ERRORS as error:
            if self.add_up is None:
                raise
            logger.info("%s; figures are added up anew", error)
        found, self.add_up = self.add_up(), None
        self.connection, self.session = found.connection, found.session
        return self.rows(query, *parameters)


@contextmanager
def figures_of(
    reader: ReadableLog,
    counter: TokenCounter,
    *,
    keeps: bool = True,
    keeps_small: bool = False,
    or_any: bool = False,
) -> Iterator[Figures]:
    """The figures of an open log as it is now.

    Args:
        reader: the log.
        counter: counts tokens; figures by another one are made anew.
        keeps: whether its catalogue may be used and written.
        keeps_small: whether it is written of a small log, too: worth it where there are many.
        or_any: whether figures by another tokenizer will do, if they are kept already.

    Raises:
        LogUnreadableError: the log's bytes changed while they were read.
        CatalogueError: Python has no SQLite.
    """
    with ExitStack() as memory, ExitStack() as opened:
        found, kept = None, None
        least_bytes = 0 if keeps_small else LEAST_LOG_BYTES
        if keeps and (file := file_reader(reader)) is not None and _is_worth(file, least_bytes):
            try:
                catalogue = Catalogue(catalogue_of(file.path))
                kept = _kept_counter(catalogue, file) if or_any else None
                found = _brought_up(catalogue, file, kept or counter, opened)
            except UNUSABLE as error:
                _close(opened)
                logger.info("%s; figures are added up anew", error)

        def added_up(by: TokenCounter = counter) -> Figures:
            connection = memory.enter_context(in_memory())
            found = Figures(connection, session_id(connection, ""))
            _fill_at_once(found, reader, by)
            return found

        if found is None:
            found = added_up()
        else:
            found.add_up = partial(added_up, kept or counter)
        yield found
        _close(opened)


def _close(opened: ExitStack) -> None:
    """End a transaction that reads; whether the file was cut in it was asked at each answer."""
    with suppress(CatalogueError):
        opened.close()


def _is_worth(reader: LogReader, least_bytes: int) -> bool:
    """Whether to keep the figures of a log: not where a line holds several records, since nothing goes on within it."""
    is_plain = all(found.kind != "glued" for found in reader.index.damage)
    return is_plain and reader.size >= least_bytes and can_be_named(reader.path)


def _fill_at_once(found: Figures, reader: ReadableLog, counter: TokenCounter) -> None:
    count, met = partial(tokens_of, counter=counter), MetAnswers()
    records = RecordPass(found.connection, found.session, count, met.repeats)
    for line in reader.records():
        met.meet(line)
        records.take(line)
    records.finish()
    messages = MessagePass(found.connection, found.session, count)
    live = reader.index.live
    for ordinal, message in zip(live, reader.read(live), strict=True):
        messages.take(ordinal, message)
    messages.finish()


def _kept_counter(catalogue: Catalogue, reader: LogReader) -> TokenCounter | None:
    """What counted the figures that are kept of a log; None where there are none, or it is not at hand."""
    try:
        with catalogue.reading() as connection:
            query = "SELECT tokenizer FROM sessions WHERE path = ? AND tokenizer != ''"
            row = connection.execute(query, (name_of(reader.path),)).fetchone()
        return open_counter(row[0]) if row else None
    except (CatalogueError, ValueError):
        return None


def _brought_up(catalogue: Catalogue, reader: LogReader, counter: TokenCounter, opened: ExitStack) -> Figures | None:
    """Bring a log's catalogue up to what the reader knows, and begin to read it; None if another one is faster.

    Raises:
        CatalogueError: it cannot be used.
        LogUnreadableError: the log's bytes changed while they were read.
    """
    name, stamp = name_of(reader.path), Stamp.of(reader.file.status())
    start, position = 0, 0
    rounds = reader.scanner.line // LINES_AT_ONCE + len(reader.index.live) // MESSAGES_AT_ONCE + _MOST_EXTRA_ROUNDS
    for _ in range(rounds):
        with suppress(CatalogueError, OSError):  # none yet, one that is just being made, or one that is replaced below
            connection = opened.enter_context(catalogue.reading())
            if session := _is_up(connection, name, reader, counter):
                return Figures(connection, session, catalogue=catalogue)
            start, position = _reached(connection, name)
        _close(opened)
        batch = _Batch.read(reader, counter, start, position)
        with catalogue.writing() as connection:
            if not is_same_file(reader.path, stamp):
                return None
            _go_on(connection, name, reader, counter, stamp, batch)
    raise CatalogueError(f"{catalogue.path}: it does not keep what is written")


@dataclass(frozen=True, slots=True)
class _Batch:
    """What one transaction adds: lines, or where all of them are known, messages with their tokens."""

    start: int
    end: int
    lines: list[NumberedLine]
    position: int
    messages: list[tuple[int, Message, int]]

    @classmethod
    def read(cls, reader: LogReader, counter: TokenCounter, start: int, position: int) -> _Batch:
        """What follows an offset, and a position in the live history."""
        from ..view import receipts  # noqa: F401 - reading one loads half of the package: not in a transaction

        lines = list(islice(reader.whole_lines(start), LINES_AT_ONCE))
        is_last = len(lines) < LINES_AT_ONCE
        end = _end(reader) if is_last else lines[-1].offset + len(lines[-1].content) + 1
        live = reader.index.live[position : position + MESSAGES_AT_ONCE] if is_last else ()
        messages = [(at, one, tokens_of(one, counter)) for at, one in zip(live, reader.read(live), strict=True)]
        return cls(start, end, lines, position, messages)


def _reached(connection: sqlite3.Connection, name: str) -> tuple[int, int]:
    """The offset and the position in the live history up to which a session is added up."""
    known = covered_of(connection, name, FIGURES)
    row = connection.execute("SELECT live FROM sessions WHERE path = ?", (name,)).fetchone()
    return (known.end_offset, row[0]) if known is not None and row is not None else (0, 0)


def _is_up(connection: sqlite3.Connection, name: str, reader: LogReader, counter: TokenCounter) -> int:
    """The id of a session whose figures are those of the log as the reader knows it; 0 if they are not."""
    known = covered_of(connection, name, FIGURES)
    if known is None or known.end_offset != _end(reader) or not known.still_holds(reader):
        return 0
    row = connection.execute("SELECT id, tokenizer, live, live_crc32 FROM sessions WHERE path = ?", (name,)).fetchone()
    count = len(reader.index.live)
    return row[0] if row[1:] == (counter.name, count, _live_crc32(reader.index, count)) else 0


def _live_crc32(index: Index, count: int) -> int:
    """By what it is seen that the first live messages are those that were added up."""
    return crc32(memoryview(index.live)[:count])


def _go_on(
    connection: sqlite3.Connection,
    name: str,
    reader: LogReader,
    counter: TokenCounter,
    stamp: Stamp,
    batch: _Batch,
) -> None:
    """Add up more of a log, in one transaction; nothing of a batch that does not follow what is known by now."""
    index, session = reader.index, session_id(connection, name)
    known = covered_of(connection, name, FIGURES)
    ((tokenizer, live, live_crc32),) = connection.execute(
        "SELECT tokenizer, live, live_crc32 FROM sessions WHERE id = ?", (session,)
    )
    if known is None or tokenizer != counter.name or known.end_offset > _end(reader) or not known.still_holds(reader):
        forget_figures(connection, session)
        known = None
    elif live > len(index.live) or live_crc32 != _live_crc32(index, live):
        cut(connection, session, index.live)
    end = known.end_offset if known else 0
    if batch.start == end:
        at, count = [0], partial(tokens_of, counter=counter)
        records = RecordPass(connection, session, count, lambda message_id: is_repeated(index, message_id, at[0]))
        for line in batch.lines:
            at[0] = line.offset
            records.take(line.content)
        records.finish()
        end = batch.end
    tokens = {id(message): size for _, message, size in batch.messages}
    messages = MessagePass(connection, session, lambda message: tokens[id(message)])
    if end == _end(reader) and batch.position == messages.position:
        for ordinal, message, _ in batch.messages:
            messages.take(ordinal, message)
        messages.finish()
    is_whole = end == _end(reader) and messages.position == len(index.live) and stamp.size_bytes == reader.size
    connection.execute(
        "UPDATE sessions SET (tokenizer, live, live_crc32, is_whole) = (?, ?, ?, ?) WHERE id = ?",
        (counter.name, messages.position, _live_crc32(index, messages.position), is_whole, session),
    )
    cover(connection, session, FIGURES, Covered.up_to(reader, end, stamp))


def _end(reader: LogReader) -> int:
    return min(reader.scanner.offset, reader.size)
