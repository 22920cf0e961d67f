"""The figures of a session: from the catalogue, or computed if the catalogue does not have the present log.

Computed figures are written to the catalogue if possible. If not, the same code computes them again the next time. So
the answers are the same, only slower.
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

from ..log.contract import ReadableLog
from ..log.open_reader import file_reader
from ..log.reader import LogReader
from .catalogue_file import (
    NAME,
    SQLITE_ERRORS,
    UNUSABLE,
    Catalogue,
    CatalogueError,
    catalogue_of,
    in_memory,
)
from .lock_wait import COMMAND_WAIT_S
from .log_coverage import FIGURES, LogCoverage, Stamp, cover, covered_of, is_same_file, name_of, session_id
from .schema import FIGURE_TABLES

if TYPE_CHECKING:  # the modules that compute figures are imported only when needed
    import sqlite3

    from ..tokens.counter import TokenCounter
    from .compute_figures import FigureRows

logger = logging.getLogger(__name__)

LEAST_LOG_BYTES = 64 << 10
"""The least size of a log outside a project whose figures are stored. In a project, any log's figures are."""
ROWS_AT_ONCE = 1_000
"""The number of rows of figures that one transaction writes."""


@dataclass(slots=True)
class Figures:
    """The figures of one session: its turns, calls, requests and plans.

    They can be queried while the catalogue is open.
    """

    connection: sqlite3.Connection
    session: int
    add_up: Callable[[], Figures] | None = None
    """Computes the figures in memory, if the catalogue breaks during a query."""
    catalogue: Catalogue | None = None
    """The catalogue, whose file may be truncated during a query."""

    def rows(self, query: str, *parameters: Any) -> list[tuple[Any, ...]]:
        """Run a query whose first parameter is the session, and return its rows.

        If the catalogue is damaged, the figures are added up again from the log (`add_up`), and the query is repeated.
        """
        try:
            rows = self.connection.execute(query, (self.session, *parameters)).fetchall()
            if self.add_up is None or self.catalogue is None or not self.catalogue.is_cut(self.connection):
                return rows
        except SQLITE_ERRORS:
            if self.add_up is None:
                raise
        logger.info("the catalogue broke while it was asked; figures are added up anew")
        found = self.add_up()
        self.add_up = None
        self.connection = found.connection
        self.session = found.session
        return self.rows(query, *parameters)


@contextmanager
def figures_of(
    reader: ReadableLog,
    counter: TokenCounter,
    *,
    wait_s: float = COMMAND_WAIT_S,
    note: Callable[[FigureRows], None] = lambda _: None,
) -> Iterator[Figures]:
    """Yield the figures of an open log.

    Args:
        reader: the log.
        counter: counts tokens; kept figures by another counter are not used.
        wait_s: the most seconds to wait for other processes that use the catalogue.
        note: gets the figures if they had to be computed.

    Raises:
        LogUnreadableError: the log's bytes changed while they were read.
        CatalogueError: Python has no SQLite.
    """
    file = _file_with_catalogue(reader)
    with ExitStack() as opened:

        def add_up() -> Figures:
            from .compute_figures import FigureRows

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

        figures = _stored_figures(file, counter, wait_s, opened) if file is not None else None
        if figures is None:
            figures = add_up()
        else:
            figures.add_up = add_up
        yield figures
        _close(opened)


def _file_with_catalogue(reader: ReadableLog) -> LogReader | None:
    """Return the reader of a log's file if the log's figures are stored in a catalogue, else None."""
    file = file_reader(reader)
    if file is None:
        return None
    is_in_project = catalogue_of(file.path).name == NAME
    if is_in_project or file.size >= LEAST_LOG_BYTES:
        return file
    return None


def _stored_figures(file: LogReader, counter: TokenCounter, wait_s: float, opened: ExitStack) -> Figures | None:
    """Return the figures that the catalogue has of the present log, or None. `opened` keeps the catalogue open."""
    try:
        catalogue = Catalogue(catalogue_of(file.path), wait_s)
        connection = opened.enter_context(catalogue.reading())
        session = _session_that_is_up(connection, file, counter)
    except UNUSABLE as error:
        logger.info("%s; figures are added up", error)
        return None
    return Figures(connection, session, catalogue=catalogue) if session else None


def _close(opened: ExitStack) -> None:
    """End a transaction that reads. Each query has checked already whether the file was truncated."""
    with suppress(CatalogueError):
        opened.close()


def _session_that_is_up(connection: sqlite3.Connection, reader: LogReader, counter: TokenCounter) -> int:
    """Return the id of the session if its stored figures are up to date with the log, else 0."""
    name = name_of(reader.path)
    known = covered_of(connection, name, FIGURES)
    if known is None or known.end_offset != _end(reader) or not known.still_holds(reader):
        return 0
    row = connection.execute(
        "SELECT id FROM sessions WHERE path = ? AND tokenizer = ?", (name, counter.name)
    ).fetchone()
    return row[0] if row else 0


def _keep(catalogue: Catalogue, reader: LogReader, stamp: Stamp, counter: TokenCounter, added: FigureRows) -> None:
    """Write the figures of a log, some rows in each transaction. The figures are valid once all rows are there.

    Writing stops if another process began to write the figures of this log too, or if the log is another file by now.
    """
    name = name_of(reader.path)
    whole = LogCoverage.up_to(reader, _end(reader), stamp)
    # As long as rows are missing, nothing is covered. The random bytes tell whether this process wrote the others.
    unfinished = LogCoverage(stamp, 0, tail=os.urandom(16))
    batches = [added.rows[start : start + ROWS_AT_ONCE] for start in range(0, len(added.rows), ROWS_AT_ONCE)] or [[]]
    try:
        for number, batch in enumerate(batches, 1):
            with catalogue.writing() as connection:
                if not is_same_file(reader.path, stamp):
                    return
                session = session_id(connection, name)
                if number == 1:
                    forget_figures(connection, session)
                    cover(connection, session, FIGURES, unfinished)
                elif covered_of(connection, name, FIGURES) != unfinished:
                    return
                insert(connection, session, batch)
                if number == len(batches):
                    query = "UPDATE sessions SET tokenizer = ?, is_fork = ? WHERE id = ?"
                    connection.execute(query, (counter.name, added.is_fork, session))
                    cover(connection, session, FIGURES, whole)
    except CatalogueError as error:
        logger.info("%s; the figures are not kept", error)


def insert(connection: sqlite3.Connection, session: int, rows: Iterable[tuple[str, tuple[Any, ...]]]) -> None:
    """Insert rows of a session's figures, each given with its table."""
    for table, added in groupby(rows, itemgetter(0)):
        values = [(session, *row) for _, row in added]
        connection.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * len(values[0]))})", values)


def forget_figures(connection: sqlite3.Connection, session: int) -> None:
    """Remove the figures of a session."""
    for table in FIGURE_TABLES:
        connection.execute(f"DELETE FROM {table} WHERE session = ?", (session,))
    connection.execute("UPDATE sessions SET tokenizer = '' WHERE id = ?", (session,))


def _end(reader: LogReader) -> int:
    return min(reader.scanner.offset, reader.size)
