"""`context-persistent storage`: the tables of logs in PostgreSQL.

Exit codes: 0 done, 2 nothing was done.
"""

from __future__ import annotations

import json

import click

from ...installation import needs_extra
from ...log.database_location import parse_location
from ...log.postgres.schema import RIGHTS, SCHEMA_VERSION, create_schema, create_statements, schema_version
from .terminal import UnusableError, escaped


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
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of a report.")
@click.option("--print-sql", is_flag=True, help="Print the statements, for an administrator to run; do nothing.")
def init(url: str, *, as_json: bool, print_sql: bool, **roles: tuple[str, ...]) -> None:
    """Create the tables at URL, or bring them to this version; harmless where they are there.

    URL is postgresql://USER@HOST/DATABASE or service=NAME; `?schema=NAME` puts the tables in a schema of that name.
    Give the password by PGPASSWORD, .pgpass or a service file. The role must be allowed to create a schema, or to
    create tables in one that is there.
    """
    try:
        import psycopg
        from psycopg import sql
    except ImportError as error:
        raise UnusableError(needs_extra("postgres", "psycopg")) from error
    try:
        location = parse_location(url)
        granted = [
            (kind, role, sql.SQL(RIGHTS[kind]).format(s=sql.Identifier(location.schema), role=sql.Identifier(role)))
            for kind, names in ((kind.replace("_", "-"), names) for kind, names in roles.items())
            for role in names
        ]
        if print_sql:
            click.echo(create_statements(location.schema), nl=False)
            for _, _, rights in granted:
                click.echo(rights.as_string(None), nl=False)
            return
        with psycopg.connect(location.conninfo, autocommit=True) as connection:
            before = schema_version(connection, location.schema)
            if before is not None and before > SCHEMA_VERSION:
                raise UnusableError(
                    f"the tables have version {before}, which is newer than this package knows ({SCHEMA_VERSION}); "
                    "update the package"
                )
            create_schema(connection, location.schema)
            for _, _, rights in granted:
                connection.execute(rights)
    except (ValueError, psycopg.Error) as error:
        raise UnusableError((str(error).strip().splitlines() or ["the server refused"])[0]) from error
    done = {None: "created", SCHEMA_VERSION: "were there"}.get(
        before, f"brought from version {before} to {SCHEMA_VERSION}"
    )
    if as_json:
        grants = [{"right": kind, "role": role} for kind, role, _ in granted]
        told = {"schema": location.schema, "version_before": before, "version": SCHEMA_VERSION, "grants": grants}
        click.echo(json.dumps({"storage": location.shown, **told}))
        return
    where = f"in the schema {location.schema}"
    click.echo(escaped(f"{location.shown}: the tables of version {SCHEMA_VERSION} {done} {where}."))
    for kind, role, _ in granted:
        click.echo(escaped(f"The role {role} {_MAY[kind]}."))


_MAY = {
    "grant": "may run sessions: it may not delete or change a record",
    "grant-purge": "may run sessions and purge them",
    "grant-read": "may read sessions",
}
