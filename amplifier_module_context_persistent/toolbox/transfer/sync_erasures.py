"""Erasures in a sync: content erased on one side is erased on the other side, before anything is copied.

Rules:
- The lines of a list of erasures are a set that only grows: a line is copied unchanged, and so is its lifting. A line
  that was lifted on one side is no longer in force on any side.
- A line is first carried out on a side, then noted there. So a sync that is killed in between does it again.
- A deleted session is deleted, a purged text is replaced, and purged messages are removed.
- A session that continued after it was deleted elsewhere stays, and is named.
- A session that cannot be read is named, and the line is not noted; the sync continues with the other sessions.
- A database has its list in a table. If its tables cannot hold one, all lines count as new to it each time.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path

from ...catalogue.catalogue_file import CatalogueError
from ...errors import ContextPersistentError
from ...log.open_reader import open_reader
from ...messages.metadata import instant_of
from ...paths import LOG_NAME
from ...sessions.find_session import SessionFile
from ...sessions.overview import look_at
from ..maintenance.leftovers import place_left
from ..maintenance.purge_options import Purge
from ..maintenance.written_files import DELETING, WrittenFiles
from .delete_sessions import Deletion, delete_session, plan_deletion
from .erasure_list import lift_in, note_erasures, read_erasures
from .erasures import SESSION, TEXT, Erasure
from .erasures_of_log import erasures_about
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
    """The erasures that are new to one side, and what they ask for there."""

    side: Side
    new: list[Erasure]
    lifted: list[Erasure]
    """In force there, and lifted on the other side."""
    steps: list[ErasingStep] = field(default_factory=list)


def travelling_erasures(here: Side, there: Side) -> tuple[list[Erasure], list[TravellingErasures]]:
    """The erasures that are in force on both sides together, and those that are new to each.

    Raises:
        OSError: one of the lists cannot be read: nobody knows what was erased.
    """
    (ours, our_lifts), (theirs, their_lifts) = _read(here), _read(there)
    lifted = our_lifts | their_lifts
    force = {salt: one for salt, one in (theirs | ours).items() if salt not in lifted}
    found = []
    for side, own in ((here, ours), (there, theirs)):
        new = [one for salt, one in force.items() if salt not in own]
        found.append(TravellingErasures(side, new, [own[salt] for salt in own.keys() & lifted]))
    return list(force.values()), found


def _read(side: Side) -> tuple[dict[str, Erasure], set[str]]:
    return read_erasures(side.erasures)


def plan_erasing(found: TravellingErasures, sessions: Sequence[SessionFile]) -> None:
    """See what the erasures that are new to a side ask for there; writes nothing."""
    for session in sessions if found.new else ():
        found.steps += _steps(session, found.side, found.new)


def _steps(session: SessionFile, side: Side, new: Sequence[Erasure]) -> Iterator[ErasingStep]:
    """The actions that erasures require for a session: its deletion, or else a list of purges."""
    path = str(session.path)
    try:
        with closing(open_reader(path)) as reader:
            reader.follow()
            held = reader.index.columns.id_hashes
            about = [one for one in erasures_about(reader, new) if not one.ids or any(map(one.took, held))]
        if deletions := [one for one in about if one.what == SESSION]:
            yield _plan_deletion(session, side, deletions)
            return
        for erasure in about:
            planned = plan_session_purge(path, what := _purge_of(erasure))
            if not planned.is_nothing or planned.is_left:
                yield ErasingStep(session, side, [erasure], purge=planned, what=what)
    except (ContextPersistentError, OSError) as error:
        yield ErasingStep(session, side, list(new), error=_reason(error))


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
        step.error = f"it went on there after it was deleted on the other side on {last.day}; delete it there too"
    return step


def erase(found: TravellingErasures, *, now: Callable[[], str]) -> None:
    """Carry out what was planned on a side, and note it there; what fails is not noted, and its step says why.

    Raises:
        OSError: the side's list of erasures cannot be written.
    """
    for step in found.steps:
        if not step.error:
            carry_out_erasing(step, now)
    if found.new and found.side.root is not None:
        finish_deletions(found.side.root)
    failed = {one.salt for step in found.steps if step.error for one in step.erasures}
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
                _, step.error = purge_session(planned, step.what, now=now, rule=None)
    except (ContextPersistentError, CatalogueError, OSError) as error:
        step.error = _reason(error)


def _reason(error: Exception) -> str:
    said = error.strerror if isinstance(error, OSError) else None
    return " ".join(str(said or error).split())
