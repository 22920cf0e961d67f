"""`context-persistent purge`: remove history for good, from one log or a text from all of them.

Exit codes: 0 done, or there is nothing to remove; 1 done in the logs, but files that were named still hold a text that
was to go; 2 unusable or refused, or some logs were not purged.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import click

from ...clock import utc_now
from ...errors import ContextPersistentError, RecallError
from ...log.database_location import stored_name
from ...messages.replace_in_message import REPLACEMENT
from ...messages.secrets.found import REDACTED
from ...messages.secrets.own_forms import OwnForms
from ...messages.secrets.redact import redact_text
from ...search.pattern import compile_regex, exact_literals, replace_matches
from ..maintenance.purge_options import Purge, PurgeCounts
from ..transfer.erasures import TextRule, rule_of
from ..transfer.host_files import BACKUP_MARK
from ..transfer.purge_session import SessionPurge, plan_places_left, plan_session_purge, purge_session
from .exit_codes import DONE, FINDINGS, UNUSABLE
from .parameters import own_forms_options
from .progress import progress, stages
from .session_argument import complete, complete_turn_or_id, last_path, path_of, sessions_here, storage, storage_option
from .terminal import UnusableError, ask, counted, one_line, reason, say, unusable

Rule = Callable[[str], TextRule]
"""Gives what an import is to replace after a purge, from a salt."""

VACUUM_ADVICE = (
    "The rows are gone. Their bytes leave the server's disk when the table is vacuumed (VACUUM FULL, as its owner), "
    "and stay in its write-ahead log, replicas and backups until those are removed; see docs/postgres.md."
)


@click.command()
@storage_option
@click.argument("session", required=False, shell_complete=complete)
@click.option("--last", is_flag=True, help="The session of this project that was written to last.")
@click.option("--all-sessions", is_flag=True, help="With --redact or --secrets: in all sessions of all projects.")
@click.option(
    "--before", metavar="MESSAGE_ID", shell_complete=complete_turn_or_id, help="Remove everything before this message."
)
@click.option("--cleared", is_flag=True, help="Remove what a clear, a reset or a rewind has hidden.")
@click.option("--everything", is_flag=True, help="Remove every message.")
@click.option("--all", "everything_before", is_flag=True, hidden=True)
@click.option("--redact", metavar="REGEX", help="Replace every match, such as a leaked key, by [redacted].")
@click.option("--secrets", is_flag=True, help="Replace all that exports would redact.")
@own_forms_options
@click.option("--torn", is_flag=True, help="Remove the torn tails that were saved beside the log.")
@click.option("--dry-run", is_flag=True, help="Show what would be removed, and remove nothing.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.pass_context
def purge(
    context: click.Context,
    session: str | None,
    redact: str | None,
    before: str | None,
    *,
    last: bool,
    all_sessions: bool,
    cleared: bool,
    everything: bool,
    everything_before: bool,
    secrets: bool,
    own: OwnForms | None,
    torn: bool,
    dry_run: bool,
    yes: bool,
) -> None:
    """Remove history from a log for good, or a text from all logs.

    Takes one of --before, --cleared, --everything, --redact and --secrets, and --torn beside it or alone. A new file
    replaces the log in one step (in a database, new rows); running sessions go on with it. A transcript.jsonl that an
    import or a fork wrote is brought in step. The host's own copies, exports, reports and backups are not touched; the
    host's copies are named, and the exit code is 1 if one holds a text that was to go. `search --hidden` says whether a
    text is left in a log.

    --redact takes about three times as long as `verify`, the other options less; --secrets takes besides two seconds
    for each 3 MB of text.
    """
    if everything_before:
        everything = True
        click.echo("--all is called --everything now: elsewhere --all means the sessions of all projects", err=True)
    chosen = sum((before is not None, cleared, everything, redact is not None, secrets))
    if chosen > 1 or not (chosen or torn):
        raise click.UsageError(
            "choose exactly one of --before, --cleared, --everything, --redact and --secrets, or --torn"
        )
    if all_sessions and redact is None and not secrets:
        raise click.UsageError("--all-sessions goes with --redact and --secrets")
    if sum((session is not None, last, all_sessions)) != 1:
        raise click.UsageError("name one SESSION: a path, an id, the beginning of one, or --last; or --all-sessions")
    taken = set[str]()
    replace: Callable[[str], str] | None = None
    if redact is not None:
        replace = _replacing(redact, taken)
    elif secrets:
        replace = partial(_without_secrets, own, taken)
    what = Purge(before=before, cleared=cleared, everything=everything, redact=replace, torn=torn)
    rule = partial(rule_of, secrets=secrets, expression=redact or "", taken=taken)
    if all_sessions:
        planned = _plan_all(what)
    else:
        path = path_of(session) if session is not None else last_path()
        planned = [_plan(path, what)]
    context.exit(_purge(planned, what, rule, dry_run=dry_run, yes=yes))


def _plan(path: str, what: Purge) -> SessionPurge:
    """See what would go.

    Raises:
        UnusableError: the log cannot be read, or not be purged so.
    """
    with unusable(path), progress(path, title="looking", passes=2) as files:
        return plan_session_purge(path, what, files=files)


def _plan_all(what: Purge) -> list[SessionPurge]:
    """See what would go from each session; one that cannot be read is named, and does not hide the others."""
    sessions, planned = sessions_here(everywhere=True), list[SessionPurge]()
    with stages() as tell:
        for number, session in enumerate(sessions):
            tell("looking at sessions", number, len(sessions))
            try:
                with unusable(str(session.path)):
                    planned.append(plan_session_purge(str(session.path), what))
            except UnusableError as error:
                planned.append(SessionPurge(str(session.path), error=error.message))
    where = storage() or "all projects"
    found = sum(not one.is_nothing for one in planned)
    say(f"{counted(len(sessions), 'session')} of {where}; something to purge in {found:,}")
    return planned if storage() else planned + plan_places_left(what)


def _purge(planned: list[SessionPurge], what: Purge, rule: Rule, *, dry_run: bool, yes: bool) -> int:
    """Show what would go, ask, and purge; the exit code."""
    unread = [one for one in planned if one.error]
    todo = [one for one in planned if not one.is_nothing]
    for one in unread:
        click.echo(f"NOT READ: {one.error}", err=True)
    for one in todo:
        _show_plan(one, dry_run=dry_run)
    if len(planned) == 1 and not todo and not unread:
        say(f"{planned[0].path}: nothing to purge.")
    for one in planned:
        if one.is_nothing and (one.counts.tails_matching or one.counts.names_matching):
            say(f"{one.path}:")
            _show_counts(one.counts)
    if copies := [copy for one in planned for copy in one.copies if todo or what.redact]:
        held = " that hold it" if what.redact else ""
        say(f"The host keeps copies of its own{held}, which are not touched:")
        for copy in copies:
            say(f"  {copy}")
    is_left = any(one.is_left for one in planned)
    if not todo:
        return _exit_code(is_left=is_left, is_failed=bool(unread))
    if dry_run:
        say("Nothing was done (--dry-run).")
        return UNUSABLE if unread else DONE
    ask("Remove it for good?" if len(todo) == 1 else f"Remove it for good from {len(todo):,} sessions?", yes=yes)
    failed = 0
    for one in todo:
        try:
            is_left |= not _purge_one(one, what, rule)
        except (OSError, ContextPersistentError, ValueError) as error:
            if len(planned) == 1:
                raise UnusableError(f"{one_line(one.path)}: {reason(error)}") from error
            failed += 1
            click.echo(f"NOT PURGED: {one_line(one.path)}: {reason(error)}", err=True)
    done = "Done" if len(planned) == 1 else f"Done: {counted(len(todo) - failed, 'session')} purged"
    say(f"{done}, but files named above still hold what was to go: remove it there too." if is_left else f"{done}.")
    if any(stored_name(one.path) is not None for one in todo):
        say(VACUUM_ADVICE)
    return _exit_code(is_left=is_left, is_failed=bool(unread or failed))


def _show_plan(one: SessionPurge, *, dry_run: bool) -> None:
    """Say what goes from one session, and which of its files."""
    say(f"{one.path}: this {'would be' if dry_run else 'will be'} removed{'' if dry_run else ' for good'}")
    if one.finishes:
        say("  an earlier purge was interrupted; this one finishes it, but what only that one was to remove stays")
    _show_counts(one.counts)
    if one.own is not None:
        say(f"  {one.own}, which an import or a fork wrote, is brought in step")
    for name in one.removed:
        kept = "which a rewind kept" if BACKUP_MARK in name and not name.endswith(".part") else "which was left"
        say(f"  {name}, {kept}, is removed")


def _exit_code(*, is_left: bool, is_failed: bool) -> int:
    """The exit code of a purge; `is_left` says that a named file still holds a text that was to go."""
    if is_failed:
        return UNUSABLE
    return FINDINGS if is_left else DONE


def _purge_one(one: SessionPurge, what: Purge, rule: Rule) -> bool:
    """Purge one session; False if a file that belongs to it still holds what was to go."""
    with progress(one.path, title="purging", passes=2) as files:
        done, because = purge_session(one, what, now=utc_now, rule=rule, files=files)
    if because:
        say(f"{one.own} stays as it is: {because}; close it, then purge again.")
    if done != one.counts:
        say(f"{one.path}: the log had changed in the meantime; this was removed:")
        _show_counts(done)
    return not because


def _replacing(expression: str, taken: set[str]) -> Callable[[str], str]:
    """Make what replaces the matches of an expression, and collects them in `taken`."""
    try:
        pattern = compile_regex(expression)
    except RecallError as error:
        raise click.UsageError(f"--redact: {one_line(str(error).removeprefix('query: '))}") from error
    if pattern.search(""):
        raise click.UsageError("--redact matches the empty text, so it would match everywhere; make it stricter")
    return partial(replace_matches, pattern, REPLACEMENT, taken=taken, literals=exact_literals(expression, pattern))


def _without_secrets(own: OwnForms | None, taken: set[str], text: str) -> str:
    if own is not None:
        taken.update(text[secret.start : secret.end] for secret in own.find(text))
    return redact_text(text, own=own).replace(REDACTED, REPLACEMENT)


def _show_counts(counts: PurgeCounts) -> None:
    lines = (
        (counts.messages_removed, "message", "removed"),
        (counts.messages_redacted, "message", "redacted"),
        (counts.controls_removed, "control record", "removed (plans, receipts and resets that go with them)"),
        (counts.controls_redacted, "control record", "redacted"),
        (counts.unreadable_removed, "unreadable piece", "removed or redacted"),
        (counts.torn_bytes, "byte", "of a torn tail removed"),
        (counts.saved_tails, "saved torn tail", "removed"),
        (counts.tails_matching, "torn tail", "kept although it matches; --torn removes it"),
        (counts.names_matching, "message", "with it in an id, a name or a key, which stay; only delete removes them"),
        (counts.messages_kept, "message", "kept"),
        (counts.unreadable_kept, "unreadable piece", "kept; only --everything removes them"),
        (counts.altered_kept, "altered message", "among those kept; verify reports them"),
    )
    for number, what, fate in lines:
        if number:
            say(f"  {counted(number, what)} {fate}")
