"""List whole sessions with what belongs to them, ask, and delete them, for `delete` and `prune`."""

from __future__ import annotations

import json
import math
import os
import time
from collections.abc import Iterable, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from itertools import groupby
from typing import Any

import click

from ...catalogue.session_list_cache import Glances
from ...clock import utc_now
from ...erasures.erasure_list import lift, note_erasure
from ...erasures.erasure_record import SESSION, Erasure
from ...erasures.purges_of_log import salts_of_purges
from ...errors import ContextPersistentError, DeleteError, LogError
from ...log.database_location import split_location, stored_name
from ...log.open_reader import open_reader
from ...sessions.overview import Overview, held_logs, overview_of
from ...sessions.session_files import SessionFile
from ..transfer.erasing.copies_beside import CopiesBeside, is_second_import, is_under_own_id
from ..transfer.erasing.delete_sessions import Deletion, delete_session, plan_deletion
from ..transfer.erasing.erased_session_names import name_of_id, names_in, names_of_log_alone
from ..transfer.erasing.new_erasure import erasure_of
from ..transfer.erasing.purge_session import remove_left
from ..transfer.host_files.files_beside_log import HOSTS_NAMES
from ..transfer.host_files.own_host_files import own_files
from ..transfer.plain_copies import remove_abandoned_copies
from .confirm import ask, check_can_ask
from .erasing import extent, say_damaged_lists, what_follows
from .error_messages import reason_beside, unusable
from .exit_codes import DONE, FINDINGS, UNUSABLE
from .progress import stages
from .purge import VACUUM_ADVICE
from .session_rows import age, scaled
from .terminal import counted, cut, one_line, say

_LINE_CELLS = 70


