"""Additions to the tables, in steps, which `storage init --migrate` runs.

Rules:
- A step only adds, so clients that do not know the step still work. A change that would break them needs a new
  `SCHEMA_VERSION`.
- Each statement is a separate transaction, may be run again, and waits at most a second for a lock. So a session that
  is queued behind the statement does not wait longer either.
- A step is done if and only if its `is_done` is true. A client queries this when it connects, and uses the additions of
  a step only if `DeadlineConnection.has` its name.

To add a step, append it to `STEPS`, and give its name a test with tables that lack it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ...errors import ContextPersistentError
from .layout import Layout
from .lock_holders import named_processes
from .partitions import divided, divisible_tables, grant_statements, is_partitioned, names_of_parts, part_statements
from .sqlstates import LOCK_NOT_AVAILABLE

if TYPE_CHECKING:
    import psycopg

    Connection = psycopg.Connection[Any]

LOCK_TIMEOUT_S = 1
"""The longest wait of a statement for a lock, in seconds. A session that waits behind the statement waits as long."""
ATTEMPTS = 5
PAUSE_S = 1.0
"""The pause between two attempts, in seconds. Sessions that waited behind the first attempt continue in it."""

_INDEX = "create index if not exists "
READ, APPEND, PURGE = "grant-read", "grant", "grant-purge"
"""The rights of a role, by the options of `storage init`."""
_ALSO = {READ: (), APPEND: (READ,), PURGE: (READ, APPEND)}


TOUCHED = "touched"
PROJECT = "pg_catalog.regexp_replace(name, '/[^/]*$', '')"
"""SQL, as in `log_by_project`: the part of a log's name before the last `/`; the whole name for a name without `/`."""
ARCHIVE = "archive"
ERASURES, ERASURE_TABLE = "erasures", "erasure"
BY_ID = "by_id"
ID = "pg_catalog.regexp_replace(name, '^.*/', '') collate \"C\""
"""SQL, as in `log_by_id`: the last part of a log's name, which is the session's id."""


