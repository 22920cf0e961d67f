"""Erasures in a sync: content erased on one side is erased on the other side, before anything is copied.

Rules:
- The lines of a list of erasures are a set that only grows: a line is copied unchanged, and so is its lifting. A line
  that was lifted on one side is no longer in force on any side.
- A line that one side lacks is carried out on both sides: the log in which it was erased may be on either side, and
  the copy on the other one. It is noted after that. So a sync that is killed in between does it again.
- A deleted session is deleted, a purged text is replaced, and purged messages are removed.
- A session that continued after it was deleted elsewhere stays, and is named.
- A session that cannot be read is named, and the line is not noted; the sync continues with the other sessions.
- A line of a home is new to it, too, if it is from an erasure in another directory that no sync has carried out in the
  home yet.
- A database has its list in a table. If its tables cannot hold one, all lines count as new to it each time.
- An erasure in a database is noted there and in the home at once. So it is new to neither, and is carried out when a
  sync finds a copy that holds what was erased (`sync_sessions`).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from ...catalogue.catalogue_file import CatalogueError
from ...errors import ContextPersistentError
from ...log.database_location import stored_name
from ...log.open_reader import open_reader
from ...messages.metadata import instant_of
from ...paths import LOG_NAME
from ...sessions.find_session import SessionFile
from ...sessions.overview import look_at
from ..maintenance.leftovers import place_left
from ..maintenance.purge_options import Purge
from ..maintenance.written_files import DELETING, PURGING, WrittenFiles
from .delete_sessions import Deletion, delete_session, plan_deletion
from .erasure_list import lift_in, note_erasures, read_erasures
from .erasures import SESSION, TEXT, Erasure
from .erasures_of_log import erasures_about, salts_of_purges
from .host_files import HOSTS_NAMES
from .purge_session import SessionPurge, plan_session_purge, purge_session, remove_left
from .sync_sides import Side


@dataclass(slots=True)
class ErasingStep:
    """A session with content that must be erased on one side."""

    session: SessionFile
    side: Side
    erasures: list[Erasure]
    """The erasure that requires it."""
    deletion: Deletion | None = None
    purge: SessionPurge | None = None
    what: Purge | None = None
    error: str = ""
    """Why it was not done; empty if it was, or was not tried."""

    @property
    def files_that_stay(self) -> list[str]:
        """The files of a host, beside the log, that hold what is to go, or belong to a session that goes."""
        if self.deletion is not None:
            return self.deletion.host_files
        return self.purge.copies if self.purge is not None else []


@dataclass(slots=True)
class TravellingErasures:
    """The erasures that are new to one side, and what erasures ask for there."""

    side: Side
    new: list[Erasure]
    lifted: list[Erasure]
    """In force there, and lifted on the other side."""


def travelling_erasures(here: Side, there: Side) -> tuple[list[Erasure], list[TravellingErasures]]:
    """The erasures that are in force on both sides together, and those that are new to each.

    Raises:
        OSError: one of the lists cannot be read: nobody knows what was erased.
    """
    (ours, our_lifts), (theirs, their_lifts) = _read(here), _read(there)
    lifted = our_lifts | their_lifts
    both = (theirs | ours).items()
    force = {salt: replace(one, is_elsewhere=False) for salt, one in both if salt not in lifted}
    found = []
    for side, own in ((here, ours), (there, theirs)):
        new = [one for salt, one in force.items() if salt not in own or own[salt].is_elsewhere]
        found.append(TravellingErasures(side, new, [own[salt] for salt in own.keys() & lifted]))
    return list(force.values()), found


def _read(side: Side) -> tuple[dict[str, Erasure], set[str]]:
    return read_erasures(side.erasures)


def plan_erasing(side: Side, sessions: Sequence[SessionFile], found: Sequence[Erasure]) -> list[ErasingStep]:
    """See what erasures ask for on a side; writes nothing."""
    return [step for session in sessions for step in erasing_steps(session, side, found)] if found else []


def erasing_steps(session: SessionFile, side: Side, found: Sequence[Erasure]) -> Iterator[ErasingStep]:
    """The actions that erasures require for a session: its deletion; or a list of purges, also if it stays."""
    path = str(session.path)
    try:
        about = erasures_about(path, found)
        if deletions := [one for one in about if one.what == SESSION]:
            yield (deletion := _plan_deletion(session, side, deletions))
            if not deletion.error:
                return
        for erasure in _not_carried_out(path, [one for one in about if one.what != SESSION]):
            planned = plan_session_purge(path, what := _purge_of(erasure))
            if not planned.is_nothing or planned.is_left:
                yield ErasingStep(session, side, [erasure], purge=planned, what=what)
    except (ContextPersistentError, OSError) as error:
        yield ErasingStep(session, side, list(found), error=_reason(error))


def _not_carried_out(log: str, purges: Sequence[Erasure]) -> list[Erasure]:
    """The purges, of some, that a log may still hold something of; what was said again after a purge stays."""
    if not purges:
        return []
    if stored_name(log) is None and WrittenFiles.beside(log).begun == PURGING:
        return list(purges)  # the files beside the log may hold it
    with closing(open_reader(log)) as reader:
        reader.follow()
        carried_out, held = salts_of_purges(reader), reader.index.columns.id_hashes
        left = [one for one in purges if one.salt not in carried_out]
        return [one for one in left if not one.ids or any(map(one.took, held))]


def _purge_of(erasure: Erasure) -> Purge:
    if erasure.what == TEXT:
        return Purge(redact=erasure.rule.replace)
    return Purge(took=erasure.took)


def _plan_deletion(session: SessionFile, side: Side, erasures: list[Erasure]) -> ErasingStep:
    seen = look_at(session, None)
    deletion = plan_deletion([seen])[0]
    step = ErasingStep(session, side, erasures, deletion=deletion, error=deletion.refused)
    last = max(erasures, key=lambda one: one.time)
    deleted = instant_of(last.time)
    if deleted is not None and seen.last_s > deleted.timestamp():
        step.error = (
            f"it went on {side.where} after it was deleted elsewhere on {last.day}; delete it {side.where} too, or "
            "make a fork to keep it"
        )
    return step


def erase(steps: Sequence[ErasingStep], travelling: Sequence[TravellingErasures], *, now: Callable[[], str]) -> None:
    """Carry out what was planned, and note it; what fails on a side is not noted there, and its step says why.

    Raises:
        OSError: a list of erasures cannot be written.
    """
    for step in steps:
        if not step.error:
            carry_out_erasing(step, now)
    for found in travelling:
        if found.new and found.side.root is not None:
            finish_deletions(found.side.root)
        failed = {one.salt for step in steps if step.error and step.side is found.side for one in step.erasures}
        note_erasures((one for one in found.new if one.salt not in failed), found.side.erasures)
        lift_in(found.lifted, found.side.erasures)


def finish_deletions(root: Path) -> None:
    """Remove what deletions left that were killed after the log went."""
    for directory in root.glob("*/sessions/*"):
        with suppress(OSError):  # it is no directory, or may not be looked into
            log = os.fspath(directory / LOG_NAME)
            is_begun = WrittenFiles.beside(log).begun == DELETING
            left = place_left(log, HOSTS_NAMES, tails=is_begun)
            if left and (is_begun or len(left) == len(os.listdir(directory))):
                remove_left(left, log)


def carry_out_erasing(step: ErasingStep, now: Callable[[], str]) -> None:
    """Erase what was planned; a step that fails says why."""
    path = str(step.session.path)
    try:
        if step.deletion is not None:
            delete_session(step.deletion)
        elif step.what is not None:
            planned = plan_session_purge(path, step.what)  # an earlier step may have changed it
            if not planned.is_nothing:
                salt = step.erasures[0].salt
                _, step.error = purge_session(planned, step.what, now=now, rule=None, salt=salt)
    except (ContextPersistentError, CatalogueError, OSError) as error:
        step.error = _reason(error)


def _reason(error: Exception) -> str:
    said = error.strerror if isinstance(error, OSError) else None
    return " ".join(str(said or error).split())
