"""Compute totals of many sessions, by day, project, session, tag, model or tool, or by several of these.

Sub-agents' sessions count too, because they were paid for. A fork begins with a copy of another session's history (its
origin); such copies are counted only once, in the origin. A turn belongs to the day on which it began, a call to the
day of the call, and a request to the day of its answer. Days are in this machine's time zone.

A session's figures are its turns, calls, requests and plans, each as a row with times and tokens. They are copied from
the session's catalogue (a database file beside the logs of a project), or from its PostgreSQL database, into a database
in memory. If the figures of the current log are stored there, the log is not opened. Else they are computed from the
log. So the totals are the same with and without a catalogue.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ..catalogue.catalogue_file import SQLITE_ERRORS, Catalogue, CatalogueError, catalogue_of, in_memory
from ..catalogue.covered import FIGURES, covered_by_path, name_of
from ..catalogue.kept_figures import Figures, figures_of, insert
from ..errors import LogError, reason_of
from ..log.filesystem import FileSystem
from ..tokens.counter import TokenCounter
from .copies import TIMES, copies_table, count_once
from .costs import Bill, bill_of, sums_by_model
from .find_session import SessionFile
from .prices import PriceList
from .session_name import read_names
from .sub_agents import noted_parent, root_of
from .transcript import Transcript

BY = ("day", "week", "month", "project", "session", "tag", "model", "tool")
SLOWEST = 10
_BY_TIME = {
    "day": "date({0} / 1000000, 'unixepoch', 'localtime')",
    "week": "date({0} / 1000000, 'unixepoch', 'localtime', 'weekday 0', '-6 days')",
    "month": "strftime('%Y-%m', {0} / 1000000, 'unixepoch', 'localtime')",
}
"""SQL expressions that convert a time in microseconds to its day, the Monday of its week, or its month."""
_KEYS = {
    "path": "path",
    "project": "project",
    "session": "root",
    "tag": "tag",
    "model": "model",
    "tool": "tool",
    "": "''",
}


@dataclass(slots=True)
class Total:
    """The totals of sessions, or of a part of their turns, calls and requests."""

    sessions: int = 0
    """The number of sessions, with the sessions of sub-agents."""
    sub_agents: int = 0
    """The number of sub-agents' sessions."""
    turns: int = 0
    calls: int = 0
    failed_calls: int = 0
    open_calls: int = 0
    result_tokens: int = 0
    calls_s: float = 0.0
    """The sum of the seconds from calls to their results, for calls and results with times."""
    slowest_s: float = 0.0
    median_s: float | None = None
    """The median seconds of answered calls; None if no times are known, or if the totals are not by tool."""
    bill: Bill = field(default_factory=Bill)

    def __repr__(self) -> str:
        return (
            f"Total(sessions={self.sessions}, turns={self.turns}, calls={self.calls}, failed_calls={self.failed_calls},"
            f" requests={self.bill.requests}, cost={round(self.bill.cost, 4)})"
        )

    def to_json(self) -> dict[str, Any]:
        """Return the totals as plain JSON types."""
        plain = {one.name: getattr(self, one.name) for one in fields(self) if one.name != "bill"}
        return plain | self.bill.to_json()


@dataclass(frozen=True, slots=True)
class SlowCallRow:
    """A slow call. `place` is the number of its message in the live history of its session, from 1."""

    session: str
    project: str
    turn: int
    place: int
    tool: str
    duration_s: float


class Period(NamedTuple):
    """A period between two times in seconds since 1970. None means that it has no beginning or no end."""

    since_s: float | None = None
    until_s: float | None = None


ALWAYS = Period()
_Weight = tuple[float, float, int]
"""The sort key of a total: its cost, the seconds of its calls and their number, all negated (largest first)."""


def total_of(found: GatheredFigures, prices: PriceList, period: Period = ALWAYS) -> Total:
    """Return the totals of all sessions, in a period."""
    return totals(found, prices, "", period).get("", Total())