class MigrationError(ContextPersistentError, OSError):
    """Raised if a step could not be done. The steps before it are done, and the migration can be tried again."""


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a migration: an addition to the tables.

    In its SQL, `{s}` is the schema; `written` fills other placeholders.

    Args:
        name: the name for `DeadlineConnection.has`.
        what: a description of the addition, for messages.
        is_done: an SQL expression that is true once the whole step is done.
        statements: the statements of the step. A `create index if not exists NAME …` is run concurrently, beside
            running sessions. An `update` changes some rows, and is repeated until no row is left.
        rights: the grants that roles need, by `READ`, `APPEND`, `PURGE`; `{role}` is the role.
    """

    name: str
    what: str
    is_done: str
    statements: tuple[str, ...]
    rights: Mapping[str, str] = field(default_factory=dict)


STEPS: tuple[Step, ...] = (
    Step(
        "owner",
        "the owner of each log",
        """exists (select from pg_catalog.pg_attribute
                    where attrelid = pg_catalog.to_regclass('{s}.log') and attname = 'owner')""",
        ("alter table {s}.log add column if not exists owner name not null default current_user",),
    ),
    Step(
        "glance",
        "the table glance, with what list says of each log",
        "pg_catalog.to_regclass('{s}.glance') is not null",
        (
            """create table if not exists {s}.glance (
    log_id {id} primary key references {s}.log on delete cascade,
    size bigint not null,
    told text not null,
    line bigint
)""",
            "comment on table {s}.glance is 'What list says of a log of this size; its text is in a row of record.'",
        ),
        {READ: "grant select on {s}.glance to {role}", APPEND: "grant insert, update on {s}.glance to {role}"},
    ),
    Step(
        "ranked",
        "the tables of ranked words, which questions ask",
        "exists (select from pg_catalog.pg_index"
        " where indexrelid = pg_catalog.to_regclass('{s}.ranked_message_terms') and indisvalid)",
        (
            """create table if not exists {s}.ranked_log (
    log_id {id} primary key references {s}.log on delete cascade,
    version integer not null,
    end_offset bigint not null,
    messages bigint not null
)""",
            """create table if not exists {s}.ranked_message (
    log_id {id} not null references {s}.log on delete cascade,
    number bigint not null,
    at bigint not null,
    seconds bigint not null,
    terms integer[] not null,
    weights bytea not null,
    primary key (log_id, number)
)""",
            "create index if not exists ranked_message_terms on {s}.ranked_message"
            " using gin (terms) with (fastupdate = off)",  # else each search also reads the index's pending list
            "comment on table {s}.ranked_log is 'How far a log was taken into ranked_message.'",
            "comment on table {s}.ranked_message is 'Checksums of the words of a message, and the weight of each.'",
        ),
        {
            READ: "grant select on {s}.ranked_log, {s}.ranked_message to {role}",
            APPEND: "grant insert, update on {s}.ranked_log, {s}.ranked_message to {role}",
        },
    ),
    Step(
        TOUCHED,
        "an index of logs by project and time",
        """exists (select from pg_catalog.pg_index
                    where indexrelid = pg_catalog.to_regclass('{s}.log_by_project') and indisvalid)""",
        (
            "alter table {s}.log add column if not exists touched timestamptz not null default '-infinity'",
            "create index if not exists log_by_time on {s}.log (touched)",
            """update {s}.log set touched = changed where log_id in (
    select log_id from {s}.log where touched = '-infinity' limit 1000 for update skip locked)""",
            "alter table {s}.log alter column touched set default pg_catalog.now()",
            f"create index if not exists log_by_project on {{s}}.log ({PROJECT}, touched)",
        ),
        {APPEND: "grant update (touched) on {s}.log to {role}"},
    ),
    Step(
        "figures",
        "the table figures, with what each log adds up to",
        "pg_catalog.to_regclass('{s}.figures') is not null",
        (
            """create table if not exists {s}.figures (
    log_id {id} primary key references {s}.log on delete cascade,
    size bigint not null,
    counted text not null,
    told bytea not null
)""",
            "comment on table {s}.figures is 'Turns, calls, requests and their tokens of a log of this size.'",
        ),
        {READ: "grant select on {s}.figures to {role}", APPEND: "grant insert, update on {s}.figures to {role}"},
    ),
    Step(
        BY_ID,
        "an index of logs by the ids of sessions",
        """exists (select from pg_catalog.pg_index
                    where indexrelid = pg_catalog.to_regclass('{s}.log_by_id') and indisvalid)""",
        (f"create index if not exists log_by_id on {{s}}.log (({ID}))",),
    ),
    Step(
        ARCHIVE,
        "the table frame, with the lines of archived logs",
        """pg_catalog.to_regclass('{s}.frame') is not null and exists (select from pg_catalog.pg_attribute
            where attrelid = pg_catalog.to_regclass('{s}.log') and attname = 'archived')""",
        (
            "alter table {s}.log add column if not exists archived bigint not null default 0",
            """create table if not exists {s}.frame (
    log_id {id} not null references {s}.log on delete cascade,
    {generation}seq bigint not null,
    described text not null,
    row_columns bytea not null,
    packed bytea not null,
    primary key ({key}, seq)
)""",
            "alter table {s}.frame alter column row_columns set storage external,"
            " alter column packed set storage external",  # both are compressed already
            "comment on column {s}.log.archived is 'How many lines, from the first one on, are in frame.'",
            "comment on table {s}.frame is 'Lines of archived logs: zstd frames with about 1 MB of lines each.'",
        ),
        {
            READ: "grant select on {s}.frame to {role}",
            PURGE: "grant insert, delete on {s}.frame to {role}; grant update (archived) on {s}.log to {role}",
        },
    ),
    Step(
        ERASURES,
        "the table erasure, with what was deleted and purged",
        "pg_catalog.to_regclass('{s}.erasure') is not null",
        (
            """create table if not exists {s}.erasure (
    owner name not null default current_user,
    number bigint generated always as identity primary key,
    noted timestamptz not null default pg_catalog.now(),
    line text not null
)""",
            "comment on table {s}.erasure is 'What was deleted or purged, by salted hashes; no import brings it back.'",
        ),
        {READ: "grant select on {s}.erasure to {role}", APPEND: "grant insert (line) on {s}.erasure to {role}"},
    ),
)
"""All steps of a migration, in order. The first two changed version 1 to version 2.

