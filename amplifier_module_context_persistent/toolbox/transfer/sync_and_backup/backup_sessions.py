"""A backup of a home's sessions: a directory with a copy of each log. A copy is only appended to.

Rules:
- The home is not changed, and nothing in the backup is lost. If a copy is not the beginning of its log any more, it is
  renamed ("set aside") before the log is copied again.
- Two things in a backup can still hold erased content: copies that were set aside because of a purge, and sessions that
  were deleted in the home. Each run reports them, and `erase_held` deletes them if a person asks for it.
- The lines of the home's list of erasures, which say what was deleted or purged there, are copied to the backup's own
  list.
- If a backup is killed, each copy is whole or ends earlier; the next run continues from there.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from enum import Enum
from itertools import chain, count
from pathlib import Path
from typing import Any, cast

from ....erasures.erasure_list import BACKUP_NAME, lift_in, note_erasures, read_erasures
from ....erasures.erasure_record import Erasure
from ....errors import ContextPersistentError, reason_of
from ....log.atomic_file import NewFile
from ....log.database_location import refuse_other_url, stored_name
from ....log.filesystem import FileSystem
from ....log.open_reader import open_reader
from ....paths import LOG_NAME
from ....sessions.raw_records import StoredLog
from ....sessions.session_files import SessionFile
from ..archive_session import archive_like
from ..damaged_log import damage_in
from ..erasing.erased_session_names import names_in
from ..erasing.erasure_is_about import concerning
from ..erasing.hard_links import with_other_names
from ..host_files.write_host_files import is_unfinished, making_session, write_host_files
from .append_to_copy import append_to_copy
from .copy_in_form import copy_in_form, size_in_form
from .relation_of_copies import Relation, compare_logs, why_damaged
from .room_for_copies import Room, room_of_more, room_of_new_copy
from .sync_erasures import ErasingStep, carry_out_erasing, finish_deletions, plan_erasing
from .sync_host_files import host_files_made
from .sync_sides import Side
from .sync_step import pairs_of
from .what_disk_takes import why_copy_distrusted, why_name_refused, why_read_only

BEFORE_PURGE, REPLACED = ".before-purge-", ".replaced-"
"""The suffixes of a copy that was set aside: because the log was purged, or because another log replaced it."""


class BackupError(ContextPersistentError, ValueError):
    """Raised if a directory is not a backup and cannot become one; nothing was changed."""


class Done(Enum):
    """The action that a backup takes for one session."""

    SAME = "same"
    NEW = "new"
    MORE = "more"
    ANEW = "anew"
    """The copy is set aside, and the log is copied again."""
    ERASED = "erased"
    """The session was erased, and is not restored."""
    LEFT = "left"
    """The session's copy is not changed; `BackupStep.why` gives the reason."""


_RESTORE = "to have the copy in its place, remove the log, and `context-persistent backup DIR --restore`"


@dataclass(frozen=True, slots=True)
class BackupStep:
    """The action for one session, with its source and its copy: as planned, or the result (`carry_out`)."""

    session_id: str
    what: Done
    source: str = ""
    target: str = ""
    new_bytes: int = 0
    aside: str = ""
    """The new path of the old copy, if the backup sets it aside; else ""."""
    why: str = ""
    damage: str = ""
    """The first damage of a log that is copied as a whole; "" for a sound log."""
    room: Room = field(default_factory=Room)
    """The room that the step needs for the copy."""
    copy_damage: str = ""
    """The first damage of the copy that is set aside, if it is set aside because it is damaged; else ""."""

    def left(self, why: str) -> BackupStep:
        """Return the step of a session whose copy is not changed, with the reason."""
        return replace(self, what=Done.LEFT, why=why)

    def to_json(self) -> dict[str, Any]:
        """Return the step in plain JSON types."""
        entry: dict[str, Any] = {"session": self.session_id, "what": self.what.value, "bytes": self.new_bytes}
        more = {
            "from": self.source,
            "to": self.target,
            "aside": self.aside,
            "why": self.why,
            "damage": self.damage,
            "copy_damage": self.copy_damage,
        }
        return entry | {key: value for key, value in more.items() if value}


@dataclass(slots=True)
class ErasedInBackup:
    """Content in a backup that was erased in the home."""

    asides: list[Path] = field(default_factory=list)
    """Copies from before a purge of their log, and replaced copies."""
    torn_tails: list[Path] = field(default_factory=list)
    """Saved ends of copies that were cut."""
    sessions: list[ErasingStep] = field(default_factory=list)
    """Sessions with erased content, with the planned erasure."""

    def __len__(self) -> int:
        return len(self.asides) + len(self.torn_tails) + len(self.sessions)

    @property
    def linked(self) -> list[str]:
        """The paths of erased files that have other names (hard links), under which their content stays."""
        linked = with_other_names(map(str, (*self.asides, *self.torn_tails)))
        for step in self.sessions:
            linked += step.linked
        return linked


