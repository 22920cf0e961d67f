"""`context-persistent report` and `reports`: make a page of one session, or pages of many with a list.

Exit codes of `report`: 0 done, 1 some views are not proved, because the log was altered or lacks something, 2 nothing
was made. Of `reports`: 0 done, 1 the reports of some sessions could not be made, 2 nothing was made.
"""

from __future__ import annotations

import json
import webbrowser
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ...errors import ContextPersistentError
from ...hosts import projects_dirs
from ...messages.secrets.own_forms import OwnForms
from ...paths import LOG_NAME
from ...sessions.filters import SessionFilter
from ...sessions.prices import PriceList
from ...sessions.session_files import SessionFile
from ...sessions.sub_agents import with_sub_agents
from ...sessions.transcript import Transcript, session_id_in
from .error_messages import UnusableError, making, reason, unusable
from .exit_codes import DONE, FINDINGS
from .filter_options import chosen_sessions, filter_options
from .open_transcript import open_transcript, telling_damage
from .own_forms_options import own_forms_options
from .parameters import check_place
from .progress import progress, stages
from .ranges import Span, SpanType, chosen_turns
from .sealed_files import reads_sealed
from .session_argument import (
    file_name,
    no_catalogue_option,
    session_argument,
    session_file,
    sessions_here,
    sessions_that_may_belong,
    storage,
    storage_option,
)
from .terminal import counted, escaped, one_line

if TYPE_CHECKING:
    from ..report import MadePages

_MOST_NAMED = 10  # the number of messages with redactions to list


@click.command()
@session_argument
@reads_sealed
@click.option(
    "-o", "--output", callback=check_place, metavar="FILE", help="The new file (mode 0600); else report-SESSION.html."
)
@click.option("--turn", "turn_span", type=SpanType(), help="Only this turn, or turns A:B.")
@click.option(
    "--views",
    type=click.Choice(["some", "all", "none"]),
    default="some",
    show_default=True,
    help="Which views are made again and proved: the first under each plan and up to 100 others, all, or none.",
)
@click.option("--prices", "table", metavar="FILE", help="Prices by model, as JSON; see docs/costs.md.")
@click.option("--no-redact", is_flag=True, help="Keep texts that look like secrets.")
@own_forms_options
@click.option("--force", is_flag=True, help="Replace FILE if it is there.")
@click.option("--open", "opens", is_flag=True, help="Open it in the browser.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object about it.")
@click.pass_context
def report(
    context: click.Context,
    path: str,
    output: str | None,
    turn_span: Span | None,
    views: str,
    table: str | None,
    *,
    no_redact: bool,
    own: OwnForms | None,
    force: bool,
    opens: bool,
    as_json: bool,
) -> None:
    """Make one HTML page of SESSION, to read and to send round.

    The page has the messages turn by turn, calls with their results, the tokens of each request, compactions, and the
    messages that the model saw at each request. It is one file, and a browser needs no network to show it. Secrets are
    replaced by [REDACTED] as in exports; look through a report before you give it away. The search for secrets takes
    about two seconds for each 3 MB of text.
    """
    from ..report import report as make_report  # its template engine is loaded for this command alone

    with progress(path) as files:
        transcript = open_transcript(path, files=files)
    with transcript, telling_damage(transcript):
        page = output or _own_name(transcript)
        with making(page, force=force), stages() as tell:
            page_report = make_report(
                transcript,
                page,
                turns=chosen_turns(transcript.turns(), turn_span),
                views=views,
                redact=not no_redact,
                own=own,
                prices=PriceList.load(table) if table else None,
                force=force,
                sub_agents=_sub_agents(session_file(path), sessions_that_may_belong([path])),
                progress=tell,
            )
    if as_json:
        click.echo(json.dumps({**page_report.to_json(), "views": views}))
    else:
        _say(page_report)
    if opens:
        show_page(page_report.path)
    context.exit(FINDINGS if page_report.views_not_proved else DONE)


