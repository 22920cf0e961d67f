"""Gather the figures of sessions in a database in memory, from which totals are computed.

A session's figures are its turns, calls, requests and plans, each as a row with times and tokens. They are copied from
the session's catalogue (a database file beside the logs of a project), or from its PostgreSQL database. If the figures
of the current log are stored there, the log is not opened. Else they are computed from the log. So they are the same
with and without a catalogue.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from ..catalogue.catalogue_file import SQLITE_ERRORS, Catalogue, CatalogueError, catalogue_of, in_memory
from ..catalogue.kept_figures import Figures, figures_of, insert
from ..catalogue.log_coverage import FIGURES, covered_by_path, name_of
from ..errors import LogError, reason_of
from ..log.filesystem import FileSystem
from .count_copies_once import count_once
from .session_files import SessionFile
from .sub_agents import noted_parent, root_of
from .transcript import Transcript

if TYPE_CHECKING:
    import sqlite3

    from ..catalogue.compute_figures import FigureRows
    from ..catalogue.figures_in_postgres import StoredFigures
    from ..tokens.counter import TokenCounter

_COPIED = ("turns", "calls", "requests", "plans")
_LOGS = """CREATE TABLE logs (
    session INTEGER PRIMARY KEY, name TEXT NOT NULL, project TEXT NOT NULL, path TEXT NOT NULL,
    is_fork INTEGER NOT NULL, root TEXT)"""
"""`root` is the id of the outermost parent session of a sub-agent; the session's own id if it is not a sub-agent."""
_GATHERED = """SELECT count(*), count(nullif(name, root)), (SELECT max(us) FROM
    (SELECT max(last_us) AS us FROM turns UNION ALL SELECT max(time_us) FROM requests)) FROM logs"""

Watch = Callable[[Sequence[str]], AbstractContextManager[FileSystem]]
"""A function that takes the paths of logs and shows progress. It gives the file system with which to read these logs.
"""


@dataclass(slots=True)
class GatheredFigures:
    """The figures of the given sessions, in the tables of the catalogue, and a table `logs` of these sessions."""

    connection: sqlite3.Connection
    unreadable: dict[str, str] = field(default_factory=dict)
    """The errors of logs that cannot be read, by path."""

    sessions: int = 0
    """The number of sessions, with those of sub-agents."""
    sub_agents: int = 0
    """The number of sub-agents' sessions."""
    up_to_us: int | None = None
    """The time of the last message or request, in microseconds since 1970; None if no time is known."""

    def tools(self) -> list[str]:
        """Return the names of the tools that were called, sorted."""
        return [tool for (tool,) in self.connection.execute("SELECT DISTINCT tool FROM calls ORDER BY tool")]


@contextmanager
def gathered(sessions: Iterable[SessionFile], counter: TokenCounter, watch: Watch) -> Iterator[GatheredFigures]:
    """Gather the figures of sessions in a database in memory, which is closed at the end of the block.

    Args:
        sessions: the sessions whose figures are gathered.
        counter: the token counter.
        watch: gives the system calls to read the logs that have to be opened.

    Raises:
        CatalogueError: Python has no SQLite.
    """
    from ..catalogue.figures_in_postgres import StoredFigures

    with in_memory() as connection:
        connection.execute(_LOGS)
        connection.execute("BEGIN")
        figures = GatheredFigures(connection)
        left = dict(enumerate(sessions, 1))
        places = {catalogue_of(session.path) for session in left.values() if isinstance(session.path, Path)}
        for place in sorted(places):
            left = _take_known(figures, place, left, counter)
        stored = StoredFigures(counter)
        left = _take_stored(figures, stored, left)
        with watch([str(session.path) for session in left.values()]) as files:
            for number, session in left.items():
                try:
                    _compute(figures, number, session=session, stored=stored, counter=counter, files=files)
                except (LogError, OSError, ValueError) as error:
                    _forget(connection, number)
                    figures.unreadable[str(session.path)] = reason_of(error)
        stored.keep()
        _note_roots(connection)
        count_once(connection)
        [counted] = connection.execute(_GATHERED)
        figures.sessions, figures.sub_agents, figures.up_to_us = counted
        connection.execute("COMMIT")
        yield figures


