"""Row-level security: in every table, a role sees and changes only the rows of logs that it created.

`log.owner` is the role that created a log. A row with a `log_id` belongs to the owner of this log. Rows of `erasure`
(the list of erasures) have their own owner. The tables are found in the catalog, so partitions and the tables of later
steps are covered too (`schema.migrate_tables`).

A role also sees the erasures that administrators noted: roles that see all rows, and so can delete each role's logs.
Without these lines, an import or a session after a failover would bring back a log that an administrator deleted.
"""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ..database_location import check_schema_name
from .migration_steps import ERASURE_TABLE, run_briefly
from .partitions import whole_table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import psycopg

    Connection = psycopg.Connection[Any]

POLICY, ADMINISTRATORS_POLICY = "own", "of_administrators"
_OWNED = ("log", ERASURE_TABLE)
"""The tables with a column for the owner."""


def statements_for(schema: str, table: str) -> list[str]:
    """Return the statements that restrict each role to its own rows of a table."""
    return [*policies_for(schema, table).values(), f"alter table {schema}.{table} enable row level security"]


def policies_for(schema: str, table: str) -> dict[str, str]:
    """Return the statements that create the policies of a table, by the policies' names."""
    rule = "owner = current_user"
    if whole_table(table) not in _OWNED:
        # The rows of `log` are restricted by their owner, also in this query. So it finds only the role's own logs.
        rule = f"exists (select from {schema}.log where log.log_id = {table}.log_id)"
    policies = {POLICY: f"create policy {POLICY} on {schema}.{table} using ({rule})"}
    if table == ERASURE_TABLE:
        policies[ADMINISTRATORS_POLICY] = f"""
            create policy {ADMINISTRATORS_POLICY} on {schema}.{table} for select using (
                owner in (select rolname from pg_catalog.pg_roles where rolsuper or rolbypassrls)
                or owner = (select pg_catalog.pg_get_userbyid(relowner) from pg_catalog.pg_class
                             where oid = pg_catalog.to_regclass('{schema}.{table}')))"""
    return policies


def secured_statements(schema: str, creation: str) -> str:
    """Return the statements that restrict each role to its own rows, for all tables that `creation` creates."""
    tables = tables_with_logs(creation, schema)
    return "".join(f"{statement};\n" for table in tables for statement in statements_for(schema, table))


def tables_with_logs(creation: str, schema: str) -> list[str]:
    """Return the tables that `creation` creates and whose rows have an owner; the table `log` comes last.

    Args:
        creation: SQL statements that create tables.
        schema: the tables' schema.
    """
    created = rf"create table if not exists {schema}\.(\w+) (?:partition of|\(\s*(?:log_id|owner)\b)"
    tables = re.findall(created, creation)
    return sorted(tables, key=lambda table: (table == "log", table))


def secure_rows(connection: Connection, schema: str, *, tell: Callable[[str], None] = lambda _: None) -> list[str]:
    """Restrict each role to its own logs, in all tables that have no row-level security yet. Return these tables.

    Raises:
        MigrationError: another client locked a table for too long. Tables done before stay secured; try again later.
        psycopg.Error: the server refused.
    """
    tables = unsecured_tables(connection, check_schema_name(schema))
    for table in tables:
        *_, enable = statements_for(schema, table)
        purpose = f"row-level security of {table}"
        for policy, create_policy in policies_for(schema, table).items():
            if not _has_policy(connection, schema, table, policy):
                run_briefly(connection, schema, purpose, create_policy, tell)
        run_briefly(connection, schema, purpose, enable, tell)
    return tables


@contextmanager
def seeing_all(connection: Connection) -> Iterator[None]:
    """Run the block in a transaction in which the server refuses a statement if row-level security would hide rows."""
    with connection.transaction():
        connection.execute(b"select pg_catalog.set_config('row_security', 'off', true)")
        yield


def is_secured(connection: Connection, schema: str) -> bool:
    """Return whether the table `log` has row-level security."""
    row = connection.execute(
        b"select relrowsecurity from pg_catalog.pg_class where oid = pg_catalog.to_regclass(%s)", [f"{schema}.log"]
    ).fetchone()
    return bool(row and row[0])


def unsecured_tables(connection: Connection, schema: str) -> list[str]:
    """Return the tables whose rows have an owner, but no (or an older) row-level security; the table `log` comes last.

    The policies of other tables read `log`. So these policies let every role see all rows until `log` is secured.
    """
    found = connection.execute(
        b"""select relname from pg_catalog.pg_class
             where relnamespace = pg_catalog.to_regnamespace(%s) and relkind in ('r', 'p')
               and (not relrowsecurity or relname = %s and not exists (
                   select from pg_catalog.pg_policy where polrelid = pg_class.oid and polname = %s))
               and exists (select from pg_catalog.pg_attribute where attrelid = pg_class.oid
                             and attname in ('log_id', 'owner') and not attisdropped)
             order by relname = 'log', relname""",
        [schema, ERASURE_TABLE, ADMINISTRATORS_POLICY],
    ).fetchall()
    return [name for (name,) in found]


def _has_policy(connection: Connection, schema: str, table: str, policy: str) -> bool:
    found = connection.execute(
        b"select from pg_catalog.pg_policies where schemaname = %s and tablename = %s and policyname = %s",
        [schema, table, policy],
    )
    return found.rowcount > 0
