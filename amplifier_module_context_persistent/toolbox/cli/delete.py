"""`context-persistent delete`: delete the named sessions.

Exit codes: 0 done, or there is nothing to delete; 1 some sessions were not deleted, because they are open, cannot
be read, or were written to before the deletion, or a deletion could not be noted; 2 nothing was done.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

import click

from ...erasures.erasure_list import erasures, erasures_noted_in
from ...erasures.erasure_record import SESSION
from ...log.database_location import stored_name
from ...paths import LOG_NAME
from ...sessions.overview import Overview
from ...sessions.session_files import SessionFile
from ...sessions.sub_agents import root_of
from ..transfer.erasing.delete_sessions import with_sub_agents
from ..transfer.erasing.erased_session_names import name_of_id
from ..transfer.erasing.erasure_is_about import concerning
from ..transfer.erasing.families_of_sub_agents import belongs_to_any, origin_of, sub_agents_of
from ..transfer.erasing.purge_session import places_left
from .completion import complete
from .delete_listed import clear_up, delete_listed, looked_at
from .erasing import erasing_options
from .error_messages import UnusableError, unusable
from .session_argument import path_of, picked, session_file, sessions_that_may_belong, storage, storage_option
from .terminal import one_line, say


@click.command()
@storage_option
@click.argument("sessions", metavar="SESSION...", nargs=-1, shell_complete=complete)
@click.option("--host-files", is_flag=True, help="Also delete the host's files beside the log.")
@erasing_options
@click.pass_context
def delete(
    context: click.Context, sessions: tuple[str, ...], *, host_files: bool, dry_run: bool, yes: bool, as_json: bool
) -> None:
    """Delete SESSION: its log, what belongs to it, and its sub-agents' sessions.

    The command first lists the files to delete and those that stay. Forks and branches are sessions of their own and
    stay. The host's files beside the log stay too, and are named: Amplifier lists the session until they are deleted
    (--host-files). Files that an import or a fork wrote for the host are deleted with the log. A session is not deleted
    if it is open or if its log cannot be read; a damaged archive may be deleted. If a deletion was interrupted, a
    second one finishes it.
    """
    places, paths = _named_by(sessions or (_picked_session(),))
    has_home = storage() or places or any(Path(path).name == LOG_NAME for path in paths)
    candidates = sessions_that_may_belong(paths) if has_home else []
    chosen = _sessions_at(paths, candidates)
    missing_logs = [log for log, _ in places]
    orphans = sub_agents_of(missing_logs, candidates)
    if has_home and not storage():
        logs = [str(session.path) for session in chosen]
        places += [(log, files) for log, files in places_left() if belongs_to_any(log, logs)]
    clear_up(places, dry_run=dry_run, as_json=as_json)
    groups = _groups_of(chosen, orphans, candidates)
    if not as_json:
        _say_look_alikes(groups, candidates)
    if places and not groups and not as_json:
        return
    left: list[str] = []
    for _, files in places:
        left += files
    context.exit(delete_listed(groups, host_files=host_files, dry_run=dry_run, yes=yes, as_json=as_json, left=left))


def _groups_of(
    chosen: Sequence[SessionFile], orphans: Sequence[SessionFile], candidates: Sequence[SessionFile]
) -> list[Sequence[Overview]]:
    """Return the sessions to delete, each with its sub-agents' sessions.

    Args:
        chosen: the sessions that a person named.
        orphans: sub-agents' sessions of named sessions whose logs are gone already.
        candidates: the sessions among which sub-agents' sessions are looked for.
    """
    roots = [*chosen, *orphans]
    below = sub_agents_of([str(session.path) for session in roots], candidates)
    each_once = {str(session.path): session for session in (*roots, *below)}
    groups = with_sub_agents(looked_at(each_once.values()))
    return [group for group in groups if group[0].session in roots]


def _say_look_alikes(groups: Iterable[Sequence[Overview]], candidates: Sequence[SessionFile]) -> None:
    """Print which sessions stay although their ids begin like that of a session that is deleted."""
    deleted = {str(overview.session.path) for group in groups for overview in group}
    for group in groups:
        root = group[0].session
        for session in candidates:
            is_like = session.project == root.project and root_of(session.id, {root.id}) is not None
            if is_like and str(session.path) not in deleted and not origin_of(session.path).is_fork:
                why = f"nothing says that it is a sub-agent's of {root.id}; name it to delete it too"
                say(f"stays: {one_line(session.id)}: {one_line(why)}")


def _picked_session() -> str:
    """Return the session that a person picks from a list.

    Raises:
        UsageError: none is picked, or there is no terminal.
    """
    chosen = picked()
    if chosen is None:
        raise click.UsageError("name each SESSION: a path, an id or a name; `prune` deletes those that filters choose")
    return chosen


def _named_by(names: Sequence[str]) -> tuple[list[tuple[str, list[str]]], list[str]]:
    """Look up the names that a person gave.

    Returns:
        The places without a log, each with the files left in it; and the paths of the logs.
    """
    places: list[tuple[str, list[str]]] = []
    paths: list[str] = []
    for name in names:
        places_without_log = _places_of(name)
        if places_without_log:
            places += places_without_log
            continue
        day = _day_of_deletion(name)
        if day:
            click.echo(f"{one_line(name)}: already deleted, on {day}", err=True)
        else:
            paths.append(path_of(name))
    return places, list(dict.fromkeys(paths))


def _day_of_deletion(name: str) -> str:
    """Return the day on which a session was deleted.

    Return "" if the session still exists, or if no deletion of a session with this name is noted.

    Args:
        name: what a person gave: the session's whole id, or the path of its log or directory.
    """
    try:
        found_path = path_of(name)
        if stored_name(found_path) is not None or os.path.lexists(found_path):
            return ""
    except UnusableError:
        pass
    path = Path(name)
    session_id = path.parent.name if path.name == LOG_NAME else path.name
    with unusable():
        place = storage()
        # another database may have a session of this id, so this user's own list says nothing of it
        noted = erasures() if place is None else erasures_noted_in(place)
        found = list(concerning(noted, [name_of_id(session_id)]))
    return max((erasure.day for erasure in found if erasure.what == SESSION), default="")


def _sessions_at(paths: Sequence[str], known: Sequence[SessionFile]) -> list[SessionFile]:
    """Return the session of each path: from `known`, or a new object if `known` lacks the path."""
    by_path = {str(session.path): session for session in known}
    return [by_path.get(path) or session_file(path) for path in paths]


def _places_of(name: str) -> list[tuple[str, list[str]]]:
    """Return the places of a session that have no log, but files that a killed operation left.

    Args:
        name: a session's name, or the path of its log or directory.

    Returns:
        For each place the path of the missing log, and the names of the files.
    """
    if storage() is not None or stored_name(name) is not None:
        return []
    if os.sep not in name:
        return list(places_left(name)) if name else []
    path = Path(name)
    directory = path.parent if path.name == LOG_NAME else path
    if not directory.name:
        return []
    resolved = directory.resolve()
    return [(log, files) for log, files in places_left(directory.name) if Path(log).parent.resolve() == resolved]
