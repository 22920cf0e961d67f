"""`context-persistent import`: new sessions from a file, from a directory, or from where another agent keeps its own.

Exit codes: 0 done, 1 something could not be read (the rest was imported), 2 nothing was done.
"""

from __future__ import annotations

import json
import os
import sys

import click

from ..errors import ContextPersistentError
from ..transfer.import_ import FORMATS, import_session
from ..transfer.import_all import PLACES, ImportedFile, import_all, session_paths, standard_place
from ..transfer.importers.source import STANDARD_INPUT
from .exit_codes import DONE, FINDINGS
from .import_report import show_report, show_summary
from .progress import progress
from .session_argument import storage, storage_option
from .terminal import UnusableError, about, reason


@click.command("import")
@storage_option
@click.argument("source", metavar="[SOURCE]", required=False, type=click.Path())
@click.option("--from", "agent", type=click.Choice(tuple(PLACES)), help="All sessions of this agent.")
@click.option("--session", "session_id", metavar="ID", help="The new session's id; by default the source's.")
@click.option("-o", "--output", metavar="PATH", help="The new log's file; by default among this project's sessions.")
@click.option(
    "--format",
    "source_format",
    type=click.Choice(FORMATS),
    default="auto",
    metavar="FORMAT",
    help=f"What SOURCE is: {', '.join(FORMATS)}. By default its content tells.",
)
@click.option("--strict", is_flag=True, help="Import nothing of a file of which anything would be lost.")
@click.option("--dry-run", is_flag=True, help="Show what would be imported, and write nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of a report.")
@click.pass_context
def import_(
    context: click.Context,
    source: str | None,
    agent: str | None,
    session_id: str | None,
    output: str | None,
    source_format: str,
    *,
    strict: bool,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Make new sessions from SOURCE: a file of another agent, of the host, or of this package; or a directory of such.

    SOURCE may be compressed (gzip or zstd); - is the standard input. A log of this package is copied as it is.

    What a file is follows from its content. Every line is accounted for: mapped, kept as metadata, not conversational,
    or lost, with the reason. Ids and timestamps are kept. A second import of the same session adds what is new; a log
    that is no earlier import of it is never changed. The sessions of a directory go to the projects that they name.
    """
    if (source is None) == (agent is None):
        raise click.UsageError("name a SOURCE, or an agent with --from")
    path = str(standard_place(agent)) if agent is not None else str(source)
    if agent is not None or os.path.isdir(path):
        if session_id is not None or output is not None:
            raise click.UsageError("--session and -o are for one file")
        wanted = agent if agent is not None and source_format == "auto" else source_format
        files = _all(path, wanted, strict=strict, dry_run=dry_run)
        if as_json:
            click.echo(json.dumps(_as_json(files, dry_run=dry_run)))
        else:
            show_summary(path, files, dry_run=dry_run)
        whole = all(file.report is not None and not file.report.lost for file in files if file.is_session)
        context.exit(DONE if whole else FINDINGS)
    try:
        with progress(path, title="importing") as watched:
            report = import_session(
                path,
                session_id=session_id,
                path=output,
                storage=storage(),
                source_format=source_format,
                strict=strict,
                dry_run=dry_run,
                files=watched,
            )
    except (OSError, ContextPersistentError, ValueError) as error:
        shown = "standard input" if path == STANDARD_INPUT else about(error, path)
        raise UnusableError(f"{shown}: {reason(error)}") from error
    if as_json:
        click.echo(json.dumps({**report.to_json(), "dry_run": dry_run}))
    else:
        show_report(report, dry_run=dry_run)
    context.exit(FINDINGS if report.not_carried else DONE)


def _all(path: str, source_format: str, *, strict: bool, dry_run: bool) -> list[ImportedFile]:
    """Import all files of a directory, with progress where the error stream is a terminal."""
    try:
        paths = session_paths(path)
    except OSError as error:
        raise UnusableError(f"{about(error, path)}: {reason(error)}") from error
    if not paths:
        raise UnusableError(f"{about(OSError(), path)}: there are no files of sessions in it")
    files = []
    shows = sys.stderr.isatty()
    for file in import_all(paths, storage=storage(), source_format=source_format, strict=strict, dry_run=dry_run):
        files.append(file)
        if shows:
            click.echo(f"\rimporting: {len(files):,} of {len(paths):,} files", nl=False, err=True)
    if shows:
        click.echo("\r\x1b[K", nl=False, err=True)
    if all(not file.is_session for file in files):
        raise UnusableError(f"{about(OSError(), path)}: none of {len(files):,} files is a session; {files[0].error}")
    return files


def _as_json(files: list[ImportedFile], *, dry_run: bool) -> dict[str, object]:
    return {
        "dry_run": dry_run,
        "imports": [file.report.to_json() for file in files if file.report is not None],
        "errors": [{"source": file.path, "error": file.error} for file in files if file.error and file.is_session],
        "skipped": [{"source": file.path, "reason": file.error} for file in files if not file.is_session],
    }
