"""Keep the facts that `list` shows of logs (`Glance`) in catalogues and databases, so that most logs are not opened.

`take_glance`, which reads an open log, is imported only when needed: most lists already know all their logs.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterable
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING
from zlib import crc32

from ..errors import LogError
from ..log.database_location import split_location, stored_name
from ..log.file_handle import FileHandle
from ..log.filesystem import FileSystem
from .catalogue_file import Catalogue, CatalogueError, catalogue_of, is_usable, may_be_written
from .glance import Glance, glance_told, told_of
from .log_coverage import GLANCE, LogCoverage, Stamp, cover, covered_by_path, name_of, session_id

if TYPE_CHECKING:
    from ..log.contract import Log, ReadableLog

logger = logging.getLogger(__name__)

LEAST_LOG_BYTES = 64 << 10
"""The least size of a log whose glance is stored. A smaller log is read in a moment."""
_ASKED, _KEPT_AT_ONCE = 500, 50
"""For logs in a database: the number of kept glances in one query, and of new ones in one write."""


class Glances:
    """The glances (facts that `list` shows) of logs: stored glances, and new ones to be stored.

    A catalogue is read at the first question about one of its logs, and written once, by `keep`.
    """

    def __init__(self) -> None:
        self._known: dict[Path, dict[str, tuple[LogCoverage, str]]] = {}
        self._new: dict[Path, list[tuple[str, LogCoverage, str]]] = {}
        self._stored: dict[str, dict[str, tuple[str, bytes]]] = {}
        self._archived: dict[str, dict[str, bool]] = {}
        """Whether logs in databases are archived, by storage and name."""
        self._expected: dict[str, list[str]] = {}
        """The names of the next logs in databases, by storage."""
        self._new_stored: dict[str, list[tuple[str, int, str, int]]] = {}

    def of(self, path: str, files: FileSystem | None = None) -> Glance | None:
        """Return the stored glance of a log, or None if there is none or the log has changed since.

        Raises:
            LogUnreadableError: the log cannot be read.
        """
        if stored_name(path) is not None:
            return self._of_stored(path)
        place = catalogue_of(path)
        if place not in self._known:
            self._known[place] = _kept_in(place)
        covered, encoded = self._known[place].get(name_of(path, place), (None, ""))
        if covered is None:
            return None
        log = FileHandle(path, files)
        try:
            exists = log.open(create=False)
            if not exists or Stamp.of(log.status()) != covered.stamp:
                return None
            return glance_told(encoded, log.read)
        finally:
            log.close()

    def expect(self, locations: Iterable[str]) -> None:
        """Announce the next logs in databases, in their order, so that one query reads the glances of many logs."""
        for location in locations:
            storage, name = split_location(location)
            self._expected.setdefault(storage, []).append(name)

    def is_archived(self, location: str) -> bool:
        """Return whether a log in a database is archived entirely."""
        from ..log.postgres.list_logs import archived_among  # its driver is an extra

        storage, name = split_location(location)
        known = self._archived.setdefault(storage, {})
        if name not in known:
            known[name] = name in archived_among(storage, [name])
        return known[name]

    def _of_stored(self, location: str) -> Glance | None:
        """Return the glance of a log in a database, or None if none is stored."""
        storage, name = split_location(location)
        stored = self._stored.setdefault(storage, {})
        if name not in stored:
            stored |= self._asked(storage, name)
        encoded, first_line = stored.pop(name)
        return glance_told(encoded, lambda _offset, _length: first_line)

    def _asked(self, storage: str, name: str) -> dict[str, tuple[str, bytes]]:
        """Read from the database the stored glances of a log and of the logs that are expected after it."""
        from ..log.postgres.list_logs import archived_among, kept_glances  # its driver is an extra

        expected = self._expected.get(storage, [])
        start = expected.index(name) if name in expected else len(expected)
        names = [name, *expected[start + 1 : start + _ASKED]]
        self._expected[storage] = expected[start + _ASKED :]
        glances = kept_glances(storage, names) if is_usable() else {}
        archived = archived_among(storage, names)
        self._archived.setdefault(storage, {}).update({log_name: log_name in archived for log_name in names})
        return {log_name: glances.get(log_name, ("", b"")) for log_name in names}

    def look_at(self, log: ReadableLog, location: str = "") -> Glance:
        """Take the glance of an open log, to be stored. Glances of small and of damaged logs are not stored.

        Args:
            log: an open log, read to its end.
            location: the log's location in a database, with the password, or "" for a file.

        Raises:
            LogUnreadableError: its bytes changed.
        """
        from ..log.open_reader import file_reader
        from ..tokens.counter import open_counter
        from .take_glance import take_glance

        glance, first = take_glance(log, open_counter("estimate"))
        if glance.damage:
            return glance
        place = (0, 0, 0)
        if first >= 0:
            [(_, content)] = log.lines([first])
            place = (log.index.columns.offsets[first], len(content), crc32(content))
        try:
            encoded = told_of(asdict(replace(glance, first_line="")), place)
        except TypeError:  # a lone surrogate in a model's name
            return glance
        if location:
            storage, name = split_location(location)
            row = (name, glance.size_bytes, encoded, place[0] if first >= 0 else -1)
            self._new_stored.setdefault(storage, []).append(row)
            if len(self._new_stored[storage]) >= _KEPT_AT_ONCE:  # an interrupted list continues after these
                self._keep_stored()
            return glance
        file = file_reader(log)
        if file is not None and file.file.fd is not None and file.size >= LEAST_LOG_BYTES:
            stamp = Stamp.of(file.file.status())
            if stamp.size_bytes == file.size:
                entry = (file.path, LogCoverage(stamp, file.size, b""), encoded)
                self._new.setdefault(catalogue_of(file.path), []).append(entry)
        return glance

    def keep(self) -> None:
        """Write the new glances. If this fails, the logs are read again the next time."""
        for place, new in self._new.items():
            with contextlib.suppress(CatalogueError), Catalogue(place).writing() as connection:
                for path, covered, encoded in new:
                    session = session_id(connection, name_of(path))
                    connection.execute("UPDATE sessions SET glance = ? WHERE id = ?", (encoded, session))
                    cover(connection, session, GLANCE, covered)
        self._new = {}
        self._keep_stored()

    def _keep_stored(self) -> None:
        if may_be_written() and self._new_stored:
            from ..log.postgres.list_logs import keep_glances

            for storage, glances in self._new_stored.items():
                keep_glances(storage, glances)
        self._new_stored = {}


def keep_in_database(log: Log) -> None:
    """Store the glance of a log in its database, so that lists need not open the log. Logs in files are ignored.

    Failures are not reported.
    """
    if stored_name(log.describe().location) is not None and may_be_written():
        _keep(log)


def keep_glance(log: ReadableLog) -> None:
    """Store the glance of an open log unless it is stored already, so that the next list need not open the log.

    Failures are not reported.
    """
    if not may_be_written():
        return
    try:
        is_kept = Glances().of(log.describe().location) is not None
    except LogError:
        return
    if not is_kept:
        _keep(log)


def _keep(log: ReadableLog) -> None:
    """Store the glance of an open log. Failures are not reported."""
    location = log.describe().location
    glances = Glances()
    try:
        glances.look_at(log, location if stored_name(location) is not None else "")
        glances.keep()
    except LogError as error:
        logger.debug("%s: what list says of it is not kept: %s", location, error)


def _kept_in(place: Path) -> dict[str, tuple[LogCoverage, str]]:
    try:
        with Catalogue(place).reading() as connection:
            encoded_glances = dict(connection.execute("SELECT path, glance FROM sessions").fetchall())
            return {name: (known, encoded_glances[name]) for name, known in covered_by_path(connection, GLANCE).items()}
    except CatalogueError:
        return {}
