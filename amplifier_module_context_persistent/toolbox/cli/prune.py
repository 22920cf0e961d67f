"""`context-persistent prune`: delete the sessions that filters choose, or those that are old.

Exit codes: 0 done, or there is nothing to delete; 1 some sessions were not deleted, because they are open, cannot
be read, or were written to before the deletion, or a deletion could not be noted; 2 nothing was done.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import click

from ...log.file_handle import beginning
from ...paths import LOG_NAME, project_slug
from ...sessions.filters import SessionFilter, is_of_project, matching
from ...sessions.overview import Overview
from ...sessions.session_files import SessionFile, files_in, session_files
from ..maintenance.note_beside_log import DELETING, WrittenFiles
from ..transfer.erasing.delete_sessions import with_sub_agents
from ..transfer.erasing.purge_session import places_left
from ..transfer.plain_copies import remove_abandoned_copies
from .confirm import check_can_ask
from .delete_listed import clear_up, delete_listed, looked_at
from .erasing import check_says_which, erasing_options, say_left_by_age
from .error_messages import unreadable, unusable
from .filter_options import filter_options, watched
from .list_ import sessions_of
from .parameters import TimeType, check_place
from .session_argument import (
    no_catalogue_option,
    say_hidden_sessions,
    storage,
    storage_option,
)
from .terminal import counted, one_line


@click.command()
@storage_option
@click.argument(
    "directories", metavar="[DIRECTORY]...", nargs=-1, callback=check_place, type=click.Path(file_okay=False)
)
@no_catalogue_option
@filter_options(has_places=False)
@click.option("--older", type=TimeType(), help="Only sessions without a message since then: 90d, 26w, 2026-01-31.")
@click.option("--everything", is_flag=True, help="Delete all sessions, without a filter.")
@click.option("--host-files", is_flag=True, help="Also delete the host's files beside the logs.")
@erasing_options
@click.pass_context
def prune(
    context: click.Context,
    directories: tuple[str, ...],
    older: float | None,
    *,
    everywhere: bool,
    wanted: SessionFilter,
    everything: bool,
    host_files: bool,
    dry_run: bool,
    yes: bool,
    as_json: bool,
) -> None:
    """Delete the sessions that filters choose, such as those whose last message is older than a time.

    Without a filter nothing is deleted. --everything means all sessions of this project, or with --all of all projects.
    --project alone is a filter that means all sessions of that project. Sessions of other checkouts of this repository
    stay. DIRECTORY means the logs in it (a storage_path), but not the logs of projects in it.

    The command first lists the files to delete and those that stay, as `delete` does. If the filters choose a session,
    it is deleted together with its sub-agents; with --older, only if the last message of each of them is old enough. A
    session that is open or whose log cannot be read stays and is named. Interrupted deletions are finished.
    """
    check_can_ask(as_json=as_json, yes=yes, dry_run=dry_run)
    if not dry_run:
        remove_abandoned_copies()
    if older is None:
        check_says_which(wanted, everywhere=everywhere, everything=everything, besides="--older or ")
    say_hidden_sessions()
    groups = _groups_to_prune(directories, older, wanted, everywhere=everywhere)
    if older is None and wanted.until_s is not None and not as_json:
        _warn_of_later(groups, wanted.until_s)
    left = []
    if not (directories or storage() or wanted.project):
        left = _left_here(everywhere=everywhere, all_kinds=everything)
    clear_up(left, dry_run=dry_run, as_json=as_json)
    if left and not groups and not as_json:
        return
    scope = _whole_scope(wanted) if older is None else ""
    context.exit(
        delete_listed(
            groups, host_files=host_files, dry_run=dry_run, yes=yes, as_json=as_json, older=older, scope=scope
        )
    )


def _groups_to_prune(
    directories: Sequence[str], older: float | None, wanted: SessionFilter, *, everywhere: bool
) -> list[Sequence[Overview]]:
    """Return the sessions that filters and `older` choose, each with its sub-agents' sessions, the oldest first."""
    sessions = None
    if storage() and older is not None and wanted.most is None and not wanted.excepted:
        sessions = _may_be_old(older, everywhere=everywhere, project=wanted.project)
    if sessions is None:
        sessions = _own_sessions(directories, everywhere=everywhere, project=wanted.project)
    with unreadable():
        chosen = {session.path for session in matching(sessions, wanted, watch=watched)}
    if not chosen and older is None:
        sessions = []  # with `older`, looking at them says which were left out by their age
    overviews = looked_at(sessions, older)
    if older is not None:
        say_left_by_age((overview for overview in overviews if overview.session.path in chosen), older)
    groups = []
    for group in with_sub_agents(overviews):
        is_chosen = group[0].session.path in chosen
        is_old = older is None or all(overview.last_s < older for overview in group)
        if is_chosen and is_old and (not directories or _is_surely_log(group[0])):
            groups.append(group)
    return sorted(groups, key=lambda group: group[0].last_s)