@click.command()
@storage_option
@no_catalogue_option
@filter_options()
@click.argument("directory", default="reports", callback=check_place, type=click.Path(file_okay=False))
@click.option(
    "--views",
    type=click.Choice(["some", "all", "none"]),
    default="some",
    show_default=True,
    help="Views to prove, as for `report`.",
)
@click.option("--no-redact", is_flag=True, help="Keep texts that look like secrets.")
@own_forms_options
@click.option("--force", is_flag=True, help="Make all pages again, as if the options were new; replace any index.html.")
@click.option("--open", "opens", is_flag=True, help="Open the list in the browser.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object about them.")
@click.pass_context
def reports(
    context: click.Context,
    directory: str,
    views: str,
    *,
    everywhere: bool,
    wanted: SessionFilter,
    no_redact: bool,
    own: OwnForms | None,
    force: bool,
    opens: bool,
    as_json: bool,
) -> None:
    """Make pages of this project's sessions, or of those that filters choose, and one that lists them.

    The pages are written to DIRECTORY, and index.html lists all reports there. So several projects can have one list.
    A page that is newer than its log is kept. A page that was made here earlier goes if its session is gone.
    """
    from ..report import MadePages, check_index, write_index

    pages = MadePages(directory)
    removed, changed = list[str](), list[str]()
    with making(str(Path(directory) / "index.html"), force=force):
        check_index(directory, force=force)
    if pages.directory.is_dir():
        with unusable(directory):
            removed, changed = pages.remove_gone(_gone_sessions())
        _say_gone(removed, changed)
    try:
        sessions = chosen_sessions(wanted, everywhere=everywhere)
    except UnusableError:
        if pages.is_noted():  # the last session may be gone
            with unusable(directory):
                write_index(directory, force=force)
        raise
    with unusable(directory):
        Path(directory).mkdir(mode=0o700, parents=True, exist_ok=True)
        options = {"views": views, "redact": not no_redact, "own": own}
        made_count, failed = _make_pages(pages, sessions, options, force=force)
        path, listed = write_index(directory, force=force)
    if as_json:
        errors = [{"session": session_id, "error": why} for session_id, why in failed.items()]
        index_changes = {"removed": removed, "changed": changed}
        click.echo(json.dumps({"path": path, "listed": listed, "made": made_count, "failed": errors, **index_changes}))
    else:
        click.echo(escaped(one_line(path)))
        failures = f", {len(failed):,} failed" if failed else ""
        click.echo(f"{counted(listed, 'report')}, {made_count:,} made{failures}.", err=True)
    if opens:
        show_page(path)
    context.exit(FINDINGS if failed else DONE)


def _say_gone(removed: Sequence[str], changed: Sequence[str]) -> None:
    """Print on the error stream which pages of deleted sessions were removed, and which stay."""
    for name in removed:
        click.echo(escaped(f"{one_line(name)}: its session is gone; the page was removed"), err=True)
    for name in changed:
        click.echo(escaped(f"{one_line(name)}: its session is gone; the page was changed, and stays"), err=True)


def _due_pages(
    pages: MadePages, sessions: Sequence[SessionFile], failed: dict[str, str], *, force: bool
) -> list[tuple[str, SessionFile, list[SessionFile]]]:
    """Return the pages that are not current: the name of the file, the session, and its sub-agents.

    The reasons why others failed are added to `failed`, by session.
    """
    due = list[tuple[str, SessionFile, list[SessionFile]]]()
    candidates = sessions_that_may_belong(str(session.path) for session in sessions)
    for session in sessions:
        with _noting_failure(failed, session):
            with open_transcript(str(session.path)) as transcript:
                name = _own_name(transcript)
            below = _sub_agents(session, candidates)
            if force or not pages.is_current(name, session, below):
                pages.begin(name, session, below)
                due.append((name, session, below))
    return due


