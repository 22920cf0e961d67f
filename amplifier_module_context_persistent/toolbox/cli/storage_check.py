"""`context-persistent storage check`: find lines of no session in a PostgreSQL database, and delete them.

Exit codes: 0 there are none, or they were deleted; 1 there are some; 2 nothing was done.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime

import click

from ...errors import LogUnreadableError
from ...installation import needs_extra
from ...log.database_location import parse_location
from ...log.postgres.layout import LAYOUTS, Layout, LogKey
from ...log.postgres.lines_of_no_log import LinesOfNoLog, delete_lines_of_no_log, lines_of_no_log
from ...log.postgres.schema import SCHEMA_VERSION, schema_version
from ...log.postgres.server_connections import read_conninfo
from .confirm import ask, check_can_ask
from .error_messages import UnusableError
from .exit_codes import FINDINGS
from .terminal import escaped

_MOST_SHOWN = 20


@click.command("check")
@click.argument("url", envvar="AMPLIFIER_CONTEXT_STORAGE")
@click.option("--delete", is_flag=True, help="Delete these lines, after a question.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of a report.")
def check(url: str, *, delete: bool, yes: bool, as_json: bool) -> None:
    """Find lines of no session in the tables at URL.

    They are left if somebody deletes rows of the table log by hand, or restores one table alone. No command shows their
    text, and no purge takes them. Do not delete them while a restore is running, which has such lines until it ends.

    With row-level security only the owner of the tables and roles with BYPASSRLS can look. Sessions are checked by
    verify. Exit codes: 0 there are none, or they were deleted; 1 there are some; 2 nothing was done.
    """
    if delete:
        check_can_ask(as_json=as_json, yes=yes, dry_run=False)
    try:
        import psycopg
    except ImportError as error:
        raise UnusableError(needs_extra("postgres", "psycopg")) from error
    try:
        location = parse_location(url)
        schema = location.schema
        read_conninfo(location)
        with psycopg.connect(location.conninfo, autocommit=True, prepare_threshold=None) as connection:
            connection.execute("select pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', false)")
            layout = _layout_of(schema_version(connection, schema), location.shown, schema)
            found = lines_of_no_log(connection, schema, layout)
            if not as_json:
                _show(location.shown, schema, found, layout)
            deleted = 0
            if found and delete:
                ask(f"Delete these {_lines(found)}?", yes=yes)
                for of_key in found:
                    deleted += delete_lines_of_no_log(connection, schema, layout, of_key.key)
                if not as_json:
                    click.echo(f"Deleted: {deleted:,}.")
    except (ValueError, psycopg.Error, LogUnreadableError) as error:
        raise UnusableError(reason_of(error)) from error
    if as_json:
        click.echo(json.dumps(_to_json(location.shown, schema, found, layout, deleted)))
    if found and not delete:
        raise click.exceptions.Exit(FINDINGS)


def _layout_of(version: int | None, shown_location: str, schema: str) -> Layout:
    """Return the layout of tables of this version.

    Raises:
        UnusableError: there are no tables, or tables of a version without a layout.
    """
    if version is None:
        raise UnusableError(f"{shown_location} has no tables of ours in the schema {schema}")
    if version not in LAYOUTS:
        raise UnusableError(f"the tables have version {version}; this package knows {SCHEMA_VERSION}")
    return LAYOUTS[version]


def _lines(found: Sequence[LinesOfNoLog]) -> str:
    lines = sum(of_key.lines for of_key in found)
    return f"{lines:,} line{'' if lines == 1 else 's'}"


def _begun(key: LogKey, layout: Layout) -> str:
    """Return the time at which lines without a session were written first, in UTC; "" if the tables have no time."""
    if not layout.has_derived_ids:
        return ""
    return f"{datetime.fromtimestamp(key.generation / 1e6, UTC):%Y-%m-%dT%H:%M:%SZ}"


def _show(shown_location: str, schema: str, found: Sequence[LinesOfNoLog], layout: Layout) -> None:
    if not found:
        click.echo(escaped(f"{shown_location}: every line belongs to a session, in the schema {schema}."))
        return
    size_bytes = sum(of_key.size_bytes for of_key in found)
    click.echo(
        escaped(
            f"{shown_location}: {_lines(found)} ({size_bytes:,} bytes) belong to no session, in the schema {schema}:"
        )
    )
    for key, lines, size in found[:_MOST_SHOWN]:
        begun = _begun(key, layout)
        of_time = f", begun {begun}" if begun else ""
        click.echo(f"  {lines:,} of the log {key.log_id}{of_time} ({size:,} bytes)")
    if len(found) > _MOST_SHOWN:
        click.echo(f"  and those of {len(found) - _MOST_SHOWN:,} more logs")


def _to_json(
    shown_location: str, schema: str, found: Sequence[LinesOfNoLog], layout: Layout, deleted: int
) -> dict[str, object]:
    logs = [
        {"log_id": str(key.log_id), "begun": _begun(key, layout) or None, "lines": lines, "bytes": size}
        for key, lines, size in found
    ]
    return {"storage": shown_location, "schema": schema, "of_no_session": logs, "deleted_lines": deleted}


def reason_of(error: Exception) -> str:
    """Return the first line of an error's message."""
    message = str(error.args[1]) if isinstance(error, OSError) else str(error)
    lines = message.strip().splitlines()
    return lines[0] if lines else "the server refused"
