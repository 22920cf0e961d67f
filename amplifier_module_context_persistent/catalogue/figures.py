"""What a session adds up to, asked of the catalogue, or added up where that does not know the log as it is.

What was added up is written to the catalogue, if that can be done; else it is added up again the next time, by the same
code. So the answer is the same, only slower.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from ..log.base import ReadableLog
from ..log.open_log import file_reader
from ..log.reader import LogReader
from ..tokens.counter import TokenCounter
from .catalogue_file import (
    FIGURE_TABLES,
    NAME,
    SQLITE_ERRORS,
    UNUSABLE,
    Catalogue,
    CatalogueError,
    catalogue_of,
    in_memory,
)
from .covered import FIGURES, LogCoverage, Stamp, cover, covered_of, is_same_file, name_of, session_id
from .lock_wait import COMMAND_WAIT_S

if TYPE_CHECKING:  # what adds a log up is imported if that has to be done
    import sqlite3

    from .fill import FigureRows

logger = logging.getLogger(__name__)

LEAST_LOG_BYTES = 64 << 10
"""A smaller log is added up in a moment: nothing is kept of it, but among the sessions of a project, which are many."""
ROWS_AT_ONCE = 1_000
"""So many in one transaction."""


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
        except SQLITE_ERRORS:
            if self.add_up is None:
                raise
        logger.info("the catalogue broke while it was asked; figures are added up anew")
        found, self.add_up = self.add_up(), None
        self.connection, self.session = found.connection, found.session
        return self.rows(query, *parameters)


@contextmanager
def figures_of(
    reader: ReadableLog,
    counter: TokenCounter,
    *,
    wait_s: float = COMMAND_WAIT_S,
    note: Callable[[FigureRows], None] = lambda _: None,
) -> Iterator[Figures]:
    """The figures of an open log as it is now.

    Args:
        reader: the log.
        counter: counts tokens; figures by another one are made anew.
        wait_s: how long to wait for others who use its catalogue.
        note: is given what was added up, if that had to be done.

    Raises:
        LogUnreadableError: the log's bytes changed while they were read.
        CatalogueError: Python has no SQLite.
    """
    file = file_reader(reader)
    if file is not None and file.size < LEAST_LOG_BYTES and catalogue_of(file.path).name != NAME:
        file = None
    with ExitStack() as opened:
        found = None
        if file is not None:
            try:
                catalogue = Catalogue(catalogue_of(file.path), wait_s)
                connection = opened.enter_context(catalogue.reading())
                if session := _session_that_is_up(connection, file, counter):
                    found = Figures(connection, session, catalogue=catalogue)
            except UNUSABLE as error:
                logger.info("%s; figures are added up", error)

        def add_up() -> Figures:
            from .fill import FigureRows

            _close(opened)
            stamp = Stamp.of(file.file.status()) if file is not None else None
            added = FigureRows.of(reader, counter)
            note(added)
            if file is not None and stamp is not None:
                _keep(Catalogue(catalogue_of(file.path), wait_s), file, stamp, counter, added)
            connection = opened.enter_context(in_memory())
            session = session_id(connection, "")
            connection.execute("UPDATE sessions SET is_fork = ?", (added.is_fork,))
            insert(connection, session, added.rows)
            return Figures(connection, session)

        if found is not None:
            found.add_up = add_up
        yield found or add_up()
        _close(opened)


def _close(opened: ExitStack) -> None:
    """End a transaction that reads; whether the file was cut in it was asked at each answer."""
    with suppress(CatalogueError):
        opened.close()


def _session_that_is_up(connection: sqlite3.Connection, reader: LogReader, counter: TokenCounter) -> int:
    """The id of a session whose figures are those of the log as the reader knows it; 0 if they are not."""
    name = name_of(reader.path)
    known = covered_of(connection, name, FIGURES)
    if known is None or known.end_offset != _end(reader) or not known.still_holds(reader):
        return 0
    row = connection.execute(
        "SELECT id FROM sessions WHERE path = ? AND tokenizer = ?", (name, counter.name)
    ).fetchone()
    return row[0] if row else 0


def _keep(catalogue: Catalogue, reader: LogReader, stamp: Stamp, counter: TokenCounter, added: FigureRows) -> None:
    """Write what a log adds up to, some rows in each transaction; they count once all of them are there.

    Nothing more is written where somebody else began to write it meanwhile, or where the log is another file now.
    """
    name, begun = name_of(reader.path), LogCoverage(stamp, 0, os.urandom(16))
    done = LogCoverage.up_to(reader, _end(reader), stamp)
    try:
        for start in range(0, len(added.rows) + 1, ROWS_AT_ONCE):
            stop = start + ROWS_AT_ONCE
            with catalogue.writing() as connection:
                if not is_same_file(reader.path, stamp):
                    return
                session = session_id(connection, name)
                if not start:
                    forget_figures(connection, session)
                    cover(connection, session, FIGURES, begun)
                elif covered_of(connection, name, FIGURES) != begun:
                    return
                insert(connection, session, added.rows[start:stop])
                if stop > len(added.rows):
                    told = (counter.name, added.is_fork, session)
                    connection.execute("UPDATE sessions SET (tokenizer, is_fork) = (?, ?) WHERE id = ?", told)
                    cover(connection, session, FIGURES, done)
    except CatalogueError as error:
        logger.info("%s; the figures are not kept", error)


def insert(connection: sqlite3.Connection, session: int, rows: Iterable[tuple[str, tuple[Any, ...]]]) -> None:
    """Add rows of what a session adds up to, each with its table."""
    for table, added in groupby(rows, itemgetter(0)):
        given = [(session, *row) for _, row in added]
        connection.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * len(given[0]))})", given)


def forget_figures(connection: sqlite3.Connection, session: int) -> None:
    """Forget what a session adds up to."""
    for table in FIGURE_TABLES:
        connection.execute(f"DELETE FROM {table} WHERE session = ?", (session,))
    connection.execute("UPDATE sessions SET tokenizer = '' WHERE id = ?", (session,))


def _end(reader: LogReader) -> int:
    return min(reader.scanner.offset, reader.size)