def totals(found: GatheredFigures, prices: PriceList, by: str, period: Period = ALWAYS) -> Mapping[str, Total]:
    """Return the totals by one of `BY`, in order. The key `""` is for records without a time, a tag or a model.

    Args:
        found: the figures of the sessions.
        prices: the prices of models.
        by: one of `BY`, or `"path"` for each log, or `""` for the sum of all.
        period: only records of this period; if it has a beginning or an end, records without a time are left out.
    """
    return {key: one for (key,), one in totals_by(found, prices, (by,), period).items()}


def totals_by(
    found: GatheredFigures, prices: PriceList, by: Sequence[str], period: Period = ALWAYS
) -> Mapping[tuple[str, ...], Total]:
    """Return the totals by several of `BY`; each key is a tuple with one part for each.

    The other arguments are as for `totals`. Only requests have a model and only calls have a tool, so `by` cannot
    contain both. A session with several tags counts for each of them.
    """
    told: dict[tuple[str, ...], Total] = {}
    keys = ", ".join(f"key{number}" for number in range(len(by)))
    if "tag" in by:
        _note_tags(found)

    def rows(table: str, columns: str, also: str = "") -> Iterator[tuple[Total, tuple[Any, ...]]]:
        query = f"SELECT {keys}, {columns} FROM ({_source(table, by)}) GROUP BY {keys}{also}"
        for row in found.connection.execute(query, _bounds(period)):
            yield told.setdefault(row[: len(by)], Total()), row[len(by) :]

    if "model" not in by and "tool" not in by:
        for one, (turns,) in rows("turns", "count(*)"):
            one.turns = turns
    if "model" not in by:
        took = "max(0, answered_us - called_us)"  # whole numbers, whose sum does not depend on their order
        columns = (
            "count(position), total(failed), total(result_position IS NULL), total(result_tokens),"
            f" ifnull(sum({took}), 0), ifnull(max({took}), 0)"
        )
        for one, (calls, failed, left_open, tokens, took_us, slowest_us) in rows("calls", columns):
            one.calls, one.failed_calls, one.open_calls = calls, int(failed), int(left_open)
            one.result_tokens, one.calls_s, one.slowest_s = int(tokens), took_us / 1e6, slowest_us / 1e6
    if "tool" in by:
        for *key, median_us in found.connection.execute(_medians(by), _bounds(period)):
            told[tuple(key)].median_s = median_us / 1e6
    if "tool" not in by:
        columns, group = sums_by_model(prices)
        for one, sums in rows("requests", columns, f", {group}"):
            one.bill.add(bill_of(prices, *sums))
    tables = ["requests"] if "model" in by else ["calls"] if "tool" in by else list(TIMES)
    parts = " UNION ".join(
        f"SELECT DISTINCT {keys}, log, is_below FROM ({_source(table, by, with_copies=True)})" for table in tables
    )
    query = f"SELECT {keys}, count(*), total(is_below) FROM ({parts}) GROUP BY {keys}"
    for *key, sessions, sub_agents in found.connection.execute(query, _bounds(period) * len(tables)):
        one = told.setdefault(tuple(key), Total())
        one.sessions, one.sub_agents = sessions, int(sub_agents)
    return _in_order(told, by)


def _in_order(told: Mapping[tuple[str, ...], Total], by: Sequence[str]) -> dict[tuple[str, ...], Total]:
    """Sort totals: days, weeks and months by time, all others by cost, the highest first.

    With several keys, the totals with the same first key are adjacent.
    """
    groups: dict[str, _Weight] = {}
    for key, one in told.items():
        cost, calls_s, calls = groups.get(key[0], (0.0, 0.0, 0))
        groups[key[0]] = (cost - one.bill.cost, calls_s - one.calls_s, calls - one.calls)

    def place(name: str, key: str, weight: _Weight) -> tuple[_Weight, str]:
        return ((0.0, 0.0, 0) if name in _BY_TIME else weight, key)

    def places(key: tuple[str, ...]) -> list[tuple[_Weight, str]]:
        one = told[key]
        own = (-one.bill.cost, -one.calls_s, -one.calls)
        return [
            place(by[0], key[0], groups[key[0]]),
            *(place(*pair, own) for pair in zip(by[1:], key[1:], strict=True)),
        ]

    return {key: told[key] for key in sorted(told, key=places)}


