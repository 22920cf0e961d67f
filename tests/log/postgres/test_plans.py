"""Lists go by their indexes: the server's own plans say so."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from amplifier_module_context_persistent.log.database_location import parse_location
from amplifier_module_context_persistent.log.postgres import figure_rows, list_logs
from tests.support.postgres import IN_PARTS, NEW, OLD, TestServer, id_in_sql
from tests.support.sweeps import proof

SESSIONS = {NEW: 5_000, OLD: 5_000, IN_PARTS: 16_000}
"""By the kind of tables; a part of 300 logs is read as quickly without its index."""
ON_A_FAST_DISK = "options=-c%20random_page_cost%3D1.1"
"""Of parts of 1,000 logs, PostgreSQL 15 uses an index only if a page at random costs little; of larger ones always."""


@pytest.fixture(scope="module", params=[NEW, pytest.param(OLD, marks=proof), pytest.param(IN_PARTS, marks=proof)])
def tables(request: pytest.FixtureRequest) -> str:
    """The kind of tables."""
    return str(request.param)


@pytest.fixture(scope="module")
def full(server: TestServer, tables: str) -> str:
    """A storage with sessions of 100 projects, of which a list entry and figures are kept."""
    storage = server.new_location(tables)
    schema = storage.rpartition("=")[2]
    columns, values = ("name", "name") if tables == OLD else ("log_id, name", f"{id_in_sql('name')}, name")
    server.execute(f"""
        insert into {schema}.log ({columns}, head, size, changed, touched)
        select {values}, 1, 100, stamp, stamp
          from generate_series(1, {SESSIONS[tables]}) as n,
               lateral (select now() - n * interval '1 hour', '-p' || n %% 100 || '/' || md5(n::text))
                   as made (stamp, name);
        insert into {schema}.glance select log_id, size, repeat('x', 300), 0 from {schema}.log;
        insert into {schema}.figures select log_id, size, '1 estimate', repeat('x', 300)::bytea from {schema}.log;
        analyze
    """)
    return f"{storage}&{ON_A_FAST_DISK}" if tables == IN_PARTS else storage


@pytest.fixture
def plans(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[dict[str, Any]]]:
    """The plans of the questions on tables that are asked meanwhile."""
    import psycopg

    found, execute = list[dict[str, Any]](), psycopg.Cursor.execute

    def explaining(cursor: Any, query: Any, *arguments: Any, **options: Any) -> Any:
        if type(cursor.connection).__name__ == "DeadlineConnection" and b".log" in query:
            told = execute(cursor, b"explain (format json) " + query, *arguments, **{**options, "binary": False})
            found.append(told.fetchone()[0][0]["Plan"])
        return execute(cursor, query, *arguments, **options)

    monkeypatch.setattr(psycopg.Cursor, "execute", explaining)
    return found


def some_names(storage: str) -> list[str]:
    return [name for name, _ in next(list_logs.stored_pages(storage))[:20]]


def scans(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The parts of a plan that read a table or an index."""
    if "Scan" in plan["Node Type"]:
        yield plan
    for below in plan.get("Plans", []):
        yield from scans(below)


QUESTIONS: dict[str, tuple[Callable[[str], object], str]] = {
    "a page of all": (lambda storage: next(list_logs.stored_pages(storage)), "log_by_time"),
    "a page of a project": (lambda storage: next(list_logs.stored_pages(storage, "-p7")), "log_by_project"),
    "a project": (lambda storage: list_logs.stored_logs(storage, "-p7"), "log_by_project"),
    "since a time": (lambda storage: list_logs.stored_logs(storage, since_s=4e9), "log_by_time"),
    "the beginning of an id": (lambda storage: list_logs.stored_logs_of_id(storage, "abcd"), "log_by_id"),
    "list entries": (lambda storage: list_logs.kept_glances(storage, some_names(storage)), "glance_pkey"),
    "figures": (lambda storage: figure_rows.kept_figures(storage, some_names(storage), "1 estimate"), "figures_pkey"),
    "the ends of logs": (lambda storage: list_logs.stored_heads(storage, some_names(storage)), "log_pkey"),
}
FOUND_BY_NAME = {"the ends of logs": "log_name_key"}
"""In older tables."""


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_question_of_a_list_goes_by_an_index(
    question: str, tables: str, full: str, plans: list[dict[str, Any]], server: TestServer
) -> None:
    """None goes through a whole table."""
    ask, index = QUESTIONS[question]
    ask(full)
    read = [scan for plan in plans for scan in scans(plan)]
    wanted = [FOUND_BY_NAME.get(question, index) if tables == OLD else index]
    if tables == IN_PARTS:
        of_parts = "select inhrelid::regclass::text from pg_inherits where inhparent = %s::regclass"
        schema = parse_location(full).schema
        wanted = [name.removeprefix(f"{schema}.") for (name,) in server.execute(of_parts, f"{schema}.{index}")]
    assert set(wanted) & {scan.get("Index Name") for scan in read}
    assert not [scan for scan in read if scan["Node Type"] == "Seq Scan" and scan["Plan Rows"] > 1]