def open_backup(place: str, *, create: bool) -> Side:
    """Open the directory of a backup.

    Args:
        place: the directory's path, as a person gave it.
        create: accept an empty directory as a new backup.

    Raises:
        BackupError: the place is a database, the directory does not exist, or it is not a backup.
        ConfigError: the place is a URL of another kind.
    """
    if stored_name(place) is not None:
        raise BackupError("a backup is a directory; `context-persistent sync` copies to a database")
    refuse_other_url(place)
    root = Path(os.path.abspath(os.path.expanduser(place)))
    if not root.is_dir():
        raise BackupError(f"there is no directory {root}; make it first, or connect the disk")
    note = root / BACKUP_NAME
    if not note.exists():
        if not create:
            raise BackupError(f"{root} is no backup: {BACKUP_NAME} is missing")
        if any(root.iterdir()):
            raise BackupError(f"{root} is no backup and not empty; make a directory for it, such as {root / 'backup'}")
    return Side(os.fspath(root), root, erasures=note)


@dataclass(slots=True)
class Backup:
    """A backup of a home.

    Args:
        home: the home that is backed up.
        there: the backup (`open_backup`).
        now: gives ISO 8601 timestamps.
    """

    home: Side
    there: Side
    now: Callable[[], str]

    def plan(self) -> list[BackupStep]:
        """Return the planned action for each session of the home. Writes nothing."""
        pairs = pairs_of(self.home.sessions(), self.there.sessions())
        return [self._plan(pair.here, pair.there) for pair in pairs if pair.here is not None and pair.first is None]

    def _plan(self, session: SessionFile, copy: SessionFile | None) -> BackupStep:
        target = str(copy.path) if copy is not None else self.there.place(session.project, session.id)
        step = BackupStep(session.id, Done.NEW, str(session.path), target)
        try:
            step = _with_size(step) if copy is None else _compared(step)
            if step.what in (Done.NEW, Done.MORE, Done.ANEW) and (why := self._why_not_taken(step)):
                return step.left(why)
            return replace(step, room=room_of_step(step, is_home=False))
        except (ContextPersistentError, OSError) as error:
            return step.left(why_failed(error, step.source))

    def _why_not_taken(self, step: BackupStep) -> str:
        """Return the reason why the backup's disk does not take what a planned step writes; "" if there is none."""
        if why := why_read_only(self.there.root):
            return why
        if step.what is Done.MORE:
            return why_copy_distrusted(step.target)
        target = Path(step.target)
        return why_name_refused(self.there.root, target.parents[2].name, target.parent.name)

    def carry_out(self, step: BackupStep) -> BackupStep:
        """Carry out a planned step, and return the result: `Done.LEFT`, with the reason in `why`, if the step fails."""
        try:
            return replace(step, new_bytes=self._carry_out(step))
        except (ContextPersistentError, OSError) as error:
            return step.left(why_failed(error, step.source))

    def _carry_out(self, step: BackupStep) -> int:
        """Carry out a planned step, and return the bytes that were written. Errors of the writing functions pass."""
        new_bytes = step.new_bytes
        if step.what is Done.MORE:
            with host_files_made(step.target, step.source, named_only=True, now=self.now):
                new_bytes = append_to_copy(step.source, step.target, in_this_home=False)
            archive_like(step.source, step.target)
            return new_bytes
        if step.aside:
            os.replace(step.target, step.aside)
            FileSystem().sync_directory(os.path.dirname(step.target))
        with making_session(step.target):
            if not is_unfinished(step.target):
                new_bytes = copy_in_form(step.source, step.target)
            write_host_files(step.target, created=self.now(), origin=step.source, named_only=True)
        archive_like(step.source, step.target)
        return new_bytes

    def note_erasures(self) -> None:
        """Make the directory a backup if needed, and copy new erasures and liftings from the home's list to its list.

        Raises:
            OSError: the backup's list cannot be written, or the home's list cannot be read.
        """
        note = self.there.erasures
        assert isinstance(note, Path)  # noqa: S101 - a backup is a directory
        if not note.exists():
            with NewFile(note) as new:
                new.finish()
        (ours, lifted) = read_erasures(self.home.erasures)
        (noted, _) = read_erasures(note)
        note_erasures((erasure for salt, erasure in ours.items() if salt not in noted), note)
        lift_in((erasure for salt, erasure in noted.items() if salt in lifted), note)

    def held_erased(self, *, before_a_run: bool = False) -> ErasedInBackup:
        """Return the content in the backup that was erased in the home.

        Args:
            before_a_run: look at copies of the home's sessions too. A run of the backup brings these in step with a
                purge, so after it they need not be looked at.

        Raises:
            OSError: the home's file of erasures cannot be read.
        """
        known = {session.id for session in self.home.sessions()}
        copies = self.there.sessions()
        force = list(read_erasures(self.home.erasures)[0].values())
        steps = plan_erasing(self.there, [copy for copy in copies if copy.id not in known], force, with_origins=True)
        if before_a_run:
            steps += plan_erasing(self.there, [copy for copy in copies if copy.id in known], force)
        assert self.there.root is not None  # noqa: S101 - a backup is a directory
        asides = list(self.there.root.glob(f"*/sessions/*/{LOG_NAME}{BEFORE_PURGE}*"))
        replaced = self.there.root.glob(f"*/sessions/*/{LOG_NAME}{REPLACED}*")
        torn = self.there.root.glob(f"*/sessions/*/{LOG_NAME}.torn-*")  # the home's log has what it was cut from
        asides += [copy for copy in replaced if _is_about_any([copy, copy.with_name(LOG_NAME)], force)]
        tails = [tail for tail in torn if _is_about_any([tail.with_name(LOG_NAME)], force)]
        return ErasedInBackup(sorted(asides), sorted(tails), steps)


