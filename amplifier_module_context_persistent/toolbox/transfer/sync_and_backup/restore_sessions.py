"""Restore sessions from a backup to a home: copy or append what the home lacks, and change nothing else.

Sessions that were deleted in the home that was backed up are left out, unless a person asks for them. Erasures from the
backup's list are added to the home's list, so that no import brings the erased content back.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace

from ....erasures.erasure_list import lift_in, note_erasures, read_erasures
from ....erasures.erasure_record import Erasure
from ....errors import ContextPersistentError
from ....log.open_reader import open_reader
from ....sessions.session_files import SessionFile
from ..archive_session import archive_like
from ..damaged_log import check_sound
from ..erasing.undone_erasures import erasures_of_log, why_refused
from ..host_files.write_host_files import is_unfinished, making_session, write_host_files
from .append_to_copy import append_to_copy
from .backup_sessions import BackupStep, Done, room_of_step, why_failed
from .copy_in_form import copy_in_form, size_in_form
from .relation_of_copies import Relation, compare_logs, why_damaged
from .sync_host_files import beside_copy, finish, has_transcript, is_interrupted
from .sync_sides import Projects, Side
from .sync_step import pairs_of


@dataclass(slots=True)
class Restore:
    """A restore from a backup to a home.

    Args:
        backup: the side with the backup.
        home: the side to restore to.
        again: restore also sessions that were deleted in the home that was backed up.
        now: gives ISO 8601 timestamps.
    """

    backup: Side
    home: Side
    again: bool
    now: Callable[[], str]
    _lifted: list[Erasure] = field(default_factory=list)
    """The erasures that are lifted, because their content is restored."""
    _erased_here: Sequence[Erasure] = ()
    """The erasures of the home's list."""
    _of_forks: set[str] = field(default_factory=set)
    """The salts of purges of sessions from which a restored session was forked. They are noted after the fork is
    restored: noted before, they would keep the fork out when a killed restore is repeated."""

    def plan(self) -> list[BackupStep]:
        """Return the planned action for each session of the backup. Writes nothing.

        Raises:
            OSError: a list of erasures cannot be read, so it is not known what was erased.
        """
        ours, theirs = self.home.sessions(), self.backup.sessions()
        projects = Projects(ours, here=self.home.is_this_home)
        erased_there, _ = read_erasures(self.backup.erasures)
        erased_here, _ = read_erasures(self.home.erasures)
        self._erased_here = list(erased_here.values())
        force = list((erased_there | erased_here).values())
        pairs = [(pair.here, pair.there) for pair in pairs_of(ours, theirs)]
        return [self._plan(copy, there, projects, force) for copy, there in pairs if there is not None]

    def _plan(
        self, ours: SessionFile | None, there: SessionFile, projects: Projects, force: Sequence[Erasure]
    ) -> BackupStep:
        target = str(ours.path) if ours is not None else self.home.place(projects.of(there), there.id)
        step = BackupStep(there.id, Done.NEW, str(there.path), target)
        try:
            step = self._plan_new(step, force) if ours is None else _compared(step)
            return replace(step, room=room_of_step(step, is_home=True))
        except (ContextPersistentError, OSError) as error:
            return step.left(why_failed(error, step.source))

    def _plan_new(self, step: BackupStep, force: Sequence[Erasure]) -> BackupStep:
        with closing(open_reader(step.source)) as reader:
            reader.follow()
            # a fork was in the home that was backed up, and kept what was purged from its origin there
            undone = erasures_of_log(reader, step.source, force, is_incoming=False)
            undone = undone or erasures_of_log(reader, step.source, self._erased_here)
            if not undone:
                self._of_forks |= {one.salt for one in erasures_of_log(reader, step.source, force)}
            if not undone or self.again:
                check_sound(reader)
            step = replace(step, new_bytes=size_in_form(reader, step.target))
        if undone and not self.again:
            why = f"{why_refused(undone[-1])}; --again restores it all the same"
            return replace(step, what=Done.ERASED, why=why)
        self._lifted += undone
        return step

    def carry_out(self, steps: Sequence[BackupStep], tell: Callable[[int], None]) -> list[BackupStep]:
        """Carry out planned steps, and return the results: `Done.LEFT`, with the reason in `why`, for a failed step.

        Args:
            steps: the result of `plan`.
            tell: called before each step with the number of steps that are done.

        Raises:
            OSError: the home's list of erasures cannot be read or written, or the backup's cannot be read.
        """
        (ours, our_lifts) = read_erasures(self.home.erasures)
        noted = read_erasures(self.backup.erasures)[0]
        known = ours.keys() | our_lifts
        new = [erasure for salt, erasure in noted.items() if salt not in known]
        note_erasures((erasure for erasure in new if erasure.salt not in self._of_forks), self.home.erasures)
        lift_in(self._lifted, self.home.erasures)
        results: list[BackupStep] = []
        for number, step in enumerate(steps):
            tell(number)
            is_to_do = step.what in (Done.NEW, Done.MORE)
            results.append(self._carry_out(step) if is_to_do else step)
        note_erasures((erasure for erasure in new if erasure.salt in self._of_forks), self.home.erasures)
        return results

    def _carry_out(self, step: BackupStep) -> BackupStep:
        new_bytes = step.new_bytes
        try:
            if step.what is Done.NEW:
                with making_session(step.target):
                    if not is_unfinished(step.target):
                        copy_in_form(step.source, step.target, only_sound=True)
                    named_only = not has_transcript(step.target, is_home=True)
                    write_host_files(step.target, created=self.now(), origin=step.source, named_only=named_only)
            elif is_interrupted(step.target) and not step.new_bytes:
                finish(step.target)
            else:
                with beside_copy(step.target, step.source, is_home=True, now=self.now):
                    new_bytes = append_to_copy(step.source, step.target, in_this_home=True)
            archive_like(step.source, step.target)
        except (ContextPersistentError, OSError) as error:
            return step.left(why_failed(error, step.source))
        return replace(step, new_bytes=new_bytes)


def _compared(step: BackupStep) -> BackupStep:
    """Return the planned action for a session that the home has already."""
    found = compare_logs(step.target, step.source)
    match found.relation:
        case Relation.SHORTER:
            return replace(step, what=Done.MORE, new_bytes=found.new_bytes)
        case Relation.SAME if is_unfinished(step.target):
            return replace(step, what=Done.NEW)
        case Relation.SAME if is_interrupted(step.target):
            return replace(step, what=Done.MORE)
        case Relation.SAME | Relation.LONGER | Relation.PURGED:
            return replace(step, what=Done.SAME)
        case Relation.DAMAGED:
            return step.left(f"{why_damaged(step.target)}; remove the log, and restore again")
        case Relation.DAMAGED_OTHER:
            return step.left(f"in the backup {why_damaged(step.source)}")
        case Relation.LABELED:
            return step.left("the home has all of it, and another name or other tags")
        case Relation.PARTED | Relation.LABELED_OTHER:
            return step.left(f"the home has another history: {found.parting}")
        case _:
            return step.left("the home has another session of this id")