def slowest_calls(found: GatheredFigures, period: Period = ALWAYS, most: int = SLOWEST) -> list[SlowCallRow]:
    """Return the calls that took the longest, in a period, the slowest first."""
    rows = found.connection.execute(
        "SELECT name, project, turn, position + 1, tool, (answered_us - called_us) / 1e6 AS took"
        " FROM calls JOIN logs USING (session)"
        f" WHERE position IS NOT NULL AND took > 0 AND {_is_own('calls')} AND {_within('called_us')}"
        " ORDER BY took DESC, name, project, position, calls.rowid LIMIT ?",
        (*_bounds(period), most),
    )
    return [SlowCallRow(*row) for row in rows]


def failed_calls(found: GatheredFigures, tools: Collection[str] = (), period: Period = ALWAYS) -> dict[str, list[int]]:
    """Return the positions of the results of failed calls, and of calls without a result, by the path of the log.

    Positions are in the live history, from 0. Logs without such calls are left out.

    Args:
        found: the figures of the sessions.
        tools: only calls of these tools, ignoring case; empty for all tools.
        period: only calls of this period.
    """
    rows = found.connection.execute(
        "SELECT DISTINCT path, ifnull(result_position, position) AS place, tool FROM calls JOIN logs USING (session)"
        f" WHERE (failed OR result_position IS NULL) AND place IS NOT NULL AND {_is_own('calls')}"
        f" AND {_within('ifnull(called_us, answered_us)')} ORDER BY session, place",
        _bounds(period),
    )
    places: dict[str, list[int]] = {}
    wanted = {tool.casefold() for tool in tools}
    for path, place, name in rows:
        of_log = places.setdefault(path, [])
        if (not wanted or str(name).casefold() in wanted) and place not in of_log[-1:]:
            of_log.append(place)
    return {path: of_log for path, of_log in places.items() if of_log}


def failures_by_log(found: GatheredFigures) -> dict[str, int]:
    """Return the number of failed calls in each log, by path. A fork's copies of its origin's calls are included."""
    rows = found.connection.execute("SELECT path, total(failed) FROM calls JOIN logs USING (session) GROUP BY path")
    return {path: int(failed) for path, failed in rows}


def _within(column: str) -> str:
    """Return the SQL condition that a time is in a period; its parameters are those of `_bounds`."""
    return f"(? IS NULL OR {column} >= ?) AND (? IS NULL OR {column} < ?)"


def _bounds(period: Period) -> tuple[int | None, ...]:
    """Return the bounds of a period in microseconds, each of them twice, as the parameters of `_within`."""
    since, until = (int(seconds * 1e6) if seconds is not None else None for seconds in period)
    return since, since, until, until


def _medians(by: Sequence[str]) -> str:
    """Return the SQL query for the median durations of calls, by several of `BY`."""
    keys = ", ".join(f"key{number}" for number in range(len(by)))
    return _MEDIANS.format(keys=keys, source=_source("calls", by))


def _note_tags(found: GatheredFigures) -> None:
    """Fill a table with the tags of each session. A sub-agent's session also gets the tags of its parent session."""
    connection = found.connection
    connection.execute("CREATE TABLE IF NOT EXISTS tags (session INTEGER, tag TEXT, UNIQUE (session, tag))")
    rows = connection.execute(
        "SELECT session, path FROM logs UNION SELECT logs.session, roots.path FROM logs JOIN logs AS roots"
        " ON roots.name = logs.root AND roots.project = logs.project"
    ).fetchall()
    names = read_names(path for _, path in rows)
    tagged = [(session, tag) for (session, _), named in zip(rows, names, strict=True) for tag in named.tags]
    connection.executemany("INSERT OR IGNORE INTO tags VALUES (?, ?)", tagged)