`log.touched` is at most an hour behind `log.changed`. So an append seldom changes an indexed column, which lets the
server write the new version of the row beside the old one; and a list can still find the last written logs by the
index. The indexes do not contain the name: in a small table the server used such an index to find a log by its name,
and read all of it.
"""


def written(statement: str, schema: str, layout: Layout) -> str:
    """Fill in the placeholders of a step's statement, for a schema and its layout, and return the statement."""
    generation = "generation bigint not null,\n    " if layout.has_derived_ids else ""
    fills = {"{s}": schema, "{id}": layout.id_type, "{generation}": generation, "{key}": layout.key_columns}
    for place, text in fills.items():
        statement = statement.replace(place, text)
    return statement


def is_done_query(schema: str) -> str:
    """Return an SQL expression for an array that has, for each step of a migration, whether the step is done."""
    return f"array[{', '.join(step.is_done.format(s=schema) for step in STEPS)}]::boolean[]"


def names_done(answer: Sequence[bool]) -> frozenset[str]:
    """Return the names of the steps that are done, given the answer to `is_done_query`."""
    return frozenset(step.name for step, is_done in zip(STEPS, answer, strict=True) if is_done)


def missing_steps(connection: Connection, schema: str) -> list[Step]:
    """Return the steps that are not done yet, in order.

    Raises:
        psycopg.Error: the server refused the query.
    """
    row = connection.execute(f"select {is_done_query(schema)}".encode()).fetchone()
    done = row[0] if row else []
    return [step for step, is_done in zip(STEPS, done, strict=True) if not is_done]


def migrate(
    connection: Connection, schema: str, layout: Layout, *, tell: Callable[[str], None] = lambda _: None
) -> list[Step]:
    """Do the missing steps of a migration while sessions run, and return these steps.

    Roles that already have a right to read, append or purge also get the rights to do so in the new tables and columns.

    Args:
        connection: a connection of the tables' owner, in autocommit mode.
        schema: the tables' schema.
        layout: the tables' layout.
        tell: called with a text when a statement has to wait for another client.

    Raises:
        MigrationError: another client locked a table for too long.
        psycopg.Error: the server refused.
    """
    missing = missing_steps(connection, schema)
    roles = _roles(connection, schema) if missing else {}
    has_parts = is_partitioned(connection, schema)
    try:
        for step in missing:
            statements = [written(template, schema, layout) for template in (*step.statements, *rights_of(step, roles))]
            for statement in _in_parts(statements, schema, roles) if has_parts else statements:
                _run(connection, schema, step, statement, tell)
    finally:
        connection.execute(b"reset lock_timeout")
    return missing


