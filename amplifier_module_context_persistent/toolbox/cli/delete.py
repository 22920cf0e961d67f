"""`context-persistent delete` and `prune`: list whole sessions, ask, and delete them.

Exit codes: 0 done, or there is nothing to delete; 1 some sessions were not deleted, because they are open, cannot
be read, or were written to meanwhile, or a deletion could not be noted; 2 nothing was done.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import click

from ...catalogue.session_list_cache import Glances
from ...clock import utc_now
from ...errors import ContextPersistentError, DeleteError
from ...log.database_location import stored_name
from ...log.file_handle import beginning
from ...paths import LOG_NAME, project_slug
from ...sessions.filters import SessionFilter, is_of_project, matching
from ...sessions.find_session import SessionFile, files_in, session_files
from ...sessions.overview import Overview, held_logs, look_at
from ..maintenance.written_files import DELETING, WrittenFiles
from ..transfer.delete_sessions import Deletion, delete_session, is_fork, plan_deletion, with_sub_agents
from ..transfer.erasure_list import lift, note_erasure
from ..transfer.erasures import SESSION, Erasure, erasure_of, names_in_log
from ..transfer.host_files import HOSTS_NAMES
from ..transfer.plain_copies import remove_abandoned_copies
from ..transfer.purge_session import places_left, remove_left
from .confirm import ask, check_can_ask
from .erasing import check_says_which, erasing_options, extent, say_left_by_age, what_follows
from .error_messages import reason_beside, unreadable, unusable
from .exit_codes import DONE, FINDINGS, UNUSABLE
from .filter_options import filter_options, watched
from .list_ import sessions_of
from .parameters import TimeType, check_place
from .progress import stages
from .purge import VACUUM_ADVICE
from .session_argument import (
    complete,
    no_catalogue_option,
    path_of,
    picked,
    session_file,
    sessions_that_may_belong,
    storage,
    storage_option,
)
from .session_rows import age, scaled
from .terminal import counted, cut, one_line, say

_LINE_CELLS = 70


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

    What goes and what stays is listed first. Forks and branches are sessions of their own and stay. The host's files
    beside the log stay too, and are named; Amplifier lists the session until they are gone (--host-files). Those that
    an import or a fork wrote for the host go with the log. A session that is open is not deleted, nor one whose log
    cannot be read. A deletion that was interrupted is finished by a second one.
    """
    places, paths = _named_by(sessions or (_picked_session(),))
    has_home = storage() or places or any(Path(path).name == LOG_NAME for path in paths)
    others = sessions_that_may_belong(paths) if has_home else []
    named = _sessions_at(paths, others)
    orphans = [one for one in others if any(_lies_below(one.path, log) for log, _ in places)]
    if has_home and not storage():
        places += [place for place in places_left() if any(_lies_below(place[0], one.path) for one in named)]
    _clear_up(places, dry_run=dry_run, as_json=as_json)

    below = [one for one in others if any(_is_below(one, other) for other in (*named, *orphans))]
    each_once = {str(one.path): one for one in (*named, *orphans, *below)}
    groups = []
    for group in with_sub_agents(_looked_at(each_once.values())):
        first = group[0]
        is_orphan = first.session in orphans and not is_fork(first)
        if first.session in named or is_orphan:
            groups.append(group)
    if places and not groups and not as_json:
        return
    left = [name for _, files in places for name in files]
    context.exit(_delete(groups, host_files=host_files, dry_run=dry_run, yes=yes, as_json=as_json, left=left))


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
    """Return the places without a log that names mean, with the files left there; and the paths of the other logs."""
    places_by_name = {name: _places_of(name) for name in names}
    places = [place for name in names for place in places_by_name[name]]
    paths = [path_of(name) for name in names if not places_by_name[name]]
    return places, list(dict.fromkeys(paths))


def _sessions_at(paths: Sequence[str], known: Sequence[SessionFile]) -> list[SessionFile]:
    """Return the session of each path. Some of these sessions are known already."""
    by_path = {str(session.path): session for session in known}
    return [by_path[path] if path in by_path else session_file(path) for path in paths]