def _is_own(table: str) -> str:
    """Return the SQL condition that a row of `turns` or `calls` is not a copy from another session."""
    return f"{table}.rowid NOT IN (SELECT place FROM {copies_table(table)})"


def _source(table: str, by: Sequence[str], *, with_copies: bool = False) -> str:
    """Return the SQL query for the rows of a table that are counted, with their keys.

    Args:
        table: `turns`, `calls` or `requests`.
        by: the keys, each from `BY` or as for `totals`.
        with_copies: whether to include turns and calls that are copies from another session.
    """
    columns = [_BY_TIME[name].format(TIMES[table]) if name in _BY_TIME else _KEYS[name] for name in by]
    keys = ", ".join(f"ifnull({column}, '') AS key{number}" for number, column in enumerate(columns))
    tags = " LEFT JOIN tags USING (session)" if "tag" in by else ""
    if table == "requests":
        condition = "uncached_tokens IS NOT NULL"
    elif with_copies:
        condition = "1"
    else:
        condition = _is_own(table)
    return (
        f"SELECT {keys}, logs.session AS log, name != root AS is_below, * FROM {table}"
        f" JOIN logs USING (session){tags} WHERE {_within(TIMES[table])} AND {condition}"
    )


if TYPE_CHECKING:
    import sqlite3

    from ..catalogue.compute_figures import FigureRows
    from ..catalogue.stored_figures import StoredFigures

_MEDIANS = """SELECT {keys}, avg(took) FROM (
    SELECT {keys}, took, row_number() OVER (PARTITION BY {keys} ORDER BY took) AS place,
        count(*) OVER (PARTITION BY {keys}) AS many
    FROM (SELECT {keys}, max(0, answered_us - called_us) AS took FROM ({source}))
    WHERE took IS NOT NULL) WHERE place IN ((many + 1) / 2, (many + 2) / 2) GROUP BY {keys}"""
"""SQL for the median duration of calls by key: the middle value, or the mean of the two middle values."""
_COPIED = ("turns", "calls", "requests", "plans")
_LOGS = """CREATE TABLE logs (
    session INTEGER PRIMARY KEY, name TEXT NOT NULL, project TEXT NOT NULL, path TEXT NOT NULL,
    is_fork INTEGER NOT NULL, root TEXT)"""
"""`root` is the id of the outermost parent session of a sub-agent; its own id if it is not a sub-agent."""
_GATHERED = """SELECT count(*), count(nullif(name, root)), (SELECT max(us) FROM
    (SELECT max(last_us) AS us FROM turns UNION ALL SELECT max(time_us) FROM requests)) FROM logs"""

Watch = Callable[[Sequence[str]], AbstractContextManager[FileSystem]]
"""A function that takes the paths of logs and gives the system calls to read them with, while it shows the progress."""