def why_failed(error: Exception, log: str) -> str:
    """Return the reason of a failure, after the file that the error names if that is not the log."""
    place = getattr(error, "filename", None)
    names_other = isinstance(place, str) and place != log
    return f"{place}: {reason_of(error)}" if names_other else reason_of(error)


def _is_about_any(logs: Sequence[Path], found: Sequence[Erasure]) -> bool:
    """Return whether one of the erasures is about the session of a log, or about a fork of it.

    The session and the fork are recognised by the messages in the log. Of several logs of a session the first one that
    can be read counts.
    """
    for log in logs:
        with suppress(ContextPersistentError, OSError):
            return _log_is_about_any(str(log), found)
    return False


def _log_is_about_any(log: str, found: Sequence[Erasure]) -> bool:
    with closing(open_reader(log)) as reader:
        reader.follow()
        source = names_in(reader)
    names = (*source.names, *source.messages)
    return next(concerning(found, names, answers_of=lambda: source.answers), None) is not None


def erase_held(there: Side, erased_content: ErasedInBackup, *, now: Callable[[], str]) -> None:
    """Remove content from a backup that was erased in the home. A step that fails gets its `why`.

    Raises:
        OSError: a copy that was set aside cannot be removed.
    """
    for path in (*erased_content.asides, *erased_content.torn_tails):
        path.unlink(missing_ok=True)
    for step in erased_content.sessions:
        carry_out_erasing(step, now)
    if there.root is not None:
        finish_deletions(there.root)


def room_of_step(step: BackupStep, *, is_home: bool) -> Room:
    """Return the room that a planned step needs; `is_home` says whether the copy is in a home."""
    match step.what:
        case Done.NEW | Done.ANEW:
            return room_of_new_copy(step.source, step.new_bytes, is_home=is_home)
        case Done.MORE:
            return room_of_more(step.source, step.target, step.new_bytes, is_home=is_home)
        case _:
            return Room()


def _compared(step: BackupStep) -> BackupStep:
    """Return the planned action for a session that the backup has already."""
    found = compare_logs(step.source, step.target)
    match found.relation:
        case Relation.SAME:
            return replace(step, what=Done.NEW if is_unfinished(step.target) else Done.SAME)
        case Relation.LONGER:
            return replace(step, what=Done.MORE, new_bytes=found.new_bytes)
        case Relation.SHORTER:
            return step.left("the log is shorter than its copy: it lost its end, or is an older file")
        case Relation.DAMAGED:
            return step.left(f"{why_damaged(step.source)}, so its copy stays; {_RESTORE}")
        case _:
            step = replace(_with_size(step), what=Done.ANEW, aside=_aside(step.source, step.target))
            if found.relation is not Relation.DAMAGED_OTHER:
                return step
            return replace(step, copy_damage=_damage_of(step.target))


def _aside(log: str, copy: str) -> str:
    """Return the path for a copy that is set aside.

    Its suffix says whether the log was purged since the copy was made, and gives the copy's last checksum.

    Raises:
        LogUnreadableError: the log or the copy cannot be read.
    """
    with closing(open_reader(log)) as reader, closing(open_reader(copy)) as other:
        reader.follow()
        other.follow()
        is_purged = reader.index.control_counts["purge"] > other.index.control_counts["purge"]
        end = cast("StoredLog", other).scanner.seed  # every stored log is scanned
    aside = f"{copy}{BEFORE_PURGE if is_purged else REPLACED}{end:08x}"
    names = chain([aside], (f"{aside}-{number}" for number in count(2)))  # two damaged copies may end equally
    return next(name for name in names if not os.path.lexists(name))


def _damage_of(copy: str) -> str:
    """Return the first damage of a copy that is damaged where its log begins to differ, or has no whole record."""
    with closing(open_reader(copy)) as reader:
        reader.follow()
        return damage_in(reader) or "it has no whole record"


def _with_size(step: BackupStep) -> BackupStep:
    """Return the step with the size and the damage of a log that is copied as a whole.

    A damaged log is copied too, because no copy would be worse. The damage is reported, so that a person can look for a
    better log.

    Raises:
        LogUnreadableError: the log cannot be read.
    """
    with closing(open_reader(step.source)) as reader:
        reader.follow()
        return replace(step, new_bytes=size_in_form(reader, step.target), damage=damage_in(reader))
