"""The tables of logs in PostgreSQL, which `context-persistent storage init` creates and checks.

`log` has one row for each log, with its number of lines and the checksum that its next record continues. `record` has
one row for each line of a log, with the bytes that a file would have (`bytea`, not `jsonb`, so that bytes and checksums
survive). Rows of `record` are never updated. The index of a session is read from a covering index, without the lines.
`glance` has the text that `list` shows for a log; it is deleted with the log's row, also in a purge.

A schema is versioned by the one row of `version`. A client works with the versions that it knows (`layout.py`); it
refuses a newer one when it connects, and asks for `storage init --migrate` if it finds an older one. New tables get the
newest version. Tables that exist keep their layout. Within a version, new parts of the tables are added by steps
(`migration_steps.py`); a client also works without them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ..database_location import check_schema_name
from . import migration_steps
from .layout import LAYOUTS
from .migration_steps import Step, migrate, written
from .partitions import divided, part_statements
from .row_security import is_secured, secure_rows

if TYPE_CHECKING:
    import psycopg

SCHEMA_VERSION = 3
"""The version of new tables.

2: `log.owner`, `glance`, and long lines are compressed (lz4, if the server has it).
3: The id of a log is a hash of its name; lines are found by the log's id, its generation and their numbers.
"""

_CREATE = """
do $$ begin  -- where it is there, no right to create schemas is needed
    if pg_catalog.to_regnamespace('{s}') is null then create schema {s}; end if;
end $$;
create table if not exists {s}.version (
    only_row boolean primary key default true check (only_row),
    number integer not null
);
create table if not exists {s}.log (
    log_id uuid primary key,
    name text not null,
    created timestamptz not null default pg_catalog.now(),
    changed timestamptz not null default pg_catalog.now(),
    head bigint not null default 0,
    size bigint not null default 0,
    crc bigint not null default 0,
    generation bigint not null default (1000000 * pg_catalog.date_part('epoch', pg_catalog.now()))::bigint
);
create table if not exists {s}.record (
    log_id uuid not null,
    generation bigint not null,
    seq bigint not null,
    at bigint not null,
    crc bigint not null,
    id_hash bigint not null,
    length bigint not null,
    kind smallint not null,
    role smallint not null,
    flags smallint not null,
    line bytea not null,
    primary key (log_id, generation, seq) include (crc, id_hash, length, kind, role, flags)
);
do $$ begin
    alter table {s}.record alter column line set compression lz4;
    alter table {s}.record alter column line set storage extended;
exception when others then  -- before PostgreSQL 14, or built without lz4
    alter table {s}.record alter column line set storage external;
end $$;
comment on table {s}.log is 'One row for each log: its end, and the checksum that its next record continues.';
comment on column {s}.log.log_id is 'The first 128 bits of SHA-256 of the name in UTF-8.';
comment on column {s}.log.generation is 'When its lines were begun: microseconds since 1970.';
comment on table {s}.record is 'One row for each line of a log, with the bytes that its file would have, without LF.';
"""

_VERSION = "insert into {s}.version (number) values ({version}) on conflict (only_row) do update set number = {version}"


def create_statements(schema: str, *, has_parts: bool = False) -> str:
    """Return the statements that create the tables; with `has_parts`, partitioned tables."""
    statements = creation(check_schema_name(schema), migration_steps.STEPS)
    if has_parts:  # the parts are created last, so that they get the indexes and settings of their tables
        parts = part_statements(statements, schema)
        statements = divided(statements, schema) + "".join(f"{statement};\n" for statement in parts)
    return f"{statements}{_VERSION.format(s=schema, version=SCHEMA_VERSION)};\n"


def creation(schema: str, done: Sequence[Step]) -> str:
    """Return the statements that create the tables without parts, with the changes of some migration steps."""
    layout = LAYOUTS[SCHEMA_VERSION]
    added = [written(statement, schema, layout) for step in done for statement in step.statements]
    return _CREATE.format(s=schema) + "".join(f"{statement};\n" for statement in added)


def create_schema(connection: psycopg.Connection[Any], schema: str, *, has_parts: bool = False) -> None:
    """Create the schema and its tables, or add missing parts to existing tables.

    With `has_parts` new tables are partitioned.

    Raises:
        psycopg.Error: the role may not create them, or the server refused otherwise.
        MigrationError: another client locked a table for too long.
    """
    statements = create_statements(schema, has_parts=has_parts)
    if schema_version(connection, schema) is not None:
        migrate_tables(connection, schema)
        return
    with connection.transaction():
        connection.execute("select pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtext(%s))", [f"{schema}.version"])
        connection.execute(statements.encode())


def migrate_tables(
    connection: psycopg.Connection[Any], schema: str, *, tell: Callable[[str], None] = lambda _: None
) -> list[Step]:
    """Do the migration steps that existing tables lack, and return these steps. Errors are those of `migrate`."""
    before = schema_version(connection, check_schema_name(schema)) or SCHEMA_VERSION
    layout = LAYOUTS[version_after(before)]
    done = migrate(connection, schema, layout, tell=tell)
    if is_secured(connection, schema):
        secure_rows(connection, schema, tell=tell)
    connection.execute(_VERSION.format(s=schema, version=layout.version).encode())
    return done


def version_after(before: int) -> int:
    """Return the version that tables of the version `before` have after `migrate_tables`. Tables keep their layout."""
    return max(before, min(LAYOUTS))


def schema_version(connection: psycopg.Connection[Any], schema: str) -> int | None:
    """Read the version of the tables; None if there are no tables.

    Raises:
        psycopg.Error: the server refused the query.
    """
    found = connection.execute("select pg_catalog.to_regclass(%s)", [f"{check_schema_name(schema)}.version"]).fetchone()
    if found is None or found[0] is None:
        return None
    row = connection.execute(f"select number from {schema}.version".encode()).fetchone()
    return int(str(row[0])) if row else None
