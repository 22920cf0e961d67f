"""Every statement that a session, a list or a purge sends keeps to a portable subset, and names where functions are."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from amplifier_module_context_persistent.log.postgres import (
    figure_rows,
    list_logs,
    migration_steps,
    old_logs,
    ranked_rows,
    role_rights,
    row_security,
    schema,
)
from amplifier_module_context_persistent.log.postgres.append_one_row import statement_for
from amplifier_module_context_persistent.log.postgres.archive_stored_log import (
    archive_stored_log,
    bring_back_stored_log,
)
from amplifier_module_context_persistent.log.postgres.layout import LAYOUTS
from amplifier_module_context_persistent.log.postgres.postgres_log import PostgresLog
from amplifier_module_context_persistent.toolbox.maintenance.purge_log import purge_log
from amplifier_module_context_persistent.toolbox.maintenance.purge_options import Purge
from tests.support.logs import STAMP, append, append_bodies, numbers, reset_bodies
from tests.support.logs import body as message
from tests.support.postgres import TestServer, every_kind
from tests.support.sweeps import proof

PAGE = Path(__file__).parents[3] / "docs" / "postgres_compatibility.md"
STATEMENTS = frozenset({"SelectStmt", "InsertStmt", "UpdateStmt", "DeleteStmt", "TransactionStmt"})
_FORMS = """
    A_ArrayExpr A_Const A_Expr A_Star Alias BoolExpr Boolean CaseExpr CaseWhen CoalesceExpr CollateClause ColumnRef
    CommonTableExpr DefElem FuncCall IndexElem InferClause Integer JoinExpr LockingClause NullTest OnConflictClause
    ParamRef RangeFunction RangeSubselect RangeVar RawStmt ResTarget ReturningClause RowExpr SortBy String SubLink
    TypeCast TypeName WindowDef WithClause
"""
FORMS = frozenset(_FORMS.split())
"""What the parser calls the forms that statements may have."""
TYPES = frozenset(["bool", "bytea", "float8", "int2", "int4", "int8", "interval", "text", "tid", "timestamptz", "uuid"])
VOLATILE = frozenset({"set_config", "pg_try_advisory_xact_lock", "random", "clock_timestamp", "nextval"})


@pytest.fixture
def sent(server: TestServer, storage: str, monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The statements that were sent, parameters as `$1`."""
    import psycopg

    found, execute = set[str](), psycopg.Cursor.execute

    def noting(cursor: Any, query: Any, *arguments: Any, **options: Any) -> Any:
        done = execute(cursor, query, *arguments, **options)
        if type(cursor.connection).__name__ == "DeadlineConnection" and cursor._query is not None:
            found.add(cursor._query.query.decode())
        return done

    monkeypatch.setattr(psycopg.Cursor, "execute", noting)
    return found


def do_everything(storage: str) -> None:
    """What sessions, lists, searches, purges and deletions do."""
    location = f"{storage}#p/s"
    with closing(PostgresLog(location, marks_open=True)) as log:
        append(log, *range(100))
        append(log, 100, 101)
        append_bodies(log, *reset_bodies("r", message(3)))
        with closing(PostgresLog(location, durability="write")) as other:
            append(other, 200)
            assert numbers(other) == [3, 200]
        append(log, 4)
        ordinals = range(len(log.index))
        for ignores_case in (True, False):
            log.find_bytes(ordinals, "größe".encode(), ignores_case=ignores_case)
            list_logs.logs_with_word(storage, b"a", b"b", ignores_case=ignores_case)
        list_logs.open_marks_in(storage)
    list_logs.keep_glances(storage, [("p/s", log.describe().size_bytes, "told", 0)])
    list_logs.kept_glances(storage, ["p/s"])
    for project in (None, "p"):
        list_logs.stored_logs(storage, project)
        list_logs.stored_logs(storage, project, since_s=1.0)
        list_logs.stored_logs_of_id(storage, "s", project)
        list(list_logs.stored_pages(storage, project))
    list_logs.stored_heads(storage, ["p/s"])
    for project in (None, "p"):
        assert old_logs.logs_without_news(storage, 0.0, project) is not None
        assert list_logs.stored_logs_with_names(storage, ["p/s"], project) is not None
    figure_rows.keep_figures(storage, "1 estimate", [("p/s", log.describe().size_bytes, b"told")])
    figure_rows.kept_figures(storage, ["p/s"], "1 estimate")
    with ranked_rows.ranked_server(storage, 1) as ranked:
        known = ranked.logs(["p/s"])["p/s"]
        kept = ranked.keep(known, [ranked_rows.RankedRow(0, 0, 0, [5], b"x")], 10)
        assert kept is not None
        ranked.frequencies([kept], [5])
        ranked.messages([kept], 5, [(kept.key.log_id, 0)])
        ranked.messages([kept], 5)
    archive_stored_log(location)
    with closing(PostgresLog(location)) as log:
        append(log, 5)
        list(log.read(range(len(log.index))))
        log.find_bytes(range(len(log.index)), b"a", ignores_case=False)
    list_logs.archived_among(storage, ["p/s"])
    bring_back_stored_log(location)
    purge_log(location, Purge(cleared=True), now=lambda: STAMP)
    with closing(PostgresLog(location)) as log:
        log.follow()
        size = log.describe().size_bytes
    list_logs.delete_stored_log(location, size)


