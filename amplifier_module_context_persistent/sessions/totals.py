"""Compute totals of many sessions, by day, project, session, tag, model or tool, or by several of these.

Sub-agents' sessions count too, because they were paid for. A fork begins with a copy of another session's history (its
origin); such copies are counted only once, in the origin. A turn belongs to the day on which it began, a call to the
day of the call, and a request to the day of its answer. Days are in this machine's time zone.

The totals are computed from the sessions' figures, which `gather_figures.py` gathers.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, NamedTuple

from .count_copies_once import TIMES, copies_table
from .gather_figures import GatheredFigures
from .prices import PriceList
from .request_costs import Bill, RequestSums, bill_of, sums_by_model
from .session_name import read_names

if TYPE_CHECKING:
    import sqlite3

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

_MEDIANS = """SELECT {keys}, avg(took) FROM (
    SELECT {keys}, took, row_number() OVER (PARTITION BY {keys} ORDER BY took) AS place,
        count(*) OVER (PARTITION BY {keys}) AS many
    FROM (SELECT {keys}, max(0, answered_us - called_us) AS took FROM ({source}))
    WHERE took IS NOT NULL) WHERE place IN ((many + 1) / 2, (many + 2) / 2) GROUP BY {keys}"""
"""SQL for the median duration of calls by key: the middle value, or the mean of the two middle values."""


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
        plain = {field.name: getattr(self, field.name) for field in fields(self) if field.name != "bill"}
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
    """A period between two times in seconds since 1970. None means that the period has no beginning or no end."""

    since_s: float | None = None
    until_s: float | None = None


ALWAYS = Period()
_Weight = tuple[float, float, int]
"""The sort key of a total: its cost, the seconds of its calls and their number, all negated (largest first)."""
_NO_WEIGHT: _Weight = (0.0, 0.0, 0)


def total_of(figures: GatheredFigures, prices: PriceList, period: Period = ALWAYS) -> Total:
    """Return the totals of all sessions, in a period."""
    return totals(figures, prices, "", period).get("", Total())


def totals(figures: GatheredFigures, prices: PriceList, by: str, period: Period = ALWAYS) -> Mapping[str, Total]:
    """Return the totals by one of `BY`, in order. The key `""` is for records without a time, a tag or a model.

    Args:
        figures: the figures of the sessions.
        prices: the prices of models.
        by: one of `BY`, or `"path"` for each log, or `""` for the sum of all.
        period: only records of this period; if it has a beginning or an end, records without a time are left out.
    """
    return {key: total for (key,), total in totals_by(figures, prices, (by,), period).items()}


def totals_by(
    figures: GatheredFigures, prices: PriceList, by: Sequence[str], period: Period = ALWAYS
) -> Mapping[tuple[str, ...], Total]:
    """Return the totals by several fields. Each key of the result is a tuple with a value for each field.

    A session with several tags counts for each tag.

    Args:
        figures: the figures of the sessions.
        prices: the prices of models.
        by: the fields, each as for `totals`, but not both `"model"` and `"tool"`: only requests have a model, and only
            calls have a tool.
        period: as for `totals`.
    """
    by_model = "model" in by
    by_tool = "tool" in by
    if "tag" in by:
        _note_tags(figures)
    adder = _TotalsAdder(figures.connection, by, period)
    if not by_model and not by_tool:
        adder.add_turns()
    if not by_model:
        adder.add_calls()
    if by_tool:
        adder.add_medians()
    else:
        adder.add_requests(prices)
    if by_model:
        adder.add_sessions(["requests"])
    elif by_tool:
        adder.add_sessions(["calls"])
    else:
        adder.add_sessions(list(TIMES))
    return _in_order(adder.totals, by)


class _TotalsAdder:
    """Adds up figures by several fields, in a period."""

    def __init__(self, connection: sqlite3.Connection, by: Sequence[str], period: Period) -> None:
        self.totals: dict[tuple[str, ...], Total] = {}
        self._connection = connection
        self._by = by
        self._bounds = _bounds(period)
        self._keys = _key_columns(by)

    def add_turns(self) -> None:
        """Count the turns."""
        for total, (turns,) in self._sums("turns", "count(*)"):
            total.turns = turns

    def add_calls(self) -> None:
        """Count the calls, and add up their times and the tokens of their results."""
        took = "max(0, answered_us - called_us)"  # whole numbers, whose sum does not depend on their order
        columns = (
            "count(position), total(failed), total(result_position IS NULL), total(result_tokens),"
            f" ifnull(sum({took}), 0), ifnull(max({took}), 0)"
        )
        for total, (calls, failed, left_open, tokens, took_us, slowest_us) in self._sums("calls", columns):
            total.calls = calls
            total.failed_calls = int(failed)
            total.open_calls = int(left_open)
            total.result_tokens = int(tokens)
            total.calls_s = took_us / 1e6
            total.slowest_s = slowest_us / 1e6

    def add_medians(self) -> None:
        """Compute the median duration of the calls that `add_calls` counted."""
        for *key, median_us in self._connection.execute(_medians(self._by), self._bounds):
            self.totals[tuple(key)].median_s = median_us / 1e6

    def add_requests(self, prices: PriceList) -> None:
        """Add up the tokens and the costs of requests."""
        columns, group = sums_by_model(prices)
        for total, row in self._sums("requests", columns, group):
            total.bill.add(bill_of(prices, RequestSums._make(row)))

    def add_sessions(self, tables: Sequence[str]) -> None:
        """Count the sessions that have a row in one of `tables`."""
        rows_of_sessions = " UNION ".join(
            f"SELECT DISTINCT {self._keys}, log, is_below FROM ({_source(table, self._by, with_copies=True)})"
            for table in tables
        )
        query = f"SELECT {self._keys}, count(*), total(is_below) FROM ({rows_of_sessions}) GROUP BY {self._keys}"
        for *key, sessions, sub_agents in self._connection.execute(query, self._bounds * len(tables)):
            total = self.totals.setdefault(tuple(key), Total())
            total.sessions = sessions
            total.sub_agents = int(sub_agents)

    def _sums(self, table: str, columns: str, also_by: str = "") -> Iterator[tuple[Total, tuple[Any, ...]]]:
        """Yield each total with its row of these columns, which add up the rows of a table.

        Args:
            table: `turns`, `calls` or `requests`.
            columns: the SQL columns, each with a sum.
            also_by: further SQL expressions to group by. A total then comes with several rows.
        """
        group = f"{self._keys}, {also_by}" if also_by else self._keys
        query = f"SELECT {self._keys}, {columns} FROM ({_source(table, self._by)}) GROUP BY {group}"
        for row in self._connection.execute(query, self._bounds):
            key = row[: len(self._by)]
            yield self.totals.setdefault(key, Total()), row[len(self._by) :]


def _key_columns(by: Sequence[str]) -> str:
    """Return the names of the SQL columns with the keys, as `_source` names them."""
    return ", ".join(f"key{number}" for number in range(len(by)))


def _in_order(totals: Mapping[tuple[str, ...], Total], by: Sequence[str]) -> dict[tuple[str, ...], Total]:
    """Sort totals: days, weeks and months by time, all others by cost, the highest first.

    With several keys, the totals with the same first key are adjacent.
    """
    weights_of_first = dict[str, _Weight]()
    for key, total in totals.items():
        before = weights_of_first.get(key[0], _NO_WEIGHT)
        weights_of_first[key[0]] = _sum_of_weights(before, _weight_of(total))

    def places(key: tuple[str, ...]) -> list[tuple[_Weight, str]]:
        found = []
        for number, (name, part) in enumerate(zip(by, key, strict=True)):
            if name in _BY_TIME:
                weight = _NO_WEIGHT
            elif number == 0:
                weight = weights_of_first[part]
            else:
                weight = _weight_of(totals[key])
            found.append((weight, part))
        return found

    return {key: totals[key] for key in sorted(totals, key=places)}


def _weight_of(total: Total) -> _Weight:
    return -total.bill.cost, -total.calls_s, -total.calls


def _sum_of_weights(first: _Weight, second: _Weight) -> _Weight:
    cost, seconds, calls = first
    more_cost, more_seconds, more_calls = second
    return cost + more_cost, seconds + more_seconds, calls + more_calls


def slowest_calls(figures: GatheredFigures, period: Period = ALWAYS, most: int = SLOWEST) -> list[SlowCallRow]:
    """Return the calls that took the longest, in a period, the slowest first."""
    rows = figures.connection.execute(
        "SELECT name, project, turn, position + 1, tool, (answered_us - called_us) / 1e6 AS took"
        " FROM calls JOIN logs USING (session)"
        f" WHERE position IS NOT NULL AND took > 0 AND {_is_own('calls')} AND {_within('called_us')}"
        " ORDER BY took DESC, name, project, position, calls.rowid LIMIT ?",
        (*_bounds(period), most),
    )
    return [SlowCallRow(*row) for row in rows]


def failed_calls(
    figures: GatheredFigures, tools: Collection[str] = (), period: Period = ALWAYS
) -> dict[str, list[int]]:
    """Return the positions of the results of failed calls, and of calls without a result, by the path of the log.

    Positions are in the live history, from 0. Logs without such calls are left out.

    Args:
        figures: the figures of the sessions.
        tools: only calls of these tools, ignoring case; empty for all tools.
        period: only calls of this period.
    """
    rows = figures.connection.execute(
        "SELECT DISTINCT path, ifnull(result_position, position) AS place, tool FROM calls JOIN logs USING (session)"
        f" WHERE (failed OR result_position IS NULL) AND place IS NOT NULL AND {_is_own('calls')}"
        f" AND {_within('ifnull(called_us, answered_us)')} ORDER BY session, place",
        _bounds(period),
    )
    positions: dict[str, list[int]] = {}
    wanted = {tool.casefold() for tool in tools}
    for path, position, tool in rows:
        if wanted and str(tool).casefold() not in wanted:
            continue
        of_log = positions.setdefault(path, [])
        if position not in of_log[-1:]:
            of_log.append(position)
    return positions


def failures_by_log(figures: GatheredFigures) -> dict[str, int]:
    """Return the number of failed calls in each log, by path. A fork's copies of its origin's calls are included."""
    rows = figures.connection.execute("SELECT path, total(failed) FROM calls JOIN logs USING (session) GROUP BY path")
    return {path: int(failed) for path, failed in rows}


def _within(column: str) -> str:
    """Return the SQL condition that a time is in a period; its parameters are those of `_bounds`."""
    return f"(? IS NULL OR {column} >= ?) AND (? IS NULL OR {column} < ?)"


def _bounds(period: Period) -> tuple[int | None, ...]:
    """Return the bounds of a period in microseconds, each bound twice, as the parameters of `_within`."""
    since_us = None if period.since_s is None else int(period.since_s * 1e6)
    until_us = None if period.until_s is None else int(period.until_s * 1e6)
    return since_us, since_us, until_us, until_us


def _medians(by: Sequence[str]) -> str:
    """Return the SQL query for the median durations of calls, by several fields."""
    return _MEDIANS.format(keys=_key_columns(by), source=_source("calls", by))


def _note_tags(figures: GatheredFigures) -> None:
    """Fill a table with the tags of each session. A sub-agent's session also gets the tags of its parent session."""
    connection = figures.connection
    connection.execute("CREATE TABLE IF NOT EXISTS tags (session INTEGER, tag TEXT, UNIQUE (session, tag))")
    rows = connection.execute(
        "SELECT session, path FROM logs UNION SELECT logs.session, roots.path FROM logs JOIN logs AS roots"
        " ON roots.name = logs.root AND roots.project = logs.project"
    ).fetchall()
    names = read_names(path for _, path in rows)
    tagged: list[tuple[int, str]] = []
    for (session, _), name in zip(rows, names, strict=True):
        tagged += [(session, tag) for tag in name.tags]
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
    keys = []
    for number, name in enumerate(by):
        column = _BY_TIME[name].format(TIMES[table]) if name in _BY_TIME else _KEYS[name]
        keys.append(f"ifnull({column}, '') AS key{number}")
    tags = " LEFT JOIN tags USING (session)" if "tag" in by else ""
    if table == "requests":
        condition = "uncached_tokens IS NOT NULL"
    elif with_copies:
        condition = "1"
    else:
        condition = _is_own(table)
    return (
        f"SELECT {', '.join(keys)}, logs.session AS log, name != root AS is_below, * FROM {table}"
        f" JOIN logs USING (session){tags} WHERE {_within(TIMES[table])} AND {condition}"
    )
