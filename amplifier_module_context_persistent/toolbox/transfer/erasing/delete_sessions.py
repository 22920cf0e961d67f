"""Delete sessions, each together with the files that belong to it.

A session consists of its log, the files that this package wrote beside the log, and its sub-agents' sessions. A fork or
a branch is a session of its own. The host's files beside a log belong to the host: they are reported, and deleted only
if a person asks for it. A `transcript.jsonl` and a `metadata.json` that a fork or an import wrote are deleted, unless
the host has changed them. The copies that a rewind kept are deleted too.

The log is deleted last. So if the deletion is killed, the session is still found, and a second deletion finishes the
first.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ....errors import NO_ROOM, DeleteError, LockTimeoutError, reason_of
from ....log.database_location import stored_name
from ....log.file_handle import size_of_log
from ....log.open_mark import SESSION_IS_OPEN, keep_closed
from ....messages.json_fields import present
from ....paths import why_linked
from ....sessions.delete_log import delete_log, files_of
from ....sessions.overview import Overview
from ....sessions.session_is_open import is_held
from ....sessions.shared_checkpoint import shared_checkpoints
from ....sessions.transcript import log_id_in
from ...maintenance.leftovers import doubtful_parts, files_left
from ...maintenance.note_beside_log import DELETING, WrittenFiles
from ..damaged_log import is_damaged_archive
from ..host_files.files_beside_log import HOSTS_NAMES, is_hosts_log
from ..host_files.find_host_copies import backups, hosts_files
from ..host_files.metadata_lock import lock_path, metadata_lock
from ..host_files.own_host_files import own_files
from .erased_session_names import header_at_start
from .families_of_sub_agents import Families
from .hard_links import catalogue_files, with_other_names
from .noted_agent_forks import agent_forks_of


@dataclass(slots=True)
class FilesThatStay:
    """The files with content of a deleted session that are not deleted with it, or whose content stays."""

    host_files: list[str] = field(default_factory=list)
    """The paths of the host's files beside the log."""
    shared: list[str] = field(default_factory=list)
    """The paths of checkpoints that several hosts share and that have all messages. Checkpoints are not deleted."""
    agent_forks: list[str] = field(default_factory=list)
    """The paths of other agents' sessions that were forked from it; they are not deleted."""
    linked: list[str] = field(default_factory=list)
    """The paths of files that have other names too (hard links): their content stays on the disk."""
    doubtful: list[str] = field(default_factory=list)
    """Partly written files beside the log that may be another program's. The report names these files, and they stay.
    """
    copies: list[str] = field(default_factory=list)
    """The paths of logs that stay and hold the same session."""


@dataclass(slots=True)
class Deletion:
    """A session that is to be deleted."""

    seen: Overview
    files: list[str] = field(default_factory=list)
    """The paths that are deleted: the log, its own files, and the files that we wrote for the host."""
    staying: FilesThatStay = field(default_factory=FilesThatStay)
    parent: str = ""
    """The id of the parent session, for a sub-agent's session; else ""."""
    refused: str = ""
    """The reason why the session must not be deleted; "" if it may be deleted."""
    finishes: bool = False
    """Whether an earlier deletion of the session was interrupted."""
    is_copy: bool = False
    """Whether only a copy is deleted: another log of the session stays, and the deleted log is not under the session's
    own id. Then no erasure of the session is noted."""
    is_second_import: bool = False
    """Whether another import of the same source stays. Then only the erasure of this log is noted."""
    no_record: bool = False
    """Whether the log is an archive that is so damaged that no record of it can be read."""
    not_noted: str = ""
    """The reason why the deletion could not be noted, so that an import may bring the session back; "" if it was noted.
    """

    def to_json(self) -> dict[str, Any]:
        """Return the deletion in plain JSON types."""
        return {
            "session": self.seen.session.id,
            "path": str(self.seen.session.path),
            "sub_agent_of": self.parent or None,
            "messages": self.seen.messages,
            "bytes": self.seen.size_bytes,
            "files": self.files,
            "host_files": self.staying.host_files,
            **present(
                finishes=self.finishes,
                no_record=self.no_record,
                shared_checkpoints=self.staying.shared,
                agent_forks=self.staying.agent_forks,
                linked=self.staying.linked,
                doubtful=self.staying.doubtful,
                same_session=self.staying.copies,
                not_noted=self.not_noted,
                refused=self.refused,
            ),
        }


def with_sub_agents(sessions: Sequence[Overview]) -> Iterator[list[Overview]]:
    """Yield each session together with the sessions of its sub-agents; the session itself is the first item.

    A sub-agent comes after its parent.
    """
    logs: dict[str, dict[str, Path | str]] = {}
    for seen in sessions:
        logs.setdefault(seen.session.project, {})[seen.session.id] = seen.session.path
    families = {project: Families(of_project) for project, of_project in logs.items()}
    lines: dict[str, list[str]] = {}
    for seen in sessions:
        session = seen.session
        lines[str(session.path)] = families[session.project].line_of(session.id) if session.project else [session.id]
    groups: dict[tuple[str, str], list[Overview]] = {}

    def order(seen: Overview) -> tuple[str, int, int, str]:
        session = seen.session
        return session.project, len(lines[str(session.path)]), len(session.id), session.id

    for seen in sorted(sessions, key=order):
        session = seen.session
        root = lines[str(session.path)][-1] if session.project else str(session.path)
        groups.setdefault((session.project, root), []).append(seen)
    yield from groups.values()


