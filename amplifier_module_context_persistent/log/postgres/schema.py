"""The tables of logs in PostgreSQL: what `context-persistent storage init` creates, checks and migrates.

`log` has one row for each log: how far it goes, and the checksum that its next record continues. `record` has one row
for each line of the log, with the bytes that a file would have (`bytea`, not `jsonb`, so that bytes and checksums
survive). Rows of `record` are never updated. The index of a session is read from the columns of a covering index,
without the lines. `glance` has what `list` says of a log as it was; it goes with the log's row, as in a purge.

A schema is versioned by the one row of `version`. A client works with the version that it knows; it refuses a newer
one when it connects, and asks for `storage init` where it finds an older one. Migrations only add, so that clients of
the version before which are connected go on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..database_location import check_schema_name

if TYPE_CHECKING:
    import psycopg

SCHEMA_VERSION = 2
"""2: `log.owner`, `glance`, and long lines are compressed (lz4, where the server has it)."""

_CREATE = """
do $$ begin  -- where it is there, no right to create schemas is needed
    if to_regnamespace('{s}') is null then create schema {s}; end if;
end $$;
create table if not exists {s}.version (
    only_row boolean primary key default true check (only_row),
    number integer not null
);
create table if not exists {s}.log (
    log_id bigint generated always as identity primary key,
    name text not null unique,
    created timestamptz not null default now(),
    changed timestamptz not null default now(),
    head bigint not null default 0,
    size bigint not null default 0,
    crc bigint not null default 0,
    computed bigint not null default 0,
    generation bigint not null default 0,
    owner name not null default current_user
);
alter table {s}.log add column if not exists owner name not null default current_user;
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
create table if not exists {s}.glance (
    log_id bigint primary key references {s}.log on delete cascade,
    size bigint not null,
    told text not null,
    line bigint
);
do $$ begin
    alter table {s}.record alter column line set compression lz4;
    alter table {s}.record alter column line set storage extended;
exception when others then  -- before PostgreSQL 14, or built without lz4
    alter table {s}.record alter column line set storage external;
end $$;
comment on table {s}.log is 'One row for each log: its end, and the checksum that its next record continues.';
comment on table {s}.glance is 'What list says of a log of this size; its text is in a row of record.';
comment on table {s}.record is 'One row for each line of a log, with the bytes that its file would have, without LF.';
insert into {s}.version (number) values ({version}) on conflict (only_row) do update set number = excluded.number;
"""

_READ = """
grant usage on schema {s} to {role};
grant select on {s}.version, {s}.log, {s}.record, {s}.glance to {role};
"""

_APPEND = f"""{_READ}
revoke update on {{s}}.log from {{role}};
grant insert on {{s}}.log, {{s}}.record to {{role}};
grant insert, update on {{s}}.glance to {{role}};
grant update (head, size, crc, changed) on {{s}}.log to {{role}};
"""

_PURGE = f"""{_APPEND}
grant update (name, generation) on {{s}}.log to {{role}};
grant delete on {{s}}.log, {{s}}.record to {{role}};
"""

RIGHTS = {"grant": _APPEND, "grant-purge": _PURGE, "grant-read": _READ}
"""What a role needs to run sessions (no DELETE, no UPDATE of records, no renaming), to purge, to read or back up."""


def create_statements(schema: str) -> str:
    """The statements that make the tables, or bring them to this version; harmless where all is there."""
    return _CREATE.format(s=check_schema_name(schema), version=SCHEMA_VERSION)


def create_schema(connection: psycopg.Connection[tuple[object, ...]], schema: str) -> None:
    """Create the schema and its tables, or what is missing of them.

    Raises:
        psycopg.Error: the role may not create them, or the server refused otherwise.
    """
    statements = create_statements(schema)
    with connection.transaction():
        connection.execute("select pg_advisory_xact_lock(hashtext(%s))", [f"{schema}.version"])
        connection.execute(statements.encode())


def schema_version(connection: psycopg.Connection[tuple[object, ...]], schema: str) -> int | None:
    """Read the version of the tables; None where there are none.

    Raises:
        psycopg.Error: the server refused the question.
    """
    found = connection.execute("select to_regclass(%s)", [f"{check_schema_name(schema)}.version"]).fetchone()
    if found is None or found[0] is None:
        return None
    row = connection.execute(f"select number from {schema}.version".encode()).fetchone()
    return int(str(row[0])) if row else None