def _is_surely_log(seen: Overview) -> bool:
    """Return whether a file in a given directory is a log. Files of other programs may look like logs there."""
    return Path(seen.session.path).name == LOG_NAME or _has_header(seen)


def _has_header(seen: Overview) -> bool:
    return beginning(seen.session.path, 20).startswith(b'{"_record":"header"')


def _whole_scope(wanted: SessionFilter) -> str:
    """Return words for a project that is deleted as a whole; "" if filters choose among its sessions."""
    if wanted.project is None or wanted != SessionFilter(project=wanted.project, excepted=wanted.excepted):
        return ""
    excepted = f" but {', '.join(map(one_line, wanted.excepted))}" if wanted.excepted else ""
    return f"all of the project {one_line(wanted.project)}{excepted}"


def _left_here(*, everywhere: bool, all_kinds: bool) -> list[tuple[str, list[str]]]:
    """Return the places without a log in which killed operations left files, each with the paths of these files.

    Args:
        everywhere: whether places of all projects are returned, not only of this project.
        all_kinds: whether all operations count, not only deletions.
    """
    this_project = project_slug(".")
    places = []
    for log, files in places_left():
        is_wanted_project = everywhere or Path(log).parents[2].name == this_project
        if is_wanted_project and (all_kinds or WrittenFiles.beside(log).begun == DELETING):
            places.append((log, files))
    return places


def _warn_of_later(groups: Sequence[Sequence[Overview]], until_s: float) -> None:
    """Print how many sessions would be deleted as a whole although they have messages after `--until`."""
    later = 0
    for group in groups:
        later += sum(overview.last_s >= until_s for overview in group)
    if later:
        sessions = counted(later, "session")
        warning = "of these went on after --until, and would go whole; --older chooses by the last message"
        click.echo(f"{sessions} {warning}", err=True)


def _own_sessions(directories: Sequence[str], *, everywhere: bool, project: str | None) -> list[SessionFile]:
    """Return the sessions of one project, of all projects, or in directories, without other checkouts of the project.

    Raises:
        UsageError: directories and another place are given.
        UnusableError: a directory or the database cannot be read.
    """
    if directories and (everywhere or storage() or project is not None):
        raise click.UsageError("give only one of --all, --project, --storage and DIRECTORY")
    if directories:
        return _logs_in(directories)
    sessions = sessions_of(SessionFilter(project=project), everywhere=everywhere)
    names_directory = project is None or os.path.isdir(project)
    if everywhere or storage() or not names_directory:
        return sessions
    paths_of_directory = {session.path for session in session_files(project_slug(project or "."))}
    return [session for session in sessions if session.path in paths_of_directory]


def _logs_in(directories: Sequence[str]) -> list[SessionFile]:
    """Return the sessions whose logs are directly in directories, without logs of projects below them.

    Raises:
        UnusableError: a directory cannot be read.
    """
    sessions = []
    for directory in directories:
        with unusable(directory):
            sessions += files_in(directory)
    return sessions


def _may_be_old(older: float, *, everywhere: bool, project: str | None) -> list[SessionFile] | None:
    """Return the sessions of the database that may be old; None if the database cannot tell.

    Sessions with a recent message, of their own or of a sub-agent, are left out.

    Raises:
        UnusableError: the database cannot be asked.
    """
    from ...sessions.old_sessions import sessions_unused_since  # needs the extra `postgres`

    with unusable():
        if everywhere or project is not None:
            slug = None
        else:
            slug = project_slug(".")
        sessions = sessions_unused_since(storage() or "", older, slug)
    if sessions is None or project is None:
        return sessions
    return [session for session in sessions if is_of_project(session.project, project)]