@every_kind
@proof
def test_statements_keep_to_a_portable_subset(storage: str, sent: set[str]) -> None:
    """No function that only one engine has, none that is volatile in a condition, and all with their schema."""
    pglast = pytest.importorskip("pglast", reason="pglast is not installed (the extra `dev`)")
    do_everything(storage)
    sent |= {
        statement_for("s", layout, durable=a, waits=b, touches=c, has_place=d, by_place=d and e).decode()
        for a, b, c, d, e in product([True, False], repeat=5)
        for layout in LAYOUTS.values()
    }
    assert len(sent) > 40
    called = {name for statement in sent for name in re.findall(r"pg_catalog\.(\w+)\(", statement)}
    assert listed("functions") <= called, "the page lists functions that no statement calls"
    for statement in sorted(sent):
        for tree in pglast.parse_sql(statement):
            check(tree.stmt, pglast, statement)


@proof
@pytest.mark.parametrize("has_parts", [False, True], ids=["whole", "in parts"])
def test_the_statements_of_storage_init_name_where_functions_are(has_parts: bool) -> None:
    """Its owner may have a schema in the path that others may create in; row security and rights are among them."""
    pglast = pytest.importorskip("pglast", reason="pglast is not installed (the extra `dev`)")
    created = schema.create_statements("s", has_parts=has_parts)
    kinds = (migration_steps.READ, migration_steps.APPEND, migration_steps.PURGE)
    rights = [role_rights.rights(kind, "s", "somebody", has_parts=has_parts) for kind in kinds]
    statements = [
        created,
        row_security.secured_statements("s", created),
        *rights,
        f"select {migration_steps.is_done_query('s')}",
    ]
    for statement in statements:
        for tree in pglast.parse_sql(statement):
            check_names(tree.stmt, statement)


def listed(what: str) -> frozenset[str]:
    """The functions that a row of the page's table lists."""
    (row,) = [line for line in PAGE.read_text().splitlines() if line.startswith(f"| {what} |")]
    return frozenset(re.findall(r"`(\w+)`", row))


def check_names(tree: Any, statement: str) -> None:
    """Check that all functions of a statement are named with their schema."""
    for call in nodes(tree, "FuncCall"):
        *place, name = [part.sval for part in call.funcname]
        assert place == ["pg_catalog"], f"{name} without its schema: {statement}"


def check(tree: Any, pglast: Any, statement: str) -> None:
    """Check one statement."""
    allowed = listed("functions") | listed("functions that only PostgreSQL has")
    calls = list(nodes(tree, "FuncCall"))
    for call in calls:
        *schema, name = [part.sval for part in call.funcname]
        assert name in allowed, statement
        is_unnest = name == "unnest" and len(call.args) > 1
        assert is_unnest or schema == ["pg_catalog"], f"{name} without its schema: {statement}"
    for update in nodes(tree, "UpdateStmt"):
        inside = {call.funcname[-1].sval for call in nodes(update.whereClause, "FuncCall")}
        assert not inside & VOLATILE, statement
    assert {type(node).__name__ for node in nodes(tree)} <= STATEMENTS | FORMS, statement
    assert {node.names[-1].sval for node in nodes(tree, "TypeName")} <= TYPES, statement


def nodes(tree: Any, kind: str = "") -> Iterator[Any]:
    """All nodes below one, of a kind."""
    if isinstance(tree, tuple | list):
        for one in tree:
            yield from nodes(one, kind)
    elif type(tree).__module__.startswith("pglast.ast"):
        if not kind or type(tree).__name__ == kind:
            yield tree
        for name in tree:
            yield from nodes(getattr(tree, name), kind)


def test_a_search_path_slips_in_no_functions(server: TestServer, storage: str) -> None:
    """Nor operators: what stands before `pg_catalog` in a role's search path is not asked."""
    tables = storage.rpartition("=")[2]
    server.execute("create role led login; create schema evil; grant usage on schema evil to led")
    server.execute(f"grant usage on schema {tables} to led; grant all on all tables in schema {tables} to led")
    for made in (
        "evil.length(bytea) returns int language sql as 'select 1'",
        "evil.now() returns timestamptz language sql as $$select '2001-01-01'::timestamptz$$",
        "evil.set_config(text, text, boolean) returns text language sql as $$select 'x'$$",
        "evil.wrong(bigint, bigint) returns boolean language sql as 'select true'",
        "evil.to_regclass(text) returns regclass language sql as 'select 1/0; select null::regclass'",
    ):
        server.execute(f"create function {made}")
    server.execute("create operator evil.= (leftarg = bigint, rightarg = bigint, function = evil.wrong)")
    server.execute("alter role led set search_path = evil, pg_catalog")
    with closing(PostgresLog(f"{storage.replace('postgres:@', 'led:@', 1)}#s")) as log:
        append(log, 1, 2)
        append(log, 3)
        assert numbers(log) == [1, 2, 3]
    asked = f"select bool_and(length = pg_catalog.length(line)), bool_and(changed > '2020-01-01') from {tables}.record"
    assert server.execute(f"{asked} join {tables}.log using (log_id)") == [(True, True)]