def _compute(
    figures: GatheredFigures,
    number: int,
    session: SessionFile,
    stored: StoredFigures,
    counter: TokenCounter,
    files: FileSystem,
) -> None:
    """Compute the figures of a session from its log, and copy them to `found`.

    The figures of a log in a database are also added to `stored`, which stores them in that database.

    Raises:
        LogError, OSError, ValueError: the log cannot be read.
    """
    with Transcript(session.path, files=files) as transcript:

        def note(rows: FigureRows) -> None:
            if isinstance(session.path, str):
                stored.add(transcript.reader, session.path, rows)

        with figures_of(transcript.reader, counter, wait_s=0, note=note) as new_figures:
            _copy(new_figures, figures, number, session)


def _take_known(
    figures: GatheredFigures, place: Path, sessions: dict[int, SessionFile], counter: TokenCounter
) -> dict[int, SessionFile]:
    """Copy a catalogue's figures of sessions to `figures`, if the logs did not change since the figures were computed.

    Return the sessions whose figures were not copied, by number.
    """
    left = dict(sessions)
    try:
        with Catalogue(place).reading() as connection:
            covered = covered_by_path(connection, FIGURES)
            rows = connection.execute("SELECT path, id FROM sessions WHERE tokenizer = ?", (counter.name,))
            ids_by_name = dict(rows.fetchall())
            for number, session in sessions.items():
                if not isinstance(session.path, Path) or catalogue_of(session.path) != place:
                    continue
                name = name_of(session.path)
                is_known = name in ids_by_name and name in covered
                if is_known and covered[name].is_whole_of(session.path):
                    _copy(Figures(connection, ids_by_name[name]), figures, number, session)
                    del left[number]
    except CatalogueError:
        for number in sessions:
            _forget(figures.connection, number)
        return sessions
    return left


def _take_stored(
    figures: GatheredFigures, stored: StoredFigures, sessions: dict[int, SessionFile]
) -> dict[int, SessionFile]:
    """Copy the figures that databases have of sessions to `found`, if their logs did not change.

    Return the sessions whose figures were not copied, by number.
    """
    left = dict(sessions)
    numbers = {session.path: number for number, session in sessions.items() if isinstance(session.path, str)}
    for location, stored_rows in stored.kept(numbers):
        number = numbers[location]
        try:
            _note_log(figures.connection, number, sessions[number], is_fork=stored_rows.is_fork)
            insert(figures.connection, number, stored_rows.rows)
            del left[number]
        except SQLITE_ERRORS:  # another program wrote them
            _forget(figures.connection, number)
    return left


def _copy(source: Figures, figures: GatheredFigures, number: int, session: SessionFile) -> None:
    target = figures.connection
    ((is_fork,),) = source.rows("SELECT is_fork FROM sessions WHERE id = ?")
    _note_log(target, number, session, is_fork=is_fork)
    for table in _COPIED:
        rows = source.rows(f"SELECT * FROM {table} WHERE session = ? ORDER BY rowid")
        insert(target, number, ((table, row[1:]) for row in rows))


def _note_log(connection: sqlite3.Connection, number: int, session: SessionFile, *, is_fork: bool) -> None:
    row = (number, _storable(session.id), _storable(session.project), _storable(str(session.path)), is_fork)
    connection.execute("INSERT INTO logs VALUES (?, ?, ?, ?, ?, NULL)", row)


def _storable(text: str) -> str:
    """Return a text with `?` for characters that cannot be encoded, which SQLite refuses."""
    return text.encode("utf-8", "replace").decode()


def _forget(connection: sqlite3.Connection, number: int) -> None:
    for table in (*_COPIED, "logs"):
        connection.execute(f"DELETE FROM {table} WHERE session = ?", (number,))


def _note_roots(connection: sqlite3.Connection) -> None:
    """Fill the column `root` with the id of each session's parent; the session's own id if it is not a sub-agent's."""
    roots_by_project: dict[str, set[str]] = {}
    rows = connection.execute("SELECT session, name, project, path, is_fork FROM logs ORDER BY length(name), name")
    for session, name, project, path, is_fork in rows.fetchall():
        roots = roots_by_project.setdefault(project, set())
        parent = None
        if not is_fork:
            parent = root_of(name, roots) or noted_parent(name, path)
        root = parent or name
        roots.add(root)
        connection.execute("UPDATE logs SET root = ? WHERE session = ?", (root, session))