@click.command()
@storage_option
@click.argument(
    "directories", metavar="[DIRECTORY]...", nargs=-1, callback=check_place, type=click.Path(file_okay=False)
)
@no_catalogue_option
@filter_options(has_places=False)
@click.option("--older", type=TimeType(), help="Only sessions without a message since then: 90d, 26w, 2026-01-31.")
@click.option("--everything", is_flag=True, help="All sessions are meant, without a filter.")
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

    Without a filter nothing is deleted, unless --everything says that all sessions are meant: of this project, or with
    --all of all projects. --project alone is such a filter, and means all sessions of that project. Those of other
    checkouts of this repository stay. With DIRECTORY, the logs in it (a storage_path), but not those of projects in it.

    All that goes and what stays is listed first, as by `delete`. A session goes together with its sub-agents, if the
    filters choose it; with --older, once the last message of all of them is old enough. One that is open stays, and so
    does one whose log cannot be read: both are named. A deletion that was interrupted is finished.
    """
    check_can_ask(as_json=as_json, yes=yes, dry_run=dry_run)
    if not dry_run:
        remove_abandoned_copies()
    if older is None:
        check_says_which(wanted, everywhere=everywhere, everything=everything, besides="--older or ")
    groups = _groups_to_prune(directories, older, wanted, everywhere=everywhere)
    if older is None and wanted.until_s is not None and not as_json:
        _warn_of_later(groups, wanted.until_s)
    left = []
    if not (directories or storage() or wanted.project):
        left = _left_here(everywhere=everywhere, all_kinds=everything)
    _clear_up(left, dry_run=dry_run, as_json=as_json)
    if left and not groups and not as_json:
        return
    scope = _whole_scope(wanted) if older is None else ""
    context.exit(
        _delete(groups, host_files=host_files, dry_run=dry_run, yes=yes, as_json=as_json, older=older, scope=scope)
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
        chosen = {one.path for one in matching(sessions, wanted, watch=watched)}
    if not chosen and older is None:
        sessions = []  # with `older`, looking at them says which were left out by their age
    seen = _looked_at(sessions, older)
    if older is not None:
        say_left_by_age((one for one in seen if one.session.path in chosen), older)
    groups = []
    for group in with_sub_agents(seen):
        is_chosen = group[0].session.path in chosen
        is_old = older is None or all(one.last_s < older for one in group)
        if is_chosen and is_old and (not directories or _is_surely_log(group[0])):
            groups.append(group)
    return sorted(groups, key=lambda group: group[0].last_s)


def _is_surely_log(seen: Overview) -> bool:
    """Return whether a file in a given directory is a log. Files of other programs may look like logs there."""
    return Path(seen.session.path).name == LOG_NAME or _has_header(seen)


def _whole_scope(wanted: SessionFilter) -> str:
    """Return words for a project that is deleted as a whole; "" if filters choose among its sessions."""
    if wanted.project is None or wanted != SessionFilter(project=wanted.project, excepted=wanted.excepted):
        return ""
    excepted = f" but {', '.join(map(one_line, wanted.excepted))}" if wanted.excepted else ""
    return f"all of the project {one_line(wanted.project)}{excepted}"


def _left_here(*, everywhere: bool, all_kinds: bool) -> list[tuple[str, list[str]]]:
    """Return the places without a log, in this project or all, where killed deletions or operations left files."""
    here = project_slug(".")
    found = []
    for log, left in places_left():
        is_here = everywhere or Path(log).parents[2].name == here
        if is_here and (all_kinds or WrittenFiles.beside(log).begun == DELETING):
            found.append((log, left))
    return found


def _warn_of_later(groups: Sequence[Sequence[Overview]], until_s: float) -> None:
    """Print how many sessions would be deleted as a whole although they have messages after `--until`."""
    later = sum(one.last_s >= until_s for group in groups for one in group)
    if later:
        said = "went on after --until, and would go whole; --older chooses by the last message"
        click.echo(f"{counted(later, 'session')} of these {said}", err=True)


def _own_sessions(directories: Sequence[str], *, everywhere: bool, project: str | None) -> list[SessionFile]:
    """Return the sessions of one project, of all, or in directories, without other checkouts of the repository.

    Raises:
        UsageError: directories and another place are given.
        UnusableError: a directory or the database cannot be read.
    """
    if directories and (everywhere or storage() or project is not None):
        raise click.UsageError("give only one of --all, --project, --storage and DIRECTORY")
    if directories:
        return _logs_in(directories)
    found = sessions_of(SessionFilter(project=project), everywhere=everywhere)
    is_place = project is None or os.path.isdir(project)
    if everywhere or storage() or not is_place:
        return found
    here = {session.path for session in session_files(project_slug(project or "."))}
    return [session for session in found if session.path in here]


def _logs_in(directories: Sequence[str]) -> list[SessionFile]:
    """Return the sessions whose logs are directly in directories, without those of projects in them.

    Raises:
        UnusableError: a directory cannot be read.
    """
    found = []
    for directory in directories:
        with unusable(directory):
            found += files_in(directory)
    return found


def _may_be_old(older: float, *, everywhere: bool, project: str | None) -> list[SessionFile] | None:
    """Return the sessions of the database that may be old; None if the database cannot tell.

    Sessions with a recent message, of their own or of a sub-agent, are left out.

    Raises:
        UnusableError: the database cannot be asked.
    """
    from ...sessions.old_sessions import sessions_unused_since  # needs the extra `postgres`

    with unusable():
        slug = None if everywhere or project is not None else project_slug(".")
        found = sessions_unused_since(storage() or "", older, slug)
    if found is None or project is None:
        return found
    return [session for session in found if is_of_project(session.project, project)]


def _places_of(name: str) -> list[tuple[str, list[str]]]:
    """Return the places for a session's name that have no log, but files that a killed operation left."""
    if storage() is not None or stored_name(name) is not None:
        return []
    if os.sep not in name:
        return list(places_left(name)) if name else []
    path = Path(name)
    directory = path.parent if path.name == LOG_NAME else path
    if not directory.name:
        return []
    found = places_left(directory.name)
    return [(log, left) for log, left in found if Path(log).parent.resolve() == directory.resolve()]


