"""Figures of sessions in a database, stored there, so that totals over many sessions open only the changed ones.

The rows are the same as in a catalogue of files, so answers by day, model, tool or project are the same. They have
tokens and times, but no money, since prices change.
"""

from __future__ import annotations

import logging
import zlib
from collections.abc import Iterable, Iterator
from contextlib import suppress

import orjson

from ..errors import LogError
from ..log.contract import Log, ReadableLog
from ..log.database_location import split_location, stored_name
from ..tokens.counter import TokenCounter
from .catalogue_file import is_usable, may_be_written
from .compute_figures import FigureRows
from .schema import FIGURES_VERSION

logger = logging.getLogger(__name__)

TABLES = ("turns", "calls", "requests", "plans")
"""The tables that totals over many sessions need."""
MOST_AT_CLOSE = 500
"""The most messages of a session whose figures are computed at its close. For a longer session, this is done when the
figures are needed."""
_ASKED, _KEPT_AT_ONCE = 500, 50


class StoredFigures:
    """The stored figures of sessions in databases, and new figures to be stored.

    Args:
        counter: the counter of tokens; figures by another counter are not used.
    """

    def __init__(self, counter: TokenCounter) -> None:
        self._counted = f"{FIGURES_VERSION} {counter.name}"
        self._new: dict[str, list[tuple[str, int, bytes]]] = {}

    def kept(self, locations: Iterable[str]) -> Iterator[tuple[str, FigureRows]]:
        """Yield the stored figures of unchanged logs, each with its location."""
        from ..log.postgres.figure_rows import kept_figures  # its driver is an extra

        if not is_usable():
            return
        by_storage: dict[str, dict[str, str]] = {}
        for location in locations:
            storage, name = split_location(location)
            by_storage.setdefault(storage, {})[name] = location
        for storage, by_name in by_storage.items():
            names = list(by_name)
            for start in range(0, len(names), _ASKED):
                figures = kept_figures(storage, names[start : start + _ASKED], self._counted)
                for name, packed_rows in figures.items():
                    rows = _read(packed_rows)
                    if rows is not None:
                        yield by_name[name], rows

    def add(self, log: ReadableLog, location: str, added: FigureRows) -> None:
        """Add the figures of a log to be stored.

        They are written in groups, so that an interrupted command can continue.
        """
        if not may_be_written():
            return
        storage, name = split_location(location)
        with suppress(TypeError):  # a number that a file cannot store either
            new = self._new.setdefault(storage, [])
            new.append((name, log.describe().size_bytes, _told(added)))
            if len(new) >= _KEPT_AT_ONCE:
                self.keep()

    def keep(self) -> None:
        """Write the new figures. If this fails, they are computed again at the next question."""
        from ..log.postgres.figure_rows import keep_figures  # its driver is an extra

        for storage, new in self._new.items():
            if new:
                keep_figures(storage, self._counted, new)
        self._new.clear()


def keep_figures_in_database(log: Log, counter: TokenCounter) -> None:
    """Store the figures of a log in its database, unless the log is long. Logs in files are ignored.

    Failures are not reported.
    """
    location = log.describe().location
    figures = StoredFigures(counter)
    if stored_name(location) is None or len(log.index) > MOST_AT_CLOSE:
        return
    try:
        figures.add(log, location, FigureRows.of(log, counter))
        figures.keep()
    except LogError as error:
        logger.debug("%s: what it adds up to is not kept: %s", location, error)


def _told(figures: FigureRows) -> bytes:
    """Encode figures.

    Raises:
        TypeError: a number is larger than 64 bits.
    """
    rows_by_table: dict[str, list[object]] = {table: [] for table in TABLES}
    for table, row in figures.rows:
        if table in rows_by_table:
            rows_by_table[table].append(row)
    return zlib.compress(orjson.dumps({"is_fork": figures.is_fork, "rows": rows_by_table}), 1)


def _read(stored: bytes) -> FigureRows | None:
    """Decode stored figures. Return None if another program wrote the bytes."""
    with suppress(ValueError, KeyError, TypeError, zlib.error):
        record = orjson.loads(zlib.decompress(stored))
        rows = []
        for name in TABLES:
            rows += [(name, tuple(row)) for row in record["rows"][name]]
        return FigureRows(rows, bool(record["is_fork"]))
    return None
