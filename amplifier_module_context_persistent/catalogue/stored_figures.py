"""What sessions in a database add up to, kept there, so that totals over many open none that did not change.

The rows are those that a catalogue has of a file, so every answer is the same: by day, model, tool or project. They
hold tokens and times, never money, since prices change.
"""

from __future__ import annotations

import logging
import zlib
from collections.abc import Iterable, Iterator
from contextlib import suppress

import orjson

from ..errors import LogError
from ..log.base import Log, ReadableLog
from ..log.database_location import split_location, stored_name
from ..tokens.counter import TokenCounter
from .catalogue_file import is_usable, may_be_written
from .fill import FigureRows

logger = logging.getLogger(__name__)

TABLES = ("turns", "calls", "requests", "plans")
"""What totals over many sessions ask."""
MOST_AT_CLOSE = 500
"""A session of more messages is not added up as it closes, which would take long, but when it is first asked for."""
_VERSION = 1  # of what `_told` writes
_ASKED, _KEPT_AT_ONCE = 500, 50


class StoredFigures:
    """The figures that databases keep of some sessions, and those that are to be kept.

    Args:
        counter: counted the tokens; figures by another one count for nothing.
    """

    def __init__(self, counter: TokenCounter) -> None:
        self._counted = f"{_VERSION} {counter.name}"
        self._new: dict[str, list[tuple[str, int, bytes]]] = {}

    def kept(self, locations: Iterable[str]) -> Iterator[tuple[str, FigureRows]]:
        """Give what is kept of logs that are as they were then, with the location of each."""
        from ..log.postgres.figure_rows import kept_figures  # its driver is an extra

        by_storage: dict[str, dict[str, str]] = {}
        for location in locations if is_usable() else ():
            storage, name = split_location(location)
            by_storage.setdefault(storage, {})[name] = location
        for storage, by_name in by_storage.items():
            names = list(by_name)
            for start in range(0, len(names), _ASKED):
                found = kept_figures(storage, names[start : start + _ASKED], self._counted)
                for name, told in found.items():
                    if (rows := _read(told)) is not None:
                        yield by_name[name], rows

    def add(self, log: ReadableLog, location: str, added: FigureRows) -> None:
        """Have kept what a log adds up to; some are written together, so who stops goes on there the next time."""
        if not may_be_written():
            return
        storage, name = split_location(location)
        with suppress(TypeError):  # a number that has no place in a file either
            new = self._new.setdefault(storage, [])
            new.append((name, log.describe().size_bytes, _told(added)))
            if len(new) >= _KEPT_AT_ONCE:
                self.keep()

    def keep(self) -> None:
        """Write what is new; where that cannot be done, it is added up again the next time."""
        from ..log.postgres.figure_rows import keep_figures  # its driver is an extra

        for storage, new in self._new.items():
            if new:
                keep_figures(storage, self._counted, new)
        self._new.clear()


def keep_figures_in_database(log: Log, counter: TokenCounter) -> None:
    """Keep what a log in a database adds up to there, unless it is long; of any other log nothing.

    No failure is told.
    """
    location, figures = log.describe().location, StoredFigures(counter)
    if stored_name(location) is None or len(log.index) > MOST_AT_CLOSE:
        return
    try:
        figures.add(log, location, FigureRows.of(log, counter))
        figures.keep()
    except LogError as error:
        logger.debug("%s: what it adds up to is not kept: %s", location, error)


def _told(added: FigureRows) -> bytes:
    """Figures as they are kept.

    Raises:
        TypeError: a number is larger than 64 bits.
    """
    rows = {table: [row for name, row in added.rows if name == table] for table in TABLES}
    return zlib.compress(orjson.dumps({"is_fork": added.is_fork, "rows": rows}), 1)


def _read(told: bytes) -> FigureRows | None:
    """Figures that were kept; None if somebody else wrote them."""
    with suppress(ValueError, KeyError, TypeError, zlib.error):
        given = orjson.loads(zlib.decompress(told))
        return FigureRows(
            [(name, tuple(row)) for name in TABLES for row in given["rows"][name]], bool(given["is_fork"])
        )
    return None