def _clear_up(places: Sequence[tuple[str, list[str]]], *, dry_run: bool, as_json: bool) -> None:
    """Remove the files that killed operations left at places without a log, and print their names."""
    for log, left in places:
        if not as_json:
            say(f"{log}: there is no log; an earlier operation was interrupted, and this finishes it")
            _show_files("goes", left)
        if not dry_run:
            with unusable(log):
                remove_left(left, log)


def _is_below(one: SessionFile, other: SessionFile) -> bool:
    return one.project == other.project and one.id.startswith((f"{other.id}-", f"{other.id}_"))


def _lies_below(path: Path | str, log: Path | str) -> bool:
    """Return whether a log belongs to a sub-agent of another log's session, by the names of the directories."""
    one, other = Path(path), Path(log)
    if not one.name == other.name == LOG_NAME or one.parent.parent != other.parent.parent:
        return False
    return one.parent.name.startswith((f"{other.parent.name}-", f"{other.parent.name}_"))


def _has_header(seen: Overview) -> bool:
    return beginning(seen.session.path, 20).startswith(b'{"_record":"header"')


def _looked_at(sessions: Iterable[SessionFile], older: float | None = None) -> list[Overview]:
    """Return the list entries of sessions; with `older`, old ones in a database need not be opened.

    For sessions in a database that were not written to since `older`, the entries that `list` has cached are enough to
    choose them; `_check_age` reads the log of each session before it is deleted. New entries are cached too, so that an
    interrupted call need not read them again.
    """
    sessions = list(sessions)
    not_opened = dict.fromkeys(
        str(one.path) for one in sessions if older is not None and _is_stored_before(one, older)
    )  # in the order of the sessions, and found at once among hundreds of thousands
    cached = Glances()
    cached.expect(not_opened)
    open_logs = held_logs(sessions)
    seen = list[Overview]()
    with stages() as tell:
        for number, session in enumerate(sessions):
            tell("looking at sessions", number, len(sessions))
            glances = cached if str(session.path) in not_opened else None
            seen.append(look_at(session, open_logs, glances=glances))
    cached.keep()
    return seen


def _is_stored_before(session: SessionFile, older: float) -> bool:
    """Return whether a session is in a database and was last written before a time."""
    return isinstance(session.path, str) and session.modified_s < older