@dataclass(slots=True)
class GatheredFigures:
    """The figures of some sessions, in the tables of the catalogue, and a table `logs` of these sessions."""

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
        sessions: the sessions.
        counter: the token counter.
        watch: gives the system calls to read the logs that have to be opened.

    Raises:
        CatalogueError: Python has no SQLite.
    """
    from ..catalogue.stored_figures import StoredFigures

    with in_memory() as connection:
        connection.execute(_LOGS)
        connection.execute("BEGIN")
        found = GatheredFigures(connection)
        left = dict(enumerate(sessions, 1))
        for place in sorted({catalogue_of(one.path) for one in left.values() if isinstance(one.path, Path)}):
            left = _take_known(found, place, left, counter)
        stored = StoredFigures(counter)
        left = _take_stored(found, stored, left)
        with watch([str(one.path) for one in left.values()]) as files:
            for number, one in left.items():
                try:
                    _compute(found, number, one, stored, counter, files)
                except (LogError, OSError, ValueError) as error:
                    _forget(connection, number)
                    found.unreadable[str(one.path)] = reason_of(error)
        stored.keep()
        _note_roots(connection)
        count_once(connection)
        ((found.sessions, found.sub_agents, found.up_to_us),) = connection.execute(_GATHERED)
        connection.execute("COMMIT")
        yield found


def _compute(
    found: GatheredFigures,
    number: int,
    one: SessionFile,
    stored: StoredFigures,
    counter: TokenCounter,
    files: FileSystem,
) -> None:
    """Compute the figures of a session from its log, and copy them to `found`.

    The figures of a log in a database are also added to `stored`, which stores them in that database.

    Raises:
        LogError, OSError, ValueError: the log cannot be read.
    """
    with Transcript(one.path, files=files) as transcript:

        def note(rows: FigureRows) -> None:
            if isinstance(one.path, str):
                stored.add(transcript.reader, one.path, rows)

        with figures_of(transcript.reader, counter, wait_s=0, note=note) as kept:
            _copy(kept, found, number, one)


def _take_known(
    found: GatheredFigures, place: Path, sessions: dict[int, SessionFile], counter: TokenCounter
) -> dict[int, SessionFile]:
    """Copy the figures that a catalogue has for the current logs; return the other sessions, by number."""
    left = dict(sessions)
    try:
        with Catalogue(place).reading() as connection:
            covered = covered_by_path(connection, FIGURES)
            rows = connection.execute("SELECT path, id FROM sessions WHERE tokenizer = ?", (counter.name,))
            counted = dict(rows.fetchall())
            for number, one in sessions.items():
                if not isinstance(one.path, Path) or catalogue_of(one.path) != place:
                    continue
                name = name_of(one.path)
                if name in counted and name in covered and covered[name].is_whole_of(one.path):
                    _copy(Figures(connection, counted[name]), found, number, one)
                    del left[number]
    except CatalogueError:
        for number in sessions:
            _forget(found.connection, number)
        return sessions
    return left


def _take_stored(
    found: GatheredFigures, stored: StoredFigures, sessions: dict[int, SessionFile]
) -> dict[int, SessionFile]:
    """Copy the figures that databases have for the current logs; return the other sessions, by number."""
    left = dict(sessions)
    numbers = {one.path: number for number, one in sessions.items() if isinstance(one.path, str)}
    for location, kept in stored.kept(numbers):
        number = numbers[location]
        try:
            _note_log(found.connection, number, sessions[number], is_fork=kept.is_fork)
            insert(found.connection, number, kept.rows)
            del left[number]
        except SQLITE_ERRORS:  # another program wrote them
            _forget(found.connection, number)
    return left


def _copy(source: Figures, found: GatheredFigures, number: int, one: SessionFile) -> None:
    target = found.connection
    ((is_fork,),) = source.rows("SELECT is_fork FROM sessions WHERE id = ?")
    _note_log(target, number, one, is_fork=is_fork)
    for table in _COPIED:
        rows = source.rows(f"SELECT * FROM {table} WHERE session = ? ORDER BY rowid")
        insert(target, number, ((table, row[1:]) for row in rows))


def _note_log(connection: sqlite3.Connection, number: int, one: SessionFile, *, is_fork: bool) -> None:
    named = (text.encode("utf-8", "replace").decode() for text in (one.id, one.project, str(one.path)))
    connection.execute("INSERT INTO logs VALUES (?, ?, ?, ?, ?, NULL)", (number, *named, is_fork))


def _forget(connection: sqlite3.Connection, number: int) -> None:
    for table in (*_COPIED, "logs"):
        connection.execute(f"DELETE FROM {table} WHERE session = ?", (number,))


def _note_roots(connection: sqlite3.Connection) -> None:
    """Fill the column `root` with the id of each session's parent; its own id if it is not a sub-agent's."""
    roots: dict[str, set[str]] = {}
    rows = connection.execute("SELECT session, name, project, path, is_fork FROM logs ORDER BY length(name), name")
    for session, name, project, path, is_fork in rows.fetchall():
        known = roots.setdefault(project, set())
        parent = (root_of(name, known) or noted_parent(name, path)) if not is_fork else None
        known.add(parent or name)
        connection.execute("UPDATE logs SET root = ? WHERE session = ?", (parent or name, session))
