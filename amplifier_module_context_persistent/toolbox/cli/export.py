"""`context-persistent export`: write sessions as Markdown, JSON Lines, or in formats of other programs.

Exit codes: 0 done, 1 something could not be read (the rest was exported), 2 nothing was done.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ...errors import ContextPersistentError
from ...log.filesystem import FileSystem
from ...messages.secrets.own_forms import OwnForms
from ...paths import SEALED_ENDING as SEALED
from ...sessions.filters import ALL_SESSIONS, SessionFilter
from ...sessions.session_files import SessionFile
from ..transfer.export_session import FORMATS, Export, export_session
from .error_messages import making, reason, unreadable
from .exit_codes import DONE, FINDINGS
from .filter_options import check_no_filter, chosen_sessions, filter_options
from .list_ import MessageFilter
from .open_transcript import open_transcript, telling_damage
from .own_forms_options import own_forms_options
from .parameters import check_place
from .progress import progress, stages
from .ranges import Span, SpanType, chosen_positions
from .sealed_files import encrypt_to_option, public_keys, reads_sealed
from .session_argument import NAME_ONE, file_name, optional_session_argument, picked
from .terminal import counted, escaped, one_line

if TYPE_CHECKING:
    from pyrage import Recipient

_MOST_SHOWN = 20  # the number of places of secrets to show; --json has all


@click.command("export")
@optional_session_argument
@reads_sealed
@filter_options()
@click.option(
    "--grep", "words", metavar="TEXT", help="Only sessions with a message that contains TEXT, in upper or lower case."
)
@click.option(
    "--format",
    "into",
    type=click.Choice(FORMATS),
    default="markdown",
    metavar="FORMAT",
    help=f"One of {', '.join(FORMATS)}; markdown by default.",
)
@click.option(
    "-o",
    "--output",
    callback=check_place,
    metavar="FILE",
    help="Write to a new file (mode 0600) instead of the standard output; of many sessions, a directory.",
)
@click.option("--turn", "turn_span", type=SpanType(), help="Only this turn, or turns A:B.")
@click.option("--range", "span", type=SpanType(), help="Only this message, or messages A:B.")
@click.option("--no-redact", is_flag=True, help="Keep texts that look like secrets.")
@own_forms_options
@encrypt_to_option
@click.option("--force", is_flag=True, help="Replace FILE if it exists.")
@click.option("--json", "as_json", is_flag=True, help="With -o, print one JSON object about it.")
@click.pass_context
def export(
    context: click.Context,
    path: str | None,
    into: str,
    output: str | None,
    *,
    everywhere: bool,
    wanted: SessionFilter,
    words: str | None,
    turn_span: Span | None,
    span: Span | None,
    no_redact: bool,
    own: OwnForms | None,
    recipients: tuple[str, ...],
    force: bool,
    as_json: bool,
) -> None:
    """Export the live history of SESSION, without its secrets.

    Or that of the sessions that filters choose, into a directory: a file for each, in a directory for each project.

    Secrets are replaced by [REDACTED]: values under sensitive keys, tokens of published formats, passwords in URLs,
    commands, headers and settings. Their number, kinds and places are reported on the standard error, never their
    values; of many sessions the number by kind, and the places with --json. A secret in no known form and without a
    name is not recognised: read an export before you give it away. The search for secrets takes about two seconds for
    each 3 MB of text. With --encrypt-to only the holder of the private key can read the file (age; the extra `seal`).
    """
    how = _Writing(into, not no_redact, own=own, recipients=public_keys(recipients), force=force, as_json=as_json)
    names_none = path is None and not everywhere and wanted == ALL_SESSIONS and words is None
    if names_none:
        path = picked()
    if path is not None:
        check_no_filter(wanted, everywhere=everywhere)
        if words is not None:
            raise click.UsageError("--grep chooses among sessions; give it without SESSION or --last")
        context.exit(_export_one(path, output, turn_span, span, how))
    if names_none:
        raise click.UsageError(f"{NAME_ONE}; or give --all or a filter, and -o DIRECTORY, for many sessions")
    if output in (None, "-") or turn_span or span:
        directory_note = f"{one_line(', '.join(wanted.places))} is a directory; " if wanted.places else ""
        raise click.UsageError(f"{directory_note}many sessions go whole into a directory; name it with -o")
    if words is None:
        sessions = chosen_sessions(wanted, everywhere=everywhere)
    else:
        sessions = _saying(words, wanted, everywhere=everywhere)
    context.exit(_export_many(sessions, str(output), how))


@dataclass(frozen=True)
class _Writing:
    """The options for writing exported sessions and for the report about them."""

    into: str
    redact: bool
    own: OwnForms | None
    recipients: Sequence[Recipient]
    force: bool
    as_json: bool

    def write(
        self, path: str, target: str, *, start: int = 0, stop: int | None = None, files: FileSystem | None = None
    ) -> Export:
        """Write a session to a file, and return the report of the export.

        Arguments and errors are those of `export_session`.
        """
        return export_session(
            path,
            target,
            self.into,
            redact=self.redact,
            own=self.own,
            start=start,
            stop=stop,
            recipients=self.recipients,
            force=self.force,
            files=files,
        )


def _export_one(path: str, output: str | None, turn_span: Span | None, span: Span | None, how: _Writing) -> int:
    """Export a session or a part of it to a file or the standard output, and return the exit code.

    Raises:
        UsageError: an option requires a file.
        UnusableError: the session cannot be read, or the file cannot be written.
    """
    to_file = output not in (None, "-")
    if how.as_json and not to_file:
        raise click.UsageError("--json is about a file; name one with -o")
    if how.recipients and not to_file:
        raise click.UsageError("--encrypt-to seals a file; name one with -o")
    with progress(path) as files:
        transcript = open_transcript(path, files=files)
    with transcript, telling_damage(transcript), unreadable(path):
        starts = transcript.turn_starts() if turn_span else []
        start, stop = chosen_positions(len(transcript), starts, turn_span, span)
        if not to_file:
            export = Export(transcript, how.into, redact=how.redact, own=how.own, start=start, stop=stop)
            for piece in export:
                click.echo(piece.encode("utf-8"), nl=False)
            _tell(export)
            return FINDINGS if export.unread else DONE
    with making(str(output), force=how.force), progress(path, title="exporting") as files:
        written = how.write(path, str(output), start=start, stop=stop, files=files)
    _tell_written(written, str(output), how.into, as_json=how.as_json)
    return FINDINGS if written.unread else DONE


def _tell_written(done: Export, output: str, into: str, *, as_json: bool) -> None:
    """Print how many messages of a session were written to a file, and which secrets were replaced."""
    if not as_json:
        click.echo(escaped(f"{one_line(output)}: {counted(done.messages, 'message')}."), err=True)
        _tell(done)
        return
    written = str(Path(output).absolute())
    counts = {"messages": done.messages, "redacted": done.redacted, "unread_lines": done.unread}
    click.echo(json.dumps({"path": written, "format": into, **counts, "redactions": _places(done)}))


def _places(done: Export) -> list[dict[str, object]]:
    """Return the places of redacted secrets as plain JSON types."""
    return [asdict(redaction) | {"count": count} for redaction, count in done.redactions.items()]


_ENDINGS = {"markdown": ".md", "atif": ".json", "openai": ".json", "anthropic": ".json", "otlp": ".json"}
"""The endings of files by format; files of other formats end with `.jsonl`."""


def _saying(words: str, wanted: SessionFilter, *, everywhere: bool) -> list[SessionFile]:
    """Return the sessions with a message that contains `words`; with `-n`, only the newest of these sessions."""
    sorts = wanted if wanted.most is None else replace(wanted, most=sys.maxsize)  # all of them, the newest first
    sessions = chosen_sessions(sorts, everywhere=everywhere)
    matches = MessageFilter(words, sessions)
    return list(islice(filter(matches.is_found_in, sessions), wanted.most))


def _export_many(sessions: Sequence[SessionFile], directory: str, how: _Writing) -> int:
    """Export each session to its own file, and return the exit code.

    If one session fails, the others are still exported.
    """
    written: list[dict[str, object]] = []
    secrets: Counter[str] = Counter()
    failed: list[dict[str, str]] = []
    ending = _ENDINGS.get(how.into, ".jsonl") + (SEALED if how.recipients else "")
    for session in _with_bar(sessions):
        target = Path(directory, session.project or ".", f"{file_name(session.id)}{ending}")
        try:
            target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            done = how.write(str(session.path), str(target))
        except (OSError, ContextPersistentError, ValueError) as error:
            failed.append({"session": session.id, "error": reason(error)})
            continue
        counts = {"messages": done.messages, "redacted": done.redacted, "unread_lines": done.unread}
        places = {"redactions": _places(done)}
        written.append(
            {"session": session.id, "project": session.project, "path": str(target.absolute()), **counts, **places}
        )
        secrets.update(dict(done.redacted_kinds()))
    if how.as_json:
        click.echo(json.dumps({"format": how.into, "exports": written, "failed": failed}))
    else:
        for report in written:
            click.echo(escaped(one_line(str(report["path"]))))
        for why in failed:
            click.echo(escaped(one_line(f"NOT exported: {why['session']}: {why['error']}")), err=True)
        click.echo(f"{counted(len(written), 'session')} exported.", err=True)
        _tell_secrets(secrets, len([report for report in written if report["redacted"]]))
    if not failed and all(not report["unread_lines"] for report in written):
        return DONE
    return FINDINGS


def _tell_secrets(kinds: Counter[str], sessions: int) -> None:
    """Print the number of redacted secrets in many sessions, by kind."""
    if kinds:
        each = ", ".join(f"{count:,} {kind}" for kind, count in kinds.most_common())
        total = counted(kinds.total(), "secret")
        where = counted(sessions, "session")
        click.echo(
            escaped(f"Redacted in {where}: {total} ({each}); --json says where. --no-redact leaves them."), err=True
        )


def _with_bar(sessions: Sequence[SessionFile]) -> Iterator[SessionFile]:
    """Yield the sessions one by one, and show a progress bar."""
    with stages() as tell:
        for number, session in enumerate(sessions):
            tell("exporting", number, len(sessions))
            yield session


def _tell(export: Export) -> None:
    if export.redacted:
        click.echo(f"{export.what_was_redacted()} --no-redact leaves them.", err=True)
        for redaction, times in list(export.redactions.items())[:_MOST_SHOWN]:
            more = f" ({times:,} times)" if times > 1 else ""
            click.echo(escaped(f"  message {redaction.number}, {redaction.field}: {redaction.kind}{more}"), err=True)
        more_places = len(export.redactions) - _MOST_SHOWN
        if more_places > 0:
            click.echo(f"  and {more_places:,} more places; --json has all", err=True)
    if export.unread:
        lines = counted(export.unread, "line")
        click.echo(f"{lines} of the log cannot be read; context-persistent verify says which.", err=True)