def delete_listed(
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
    """List sessions to delete, ask for a confirmation, delete the sessions, and return the exit code.

    Args:
        groups: the sessions, each with its sub-agents' sessions.
        host_files: delete the host's files too.
        dry_run: only list.
        yes: do not ask.
        as_json: print one JSON object.
        left: the files of interrupted operations that were removed before.
        older: delete only sessions without a message since this time.
        scope: words for a deletion of everything, such as "all of the project ."; "" if filters choose sessions.
    """
    check_can_ask(as_json=as_json, yes=yes, dry_run=dry_run)
    if not dry_run:
        remove_abandoned_copies()
    planned = [deletion for group in groups for deletion in plan_deletion(group)]
    todo = [deletion for deletion in planned if not deletion.refused]
    copies = CopiesBeside(without=[str(deletion.seen.session.path) for deletion in todo])
    for deletion in todo:
        path = str(deletion.seen.session.path)
        deletion.staying.copies = copies.of(path)
        deletion.is_copy = bool(deletion.staying.copies) and not is_under_own_id(path)
        deletion.is_second_import = not deletion.is_copy and is_second_import(path, deletion.staying.copies)
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


def clear_up(places: Sequence[tuple[str, list[str]]], *, dry_run: bool, as_json: bool) -> None:
    """Remove the files that killed operations left at places without a log, and print their names."""
    for log, without_own in places:
        with unusable(log):
            left = [*map(str, own_files(log)), *without_own]
        if not as_json:
            say(f"{log}: there is no log; an earlier operation was interrupted, and this finishes it")
            _show_files("goes", left)
        if not dry_run:
            with unusable(log):
                remove_left(left, log)


def looked_at(sessions: Iterable[SessionFile], older: float | None = None) -> list[Overview]:
    """Return the list entries of sessions; with `older`, old ones in a database need not be opened.

    For sessions in a database that were not written to since `older`, the entries that `list` has cached are enough to
    choose them; `_check_age` reads the log of each session before it is deleted. New entries are cached too, so that an
    interrupted call need not read them again.
    """
    sessions = list(sessions)
    not_opened: dict[str, None] = {}  # in the order of the sessions, and found at once among hundreds of thousands
    if older is not None:
        not_opened = dict.fromkeys(str(session.path) for session in sessions if _is_stored_before(session, older))
    cached = Glances()
    cached.expect(not_opened)
    open_logs = held_logs(sessions)
    seen = list[Overview]()
    with stages() as tell:
        for number, session in enumerate(sessions):
            tell("looking at sessions", number, len(sessions))
            glances = cached if str(session.path) in not_opened else None
            seen.append(overview_of(session, open_logs, glances=glances))
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
    seen = overview_of(session, None)
    if seen.error:
        raise DeleteError(f"{seen.error}; nothing was deleted")
    if seen.last_s >= older:
        raise DeleteError("its log has a message since then; nothing was deleted; look again")


def _delete_all(todo: Sequence[Deletion], *, host_files: bool, older: float | None) -> None:
    """Delete sessions. If a session cannot be deleted, print the reason, store it in `refused`, and go on."""
    _wait_for_marks(todo)
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
            why = f"no sync erases its copies, and an import or a sync may bring it back: {deletion.not_noted}"
            click.echo(f"DELETED, NOT NOTED: {one_line(path)}: {why}", err=True)


def _wait_for_marks(todo: Sequence[Deletion]) -> None:
    """Wait until open sessions have said that they are open to databases that have just been started, and print it."""
    paths = [str(deletion.seen.session.path) for deletion in todo]
    storages = {split_location(path)[0] for path in paths if stored_name(path) is not None}
    for storage in sorted(storages):
        from ...log.postgres.list_logs import wait_for_marks  # its driver is an extra

        with suppress(LogError, ValueError):  # the deletion says what is wrong
            wait_for_marks(storage, _tell_wait)


def _tell_wait(seconds: float) -> None:
    which = "the database has just been started"
    click.echo(f"{which}: waiting {math.ceil(seconds)} s until open sessions have said that they are open", err=True)


def _tell_deleted(done: Sequence[Deletion]) -> None:
    """Print which sessions were deleted, and how a person can remove their content from other places."""
    size_bytes = sum(deletion.seen.size_bytes for deletion in done)
    say(f"Deleted {counted(len(done), 'session')}, {scaled(size_bytes, 'kMGT')}B.")
    linked = sum(len(deletion.staying.linked) for deletion in done)
    if linked:
        say(f"The content of {counted(linked, 'file')} stays under other names (hard links); remove those too.")
    if any(stored_name(str(deletion.seen.session.path)) is not None for deletion in done):
        say(VACUUM_ADVICE)


def _delete_one(deletion: Deletion, *, host_files: bool) -> list[str]:
    """Delete a session and return the paths of the removed files.

    The deletion is noted in the list of erasures, so that no import brings the session back. If the note cannot be
    written, `not_noted` has the reason. If only a copy of a session is deleted, no note is written, because the next
    sync would erase the session itself too.
    """
    path = str(deletion.seen.session.path)
    if deletion.is_copy:
        return delete_session(deletion, host_files=host_files)
    erasure = _deletion_of(path, deletion.seen.session.id, by_log_only=deletion.is_second_import)
    noted = list[Erasure]()

    def begin() -> None:
        try:
            note_erasure(erasure, path)
            noted.append(erasure)
        except OSError as error:
            deletion.not_noted = reason_beside(error, path)

    try:
        removed = delete_session(deletion, host_files=host_files, begin=begin)
    except DeleteError:  # the session is unchanged
        lift(noted, path)
        raise
    if deletion.no_record:
        deletion.not_noted = "its archive was damaged, and no name of its messages could be read"
    elif deletion.not_noted:
        with suppress(OSError):  # on a full disk, the deletion has made room for the note
            note_erasure(erasure, path)
            deletion.not_noted = ""
    return removed


def _deletion_of(log: str, session_id: str, *, by_log_only: bool) -> Erasure:
    """Return the erasure that says that the session of a log is deleted.

    Args:
        log: the path of the log, or its location in a database.
        session_id: the id of the session.
        by_log_only: recognise only copies of the log, and not its source.

    Raises:
        LogUnreadableError: the log cannot be read.
    """
    with closing(open_reader(log)) as reader:
        reader.follow()
        names = names_of_log_alone(reader) if by_log_only else names_in(reader)
        messages = tuple(reader.index.columns.id_hashes)
        all_names = (*names.names, name_of_id(session_id))
        names = replace(names, names=all_names, id_hashes=messages, has_all_ids=True)
        return erasure_of(names, SESSION, time=utc_now(), purges=filter(None, salts_of_purges(reader)))


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
    """Return the question before a deletion. It has the words `for good` if no hard link or copy keeps the content."""
    question = f"Delete {counted(len(todo), 'session')}"
    if scope:
        question += f", {scope}"
    if not any(deletion.staying.linked or deletion.staying.shared for deletion in todo):
        question += ", for good" if scope else " for good"
    question += "?"
    unknown = sum(deletion.seen.is_open is None for deletion in todo)
    if unknown:
        question += f" Whether {unknown:,} of them is open is not known."
    return question


def _show(planned: Sequence[Deletion], todo: Sequence[Deletion], *, host_files: bool, scope: str) -> None:
    """Print which files are deleted, which files beside them stay, and which sessions stay."""
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
    projects = [deletion.seen.session.project for deletion in todo]
    size_bytes = sum(deletion.seen.size_bytes for deletion in todo)
    say(extent(projects, size_bytes))
    erased = [str(deletion.seen.session.path) for deletion in todo if not deletion.is_copy]
    say_damaged_lists(erased)
    follows = what_follows(erased) if erased else ""
    if follows:
        say(follows)
    if not host_files and any(deletion.staying.host_files for deletion in todo):
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
    """Print which files a deletion removes, which files stay, and remarks about the session."""
    written_for_host = [name for name in deletion.files if os.path.basename(name) in HOSTS_NAMES]
    removed = [name for name in deletion.files if name not in written_for_host]
    if host_files:
        removed += deletion.staying.host_files
    _show_files("goes", removed)
    _show_files("goes, written for the host by an import or a fork", written_for_host)
    if not host_files:
        _show_files("stays, the host's", deletion.staying.host_files)
    _show_files("stays, perhaps left by a killed writer", deletion.staying.doubtful)
    _show_files("stays, shared by hosts, with all messages", deletion.staying.shared)
    _show_files("stays, another agent's session that was forked from it", deletion.staying.agent_forks)
    if deletion.is_copy:
        _show_files("stays, the same session: only this copy of it is deleted", deletion.staying.copies)
        say(
            "  The session is not noted as erased, and a sync may bring this copy back. To erase it, name all its logs."
        )
    elif deletion.is_second_import:
        _show_files("stays, another import of the same source", deletion.staying.copies)
    else:
        _show_files(
            "stays, a copy of the same session, until the next sync erases it there too", deletion.staying.copies
        )
    if deletion.finishes:
        say("  an earlier deletion was interrupted; this one finishes it")
    _show_files("has another name (hard link), under which its content stays", deletion.staying.linked)
    if deletion.seen.is_open is None:
        say("  whether it is open is not known here")


def _show_files(fate: str, files: Sequence[str]) -> None:
    for directory, inside in groupby(files, os.path.dirname):
        say(f"  {fate}: {os.path.join(directory, '')} {', '.join(map(os.path.basename, inside))}")
