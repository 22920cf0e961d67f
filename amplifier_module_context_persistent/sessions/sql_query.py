"""Answer SQL queries over the figures of many sessions: the SQL views, and the limits of a query.

The figures of a session are its turns, calls and requests, each as a row with times and tokens.

Rules:
- A query reads SQL views, whose names end with a version. Columns may be added to a view. For any other change, a view
  with a new version is added, and the older view is kept. A name without a version refers to the newest version. The
  tables behind the views can be read too, but may change in any release.
- A query runs on a database in memory that contains only the collected figures. It can only read this database: it
  cannot read files, write, attach a database or load an extension.
- The rows and bytes of an answer, the memory and the time of a query are limited. A single function call of SQLite
  cannot be interrupted. A program that needs a strict time limit has to end the process.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from time import monotonic
from types import MappingProxyType
from typing import Any

from ..errors import ContextPersistentError, LogError
from .file_uses import file_calls
from .gather_figures import GatheredFigures
from .prices import PriceList
from .request_costs import TOKENS
from .transcript import Transcript

try:
    import sqlite3
except ImportError:  # then no figures can be gathered
    sqlite3 = None  # type: ignore[assignment]  # callers check this first

_OPERATIONS = 1_000
_MOST_MEMORY_BYTES = 1 << 30
_MOST_ANSWER_BYTES = 64 << 20
_FORBIDDEN = frozenset({"load_extension", "fts3_tokenizer", "readfile", "writefile", "edit"})
"""Functions that access files or load code, in some builds of SQLite."""
_READING = frozenset({20, 21, 33})
"""The allowed actions `SQLITE_READ`, `SQLITE_SELECT`, `SQLITE_RECURSIVE` (https://sqlite.org/c3ref/c_alter_table.html)."""


def _time(column: str) -> str:
    return f"strftime('%Y-%m-%dT%H:%M:%fZ', {column} / 1000000.0, 'unixepoch')"


_OWN_TURNS = "turns.rowid NOT IN (SELECT place FROM main.copied_turns)"
_OWN_CALLS = "calls.rowid NOT IN (SELECT place FROM main.copied_calls)"

VIEWS = MappingProxyType(
    {
        "sessions_v1": f"""
SELECT name AS session, project, path, nullif(root, name) AS sub_agent_of,
       {_time("first_us")} AS began, {_time("last_us")} AS ended,
       ifnull(turns, 0) AS turns, ifnull(messages, 0) AS messages, ifnull(tokens, 0) AS tokens,
       ifnull(calls, 0) AS calls, ifnull(failed, 0) AS failed_calls,
       ifnull(requests, 0) AS requests, iif(requests, input, 0) AS input_tokens,
       ifnull(output, 0) AS output_tokens, cost, ifnull(estimated, 0) AS estimated_outputs
FROM main.logs
LEFT JOIN (SELECT session, count(*) FILTER (WHERE {_OWN_TURNS}) AS turns, sum(messages) AS messages,
                  sum(tokens) AS tokens, min(first_us) AS first_us, max(last_us) AS last_us
           FROM main.turns GROUP BY session) USING (session)
LEFT JOIN (SELECT session, count(position) AS calls, sum(failed) AS failed FROM main.calls WHERE {_OWN_CALLS}
           GROUP BY session) USING (session)
LEFT JOIN (SELECT session, sum(requests) AS requests,
                  sum(iif(is_input_unknown, NULL, uncached_tokens + cached_tokens + written_tokens)) AS input,
                  sum(output_tokens) AS output,
                  sum(iif(is_input_unknown, NULL,
                          cost_of(model, requests, uncached_tokens, cached_tokens, written_tokens,
                                  written_1h_tokens, output_tokens))) AS cost,
                  sum(is_output_estimated) AS estimated
           FROM main.requests WHERE uncached_tokens IS NOT NULL GROUP BY session) USING (session)""",
        "turns_v1": f"""
SELECT name AS session, project, turn, {_time("first_us")} AS began, {_time("last_us")} AS ended,
       (last_us - first_us) / 1000000.0 AS seconds, first_position + 1 AS first_message, messages, tokens
FROM main.turns JOIN main.logs USING (session) WHERE {_OWN_TURNS}""",
        "calls_v1": f"""
SELECT name AS session, project, turn, position + 1 AS message, tool,
       {_time("called_us")} AS called, {_time("answered_us")} AS answered,
       max(0, answered_us - called_us) / 1000000.0 AS seconds,
       failed, result_position IS NULL AS is_open, result_position + 1 AS result_message, result_tokens
FROM main.calls JOIN main.logs USING (session) WHERE {_OWN_CALLS}""",
        "requests_v1": f"""
SELECT name AS session, project, turn, {_time("time_us")} AS time, provider, model,
       iif(is_input_unknown, NULL, uncached_tokens + cached_tokens + written_tokens) AS input_tokens,
       iif(is_input_unknown, NULL, cached_tokens) AS cached_tokens,
       iif(is_input_unknown, NULL, written_tokens) AS written_tokens, output_tokens,
       iif(is_input_unknown, NULL, cost_of(model, requests, uncached_tokens, cached_tokens, written_tokens,
                                           written_1h_tokens, output_tokens)) AS cost, requests,
       is_output_estimated, source_cost
FROM main.requests JOIN main.logs USING (session) WHERE uncached_tokens IS NOT NULL""",
        "files_v1": f"""
SELECT name AS session, project, file_path AS path, action, turn, message, time
FROM main.files JOIN main.logs USING (session)
WHERE NOT EXISTS (SELECT 1 FROM main.calls WHERE calls.session = files.session
                  AND calls.position = files.message - 1 AND NOT {_OWN_CALLS})""",
        "compactions_v1": """
SELECT name AS session, project, number,
       json_extract(summary, '$.strategy') AS strategy, json_extract(summary, '$.step') AS step,
       json_extract(summary, '$.tokens_before') AS tokens_before,
       json_extract(summary, '$.tokens_after') AS tokens_after,
       json_extract(summary, '$.dropped') AS dropped, json_extract(summary, '$.shortened') AS shortened
FROM main.plans JOIN main.logs USING (session)""",
    }
)
"""The SQL of each view, by name and version."""
NEWEST = MappingProxyType({name.rpartition("_v")[0]: name for name in VIEWS})


class QueryError(ContextPersistentError, ValueError):
    """Raised if a query cannot be answered; the message gives the reason."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The columns and the rows of an answer. If `is_cut`, the query has more rows."""

    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    is_cut: bool


_FILES = "CREATE TABLE files (session INTEGER, file_path TEXT, action TEXT, turn INTEGER, message INTEGER, time TEXT)"


def add_files(figures: GatheredFigures) -> None:
    """Add a table with the uses of files by calls, which are read from the logs.

    Call this before `add_views`, if a query needs the files. Logs that cannot be read are skipped.
    """
    rows = figures.connection.execute("SELECT session, path FROM logs ORDER BY session").fetchall()
    figures.connection.execute(_FILES)
    for number, path in rows:
        with suppress(LogError, OSError, ValueError), Transcript(path) as transcript:
            calls = [
                (number, call.path, call.action, call.turn, call.message, call.time) for call in file_calls(transcript)
            ]
            figures.connection.executemany("INSERT INTO files VALUES (?, ?, ?, ?, ?, ?)", calls)


def add_views(figures: GatheredFigures, prices: PriceList) -> dict[str, list[str]]:
    """Add the SQL views, and return their columns by the views' names without versions.

    If `add_files` was not called before, the view of files is empty.
    """
    connection = figures.connection
    connection.execute(_FILES.replace("TABLE", "TABLE IF NOT EXISTS"))
    connection.execute("PRAGMA temp_store = MEMORY")  # this also drops existing temporary views

    def cost_of(model: Any, requests: int, *tokens: Any) -> float | None:
        """Return the cost of requests; None for a model without a price. `tokens` are the columns of `costs.TOKENS`."""
        price = prices.of(str(model))
        if price is None:
            return None
        uncached, cached, written, written_1h, output = (count or 0 for count in tokens)
        tokens_of_one = (uncached + cached + written) // requests
        return price.cost(uncached, cached, written, written_1h, output, read=tokens_of_one)

    connection.create_function("cost_of", 2 + len(TOKENS), cost_of, deterministic=True)
    for name, query in VIEWS.items():
        connection.execute(f"CREATE TEMP VIEW {name} AS {query}")
    columns = {}
    for name, newest in NEWEST.items():
        connection.execute(f"CREATE TEMP VIEW {name} AS SELECT * FROM temp.{newest}")
        described = connection.execute(f"SELECT * FROM temp.{name} LIMIT 0").description
        columns[name] = [column[0] for column in described]
    return columns


def ask(figures: GatheredFigures, query: str, *, most_rows: int, timeout_s: float) -> Answer:
    """Answer a query over the SQL views, which `add_views` has to add first.

    Args:
        figures: the gathered figures.
        query: a single SQL statement.
        most_rows: the largest number of rows to return.
        timeout_s: the longest time in seconds that the query may take.

    Raises:
        QueryError: the query does more than read, takes too much time or memory, or SQLite refuses it.
    """
    connection = figures.connection
    _restrict(connection)
    end = monotonic() + timeout_s
    connection.set_progress_handler(lambda: monotonic() > end, _OPERATIONS)
    try:
        cursor = connection.execute(query)
        if cursor.description is None:
            raise QueryError("there is no SELECT in the query")
        columns = _unique([column[0] for column in cursor.description])
        return _read_answer(cursor, columns, most_rows)
    except MemoryError as error:
        raise QueryError("the query takes too much memory; ask for less") from error
    except (sqlite3.Error, sqlite3.Warning, ValueError, OverflowError) as error:
        if isinstance(error, QueryError):
            raise
        raise QueryError(_error_text(str(error), timeout_s)) from error
    finally:
        connection.set_authorizer(None)
        connection.set_progress_handler(None, 0)


def _read_answer(cursor: sqlite3.Cursor, columns: Sequence[str], most_rows: int) -> Answer:
    """Read the rows of an answer, up to a number.

    Raises:
        QueryError: the rows have too many bytes.
    """
    rows: list[Sequence[Any]] = []
    left_bytes = _MOST_ANSWER_BYTES
    for row in cursor:
        left_bytes -= sum(len(cell) if isinstance(cell, str | bytes) else 8 for cell in row)
        if left_bytes < 0:
            raise QueryError(f"the answer has more than {_MOST_ANSWER_BYTES >> 20} MB; ask for less of it")
        if len(rows) == most_rows:
            return Answer(columns, rows, is_cut=True)
        rows.append(row)
    return Answer(columns, rows, is_cut=False)


def _restrict(connection: sqlite3.Connection) -> None:
    """Restrict a connection to reading its database, and limit the memory and the length of values."""
    connection.execute("SELECT 1 FROM json_each('[]') JOIN json_tree('[]')").fetchall()  # their first use is a write
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 4 << 20)
    connection.setlimit(sqlite3.SQLITE_LIMIT_SQL_LENGTH, 1 << 17)
    connection.setlimit(sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 1_000)
    connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
    connection.text_factory = lambda given: given.decode("utf-8", "replace")
    connection.execute(f"PRAGMA hard_heap_limit = {_MOST_MEMORY_BYTES}")
    connection.set_authorizer(_authorize)


def _authorize(action: int, _: str | None, name: str | None, *__: str | None) -> int:
    """Tell SQLite whether a statement may do something: only read, and call functions that are not forbidden."""
    if action == sqlite3.SQLITE_FUNCTION:
        function = (name or "").lower()
        return sqlite3.SQLITE_DENY if function in _FORBIDDEN else sqlite3.SQLITE_OK
    return sqlite3.SQLITE_OK if action in _READING else sqlite3.SQLITE_DENY


def _unique(names: Sequence[str]) -> list[str]:
    """Return the names of columns, with a number added to each repeated name."""
    unique_names: list[str] = []
    for name in names:
        number = 1
        unique_name = name
        while unique_name in unique_names:
            number += 1
            unique_name = f"{name}:{number}"
        unique_names.append(unique_name)
    return unique_names


def _error_text(text: str, timeout_s: float) -> str:
    if text == "interrupted":
        return f"the query takes more than {timeout_s:g} s; ask for less, or give it more time (--timeout)"
    if text.startswith("not authorized"):
        return f"nothing but a SELECT is allowed, and no function that reaches a file: {text}"
    if text.startswith(("no such table", "no such column")):
        return f"{text}; `sql` without a query lists the views and their columns"
    return text
