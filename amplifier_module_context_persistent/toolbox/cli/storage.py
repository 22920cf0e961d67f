"""`context-persistent storage init`: create and migrate the tables of logs in PostgreSQL.

Exit codes: 0 done, 2 nothing was done.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from ...errors import LogUnreadableError
from ...installation import needs_extra
from ...log.database_location import Location, parse_location
from ...log.postgres.init_checks import WouldBeRefusedError, check_may_alter, check_may_create, check_roles
from ...log.postgres.migration_steps import STEPS, MigrationError, Step, missing_steps
from ...log.postgres.partitions import LEAST_SERVER, is_partitioned
from ...log.postgres.role_rights import rights
from ...log.postgres.row_security import secure_rows, secured_statements, tables_with_logs, unsecured_tables
from ...log.postgres.schema import (
    SCHEMA_VERSION,
    create_schema,
    create_statements,
    migrate_tables,
    schema_version,
    version_after,
)
from ...log.postgres.server_connections import read_conninfo
from .error_messages import UnusableError
from .storage_check import check, reason_of
from .terminal import escaped

if TYPE_CHECKING:
    import psycopg


@click.group()
def storage() -> None:
    """Prepare a PostgreSQL database for logs, and check it."""


storage.add_command(check)


@storage.command("init")
@click.argument("url", envvar="AMPLIFIER_CONTEXT_STORAGE")
@click.option("--grant", multiple=True, metavar="ROLE", help="Give this role what running sessions need.")
@click.option(
    "--grant-purge", multiple=True, metavar="ROLE", help="Give this role what running sessions and a purge need."
)
@click.option(
    "--grant-read", multiple=True, metavar="ROLE", help="Let this role read: to look at sessions, or back up."
)
@click.option("--migrate", is_flag=True, help="Add the missing parts to older tables; sessions may run.")
@click.option("--row-security", is_flag=True, help="Let each role see and change only the logs that it made.")
@click.option("--partitioned", is_flag=True, help="Make tables in 16 parts, by the hash of a log's id.")
@click.option("--dry-run", is_flag=True, help="Show what would be done, and do nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of a report.")
@click.option("--print-sql", is_flag=True, help="Print the statements, for an administrator to run; do nothing.")
def init(
    url: str,
    *,
    migrate: bool,
    row_security: bool,
    partitioned: bool,
    dry_run: bool,
    as_json: bool,
    print_sql: bool,
    **roles: tuple[str, ...],
) -> None:
    """Create the tables at URL. Existing tables are not altered.

    URL is postgresql://USER@HOST/DATABASE or service=NAME; `?schema=NAME` puts the tables in a schema of that name.
    Give the password by PGPASSWORD, .pgpass or a service file. The role must be allowed to create a schema, or to
    create tables in one that is there.

    --migrate adds the tables, columns and indexes that an older version lacks, step by step. It waits a second at most
    for a locked table, so running sessions go on. It does not change whether tables are partitioned.

    --partitioned is for new tables: each is partitioned by the hash of the log's id, so that it can be vacuumed, moved
    and sharded in parts. It takes PostgreSQL 12.
    """
    grants = [(kind.replace("_", "-"), role) for kind, names in roles.items() for role in names]
    options = _Asked(grants, migrate=migrate, row_security=row_security, partitioned=partitioned)
    if print_sql and (dry_run or as_json):
        raise click.UsageError(
            "--print-sql prints the statements and does nothing; give it without --dry-run and --json"
        )
    try:
        import psycopg
    except ImportError as error:
        raise UnusableError(needs_extra("postgres", "psycopg")) from error
    try:
        location = parse_location(url)
        if print_sql:
            _print_statements(location.schema, options)
            return
        read_conninfo(location)
        with psycopg.connect(location.conninfo, autocommit=True) as connection:
            connection.execute("select pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', false)")
            prepare = _foresee if dry_run else _prepare
            done = prepare(connection, location.schema, options)
    except (ValueError, psycopg.Error, MigrationError, WouldBeRefusedError, LogUnreadableError) as error:
        raise UnusableError(reason_of(error)) from error
    if as_json:
        result = {"storage": location.shown, "schema": location.schema, **done.to_json()}
        granted = [{"right": kind, "role": role} for kind, role in grants]
        click.echo(json.dumps({**result, "grants": granted, "dry_run": dry_run}))
    else:
        _show(location, done, options, dry_run=dry_run)


@dataclass(frozen=True, slots=True)
class _Asked:
    """The options of `storage init`.

    Attributes:
        grants: kinds of rights, each with the role that gets it.
        migrate: add missing parts to older tables.
        row_security: let each role see only its own logs.
        partitioned: make tables in parts.
    """

    grants: Sequence[tuple[str, str]]
    migrate: bool
    row_security: bool
    partitioned: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class _TableWork:
    """The changes to the tables of a schema, made or planned.

    Attributes:
        before: the version of the tables; None if there were none.
        partitioned: whether the tables are in parts.
        added: the steps that are added to them.
        lacking: the steps that they lack afterwards.
        secured: the tables that get row-level security.
    """

    before: int | None
    partitioned: bool
    added: Sequence[Step]
    lacking: Sequence[Step]
    secured: Sequence[str]

    @property
    def version(self) -> int:
        """The version of the tables after the changes."""
        return SCHEMA_VERSION if self.before is None else version_after(self.before)

    def to_json(self) -> dict[str, Any]:
        """Return the changes as plain JSON types."""
        return {
            "version_before": self.before,
            "version": self.version,
            "partitioned": self.partitioned,
            "added": [step.name for step in self.added],
            "lacks": [step.name for step in self.lacking],
            "secured": list(self.secured),
        }


def _print_statements(schema: str, options: _Asked) -> None:
    statements = create_statements(schema, has_parts=options.partitioned)
    click.echo(statements, nl=False)
    if options.row_security:
        click.echo(secured_statements(schema, statements), nl=False)
    for kind, role in options.grants:
        click.echo(rights(kind, schema, role, has_parts=options.partitioned), nl=False)


def _prepare(connection: psycopg.Connection[Any], schema: str, options: _Asked) -> _TableWork:
    """Create tables, or with `migrate` add the parts that existing tables lack; then secure the rows and grant rights.

    Raises:
        UnusableError: the tables are newer, too old to be used without `migrate`, or cannot be in parts.
        WouldBeRefusedError: somebody else owns the tables, and rights are asked for.
        MigrationError, psycopg.Error: something cannot be done.
    """
    before = schema_version(connection, schema)
    _check_version(before, migrate=options.migrate)
    has_parts = _check_parts(connection, schema, before, options)
    added: Sequence[Step] = ()
    if before is None:
        create_schema(connection, schema, has_parts=has_parts)
        added = STEPS
    elif options.migrate:
        added = migrate_tables(connection, schema, tell=_tell_waits)
    if options.grants:  # for any other role the server grants nothing and only warns
        check_may_alter(connection, schema)
    secured = secure_rows(connection, schema, tell=_tell_waits) if options.row_security else []
    lacking = missing_steps(connection, schema)
    for kind, role in options.grants:
        connection.execute(rights(kind, schema, role, without=lacking, has_parts=has_parts).encode())
    return _TableWork(before=before, partitioned=has_parts, added=added, lacking=lacking, secured=secured)


def _foresee(connection: psycopg.Connection[Any], schema: str, options: _Asked) -> _TableWork:
    """Return the changes that `_prepare` would make, and change nothing.

    Raises:
        UnusableError: as for `_prepare`.
        WouldBeRefusedError: the server would refuse a change.
        psycopg.Error: the server refused a question.
    """
    connection.read_only = True
    before = schema_version(connection, schema)
    _check_version(before, migrate=options.migrate)
    has_parts = _check_parts(connection, schema, before, options)
    check_roles(connection, [role for _, role in options.grants])
    if before is None:
        check_may_create(connection, schema)
        creation = create_statements(schema, has_parts=has_parts)
        secured = tables_with_logs(creation, schema) if options.row_security else []
        return _TableWork(before=None, partitioned=has_parts, added=STEPS, lacking=(), secured=secured)
    missing = missing_steps(connection, schema)
    added = missing if options.migrate else []
    lacking = [] if options.migrate else missing
    secured = unsecured_tables(connection, schema) if options.row_security else []
    if added or secured or options.grants or before < version_after(before):
        check_may_alter(connection, schema)
    return _TableWork(before=before, partitioned=has_parts, added=added, lacking=lacking, secured=secured)


def _check_version(before: int | None, *, migrate: bool) -> None:
    """Check that this package can use tables of a version (`before`); None if there are no tables yet.

    Raises:
        UnusableError: the tables are newer, or too old to be used without `migrate`.
    """
    if before is not None and before > SCHEMA_VERSION:
        raise UnusableError(
            f"the tables have version {before}, which is newer than this package knows ({SCHEMA_VERSION}); "
            "update the package"
        )
    if before is not None and before < version_after(before) and not migrate:
        raise UnusableError(
            f"the tables have version {before}; `storage init --migrate` brings them to {version_after(before)}, "
            "while sessions run; nothing was done"
        )


def _check_parts(connection: psycopg.Connection[Any], schema: str, before: int | None, options: _Asked) -> bool:
    """Return whether the tables are in parts (partitioned), or will be.

    Raises:
        UnusableError: parts were requested, and are not possible.
    """
    if before is None:
        if options.partitioned and connection.info.server_version < 10_000 * LEAST_SERVER:
            raise UnusableError(f"tables in parts need PostgreSQL {LEAST_SERVER}; nothing was done")
        return options.partitioned
    has_parts = is_partitioned(connection, schema)
    if options.partitioned and not has_parts:
        raise UnusableError(
            f"the tables in the schema {schema} are there and not in parts, and stay so; make others with "
            "`?schema=NAME` in the URL, and move sessions there with `copy`; nothing was done"
        )
    return has_parts


def _show(location: Location, done: _TableWork, options: _Asked, *, dry_run: bool) -> None:
    click.echo(escaped(f"{location.shown}: {_said(done, dry_run=dry_run)} in the schema {location.schema}."))
    if done.lacking:
        lacking = ", ".join(step.what for step in done.lacking)
        click.echo(f"They lack {lacking}; sessions go on without. `storage init --migrate` adds it.")
    if options.row_security:
        sees = "would see and change" if dry_run else "sees and changes"
        click.echo(f"Each role {sees} only the logs that it made, but for the owner of the tables.")
    for kind, role in options.grants:
        click.echo(escaped(f"The role {role} {'could then' if dry_run else 'may'} {_MAY[kind]}."))
    if dry_run:
        click.echo("Nothing was done (--dry-run).")


def _said(work: _TableWork, *, dry_run: bool) -> str:
    """Return a description of the changes to the tables; with `dry_run`, of the planned changes."""
    tables = f"the tables of version {work.version}"
    if work.partitioned:
        tables += ", in parts,"
    would = "would be " if dry_run else ""
    if work.before is None:
        return f"{tables} {would}created"
    steps = ", ".join(step.what for step in work.added)
    if work.before < work.version:
        with_steps = ""
        if dry_run and steps:
            with_steps = f", with {steps},"
        return f"{tables} {would}brought from version {work.before} to {work.version}{with_steps}"
    if work.added:
        got = "would get" if dry_run else "got"
        return f"{tables} {got} {steps}"
    were = "are" if dry_run else "were"
    return f"{tables} {were} there"


def _tell_waits(what: str) -> None:
    click.echo(escaped(f"{what}; trying again"), err=True)


_MAY = {
    "grant": "run sessions: it may not delete or change a record",
    "grant-purge": "run sessions and purge them",
    "grant-read": "read sessions",
}
