"""`context-persistent storage`: the tables of logs in PostgreSQL.

Exit codes: 0 done, 2 nothing was done.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from ...errors import LogUnreadableError
from ...installation import needs_extra
from ...log.database_location import parse_location
from ...log.postgres.row_security import secure_rows, secured_statements
from ...log.postgres.schema import (
    SCHEMA_VERSION,
    bring_up,
    create_schema,
    create_statements,
    rights,
    schema_version,
)
from ...log.postgres.server import read_conninfo
from ...log.postgres.steps import MigrationError, missing_steps
from .terminal import UnusableError, escaped

if TYPE_CHECKING:
    import psycopg


@click.group()
def storage() -> None:
    """Prepare a PostgreSQL database for logs."""


@storage.command("init")
@click.argument("url", envvar="AMPLIFIER_CONTEXT_STORAGE")
@click.option("--grant", multiple=True, metavar="ROLE", help="Give this role what running sessions need.")
@click.option("--grant-purge", multiple=True, metavar="ROLE", help="Likewise, and what a purge needs.")
@click.option(
    "--grant-read", multiple=True, metavar="ROLE", help="Let this role read: to look at sessions, or back up."
)
@click.option("--migrate", is_flag=True, help="Add to older tables what they lack, while sessions run.")
@click.option("--row-security", is_flag=True, help="Let each role see and change only the logs that it made.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of a report.")
@click.option("--print-sql", is_flag=True, help="Print the statements, for an administrator to run; do nothing.")
def init(
    url: str, *, migrate: bool, row_security: bool, as_json: bool, print_sql: bool, **roles: tuple[str, ...]
) -> None:
    """Create the tables at URL; where they are there, alter nothing.

    URL is postgresql://USER@HOST/DATABASE or service=NAME; `?schema=NAME` puts the tables in a schema of that name.
    Give the password by PGPASSWORD, .pgpass or a service file. The role must be allowed to create a schema, or to
    create tables in one that is there.

    --migrate adds to tables of an older version what they lack. It only adds, step by step, and waits a second at most
    for a table that somebody holds: sessions go on.
    """
    try:
        import psycopg
    except ImportError as error:
        raise UnusableError(needs_extra("postgres", "psycopg")) from error
    asked = [(kind.replace("_", "-"), role) for kind, names in roles.items() for role in names]
    try:
        location = parse_location(url)
        if print_sql:
            click.echo(create_statements(location.schema), nl=False)
            if row_security:
                click.echo(secured_statements(location.schema, create_statements(location.schema)), nl=False)
            for kind, role in asked:
                click.echo(rights(kind, location.schema, role), nl=False)
            return
        read_conninfo(location)
        with psycopg.connect(location.conninfo, autocommit=True) as connection:
            connection.execute("select pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', false)")
            before = schema_version(connection, location.schema)
            said = _make_tables(connection, location.schema, before, migrate=migrate)
            if row_security:
                secure_rows(connection, location.schema, tell=_tell_waits)
            missing = missing_steps(connection, location.schema)
            for kind, role in asked:
                connection.execute(rights(kind, location.schema, role, without=missing).encode())
    except (ValueError, psycopg.Error, MigrationError, LogUnreadableError) as error:
        raise UnusableError(_reason(error)) from error
    if as_json:
        told = {"schema": location.schema, "version_before": before, "version": SCHEMA_VERSION}
        grants = [{"right": kind, "role": role} for kind, role in asked]
        lacks = [step.name for step in missing]
        click.echo(json.dumps({"storage": location.shown, **told, "grants": grants, "lacks": lacks}))
        return
    click.echo(escaped(f"{location.shown}: {said} in the schema {location.schema}."))
    if missing:
        lacking = ", ".join(step.what for step in missing)
        click.echo(f"They lack {lacking}; sessions go on without. `storage init --migrate` adds it.")
    if row_security:
        click.echo("Each role sees and changes only the logs that it made, but for the owner of the tables.")
    for kind, role in asked:
        click.echo(escaped(f"The role {role} {_MAY[kind]}."))


def _make_tables(connection: psycopg.Connection[Any], schema: str, before: int | None, *, migrate: bool) -> str:
    """Create tables, or with `migrate` add to those of version `before` what they lack; what was done.

    Raises:
        UnusableError: the tables are newer, or too old to be used without `migrate`.
        MigrationError, psycopg.Error: they cannot be made.
    """
    tables = f"the tables of version {SCHEMA_VERSION}"
    if before is None:
        create_schema(connection, schema)
        return f"{tables} created"
    if before > SCHEMA_VERSION:
        raise UnusableError(
            f"the tables have version {before}, which is newer than this package knows ({SCHEMA_VERSION}); "
            "update the package"
        )
    if not migrate:
        if before < SCHEMA_VERSION:
            raise UnusableError(
                f"the tables have version {before}; `storage init --migrate` brings them to {SCHEMA_VERSION}, "
                "while sessions run; nothing was done"
            )
        return f"{tables} were there"
    done = bring_up(connection, schema, tell=_tell_waits)
    if before < SCHEMA_VERSION:
        return f"{tables} brought from version {before} to {SCHEMA_VERSION}"
    return f"{tables} got {', '.join(step.what for step in done)}" if done else f"{tables} were there"


def _tell_waits(what: str) -> None:
    click.echo(escaped(f"{what}; trying again"), err=True)


def _reason(error: Exception) -> str:
    """What an error says, on one line."""
    said = str(error.args[1]) if isinstance(error, OSError) else str(error)
    return (said.strip().splitlines() or ["the server refused"])[0]


_MAY = {
    "grant": "may run sessions: it may not delete or change a record",
    "grant-purge": "may run sessions and purge them",
    "grant-read": "may read sessions",
}
