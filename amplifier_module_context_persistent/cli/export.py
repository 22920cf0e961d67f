"""`context-persistent export` and `import`: sessions to and from other formats.

Exit codes: 0 done, 1 something could not be read (the rest was taken over), 2 nothing was done.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from ..errors import ContextPersistentError
from ..transcript.transcript import Transcript
from ..transfer.copy import Loss
from ..transfer.export import FORMATS as EXPORT_FORMATS
from ..transfer.export import Export, export_session, redacted_values
from ..transfer.import_ import FORMATS as IMPORT_FORMATS
from ..transfer.import_ import Import, import_session
from .progress import progress
from .session_argument import session_argument
from .spans import Span, SpanType, chosen_places
from .terminal import UnusableError, escaped, one_line, open_transcript, reason

_MOST_SHOWN = 50  # lines that could not be imported; --json has all
_LOST = 1


@click.command("export")
@session_argument
@click.option(
    "--format",
    "into",
    type=click.Choice(EXPORT_FORMATS),
    default="markdown",
    show_default=True,
    help="For people, every message as it is, or what the host's command line writes.",
)
@click.option("-o", "--output", metavar="FILE", help="Write to a new file (mode 0600); else to the standard output.")
@click.option("--turn", "turn_span", type=SpanType(), help="Only this turn, or turns A:B.")
@click.option("--range", "span", type=SpanType(), help="Only this message, or messages A:B.")
@click.option("--no-redact", is_flag=True, help="Leave in what looks like a secret.")
@click.option("--force", is_flag=True, help="Replace FILE if it is there.")
@click.option("--json", "as_json", is_flag=True, help="With -o, print one JSON object about it.")
@click.pass_context
def export(
    context: click.Context,
    path: str,
    into: str,
    output: str | None,
    *,
    turn_span: Span | None,
    span: Span | None,
    no_redact: bool,
    force: bool,
    as_json: bool,
) -> None:
    """Export the live history of SESSION.

    Secrets are replaced by [REDACTED]: what stands under the keys that amplifier-core redacts, and tokens of common
    formats. How many there were is said on the standard error. What has no known form is not recognised: look through
    an export before you give it away.
    """
    if as_json and output in (None, "-"):
        raise click.UsageError("--json is about a file; name one with -o")
    with progress(path) as files:
        transcript = open_transcript(path, files=files)
    with transcript:
        start, stop = _places(transcript, turn_span, span)
        if output in (None, "-"):
            export = Export(transcript, into, redact=not no_redact, start=start, stop=stop)
            _to_stdout(export)
            _tell(export)
            context.exit(_LOST if export.unread else 0)
    try:
        with progress(path, title="exporting") as files:
            done = export_session(
                path, str(output), into, redact=not no_redact, start=start, stop=stop, force=force, files=files
            )
    except FileExistsError as error:
        hint = "" if force else "; --force replaces a file"
        raise UnusableError(f"{one_line(str(output))}: {reason(error)}{hint}") from error
    except (OSError, ContextPersistentError, ValueError) as error:
        raise UnusableError(f"{_named(error, str(output))}: {reason(error)}") from error
    if as_json:
        place = str(Path(str(output)).absolute())
        counts = {"messages": done.messages, "redacted": done.redacted, "unread_lines": done.unread}
        click.echo(json.dumps({"path": place, "format": into, **counts}))
    else:
        click.echo(escaped(f"{one_line(str(output))}: {_count(done.messages, 'message')}."), err=True)
        _tell(done)
    context.exit(_LOST if done.unread else 0)


@click.command("import")
@click.argument("file", metavar="FILE", type=click.Path())
@click.option("--session", "session_id", metavar="ID", help="The new session's id; else a new one.")
@click.option("-o", "--output", metavar="PATH", help="The new log's file; else it lies with this project's sessions.")
@click.option(
    "--format",
    "source_format",
    type=click.Choice(IMPORT_FORMATS),
    default="auto",
    show_default=True,
    help="What FILE is. All but auto and log take every message, also those that a log's resets hid.",
)
@click.option("--dry-run", is_flag=True, help="Show what would be carried over, and write nothing.")
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
    read are reported and passed over. Ids and timestamps are kept. A log that is there is never touched.
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
        raise UnusableError(f"{_named(error, file)}: {reason(error)}") from error
    if as_json:
        click.echo(json.dumps({**report.to_json(), "dry_run": dry_run}))
    else:
        _show(report, dry_run=dry_run)
    context.exit(_LOST if report.not_carried else 0)


def _places(transcript: Transcript, turn_span: Span | None, span: Span | None) -> tuple[int, int]:
    try:
        turns = transcript.turns() if turn_span else []
    except OSError as error:
        raise UnusableError(f"{one_line(transcript.path)}: {reason(error)}") from error
    return chosen_places(len(transcript), turns, turn_span, span)


def _to_stdout(export: Export) -> None:
    pieces = iter(export)
    while True:
        try:
            piece = next(pieces, None)
        except (OSError, ContextPersistentError) as error:
            raise UnusableError(reason(error)) from error
        if piece is None:
            break
        click.echo(piece.encode("utf-8"), nl=False)


def _tell(export: Export) -> None:
    if export.redacted:
        click.echo(f"{redacted_values(export.redacted)} --no-redact leaves them.", err=True)
    if export.unread:
        lines = _count(export.unread, "line")
        click.echo(f"{lines} of the log cannot be read; context-persistent verify says which.", err=True)


def _show(report: Import, *, dry_run: bool) -> None:
    roles = ", ".join(f"{role} {count:,}" for role, count in sorted(report.roles.items()))
    done = "would be carried over" if dry_run else "carried over"
    kind = {"log": "a log", "older": "a file of the older module", "transcript": "a host's transcript"}
    _say(f"{report.source}: {kind.get(report.format, 'JSON Lines')}")
    _say(f"  {_count(report.messages, 'message')} {done} ({roles})")
    if report.derived_ids:
        _say(f"  {report.derived_ids:,} without an id; each has one now")
    if report.renamed:
        _say(f"  {len(report.renamed):,} with another one's id; each has one of its own now")
    if report.without_timestamp:
        _say(f"  {report.without_timestamp:,} without a timestamp; they stay so")
    if report.format == "transcript":
        _say("  a transcript has no instructions and no thinking blocks: the host left them out")
    if report.hidden:
        _say(f"  {report.hidden:,} hidden by a clear or a reset stay behind; --format jsonl takes them, too")
    if report.controls:
        listed = ", ".join(f"{name} {count:,}" for name, count in sorted(report.controls.items()))
        _say(f"  control records that stay behind: {listed}")
    _show_losses("carried over although", report.notes)
    _show_losses("NOT carried over", report.not_carried)
    if dry_run:
        _say("Nothing was done (--dry-run).")
        return
    named = f"Session {report.session_id}" if report.session_id else "The new session"
    _say(f"{named}: {report.path}")


def _show_losses(title: str, losses: Any) -> None:
    if losses:
        _say(f"  {title}: {len(losses):,}")
    loss: Loss
    for loss in losses[:_MOST_SHOWN]:
        _say(f"  - line {loss.line:,}, byte {loss.offset:,}: {loss.reason}")
    if len(losses) > _MOST_SHOWN:
        _say(f"  ... and {len(losses) - _MOST_SHOWN:,} more; --json has all")


def _named(error: Exception, otherwise: str) -> str:
    """What an error is about."""
    named = getattr(error, "filename", None)
    return one_line(str(named or otherwise))


def _say(text: str) -> None:
    click.echo(escaped(one_line(text)))


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"