def _make_pages(
    pages: MadePages, sessions: Sequence[SessionFile], options: dict[str, Any], *, force: bool
) -> tuple[int, dict[str, str]]:
    """Make the pages of sessions that are not current; return their number, and why others failed, by session."""
    from ..report import report as make_report

    failed: dict[str, str] = {}
    due = _due_pages(pages, sessions, failed, force=force)
    if not due:
        return 0, failed
    made_count = 0
    pages.save()
    try:
        with stages() as tell:
            for number, (name, session, below) in enumerate(due):
                tell("making reports", number, len(due))
                with _noting_failure(failed, session), open_transcript(str(session.path)) as transcript:
                    make_report(transcript, pages.directory / name, force=True, sub_agents=below, **options)
                    pages.finish(name)
                    made_count += 1
    finally:
        pages.save()
    return made_count, failed


@contextmanager
def _noting_failure(failed: dict[str, str], session: SessionFile) -> Iterator[None]:
    """Print and note why the page of a session cannot be made, if a `with` block raises an error that says it."""
    try:
        yield
    except (OSError, ContextPersistentError, ValueError, UnusableError) as error:
        failed[session.id] = reason(error)
        click.echo(escaped(f"{one_line(session.id)}: {reason(error)}"), err=True)


def _gone_sessions() -> Callable[[str, str], bool]:
    """Return a function that tells whether a place, of which it gets the hash, no longer has the session with an id.

    Of a place that is not looked at, such as a home on a disk that is not connected, nothing is gone.
    """
    from ..report import place_of

    if storage():
        places = {place_of(f"{storage()}#x")}
    else:
        places = {place_of(root / "p" / "sessions" / "s" / LOG_NAME) for root in projects_dirs() if root.is_dir()}
    ids = {session.id for session in sessions_here(everywhere=True)}
    return lambda place, session_id: place in places and session_id not in ids


def _sub_agents(session: SessionFile, sessions: Sequence[SessionFile]) -> list[SessionFile]:
    """Return those of the given sessions that are sub-agents of a session."""
    path = str(session.path)
    for candidate in sessions:
        if str(candidate.path) == path:
            session = candidate
            break
    return with_sub_agents(session, sessions)[1:]


def show_page(path: str) -> None:
    """Open a page in the browser; print its path if there is no browser."""
    if not webbrowser.open(Path(path).absolute().as_uri()):
        click.echo(escaped(f"There is no browser to open it in: {one_line(path)}"), err=True)


def _own_name(transcript: Transcript) -> str:
    """Return the default file name of a report, made from the session's id without special characters."""
    name = session_id_in(transcript) or Path(transcript.path).stem
    return f"report-{file_name(name)[:80]}.html"


def _say(page_report: Any) -> None:
    click.echo(escaped(one_line(page_report.path)))
    size = (
        f"{page_report.size_bytes / 1e6:,.1f} MB"
        if page_report.size_bytes >= 100_000
        else f"{page_report.size_bytes:,} bytes"
    )
    counts = [counted(page_report.turns, "turn"), counted(page_report.messages, "message"), size]
    if page_report.requests:
        counts.append(f"{counted(page_report.views_proved, 'view')} proved")
    if page_report.views_not_proved:
        counts.append(f"{page_report.views_not_proved:,} not proved")
    click.echo(", ".join(counts), err=True)
    if page_report.redacted:
        click.echo(f"{_redacted(page_report)}; --no-redact leaves them.", err=True)
    if page_report.images_left_out:
        click.echo(
            f"{counted(page_report.images_left_out, 'image')} left out: too large, or of a kind that is not shown.",
            err=True,
        )


def _redacted(page_report: Any) -> str:
    """Return how many secrets were replaced, of which kinds, and in which messages."""
    numbers = page_report.redacted_messages
    listed = ", ".join(f"{number:,}" for number in numbers[:_MOST_NAMED])
    if len(numbers) > _MOST_NAMED:
        listed += f" and {len(numbers) - _MOST_NAMED:,} more"
    messages = "message" if len(numbers) == 1 else "messages"
    kinds = ", ".join(f"{kind} {count:,}" for kind, count in page_report.redacted_kinds.items())
    return f"{counted(page_report.redacted, 'secret')} replaced by [REDACTED] ({kinds}), in {messages} {listed}"
