"""`context-persistent import`: a new session from a file of messages.

Exit codes: 0 done, 1 something could not be read (the rest was imported), 2 nothing was done.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

import click

from ..errors import ContextPersistentError
from ..transfer.copy import Loss
from ..transfer.import_ import FORMATS, Import, import_session
from .exit_codes import DONE, FINDINGS
from .progress import progress
from .terminal import UnusableError, about, counted, reason, say

_MOST_SHOWN = 50  # lines that could not be imported; --json has all


@click.command("import")
@click.argument("file", metavar="FILE", type=click.Path())
@click.option("--session", "session_id", metavar="ID", help="The new session's id; by default a new one.")
@click.option("-o", "--output", metavar="PATH", help="The new log's file; by default among this project's sessions.")
@click.option(
    "--format",
    "source_format",
    type=click.Choice(FORMATS),
    default="auto",
    show_default=True,
    help="What FILE is. All but auto and log also take messages that a log's resets hide.",
)
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
    dry_run: bool,
    as_json: bool,
) -> None:
    """Make a new session from a FILE of messages.

    FILE is the older module's file, a host's transcript.jsonl, JSON Lines of messages, or a log. Lines that cannot be
    read are reported and skipped. Ids and timestamps are kept. An existing log is never changed.
    """
    try:
        with progress(file, title="importing") as files:
            report = import_session(
                file,
                session_id=session_id,
                path=output,
                source_format=source_format,
                dry_run=dry_run,
                files=files,
            )
    except (OSError, ContextPersistentError, ValueError) as error:
        raise UnusableError(f"{about(error, file)}: {reason(error)}") from error
    if as_json:
        click.echo(json.dumps({**report.to_json(), "dry_run": dry_run}))
    else:
        _show(report, dry_run=dry_run)
    context.exit(FINDINGS if report.not_carried else DONE)


def _show(report: Import, *, dry_run: bool) -> None:
    roles = ", ".join(f"{role} {count:,}" for role, count in sorted(report.roles.items()))
    done = "would be imported" if dry_run else "imported"
    kind = {"log": "a log", "older": "a file of the older module", "transcript": "a host's transcript"}
    say(f"{report.source}: {kind.get(report.format, 'JSON Lines')}")
    say(f"  {counted(report.messages, 'message')} {done} ({roles})")
    if report.derived_ids:
        say(f"  {report.derived_ids:,} without an id; each has one now")
    if report.renamed:
        say(f"  {len(report.renamed):,} with another one's id; each has one of its own now")
    if report.without_timestamp:
        say(f"  {report.without_timestamp:,} without a timestamp; they stay so")
    if report.format == "transcript":
        say("  a transcript has no instructions and no thinking blocks: the host left them out")
    if report.hidden:
        say(f"  {report.hidden:,} hidden by a clear or a reset are not imported; --format jsonl takes them too")
    if report.controls:
        listed = ", ".join(f"{name} {count:,}" for name, count in sorted(report.controls.items()))
        say(f"  control records, not imported: {listed}")
    _show_losses("imported although", report.notes)
    _show_losses("NOT imported", report.not_carried)
    if dry_run:
        say("Nothing was done (--dry-run).")
        return
    named = f"Session {report.session_id}" if report.session_id else "The new session"
    say(f"{named}: {report.path}")


def _show_losses(title: str, losses: Sequence[Loss]) -> None:
    if losses:
        say(f"  {title}: {len(losses):,}")
    for loss in losses[:_MOST_SHOWN]:
        say(f"  - line {loss.line:,}, byte {loss.offset:,}: {loss.reason}")
    if len(losses) > _MOST_SHOWN:
        say(f"  ... and {len(losses) - _MOST_SHOWN:,} more; --json has all")