def _check_age(deletion: Deletion, older: float) -> None:
    """Refuse a session in a database if its log has a message since a time, whatever its cached entry says.

    Raises:
        DeleteError: the log has such a message, or cannot be read.
    """
    session = deletion.seen.session
    if stored_name(str(session.path)) is None:  # a file's log has been read already
        return
    seen = look_at(session, None)
    if seen.error:
        raise DeleteError(f"{seen.error}; nothing was deleted")
    if seen.last_s >= older:
        raise DeleteError("its log has a message since then; nothing was deleted; look again")


def _delete(
    groups: Sequence[Sequence[Overview]],
    *,
    host_files: bool,
    dry_run: bool,
    yes: bool,
    as_json: bool,
    left: Sequence[str] = (),
    older: float | None = None,
    scope: str = "",
) -> int:
    """List sessions, ask, delete them, and return the exit code.

    Args:
        groups: the sessions, each with its sub-agents' sessions.
        host_files: delete the host's files too.
        dry_run: only list.
        yes: do not ask.
        as_json: print one JSON object.
        left: the files of interrupted operations that were removed before.
        older: delete only sessions without a message since this time.
        scope: words for what is deleted as a whole; "" if filters choose among sessions.
    """
    check_can_ask(as_json=as_json, yes=yes, dry_run=dry_run)
    if not dry_run:
        remove_abandoned_copies()
    planned = [deletion for group in groups for deletion in plan_deletion(group)]
    todo = [deletion for deletion in planned if not deletion.refused]
    if not as_json:
        _show(planned, todo, host_files=host_files, scope=scope)
    if todo and not dry_run:
        ask(_question(todo, scope), yes=yes)
        _delete_all(todo, host_files=host_files, older=older)
    done = [deletion for deletion in todo if not deletion.refused]
    if as_json:
        result: dict[str, Any] = {
            "dry_run": dry_run,
            "deleted": [deletion.to_json() for deletion in done],
            "kept": [deletion.to_json() for deletion in planned if deletion.refused],
        }
        if left:
            result["left"] = list(left)
        click.echo(json.dumps(result))
    elif dry_run:
        say("Nothing was done (--dry-run).")
    elif todo:
        _tell_deleted(done)
    if len(done) < len(planned):
        return FINDINGS if done else UNUSABLE
    return FINDINGS if any(deletion.not_noted for deletion in done) else DONE


def _delete_all(todo: Sequence[Deletion], *, host_files: bool, older: float | None) -> None:
    """Delete sessions; if one cannot be deleted, print the reason and set it as `refused`."""
    for deletion in reversed(todo):  # sub-agents' sessions first: a second deletion then finds them all
        path = str(deletion.seen.session.path)
        try:
            _check_is_last(deletion, todo)
            if older is not None:
                _check_age(deletion, older)
            deletion.files = _delete_one(deletion, host_files=host_files)
        except (OSError, ContextPersistentError) as error:
            deletion.refused = reason_beside(error, path)
            click.echo(f"NOT DELETED: {one_line(path)}: {deletion.refused}", err=True)
            continue
        if deletion.not_noted:
            why = f"an import may bring it back: {deletion.not_noted}"
            click.echo(f"DELETED, NOT NOTED: {one_line(path)}: {why}", err=True)


def _tell_deleted(done: Sequence[Deletion]) -> None:
    """Print what was deleted, and what a person still has to do to remove the content everywhere."""
    size_bytes = sum(deletion.seen.size_bytes for deletion in done)
    say(f"Deleted {counted(len(done), 'session')}, {scaled(size_bytes, 'kMGT')}B.")
    linked = sum(len(deletion.linked) for deletion in done)
    if linked:
        say(f"The content of {counted(linked, 'file')} stays under other names (hard links); remove those too.")
    if any(stored_name(str(deletion.seen.session.path)) is not None for deletion in done):
        say(VACUUM_ADVICE)


