"""`context-persistent import`: new sessions from a file.

Exit codes: 0 done, 1 something could not be read (the rest was imported), 2 nothing was done.
"""

from __future__ import annotations

import json

import click

from ..errors import ContextPersistentError
from ..transfer.import_ import FORMATS, import_session
from .exit_codes import DONE, FINDINGS
from .import_report import show_report
from .progress import progress
from .terminal import UnusableError, about, reason


@click.command("import")
@click.argument("file", metavar="FILE", type=click.Path())
@click.option("--session", "session_id", metavar="ID", help="The new session's id; by default the source's.")
@click.option("-o", "--output", metavar="PATH", help="The new log's file; by default among this project's sessions.")
@click.option(
    "--format",
    "source_format",
    type=click.Choice(FORMATS),
    default="auto",
    metavar="FORMAT",
    help=f"What FILE is: {', '.join(FORMATS)}. By default its content tells.",
)
@click.option("--strict", is_flag=True, help="Import nothing if anything would be lost.")
@click.option("--dry-run", is_flag=True, help="Show what would be imported, and write nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of a report.")
@click.pass_context
def import_(
    context: click.Context,
    file: str,
    session_id: str | None,
    output: str | None,
    source_format: str,
    *,
    strict: bool,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Make a new session from a FILE of another agent, of the host, or of this package.

    What FILE is follows from its content. Every line is accounted for: mapped, kept as metadata, not conversational,
    or lost, with the reason. Ids and timestamps are kept. A second import of the same session adds what is new; a log
    that is no earlier import of it is never changed.
    """
    try:
        with progress(file, title="importing") as files:
            report = import_session(
                file,
                session_id=session_id,
                path=output,
                source_format=source_format,
                strict=strict,
                dry_run=dry_run,
                files=files,
            )
    except (OSError, ContextPersistentError, ValueError) as error:
        raise UnusableError(f"{about(error, file)}: {reason(error)}") from error
    if as_json:
        click.echo(json.dumps({**report.to_json(), "dry_run": dry_run}))
    else:
        show_report(report, dry_run=dry_run)
    context.exit(FINDINGS if report.not_carried else DONE)
