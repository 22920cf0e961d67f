"""What many sessions add up to, together in one database in memory: for questions over all of them.

Each session's figures are copied from its catalogue. One whose catalogue knows its log as it is now is not opened; the
others are brought up first, or added up here. So answers are the same with and without, in the same order.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from ..catalogue.covered import FIGURES, Stamp, covered_by_path, name_of
from ..catalogue.database import NAME, Catalogue, CatalogueError, catalogue_of, in_memory
from ..catalogue.figures import Figures, figures_of
from ..errors import LogError
from ..log.filesystem import FileSystem
from ..tokens.counter import TokenCounter
from .sessions import SessionFile, root_of
from .transcript import Transcript

if TYPE_CHECKING:
    import sqlite3

_COPIED = ("turns", "calls", "requests", "plans")
_LOGS = """CREATE TABLE logs (
    session INTEGER PRIMARY KEY, name TEXT NOT NULL, project TEXT NOT NULL, path TEXT NOT NULL,
    is_fork INTEGER NOT NULL, root TEXT)"""
"""`root` is the id of the session whose sub-agent it is, or of one whose sub-agent's; its own where it is none."""
_ROWS = 1 << 40  # numbers of a session's rows

Watch = Callable[[Sequence[str]], AbstractContextManager[FileSystem]]
"""Gives the system calls with which logs are read, and shows meanwhile how far that is."""


@dataclass(slots=True)
class GatheredFigures:
    """The figures of some sessions, in tables as the catalogue has them, and in `logs` which sessions they are."""

    connection: sqlite3.Connection
    unreadable: dict[str, str] = field(default_factory=dict)
    """By the paths of logs that cannot be read, why not."""

    @property
    def sessions(self) -> int:
        """How many sessions there are."""
        ((count,),) = self.connection.execute("SELECT count(*) FROM main.logs")
        return int(count)

    def tools(self) -> list[str]:
        """The tools that were called, by name."""
        return [tool for (tool,) in self.connection.execute("SELECT DISTINCT tool FROM calls ORDER BY tool")]

    @property
    def sub_agents(self) -> int:
        """How many of them are of sub-agents."""
        ((count,),) = self.connection.execute("SELECT count(*) FROM main.logs WHERE root != name")
        return int(count)

    @property
    def up_to_us(self) -> int | None:
        """When the last message was written, or the last request answered, in microseconds since 1970."""
        ((last,),) = self.connection.execute(
            "SELECT max(us) FROM"
            " (SELECT max(last_us) AS us FROM main.turns UNION ALL SELECT max(time_us) FROM main.requests)"
        )
        return last if isinstance(last, int) else None


@contextmanager
def gathered(
    sessions: Iterable[SessionFile], counter: TokenCounter, watch: Watch, *, keeps: bool = True
) -> Iterator[GatheredFigures]:
    """Gather what sessions add up to, for as long as the block lasts.

    Args:
        sessions: which ones.
        counter: counts tokens.
        watch: gives the system calls to read with, for the logs that must be opened.
        keeps: whether catalogues may be used and written.

    Raises:
        CatalogueError: Python has no SQLite.
    """
    with in_memory() as connection:
        connection.execute(_LOGS)
        connection.execute("BEGIN")
        found = GatheredFigures(connection)
        left = dict(enumerate(sessions, 1))
        blocked: set[Path] = set()
        if keeps:
            places = {catalogue_of(one.path) for one in left.values() if isinstance(one.path, Path)}
            for place in sorted(places):
                left = _take_known(found, place, left, counter)
            blocked = {place for place in places if not _is_writable(place, left.values())}
        with watch([str(one.path) for one in left.values()]) as files:
            for number, one in left.items():
                is_shared = isinstance(one.path, Path) and catalogue_of(one.path).name == NAME
                may_keep = keeps and isinstance(one.path, Path) and catalogue_of(one.path) not in blocked
                try:
                    with (
                        Transcript(one.path, files=files) as transcript,
                        figures_of(transcript.reader, counter, keeps=may_keep, keeps_small=is_shared) as kept,
                    ):
                        _copy(kept, found, number, one)
                except (LogError, OSError, ValueError) as error:
                    _forget(connection, number)
                    said = error.strerror if isinstance(error, OSError) else str(error)
                    found.unreadable[str(one.path)] = str(said or error)
        _note_roots(connection)
        connection.execute("COMMIT")
        yield found


def _take_known(
    found: GatheredFigures, place: Path, sessions: dict[int, SessionFile], counter: TokenCounter
) -> dict[int, SessionFile]:
    """Copy the sessions that a catalogue knows as they are; the others, with their numbers."""
    left = dict(sessions)
    try:
        with Catalogue(place).reading() as connection:
            covered = covered_by_path(connection, FIGURES)
            rows = connection.execute("SELECT path, id FROM sessions WHERE is_whole AND tokenizer = ?", (counter.name,))
            whole = dict(rows.fetchall())
            for number, one in sessions.items():
                if not isinstance(one.path, Path) or catalogue_of(one.path) != place:
                    continue
                name = name_of(one.path)
                if name in whole and name in covered and _stamp_of(one.path) == covered[name].stamp:
                    _copy(Figures(connection, whole[name]), found, number, one)
                    del left[number]
    except CatalogueError:
        for number in sessions:
            _forget(found.connection, number)
        return sessions
    return left


def _stamp_of(path: Path) -> Stamp | None:
    try:
        return Stamp.of(os.lstat(path))
    except OSError:
        return None


def _is_writable(place: Path, sessions: Iterable[SessionFile]) -> bool:
    """Whether what is missing in a catalogue can be added now: it is waited for once, not for each session."""
    if not any(isinstance(one.path, Path) and catalogue_of(one.path) == place for one in sessions):
        return True
    try:
        with Catalogue(place).writing():
            return True
    except CatalogueError:
        return False


def _copy(source: Figures, found: GatheredFigures, number: int, one: SessionFile) -> None:
    target = found.connection
    ((forked_from,),) = source.rows("SELECT forked_from FROM sessions WHERE id = ?")
    named = (text.encode("utf-8", "replace").decode() for text in (one.id, one.project, str(one.path)))
    target.execute("INSERT INTO logs VALUES (?, ?, ?, ?, ?, NULL)", (number, *named, bool(forked_from)))
    for table in _COPIED:
        columns = [column for _, column, *_ in target.execute(f"PRAGMA table_info({table})")]
        rows = source.rows(f"SELECT * FROM {table} WHERE session = ? ORDER BY 1")
        marks = ", ".join("?" * len(columns))
        if columns[0] == "id":
            copied = ((number * _ROWS + rank, number, *row[2:]) for rank, row in enumerate(rows))
        else:
            copied = ((number, *row[1:]) for row in rows)
        target.executemany(f"INSERT INTO {table} VALUES ({marks})", copied)


def _forget(connection: sqlite3.Connection, number: int) -> None:
    for table in (*_COPIED, "logs"):
        connection.execute(f"DELETE FROM {table} WHERE session = ?", (number,))


def _note_roots(connection: sqlite3.Connection) -> None:
    """Note of each session whose sub-agent it is."""
    roots: dict[str, set[str]] = {}
    rows = connection.execute("SELECT session, name, project, is_fork FROM logs ORDER BY length(name), name")
    for session, name, project, is_fork in rows.fetchall():
        known = roots.setdefault(project, set())
        parent = root_of(name, known) if not is_fork else None
        if parent is None:
            known.add(name)
        connection.execute("UPDATE logs SET root = ? WHERE session = ?", (parent or name, session))
