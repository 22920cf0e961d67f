"""`context-persistent import`: make sessions from a file, from a directory, or from another agent's directory.

Exit codes: 0 done, 1 something could not be read (the rest was imported), 2 nothing was done.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Sequence
from typing import NoReturn, TypedDict, Unpack

import click

from ...sessions.filters import ALL_SESSIONS, SessionFilter
from ..transfer.importers.account import Import
from ..transfer.importers.source_file import STANDARD_INPUT
from ..transfer.imports.import_directory import (
    FORMATS_OF,
    PLACES,
    ImportedFile,
    import_all,
    session_paths,
    standard_place,
)
from ..transfer.imports.import_session import FORMATS, import_session
from ..transfer.imports.wanted_sessions import WantedSessions
from ..transfer.imports.watch_imports import LOOK_S, WatchedPlace
from .error_messages import UnusableError, unusable
from .exit_codes import DONE, FINDINGS
from .filter_options import source_filter_options
from .import_report import is_failed, show_news, show_report, show_summary
from .parameters import check_place
from .progress import progress, stages
from .sealed_files import identity_option
from .session_argument import storage, storage_option
from .terminal import counted, one_line


class _ImportOptions(TypedDict):
    source_format: str
    strict: bool
    again: bool
    identity: str | None
    dry_run: bool


_AS_IT_IS = _ImportOptions(source_format="auto", strict=False, again=False, identity=None, dry_run=False)


@click.command("import")
@storage_option
@source_filter_options()
@click.argument("sources", metavar="[SOURCE]...", nargs=-1, callback=check_place, type=click.Path())
@click.option(
    "--from",
    "agent",
    metavar="AGENT",
    type=click.Choice(tuple(PLACES)),
    help=f"All sessions of this agent: {', '.join(PLACES)}.",
)
@click.option(
    "--watch",
    "watched_agent",
    metavar="AGENT",
    type=click.Choice(tuple(PLACES)),
    help="Import this agent's sessions, and new messages in them until Ctrl-C.",
)
@click.option("--session", "session_id", metavar="ID", help="The new session's id; by default the source's.")
@click.option(
    "-o",
    "--output",
    callback=check_place,
    metavar="PATH",
    help="The new log's file; by default among this project's sessions.",
)
@click.option(
    "--format",
    "source_format",
    type=click.Choice(FORMATS),
    default="auto",
    metavar="FORMAT",
    help=f"The format of SOURCE: {', '.join(FORMATS)}. By default it is recognised by the content.",
)
@identity_option
@click.option("--strict", is_flag=True, help="Do not import a file if any part of it would be lost.")
@click.option("--again", is_flag=True, help="Import also sessions and texts that were deleted or purged here.")
@click.option("--dry-run", is_flag=True, help="Show what would be imported, and write nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of a report.")
@click.pass_context
def import_(
    context: click.Context,
    sources: tuple[str, ...],
    agent: str | None,
    watched_agent: str | None,
    session_id: str | None,
    output: str | None,
    *,
    wanted: SessionFilter,
    as_json: bool,
    **options: Unpack[_ImportOptions],
) -> None:
    """Make new sessions from SOURCE: a file of another agent, of the host, or of this package; or a directory of such.

    Several files, or directories, are imported one after the other, as the files of one directory are.

    SOURCE may be compressed (gzip or zstd), or sealed (age, with --identity); - is the standard input. A log of this
    package is copied unchanged.

    What a file is follows from its content. Every line is accounted for: mapped, kept as metadata, not conversational,
    or lost, with the reason. Ids and timestamps are kept. A second import of the same session adds what is new; a log
    that is no earlier import of it is never changed. The sessions of a directory go to the projects that they name.

    A filter chooses among the sessions of SOURCE, each with its branches and sub-agents; --project means the directory
    that a session names.

    A session that was deleted here is not imported again, and what a purge replaced is replaced again; --again imports
    all of it. --watch goes on until Ctrl-C (exit code 130): it imports what is there, and then what is new.
    """
    if sum((bool(sources), agent is not None, watched_agent is not None)) != 1:
        raise click.UsageError("name a SOURCE, or an agent with --from or --watch")
    if watched_agent is not None:
        if options != _AS_IT_IS or wanted != ALL_SESSIONS or session_id is not None or output is not None:
            raise click.UsageError("--watch imports what is new, and takes no other option but --json and --storage")
        _watch(watched_agent, as_json=as_json)
    places = list(sources) or [str(standard_place(agent or ""))]
    dry_run = options["dry_run"]
    path = places[0]
    if agent is not None or len(places) > 1 or os.path.isdir(path):
        if session_id is not None or output is not None:
            raise click.UsageError("--session and -o are for one file")
        if agent is not None:
            _check_is_there(path, agent)
            if options["source_format"] == "auto":
                options["source_format"] = FORMATS_OF.get(agent, agent)
        source_name = path if len(places) == 1 else counted(len(places), "source")
        context.exit(_show_files(source_name, _all(places, wanted, options), dry_run=dry_run, as_json=as_json))
    shown_source = "standard input" if path == STANDARD_INPUT else path
    with unusable(shown_source), progress(path, title="reading", then="writing the session") as watched:
        report = import_session(
            path,
            session_id=session_id,
            path=output,
            storage=storage(),
            wanted=WantedSessions(wanted),
            files=watched,
            **options,
        )
    context.exit(_show_import(report, dry_run=dry_run, as_json=as_json))


def _show_import(report: Import, *, dry_run: bool, as_json: bool) -> int:
    """Print the report of one imported file, and return the exit code."""
    if as_json:
        click.echo(json.dumps({**report.to_json(), "dry_run": dry_run}))
    else:
        show_report(report, dry_run=dry_run)
    return FINDINGS if report.not_carried else DONE


def _check_is_there(place: str, agent: str) -> None:
    if not os.path.isdir(place):
        raise UnusableError(f"{one_line(place)} does not exist; {agent} keeps its sessions there. Name their directory")


def _show_files(path: str, files: list[ImportedFile], *, dry_run: bool, as_json: bool) -> int:
    """Print the result for each file of a directory, and return the exit code."""
    if as_json:
        click.echo(json.dumps(_as_json(files, dry_run=dry_run)))
    else:
        show_summary(path, files, dry_run=dry_run)
    for file in files:
        if not file.is_session or file.is_erased or file.is_left_out:
            continue
        if file.report is None or file.report.lost:
            return FINDINGS
    return DONE


def _watch(agent: str, *, as_json: bool) -> NoReturn:
    """Import an agent's sessions as they grow, until the command is interrupted.

    Raises:
        UnusableError: the directory of the agent's sessions cannot be read.
    """
    directory = standard_place(agent)
    place = WatchedPlace(directory, FORMATS_OF.get(agent, agent), storage=storage())
    click.echo(f"watching {one_line(str(directory))}; Ctrl-C ends it", err=True)
    while True:
        with unusable(str(directory)):
            for file in place.look(time.monotonic()):
                _tell_news(file, as_json=as_json)
        time.sleep(LOOK_S)


def _tell_news(file: ImportedFile, *, as_json: bool) -> None:
    report = file.report
    if as_json:
        entry = {"source": file.path, "erased" if file.is_erased else "error": file.error}
        click.echo(json.dumps(report.to_json() if report is not None else entry))
    else:
        show_news(file)
    sys.stdout.flush()


def _paths_in(source: str) -> list[str]:
    """Return the paths of the session files in a directory, or the path of a file itself.

    Raises:
        UsageError: the source is the standard input, which must be imported alone.
        UnusableError: the source cannot be read, or has no session files.
    """
    if source == STANDARD_INPUT:
        raise click.UsageError("give - (the standard input) alone")
    with unusable(source):
        if not os.path.isdir(source):
            os.stat(source)
            return [source]
        paths = session_paths(source)
    if not paths:
        raise UnusableError(
            f"{one_line(source)}: there are no files of sessions in it; a sub-agent's comes with its session's"
        )
    return paths


def _all(sources: Sequence[str], wanted: SessionFilter, options: _ImportOptions) -> list[ImportedFile]:
    """Import files, and all files of directories, show the progress, and return the result for each file.

    Raises:
        UnusableError: a source cannot be read, or has no session files.
    """
    paths = list(dict.fromkeys(path for source in sources for path in _paths_in(source)))
    files: list[ImportedFile] = []
    with stages() as tell:
        for file in import_all(paths, storage=storage(), wanted=wanted, **options):
            files.append(file)
            tell("importing", len(files), len(paths))
    if all(not file.is_session for file in files):
        source_names = one_line(", ".join(sources))
        raise UnusableError(f"{source_names}: none of {len(files):,} files is a session; {files[0].error}")
    return files


def _as_json(files: list[ImportedFile], *, dry_run: bool) -> dict[str, object]:
    """Return the results of the imports of several files in JSON types."""
    failed = [file for file in files if is_failed(file)]
    erased = [file for file in files if file.is_erased]
    skipped = [file for file in files if not file.is_session]
    reports = [file.report for file in files if file.report is not None]
    return {
        "dry_run": dry_run,
        "imports": [report.to_json() for report in reports],
        "errors": [{"source": file.path, "error": file.error} for file in failed],
        "erased": _with_reasons(erased),
        "skipped": _with_reasons(skipped),
        "left_out": [file.path for file in files if file.is_left_out],
    }


def _with_reasons(files: Sequence[ImportedFile]) -> list[dict[str, str]]:
    return [{"source": file.path, "reason": file.error} for file in files]
