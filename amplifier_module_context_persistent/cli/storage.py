"""`context-persistent storage`: the tables of logs in PostgreSQL.

Exit codes: 0 done, 2 nothing was done.
"""

from __future__ import annotations

import click

from ..log.location import parse_location
from ..log.postgres.schema import RIGHTS, RIGHTS_TO_PURGE, SCHEMA_VERSION, create_schema, schema_version
from .terminal import UnusableError, escaped


@click.group()
def storage() -> None:
    """Prepare a PostgreSQL database for logs."""


@storage.command("init")
@click.argument("url", envvar="AMPLIFIER_CONTEXT_STORAGE")
@click.option("--grant", "roles", metavar="ROLE", multiple=True, help="Give this role what running sessions need.")
@click.option("--grant-purge", "purging", metavar="ROLE", multiple=True, help="Likewise, and what a purge needs.")
def init(url: str, roles: tuple[str, ...], purging: tuple[str, ...]) -> None:
    """Create the tables at URL, or bring them to this version; harmless where they are there.

    URL is postgresql://USER@HOST/DATABASE or service=NAME; `?schema=NAME` puts the tables in a schema of that name.
    Give the password by PGPASSWORD, .pgpass or a service file. The role must be allowed to create a schema.
    """
    try:
        import psycopg
        from psycopg import sql
    except ImportError as error:
        raise UnusableError("install the extra: pip install 'amplifier-module-context-persistent[postgres]'") from error
    try:
        location = parse_location(url)
        with psycopg.connect(location.conninfo, autocommit=True) as connection:
            before = schema_version(connection, location.schema)
            if before is not None and before > SCHEMA_VERSION:
                raise UnusableError(
                    f"the tables have version {before}, which is newer than this package knows ({SCHEMA_VERSION}); "
                    "update the package"
                )
            create_schema(connection, location.schema)
            for rights, role in [*((RIGHTS, role) for role in roles), *((RIGHTS_TO_PURGE, role) for role in purging)]:
                names = {"s": sql.Identifier(location.schema), "role": sql.Identifier(role)}
                connection.execute(sql.SQL(rights).format(**names))
    except (ValueError, psycopg.Error) as error:
        raise UnusableError((str(error).strip().splitlines() or ["the server refused"])[0]) from error
    done = "created" if before is None else "were there"
    click.echo(
        escaped(f"{location.shown}: the tables of version {SCHEMA_VERSION} {done} in the schema {location.schema}.")
    )
    for role in roles:
        click.echo(escaped(f"The role {role} may run sessions: it may not delete or change a record."))
    for role in purging:
        click.echo(escaped(f"The role {role} may run sessions and purge them."))