def rights_of(step: Step, roles: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the grants that a step needs for roles; `roles` has the kinds of rights of each role."""
    grants = list[str]()
    for kind, right in step.rights.items():
        for role, kinds_of_role in roles.items():
            if any(kind == granted or kind in _ALSO[granted] for granted in kinds_of_role):
                grants.append(right.replace("{role}", quoted(role)))
    return grants


def quoted(role: str) -> str:
    """Quote a role's name for a statement."""
    return '"{}"'.format(role.replace('"', '""'))


def _roles(connection: Connection, schema: str) -> dict[str, list[str]]:
    """Return the kinds of rights (`READ`, `APPEND`, `PURGE`) that roles have on the table `log`, by role."""
    found = connection.execute(
        b"""select pg_catalog.pg_get_userbyid(given.grantee), given.privilege_type
              from pg_catalog.pg_class, lateral pg_catalog.aclexplode(relacl) as given
             where oid = pg_catalog.to_regclass(%s) and given.grantee not in (0, relowner)""",
        [f"{schema}.log"],
    ).fetchall()
    roles: dict[str, list[str]] = {}
    for role, privilege in found:
        if kind := {"SELECT": READ, "INSERT": APPEND, "DELETE": PURGE}.get(privilege):
            roles.setdefault(role, []).append(kind)
    return roles


def _in_parts(statements: Sequence[str], schema: str, roles: Iterable[str]) -> list[str]:
    """Return a step's statements for partitioned tables, with the statements that create the parts of each new table.

    Roles that have rights on the tables get the right to read these parts.
    """
    found = list[str]()
    for statement in statements:
        found += [divided(statement, schema), *part_statements(statement, schema)]
        tables = divisible_tables(statement, schema)
        for role in roles:
            found += grant_statements(tables, schema, quoted(role))
    return found


def _run(connection: Connection, schema: str, step: Step, statement: str, tell: Callable[[str], None]) -> None:
    """Run a statement of a migration step. If another client holds a needed lock, try again.

    Raises:
        MigrationError: the lock is still held after all attempts.
    """
    if statement.startswith(_INDEX):
        _create_index(connection, schema, step, statement, tell)
    else:
        run_briefly(connection, schema, step.what, statement, tell)


def _run_to_end(connection: Connection, statement: str) -> None:
    """Run a statement once, or if it updates some rows at a time, until it has updated all rows."""
    updates = statement.startswith("update")
    while True:
        changed_rows = connection.execute(statement.encode()).rowcount
        if not updates or changed_rows <= 0:
            return


def run_briefly(
    connection: Connection, schema: str, what: str, statement: str, tell: Callable[[str], None] = lambda _: None
) -> None:
    """Run a statement that waits at most a second for a lock. While another client holds the lock, try again.

    Raises:
        MigrationError: the lock is still held after all attempts; the statement was not done.
    """
    connection.execute(f"set lock_timeout = '{LOCK_TIMEOUT_S}s'".encode())
    for attempt in range(ATTEMPTS):
        try:
            _run_to_end(connection, statement)
        except Exception as error:
            if getattr(error, "sqlstate", None) != LOCK_NOT_AVAILABLE:
                raise
            holders = _holders(connection, schema)
            if attempt + 1 == ATTEMPTS:
                reason = f"{what} waits for {holders}; nothing of it was changed, and sessions go on; try again later"
                raise MigrationError(0, reason) from error
            tell(f"{what} waits for {holders}")
            time.sleep(PAUSE_S)
        else:
            return


def _create_index(connection: Connection, schema: str, step: Step, statement: str, tell: Callable[[str], None]) -> None:
    """Create an index while other clients write.

    The statement waits for all open transactions, and no client waits for the statement. For a partitioned table, this
    is not possible. So the indexes of its parts are created first, and the index of the table then adopts these.
    """
    name, on_table = statement.removeprefix(_INDEX).split(maxsplit=1)
    table = on_table.removeprefix(f"on {schema}.").split()[0]
    if not is_partitioned(connection, schema, table):
        _create_concurrently(connection, schema, name, on_table)
        return
    for part in names_of_parts(table):
        _create_concurrently(connection, schema, f"{part}_{name}", on_table.replace(table, part, 1))
    run_briefly(connection, schema, step.what, statement, tell)


def _create_concurrently(connection: Connection, schema: str, name: str, on_table: str) -> None:
    """Create an index that does not exist yet.

    An invalid index, which an interrupted attempt left, is dropped first.
    """
    left = connection.execute(
        b"select from pg_catalog.pg_index where indexrelid = pg_catalog.to_regclass(%s) and not indisvalid",
        [f"{schema}.{name}"],
    ).fetchone()
    connection.execute(b"set lock_timeout = 0")
    if left is not None:
        connection.execute(f"drop index concurrently {schema}.{name}".encode())
    connection.execute(f"create index concurrently if not exists {name} {on_table}".encode())


def _holders(connection: Connection, schema: str) -> str:
    """Describe the (at most three) oldest transactions that hold locks on tables of the schema."""
    found = connection.execute(
        b"""select pid, application_name, state from pg_catalog.pg_stat_activity
             where pid <> pg_catalog.pg_backend_pid() and pid in (
                   select pid from pg_catalog.pg_locks join pg_catalog.pg_class on relation = pg_class.oid
                    where granted and relnamespace = pg_catalog.to_regnamespace(%s))
             order by xact_start limit 3""",
        [schema],
    ).fetchall()
    return named_processes(found) or "another transaction"
