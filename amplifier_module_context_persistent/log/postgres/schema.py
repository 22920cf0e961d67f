"""The tables of logs in PostgreSQL: what `context-persistent storage init` creates and checks.

`log` has one row for each log: how far it goes, and the checksum that its next record continues. `record` has one row
for each line of the log, with the bytes that a file would have (`bytea`, not `jsonb`, so that bytes and checksums
survive). Rows of `record` are never updated. The index of a session is read from the columns of a covering index,
without the lines. `glance` has what `list` says of a log; it goes with the log's row, as in a purge.

A schema is versioned by the one row of `version`. A client works with the version that it knows; it refuses a newer
one when it connects, and asks for `storage init --migrate` if it finds an older one. Within a version, tables get what
is new by steps (`steps.py`), without which a client goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any

from ..database_location import check_schema_name
from . import steps
from .row_security import is_secured, secure_rows
from .steps import APPEND, PURGE, READ, Step, migrate, quoted, rights_of

if TYPE_CHECKING:
    import psycopg

SCHEMA_VERSION = 2
"""2: `log.owner`, `glance`, and long lines are compressed (lz4, if the server has it)."""

_CREATE = """
do $$ begin  -- where it is there, no right to create schemas is needed
    if pg_catalog.to_regnamespace('{s}') is null then create schema {s}; end if;
end $$;
create table if not exists {s}.version (
    only_row boolean primary key default true check (only_row),
    number integer not null
);
create table if not exists {s}.log (
    log_id bigint generated always as identity primary key,
    name text not null unique,
    created timestamptz not null default pg_catalog.now(),
    changed timestamptz not null default pg_catalog.now(),
    head bigint not null default 0,
    size bigint not null default 0,
    crc bigint not null default 0,
    computed bigint not null default 0,
    generation bigint not null default 0
);
create table if not exists {s}.record (
    log_id bigint not null,
    seq bigint not null,
    at bigint not null,
    kind smallint not null,
    crc bigint not null,
    role smallint not null,
    flags smallint not null,
    id_hash bigint not null,
    length bigint not null,
    line bytea not null,
    primary key (log_id, seq) include (crc, id_hash, length, kind, role, flags)
);
do $$ begin
    alter table {s}.record alter column line set compression lz4;
    alter table {s}.record alter column line set storage extended;
exception when others then  -- before PostgreSQL 14, or built without lz4
    alter table {s}.record alter column line set storage external;
end $$;
comment on table {s}.log is 'One row for each log: its end, and the checksum that its next record continues.';
comment on table {s}.record is 'One row for each line of a log, with the bytes that its file would have, without LF.';
"""

_VERSION = "insert into {s}.version (number) values ({version}) on conflict (only_row) do update set number = {version}"

_READ = """
grant usage on schema {s} to {role};
grant select on {s}.version, {s}.log, {s}.record to {role};
grant select on all sequences in schema {s} to {role};
"""

_APPEND = f"""{_READ}
revoke update on {{s}}.log from {{role}};
grant insert on {{s}}.log, {{s}}.record to {{role}};
grant update (head, size, crc, changed) on {{s}}.log to {{role}};
"""

_PURGE = f"""{_APPEND}
grant update (name, generation) on {{s}}.log to {{role}};
grant delete on {{s}}.log, {{s}}.record to {{role}};
"""

_RIGHTS = {READ: _READ, APPEND: _APPEND, PURGE: _PURGE}


def rights(kind: str, schema: str, role: str, *, without: Collection[Step] = ()) -> str:
    """The statements that let a role run sessions, purge, or read and back up; they change no table.

    Args:
        kind: `READ`, `APPEND` (no DELETE, no UPDATE of records, no renaming), or `PURGE`.
        schema: the tables' schema.
        role: the role.
        without: steps that are not done.
    """
    base = _RIGHTS[kind].format(s=check_schema_name(schema), role=quoted(role))
    done = (step for step in steps.STEPS if step not in without)
    added = (right.replace("{s}", schema) for step in done for right in rights_of(step, {role: [kind]}))
    return "".join([base, *(f"{right};\n" for right in added)])


def create_statements(schema: str) -> str:
    """The statements that make the tables."""
    schema = check_schema_name(schema)
    added = [statement.replace("{s}", schema) for step in steps.STEPS for statement in step.statements]
    version = _VERSION.format(s=schema, version=SCHEMA_VERSION)
    return _CREATE.format(s=schema) + "".join(f"{statement};\n" for statement in (*added, version))


def create_schema(connection: psycopg.Connection[Any], schema: str) -> None:
    """Create the schema and its tables; to existing tables, add missing parts.

    Raises:
        psycopg.Error: the role may not create them, or the server refused otherwise.
        MigrationError: somebody held a table for too long.
    """
    statements = create_statements(schema)
    if schema_version(connection, schema) is not None:
        bring_up(connection, schema)
        return
    with connection.transaction():
        connection.execute("select pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtext(%s))", [f"{schema}.version"])
        connection.execute(statements.encode())


def bring_up(
    connection: psycopg.Connection[Any], schema: str, *, tell: Callable[[str], None] = lambda _: None
) -> list[Step]:
    """Add to the tables what they lack; the steps that were done. Errors as of `migrate`."""
    done = migrate(connection, check_schema_name(schema), tell=tell)
    if is_secured(connection, schema):
        secure_rows(connection, schema, tell=tell)
    connection.execute(_VERSION.format(s=schema, version=SCHEMA_VERSION).encode())
    return done


def schema_version(connection: psycopg.Connection[Any], schema: str) -> int | None:
    """Read the version of the tables; None if there are none.

    Raises:
        psycopg.Error: the server refused the question.
    """
    found = connection.execute("select pg_catalog.to_regclass(%s)", [f"{check_schema_name(schema)}.version"]).fetchone()
    if found is None or found[0] is None:
        return None
    row = connection.execute(f"select number from {schema}.version".encode()).fetchone()
    return int(str(row[0])) if row else None