def plan_deletion(group: Sequence[Overview]) -> list[Deletion]:
    """Plan the deletion of a session and its sub-agents' sessions. If one deletion is refused, all are refused."""
    main_id = group[0].session.id
    planned = [Deletion(group[0], parent="")]
    planned += [Deletion(sub_agent, parent=main_id) for sub_agent in group[1:]]
    for deletion in planned:
        path = _place_of(deletion)
        try:
            if deletion.seen.error and is_damaged_archive(path):
                deletion.seen = replace(deletion.seen, size_bytes=size_of_log(path), archived=True)
                deletion.no_record = True
            if deletion.seen.error and not deletion.no_record:
                deletion.refused = f"it cannot be read: {deletion.seen.error}"
            else:
                _find_files(deletion, path)
                deletion.refused = why_linked(path) or (SESSION_IS_OPEN if deletion.seen.is_open else "")
        except (OSError, ValueError) as error:
            deletion.refused = f"it cannot be read: {reason_of(error)}"
    refused = [deletion for deletion in planned if deletion.refused]
    if refused:
        first = refused[0]
        reason = f"it belongs together with {first.seen.session.id}: {first.refused}"
        for deletion in planned:
            deletion.refused = deletion.refused or reason
    return planned


def _find_files(deletion: Deletion, path: str) -> None:
    """Fill in the files that are deleted together with a log, and the files that remain."""
    deletion.staying.shared = [str(checkpoint) for checkpoint in shared_checkpoints(path)]
    if stored_name(path) is not None:
        deletion.files = files_of(path)
        return
    ours = [*files_of(path), *files_left(path, HOSTS_NAMES)]
    ours += [str(file) for file in own_files(path) + backups(path)]
    deletion.files = list(dict.fromkeys(ours))
    deletion.staying.host_files = [str(file) for file in hosts_files(path) if str(file) not in ours]
    lock = _lock_left(path)
    if lock:
        with_lock = deletion.staying.host_files or deletion.files  # it is the host's; alone it is deleted with the log
        with_lock.insert(0, lock)
    deletion.staying.agent_forks = [
        agent_fork.path for agent_fork in agent_forks_of(log_id_in([header_at_start(path)]))
    ]
    deletion.staying.doubtful = doubtful_parts(path, HOSTS_NAMES)
    deletion.finishes = WrittenFiles.beside(path).begun == DELETING
    deletion.staying.linked = with_other_names([*deletion.files, *catalogue_files(path)])


def delete_session(
    deletion: Deletion, *, host_files: bool = False, begin: Callable[[], None] = lambda: None
) -> list[str]:
    """Delete a session as planned, and return the paths of the deleted files.

    Args:
        deletion: the result of `plan_deletion`.
        host_files: delete the host's files beside the log too.
        begin: called after all checks, before the first file is deleted.

    Raises:
        Exception: any error of `begin`; nothing was deleted.
        DeleteError: the session must not be deleted, was changed since it was planned, or the system refused; nothing
            was deleted.
        LogError: the log cannot be deleted; a second deletion removes the rest.
        OSError: the note beside the log cannot be removed.
    """
    path = _place_of(deletion)
    if deletion.refused:
        raise DeleteError(deletion.refused)
    if stored_name(path) is not None:
        return delete_log(path, deletion.seen.size_bytes, begin=begin)
    note = WrittenFiles.beside(path)
    before = note.begun

    def begin_noted() -> None:
        begin()
        try:
            note.begin(DELETING)
        except OSError as error:
            if error.errno not in NO_ROOM:  # a deletion makes room; the log goes last, so a killed one is found too
                raise DeleteError(f"{note.path}: {error.strerror or error}; nothing was deleted") from error

    with keep_closed(path) as is_closed:
        if is_closed is False or is_held(path):
            raise DeleteError(SESSION_IS_OPEN)
        ours = {*files_left(path, HOSTS_NAMES), *map(str, own_files(path) + backups(path))} - {*files_of(path)}
        others = [name for name in deletion.files if name in ours]
        if host_files:
            others += [name for name in deletion.staying.host_files if name != _lock_left(path)]
        try:
            removed = delete_log(path, deletion.seen.size_bytes, begin=begin_noted, others=others)
        except DeleteError:
            note.begun = before
            with contextlib.suppress(OSError):  # the next deletion finishes this one
                note.save()
            raise
        note.clear()
    if is_hosts_log(path):
        with contextlib.suppress(OSError):  # the directory contains something else
            os.rmdir(os.path.dirname(path))
    return removed + _remove_lock(path)


def _place_of(deletion: Deletion) -> str:
    """Return the absolute path of the session's log, or its location in a database."""
    path = str(deletion.seen.session.path)
    return path if stored_name(path) is not None else os.path.abspath(path)


def _lock_left(log: str) -> str:
    """Return the path of the lock file for a session's metadata, or "" if no empty file of that name exists."""
    lock = lock_path(Path(log).parent)
    if not is_hosts_log(log) or lock.is_symlink() or not lock.is_file():
        return ""
    is_empty = lock.stat().st_size == 0
    return os.fspath(lock) if is_empty else ""


def _remove_lock(log: str) -> list[str]:
    """Delete the lock file of a session whose directory was deleted, and return its path in a list.

    The list is empty if nothing was deleted, for example because another program holds the lock.
    """
    lock = _lock_left(log)
    if not lock or os.path.lexists(os.path.dirname(log)):
        return []
    with contextlib.suppress(OSError, LockTimeoutError), metadata_lock(Path(log).parent, timeout_s=0):
        os.remove(lock)
        return [lock]
    return []
