"""`context-persistent purge`: remove history from logs, or replace a text in logs, permanently.

Exit codes: 0 done, or there is nothing to remove; 1 done in the logs, but files that were named still contain a text
that was to be removed; 2 unusable or refused, or some logs were not purged.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import click

from ...clock import utc_now
from ...erasures.text_rule import TextRule, rule_of
from ...errors import ContextPersistentError, LogError, PurgeError, RecallError
from ...log.database_location import stored_name
from ...messages.replace_in_message import REPLACEMENT
from ...messages.secrets.own_forms import OwnForms
from ...messages.secrets.replace_secrets import secrets_replacement
from ...search.accents import in_either_form
from ...search.pattern import EACH_LINE, compile_regex, exact_literals
from ...search.replace_matches import replace_matches
from ...sessions.filters import ALL_SESSIONS, SessionFilter
from ...sessions.find_session import SessionNameError
from ...sessions.session_files import SessionFile
from ..maintenance.purge_options import Purge
from ..transfer.erasing.copies_beside import CopiesBeside, are_beside
from ..transfer.erasing.families_of_sub_agents import sub_agents_of
from ..transfer.erasing.purge_session import (
    SessionPurge,
    plan_agent_forks,
    plan_places_left,
    plan_session_purge,
    purge_session,
    still_holding,
)
from ..transfer.plain_copies import remove_abandoned_copies
from .completion import complete, complete_turn_or_id
from .confirm import ask, check_can_ask
from .erasing import check_says_which, erasing_options, extent, say_damaged_lists, what_follows
from .error_messages import UnusableError, reason_beside, unusable
from .exit_codes import DONE, FINDINGS, UNUSABLE
from .filter_options import check_no_filter, chosen_sessions, filter_options
from .other_capitals import other_capitals
from .own_forms_options import own_forms_options
from .progress import progress
from .purge_report import PurgeReport
from .session_argument import (
    NAME_ONE,
    find_path,
    last_path,
    name_for_errors,
    no_catalogue_option,
    path_of,
    say_hidden_sessions,
    session_file,
    sessions_here,
    storage,
    storage_option,
)
from .terminal import counted, one_line

Rule = Callable[[str], TextRule]
"""Returns, for a salt, the rule by which a later import replaces the purged texts again."""

VACUUM_ADVICE = (
    "The rows are gone. Their bytes leave the server's disk when the table is vacuumed (VACUUM FULL, as its owner), "
    "and stay in its write-ahead log, replicas and backups until those are removed; see docs/postgres.md."
)


@click.command()
@storage_option
@click.argument("session", required=False, shell_complete=complete)
@click.option("--last", is_flag=True, help="The session of this project that was written to last.")
@no_catalogue_option
@filter_options()
@click.option(
    "--before", metavar="MESSAGE_ID", shell_complete=complete_turn_or_id, help="Remove everything before this message."
)
@click.option("--cleared", is_flag=True, help="Remove messages that a clear, a reset or a rewind hid.")
@click.option("--everything", is_flag=True, help="Remove every message.")
@click.option("--redact", metavar="REGEX", help="Replace every match, such as a leaked key, by [redacted].")
@click.option("--secrets", is_flag=True, help="Replace the secrets that exports recognise.")
@own_forms_options
@click.option("--torn", is_flag=True, help="Remove the torn tails that were saved beside the log.")
@erasing_options
@click.pass_context
def purge(
    context: click.Context,
    session: str | None,
    redact: str | None,
    before: str | None,
    *,
    last: bool,
    everywhere: bool,
    wanted: SessionFilter,
    cleared: bool,
    everything: bool,
    secrets: bool,
    own: OwnForms | None,
    torn: bool,
    dry_run: bool,
    yes: bool,
    as_json: bool,
) -> None:
    """Remove history from a log for good, or a text from all logs.

    Give one of --before, --cleared, --everything, --redact and --secrets, and --torn together with it or alone. Without
    SESSION, the sessions that filters choose are purged; for --redact and --secrets, --all alone means every session
    of all projects.

    A new file replaces the log in one step (in a database, new rows), and running sessions continue with it. A
    transcript.jsonl that an import or a fork wrote is changed too. The host's own copies, exports, reports and backups
    are not changed; the host's copies are named, and the exit code is 1 if one contains a text that was to be removed.
    `search --hidden` tells whether a log still contains a text.

    --redact takes two to three times as long as `verify`, the other options less; --secrets takes two seconds more for
    each 3 MB of text.
    """
    check_can_ask(as_json=as_json, yes=yes, dry_run=dry_run)
    if not dry_run:
        remove_abandoned_copies()
    chosen = (before is not None, cleared, everything, redact is not None, secrets)
    _check_arguments(session, chosen, last=last, torn=torn, everywhere=everywhere)
    is_named = session is not None or last
    removes_texts = secrets or redact is not None
    if is_named:
        check_no_filter(wanted, everywhere=everywhere)
    else:
        _check_says_which(wanted, before, everywhere=everywhere, removes_texts=removes_texts)
    redacted_text = redact or ""
    if redact is not None:
        redact = in_either_form(redact)
    replaced_texts = set[str]()
    replace = _replacement(redact, own, replaced_texts) if removes_texts else None
    what = Purge(before=before, cleared=cleared, everything=everything, redact=replace, torn=torn)
    rule = partial(rule_of, secrets=secrets, expression=redact or "", taken=replaced_texts)
    report = PurgeReport(dry_run=dry_run, as_json=as_json)
    if is_named:
        path = path_of(session) if session is not None else last_path()
        planned = [_plan(path, what)]
        sessions = [session_file(path)]
        _say_sub_agents(sessions[0], what, report)
    else:
        planned, sessions = _plan_chosen(wanted, what, report, everywhere=everywhere)
    _tell_other_capitals(redacted_text, sessions, report)
    context.exit(_purge(planned, sessions, what, rule, report, yes=yes))


def _check_arguments(session: str | None, chosen: Sequence[bool], *, last: bool, torn: bool, everywhere: bool) -> None:
    """Check that one session at most is named, and that exactly one kind of purge is chosen.

    Raises:
        click.UsageError: the arguments contradict each other, or say too little.
    """
    if session is not None and not any(chosen) and not torn:
        _check_is_session(session)
    _check_is_one(chosen, torn=torn, all_=everywhere)
    if session is not None and last:
        raise click.UsageError(NAME_ONE)


def _check_says_which(wanted: SessionFilter, before: str | None, *, everywhere: bool, removes_texts: bool) -> None:
    """Refuse a purge that names no session and has no filter, unless it removes texts from all sessions or in a place.

    Raises:
        click.UsageError: the purge is refused, or `before` is given, which is about one session.
    """
    if before is not None:
        raise click.UsageError(f"--before is about one session: {NAME_ONE}")
    takes_all = removes_texts and (everywhere or bool(wanted.places))
    check_says_which(wanted, everywhere=everywhere, everything=takes_all, besides="SESSION, --last, ")


def _tell_other_capitals(expression: str, sessions: Sequence[SessionFile], report: PurgeReport) -> None:
    """Say how many messages hold a text in other capitals alone. `expression` is the searched one, or ""."""
    if expression:
        report.other_capitals, hint = other_capitals(expression, sessions)
        if hint:
            report.say(hint)


def _plan_chosen(
    wanted: SessionFilter, what: Purge, report: PurgeReport, *, everywhere: bool
) -> tuple[list[SessionPurge], list[SessionFile]]:
    """Return the plans for the sessions that filters choose, and the sessions.

    Without a filter, with `--all`, also plan for the places without a log where files are left.
    """
    say_hidden_sessions()
    is_all = everywhere and wanted == ALL_SESSIONS
    sessions = sessions_here(everywhere=True) if is_all else chosen_sessions(wanted, everywhere=everywhere)
    planned = _plan_all(sessions, what, report)
    if is_all and not storage():
        planned += plan_places_left(what)
        with unusable():
            planned += plan_agent_forks(what, planned)
    return planned, sessions


def _replacement(redact: str | None, own: OwnForms | None, replaced_texts: set[str]) -> Callable[[str], str]:
    """Return a function that replaces the matches of an expression, or all secrets if `redact` is None.

    The function adds each text that it replaces to `replaced_texts`.

    Raises:
        UsageError: the expression is invalid.
    """
    if redact is not None:
        return _replacing(redact, replaced_texts)
    return secrets_replacement(own, replaced_texts)


def _check_is_session(name: str) -> None:
    """Check that the argument of a purge without options is a session's name, because it may be the text to remove.

    Raises:
        UsageError: there is no such session; the message says how to replace a text.
    """
    try:
        find_path(name)
    except (SessionNameError, ValueError, OSError, LogError) as error:
        command = shlex.join(["context-persistent", "purge", "--redact", re.escape(name), "--all"])
        shown_name = one_line(name_for_errors(name))
        raise click.UsageError(f"no session is called {shown_name}; to replace a text everywhere: {command}") from error


def _check_is_one(chosen: Sequence[bool], *, torn: bool, all_: bool) -> None:
    """Check that exactly one kind of content to remove was chosen, or only torn tails."""
    if sum(chosen) > 1 or not (any(chosen) or torn):
        hint = ". --all means the sessions of all projects; every message is --everything" if all_ else ""
        raise click.UsageError(
            f"choose exactly one of --before, --cleared, --everything, --redact and --secrets, or --torn{hint}"
        )


def _passes(what: Purge) -> int:
    """Return the number of times that most logs are read for the plan."""
    return 1 if what.redact is not None else 2


def _plan(path: str, what: Purge) -> SessionPurge:
    """Find out what a purge would do to one log, and return the plan.

    Raises:
        UnusableError: the log cannot be read, or cannot be purged in this way.
    """
    with unusable(path), progress(path, title="looking", passes=_passes(what)) as files:
        return plan_session_purge(path, what, files=files)


def _plan_all(sessions: Sequence[SessionFile], what: Purge, report: PurgeReport) -> list[SessionPurge]:
    """Return the plan for each session; for a session that cannot be read, the plan has the error."""
    planned = list[SessionPurge]()
    paths = [str(session.path) for session in sessions]
    with progress(*paths, title="looking at sessions", passes=_passes(what)) as files:
        for path in paths:
            try:
                with unusable(path):
                    planned.append(plan_session_purge(path, what, files=files))
            except UnusableError as error:
                planned.append(SessionPurge(path, error=error.message))
    count = sum(not purge.is_nothing for purge in planned)
    where = f" in {storage()}" if storage() else ""
    report.say(f"{counted(len(sessions), 'session')} looked at{where}; something to purge in {count:,}")
    return planned


def _say_copies(planned: Sequence[SessionPurge], what: Purge, report: PurgeReport) -> bool:
    """Print which other logs of the purged sessions have the removed content; these logs do not change before a sync.

    Return whether such a log is beside the purged session. A purge of a copy that a person took elsewhere is
    complete without the session from which the copy was made.
    """
    copies = CopiesBeside(without=[session.path for session in planned])
    is_left = False
    for session in planned:
        if session.error:
            continue
        for other in copies.of(session.path):
            if _holds_nothing(other, what):
                continue
            is_left = is_left or are_beside(other, session.path)
            same = f"{one_line(other)} is the same session as {one_line(session.path)}"
            report.say(f"{same}, and holds it too: it is left as it is now, and the next sync erases this there too.")
            session.remaining.copies.append(f"{other}: a copy of the same session")
    return is_left


def _holds_nothing(log: str, what: Purge) -> bool:
    """Return whether a purge would remove nothing from a log; False if the log cannot be read."""
    try:
        return plan_session_purge(log, what).is_nothing
    except (OSError, ContextPersistentError, ValueError):
        return False


def _purge(
    planned: list[SessionPurge],
    sessions: Sequence[SessionFile],
    what: Purge,
    rule: Rule,
    report: PurgeReport,
    *,
    yes: bool,
) -> int:
    """Print what a purge would remove, ask for a confirmation, purge, and return the exit code.

    Args:
        planned: the plan for each session.
        sessions: the sessions that were looked at, each with its project.
        what: the options.
        rule: makes the rule for later imports.
        report: gets all that is printed.
        yes: whether the question is answered already.

    Raises:
        UnusableError: a session cannot be purged.
    """
    unread = [session for session in planned if session.error]
    todo = [session for session in planned if not session.is_nothing]
    _show_plan(planned, what, report)
    is_left = bool(report.sub_agents) or any(session.remaining.is_certain for session in planned)
    if not what.is_torn_only:
        is_left = _say_copies(planned, what, report) or is_left
    if not todo:
        report.end(planned, [])
        return _exit_code(is_left=is_left, is_failed=bool(unread))
    _say_extent(todo, sessions, report)
    say_damaged_lists(session.path for session in todo)
    follows = "" if what.is_torn_only else what_follows(session.path for session in todo)
    if follows:
        report.say(follows)
    if report.dry_run:
        report.say("Nothing was done (--dry-run).")
        report.end(planned, todo)
        return UNUSABLE if unread else DONE
    from_many = f" from {len(todo):,} sessions" if len(todo) > 1 else ""
    ask(f"Remove it for good{from_many}?", yes=yes)
    purged, are_complete = _purge_each(todo, what, rule, report, was_asked=not yes, is_only=len(planned) == 1)
    outcome = "Done" if len(planned) == 1 else f"Done: {counted(len(purged), 'session')} purged"
    is_left = is_left or not are_complete
    if is_left:
        report.say(f"{outcome}, but files named above still hold what was to go: remove it there too.")
    else:
        report.say(f"{outcome}.")
    if any(stored_name(session.path) is not None for session in todo):
        report.say(VACUUM_ADVICE)
    report.end(planned, purged)
    return _exit_code(is_left=is_left, is_failed=bool(unread) or len(purged) < len(todo))


def _purge_each(
    todo: Sequence[SessionPurge], what: Purge, rule: Rule, report: PurgeReport, *, was_asked: bool, is_only: bool
) -> tuple[list[SessionPurge], bool]:
    """Purge sessions, and print which could not be purged.

    Args:
        todo: the plan for each session.
        what: the options.
        rule: makes the rule for later imports.
        report: gets all that is printed.
        was_asked: whether a person saw the plans, so that nothing more may be removed.
        is_only: whether the command is about one session.

    Returns:
        The purged sessions, and whether none of their files still holds what was to go.

    Raises:
        UnusableError: the only session cannot be purged.
    """
    purged = list[SessionPurge]()
    are_complete = True
    for session in todo:
        try:
            if was_asked:
                _check_removes_no_more(session, what)
            are_complete = _purge_one(session, what, rule, report) and are_complete
        except (OSError, ContextPersistentError, ValueError) as error:
            reason = reason_beside(error, session.path)
            if is_only:
                raise UnusableError(f"{one_line(session.path)}: {reason}") from error
            report.failed("NOT PURGED", session.path, reason)
            continue
        purged.append(session)
    return purged, are_complete


def _check_removes_no_more(planned: SessionPurge, what: Purge) -> None:
    """Check that a purge would remove no messages that were added or hidden after a person saw the list.

    Raises:
        PurgeError: it would.
        OSError, ContextPersistentError: the log cannot be read.
    """
    if what.redact is not None or what.is_torn_only:
        return
    more = plan_session_purge(planned.path, what).counts.messages_removed - planned.counts.messages_removed
    if more > 0:
        added = counted(more, "more message")
        raise PurgeError(f"{added} would go now than when you were asked; nothing was purged; look again")


def _say_sub_agents(parent: SessionFile, what: Purge, report: PurgeReport) -> None:
    """Print which sessions of sub-agents a purge of their parent leaves, and note those that hold the text."""
    if what.is_torn_only:
        return
    below = sub_agents_of([str(parent.path)], sessions_here(everywhere=True))
    holding = [session for session in below if not _holds_nothing(str(session.path), what)]
    whose = f"a sub-agent's session of {one_line(parent.id)}"
    for session in holding:
        holds = "holds it too" if what.redact else "is not purged"
        report.say(f"{one_line(str(session.path))}, {whose}, {holds}: purge it by its id.")
    if what.redact is not None:
        report.sub_agents = [str(session.path) for session in holding]


def _show_plan(planned: Sequence[SessionPurge], what: Purge, report: PurgeReport) -> None:
    """Print the content that a purge would remove from each session, and the places that a purge cannot change."""
    unread = [session for session in planned if session.error]
    todo = [session for session in planned if not session.is_nothing]
    for session in unread:
        report.failed("NOT READ", session.path, session.error)
    for session in todo:
        report.plan(session)
    if len(planned) == 1 and not todo and not unread:
        report.say(f"{planned[0].path}: nothing to purge.")
    for session in planned:
        counts = session.counts
        matches_elsewhere = counts.tails_matching or counts.names_matching or session.remaining.is_id_matching
        if session.is_nothing and matches_elsewhere:
            report.say(f"{session.path}:")
            report.counts(counts)
            report.session_id(session)
    copies: list[Any] = []
    if todo or what.redact:
        for session in planned:
            copies += session.remaining.copies
    if copies:
        with_match = " that hold it" if what.redact else ""
        report.say(f"The host or another agent keeps copies{with_match}, which are not touched:")
        for copy in copies:
            report.say(f"  {copy}")


def _say_extent(todo: Sequence[SessionPurge], sessions: Sequence[SessionFile], report: PurgeReport) -> None:
    """Print the number of sessions, their projects, and the size of their logs."""
    project_of_path = {str(session.path): session.project for session in sessions}
    projects = [project_of_path.get(purge.path, "") for purge in todo]
    size = sum(purge.counts.bytes_before for purge in todo)
    report.say(extent(projects, size))


def _exit_code(*, is_left: bool, is_failed: bool) -> int:
    """Return the exit code; `is_left` says that a named file still contains a text that was to be removed."""
    if is_failed:
        return UNUSABLE
    return FINDINGS if is_left else DONE


def _purge_one(planned: SessionPurge, what: Purge, rule: Rule, report: PurgeReport) -> bool:
    """Purge one session; return False if one of its files still contains content that the purge should have removed."""
    with progress(planned.path, title="purging", passes=2) as files:
        done, because = purge_session(planned, what, now=utc_now, rule=rule, files=files)
    if because:
        report.say(f"{planned.own} stays as it is: {because}; close it, then purge again.")
    still = still_holding(planned, what)
    for file in still:
        report.say(f"Still left, in a field that a purge does not change, or not to be written: {file}")
    planned.remaining.copies += still
    if done != planned.counts:
        report.say(f"{planned.path}: the log had changed in the meantime; this was removed:")
        report.counts(done)
    return not (because or still)


def _replacing(expression: str, taken: set[str]) -> Callable[[str], str]:
    """Return a function that replaces the matches of an expression, and adds the matches to `taken`."""
    try:
        pattern = compile_regex(expression, EACH_LINE)
    except RecallError as error:
        raise click.UsageError(f"--redact: {one_line(str(error).removeprefix('query: '))}") from error
    if pattern.search(""):
        raise click.UsageError("--redact matches the empty text, so it would match everywhere; make it stricter")
    return partial(replace_matches, pattern, REPLACEMENT, taken=taken, literals=exact_literals(expression, pattern))