def _delete_one(deletion: Deletion, *, host_files: bool) -> list[str]:
    """Delete a session and return its removed files.

    The deletion is noted, so that no import brings the session back. If it cannot be noted, `not_noted` says why.
    """
    path = str(deletion.seen.session.path)
    erasure = erasure_of(names_in_log(path), SESSION, time=utc_now())
    noted = list[Erasure]()

    def begin() -> None:
        try:
            note_erasure(erasure, path)
            noted.append(erasure)
        except OSError as error:
            deletion.not_noted = reason_beside(error, path)

    try:
        return delete_session(deletion, host_files=host_files, begin=begin)
    except DeleteError:  # the session is unchanged
        lift(noted, path)
        raise


def _check_is_last(deletion: Deletion, todo: Sequence[Deletion]) -> None:
    """Refuse to delete a session if a sub-agent's session would stay.

    Raises:
        DeleteError: a sub-agent's session would stay.
    """
    session = deletion.seen.session
    for other in todo:
        below = other.seen.session
        if other.refused and other.parent == session.id and below.project == session.project:
            raise DeleteError(f"it belongs together with {below.id}, which was not deleted")


def _question(todo: Sequence[Deletion], scope: str) -> str:
    """Return the question before a deletion; it says `for good` only if no content stays under another name."""
    question = f"Delete {counted(len(todo), 'session')}"
    if scope:
        question += f", {scope}"
    if not any(deletion.linked or deletion.shared for deletion in todo):
        question += ", for good" if scope else " for good"
    question += "?"
    unknown = sum(deletion.seen.is_open is None for deletion in todo)
    if unknown:
        question += f" Whether {unknown:,} of them is open is not known."
    return question


def _show(planned: Sequence[Deletion], todo: Sequence[Deletion], *, host_files: bool, scope: str) -> None:
    """Print what is deleted, what stays beside it, and which sessions stay."""
    for deletion in todo:
        _show_session(deletion)
        _show_its_files(deletion, host_files=host_files)
    for deletion in planned:
        if deletion.refused:
            say(f"NOT deleted: {deletion.seen.session.path}: {deletion.refused}")
    if not todo:
        say("no session to delete")
        return
    if scope:
        say(f"This is {scope}.")
    say(extent([one.seen.session.project for one in todo], sum(one.seen.size_bytes for one in todo)))
    if follows := what_follows(str(one.seen.session.path) for one in todo):
        say(follows)
    if not host_files and any(deletion.host_files for deletion in todo):
        say("The host's files stay, and Amplifier lists their sessions; --host-files deletes them too.")


def _show_session(deletion: Deletion) -> None:
    """Print a line about the session of a deletion, its name, and its first line."""
    seen = deletion.seen
    parent = f", a sub-agent's of {deletion.parent}" if deletion.parent else ""
    state = f", {seen.state}" if seen.state != "sound" else ""
    ago = age(time.time() - seen.last_s) if seen.has_time else "?"
    size = f"{scaled(seen.size_bytes, 'kMGT')}B"
    say(f"{seen.session.id}{parent}: {counted(seen.messages, 'message')}, {size}, {ago} old{state}")
    if seen.named.name:
        say(f"  {cut(one_line(seen.named.name), _LINE_CELLS)}")
    if seen.first_line:
        say(f'  "{cut(one_line(seen.first_line), _LINE_CELLS)}"')


def _show_its_files(deletion: Deletion, *, host_files: bool) -> None:
    """Print which files a deletion removes and which ones stay, and what is special about it."""
    written_for_host = [name for name in deletion.files if os.path.basename(name) in HOSTS_NAMES]
    removed = [name for name in deletion.files if name not in written_for_host]
    if host_files:
        removed += deletion.host_files
    _show_files("goes", removed)
    _show_files("goes, written for the host by an import or a fork", written_for_host)
    if not host_files:
        _show_files("stays, the host's", deletion.host_files)
    _show_files("stays, perhaps left by a killed writer", deletion.doubtful)
    _show_files("stays, shared by hosts, with all messages", deletion.shared)
    if deletion.finishes:
        say("  an earlier deletion was interrupted; this one finishes it")
    _show_files("has another name (hard link), under which its content stays", deletion.linked)
    if deletion.seen.is_open is None:
        say("  whether it is open is not known here")


def _show_files(fate: str, files: Sequence[str]) -> None:
    for directory, inside in groupby(files, os.path.dirname):
        say(f"  {fate}: {os.path.join(directory, '')} {', '.join(map(os.path.basename, inside))}")
