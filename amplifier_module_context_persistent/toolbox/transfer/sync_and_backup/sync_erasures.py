"""Carry out erasures in a sync: content erased on one side is erased on the other side before anything is copied.

A side is a home, a directory or a database with sessions. An erasure is a line in a side's list that says what was
deleted or purged. To lift an erasure is to cancel it. Rules:
- Lines are only added to a list. An erasure is copied unchanged to the other side's list, and so is the line that lifts
  it. An erasure that was lifted on one side is no longer in force on either side.
- If one side lacks an erasure, it is carried out on both sides, because the content may still be on either side. Only
  then is it added to the list. So a sync that is killed in between repeats the work.
- A deleted session is deleted, a purged text is replaced, and purged messages are removed.
- A session with messages that the session deleted elsewhere did not have stays, and is reported.
- A session that cannot be read is reported, and the erasure is not added to the list. The sync continues with the other
  sessions.
- An erasure in another directory is also in the home's list. It counts as new to the home until a sync has carried it
  out there.
- A database has its list in a table. If its tables cannot hold a list, all erasures count as new to it each time.
- An erasure in a database is added to the database's list and to the home's list at once. So it is new to neither, and
  is carried out when a sync finds a copy that holds the erased content (`sync_sessions`).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

from ....catalogue.catalogue_file import CatalogueError
from ....erasures.erasure_list import lift_in, note_erasures, read_erasures
from ....erasures.erasure_record import SESSION, Erasure
from ....erasures.purges_of_log import salts_of_purges
from ....errors import ContextPersistentError, reason_of
from ....log.database_location import stored_name
from ....log.open_reader import open_reader
from ....messages.message_times import instant_of
from ....paths import LOG_NAME, why_linked
from ....sessions.overview import overview_of
from ....sessions.session_files import SessionFile
from ....sessions.sub_agents import is_named_by_host, possible_roots, root_of
from ...maintenance.leftovers import place_left
from ...maintenance.note_beside_log import DELETING, PURGING, WrittenFiles
from ...maintenance.purge_log import matching_tails
from ...maintenance.purge_options import Purge
from ..erasing.delete_sessions import Deletion, delete_session, plan_deletion
from ..erasing.families_of_sub_agents import origin_of
from ..erasing.purge_session import SessionPurge, plan_session_purge, purge_session, remove_left
from ..erasing.undone_erasures import erasures_about, purge_of
from ..host_files.files_beside_log import HOSTS_NAMES
from .sync_sides import Side
from .what_disk_takes import why_read_only


@dataclass(slots=True)
class ErasingStep:
    """The step of a sync that erases content from one session on one side."""

    session: SessionFile
    side: Side
    erasures: list[Erasure]
    """The erasures that require this step: deletions or purges of the session on the other side."""
    deletion: Deletion | None = None
    purge: SessionPurge | None = None
    what: Purge | None = None
    error: str = ""
    """The reason why the step failed; "" if it succeeded or was not tried yet."""
    is_orphan: bool = False
    """Whether a sub-agent's session went on and stays, although its parent is gone. Then nothing failed."""

    @property
    def files_that_stay(self) -> list[str]:
        """The paths of the host's files beside the log that have content to be erased, but are not deleted."""
        if self.deletion is not None:
            return self.deletion.staying.host_files
        return self.purge.remaining.copies if self.purge is not None else []

    @property
    def torn_tails(self) -> list[str]:
        """The paths of saved torn tails beside the log that hold a text to be redacted; they stay."""
        path = str(self.session.path)
        redact = self.what.redact if self.what is not None else None
        if redact is None or stored_name(path) is not None:
            return []
        return matching_tails(path, redact)

    @property
    def linked(self) -> list[str]:
        """The paths of our files that are erased here and have other names (hard links), which keep the content."""
        if self.error:
            return []
        if self.deletion is not None:
            return self.deletion.staying.linked
        return self.purge.remaining.linked if self.purge is not None else []


@dataclass(slots=True)
class TravellingErasures:
    """The changes for one side's list of erasures: new erasures to add, and erasures to lift."""

    side: Side
    new: list[Erasure]
    lifted: list[Erasure]
    """The erasures that are in force on this side, and that were lifted on the other side."""
    not_noted: str = ""
    """The reason why the changes cannot be written to the list; "" if they can, or if there is none."""


def travelling_erasures(here: Side, there: Side) -> tuple[list[Erasure], list[TravellingErasures]]:
    """Return all erasures that are in force on the two sides, and the changes for the list of each side.

    Raises:
        OSError: a list cannot be read, so it is not known what was erased.
    """
    ours, lifted_here = _read(here)
    theirs, lifted_there = _read(there)
    lifted = lifted_here | lifted_there
    in_force = {}
    for salt, erasure in (theirs | ours).items():
        if salt not in lifted:
            in_force[salt] = replace(erasure, is_elsewhere=False)
    changes = []
    for side, known in ((here, ours), (there, theirs)):
        new = [found for salt, found in in_force.items() if salt not in known or known[salt].is_elsewhere]
        lifted_of_side = [known[salt] for salt in known.keys() & lifted]
        not_noted = ""
        if (new or lifted_of_side) and not side.is_this_home:
            not_noted = why_read_only(side.root)
        changes.append(TravellingErasures(side, new, lifted_of_side, not_noted))
    return list(in_force.values()), changes


def _read(side: Side) -> tuple[dict[str, Erasure], set[str]]:
    return read_erasures(side.erasures)


def plan_erasing(
    side: Side, sessions: Sequence[SessionFile], found: Sequence[Erasure], *, with_origins: bool = False
) -> list[ErasingStep]:
    """Return the steps that erasures require for sessions of one side. Nothing is written.

    Takes the same arguments as `erasing_steps`.
    """
    if not found:
        return []
    steps = [erasing_steps(session, side, found, with_origins=with_origins) for session in sessions]
    return list(chain.from_iterable(steps))


def erasing_steps(
    session: SessionFile,
    side: Side,
    found: Sequence[Erasure],
    *,
    is_chosen: bool = False,
    with_origins: bool = False,
) -> Iterator[ErasingStep]:
    """Yield the steps that erasures require for a session: its deletion, or purges.

    If the deletion is refused, that step has an error, and the purges follow.

    Args:
        session: a session on one of the two sides.
        side: the side that has it.
        found: the erasures.
        is_chosen: whether all these erasures are known to concern the session.
        with_origins: whether a fork is also searched for texts that were purged from its origin.
    """
    path = str(session.path)
    try:
        about = found if is_chosen else erasures_about(path, found, with_origins=with_origins)
        deletions = [erasure for erasure in about if erasure.what == SESSION]
        purges = [erasure for erasure in about if erasure.what != SESSION]
        if deletions:
            deletion = _plan_deletion(session, side, deletions, purges)
            yield deletion
            if not deletion.error:
                return
        for erasure in _not_carried_out(path, purges):
            purge = purge_of(erasure)
            planned = plan_session_purge(path, purge)
            if not planned.is_nothing or planned.remaining.is_certain:
                error = why_read_only(side.root)
                yield ErasingStep(session, side, [erasure], purge=planned, what=purge, error=error)
    except (ContextPersistentError, OSError) as failure:
        yield ErasingStep(session, side, list(found), error=reason_of(failure))


def _not_carried_out(log: str, purges: Sequence[Erasure]) -> list[Erasure]:
    """Return the purges whose content a log may still contain.

    A purge that the log records as carried out is left out, even if a later message repeats the content.
    """
    if not purges:
        return []
    if stored_name(log) is None and WrittenFiles.beside(log).begun == PURGING:
        return list(purges)  # the files beside the log may hold purged content
    with closing(open_reader(log)) as reader:
        reader.follow()
        carried_out = salts_of_purges(reader)
        id_hashes = reader.index.columns.id_hashes
        left = []
        for purge in purges:
            if purge.salt in carried_out:
                continue
            if purge.is_all or not purge.ids.hashes or any(purge.took(id_hash) for id_hash in id_hashes):
                left.append(purge)
        return left


def _plan_deletion(
    session: SessionFile, side: Side, deletions: list[Erasure], purges: Sequence[Erasure]
) -> ErasingStep:
    """Return the step that deletes a session.

    The step has an error if the session has messages that the deleted session did not have (`_why_it_stays`).

    Args:
        session: a session on one of the two sides.
        side: the side that has it.
        deletions: the erasures that say that it was deleted.
        purges: the erasures of purges in the session.
    """
    seen = overview_of(session, None)
    deletion = plan_deletion([seen])[0]
    step = ErasingStep(session, side, deletions, deletion=deletion, error=deletion.refused or why_read_only(side.root))
    why = _why_it_stays(session, side, seen.last_s, deletions, purges)
    if why:
        step.error = f"{why}; delete it {side.where} too, or make a fork to keep it"
        step.is_orphan = _is_orphan(session, side)
    return step


def _why_it_stays(
    session: SessionFile, side: Side, last_s: float, deletions: Sequence[Erasure], purges: Sequence[Erasure]
) -> str:
    """Return the reason why a session stays that was deleted elsewhere, or "" if it is deleted.

    It stays if its last message is in none of the deleted logs, and was not purged. The ids of messages decide this,
    because two machines' clocks may differ. Only for a deletion without ids, as older versions noted them, the times
    decide.

    Args:
        session: a session on one of the two sides.
        side: the side that has it.
        last_s: the time of its last message, in seconds since 1970.
        deletions: the erasures that say that it was deleted.
        purges: the erasures of purges in the session.
    """
    last = max(deletions, key=lambda one: one.time)
    with closing(open_reader(str(session.path))) as reader:
        reader.follow()
        id_hashes = reader.index.columns.id_hashes
        if any(erasure.ids.has_all for erasure in deletions):
            if not id_hashes or any(erasure.took(id_hashes[-1]) for erasure in (*deletions, *purges)):
                return ""
            if all(erasure.ids.has_all for erasure in deletions):
                return f"it has messages {side.where} that the session deleted elsewhere on {last.day} did not have"
    deleted = instant_of(last.time)
    if deleted is not None and last_s > deleted.timestamp():
        return f"it went on {side.where} after it was deleted elsewhere on {last.day}"
    return ""


def _is_orphan(session: SessionFile, side: Side) -> bool:
    """Return whether a session is a sub-agent's and its side does not have the parent."""
    origin = origin_of(session.path)
    if not origin.may_be_sub_agent(session.id):
        return False
    known = {other.id for other in side.sessions()}
    if origin.parent:
        return origin.parent not in known
    is_sub_agent = any(is_named_by_host(session.id, root) for root in possible_roots(session.id))
    return is_sub_agent and root_of(session.id, known - {session.id}) is None


def erase(steps: Sequence[ErasingStep], travelling: Sequence[TravellingErasures], *, now: Callable[[], str]) -> None:
    """Carry out planned steps, and update the list of each side.

    If a step fails, its `error` is set, and its erasures are not added to the list of its side. If the other side's
    list cannot be written, `not_noted` is set, and the sync continues: what it copies from there holds nothing that was
    erased here.

    Raises:
        OSError: this home's list of erasures cannot be written.
    """
    for step in steps:
        if not step.error:
            carry_out_erasing(step, now)
    for found in travelling:
        if found.not_noted:
            continue
        if found.new and found.side.root is not None:
            finish_deletions(found.side.root)
        failed_steps = [step for step in steps if step.error and step.side is found.side]
        failed = {erasure.salt for step in failed_steps for erasure in step.erasures}
        try:
            note_erasures((erasure for erasure in found.new if erasure.salt not in failed), found.side.erasures)
            lift_in(found.lifted, found.side.erasures)
        except OSError as error:
            if found.side.is_this_home:
                raise
            found.not_noted = f"{found.side.erasures}: {reason_of(error)}"


def finish_deletions(root: Path) -> None:
    """Delete files of deletions that were killed after the log was deleted."""
    for directory in root.glob("*/sessions/*"):
        with suppress(OSError):  # it is not a directory, or cannot be read
            log = os.fspath(directory / LOG_NAME)
            is_begun = WrittenFiles.beside(log).begun == DELETING
            left = place_left(log, HOSTS_NAMES, tails=is_begun)
            has_nothing_else = len(left) == len(os.listdir(directory))
            if left and (is_begun or has_nothing_else) and not why_linked(log):
                remove_left(left, log)


def carry_out_erasing(step: ErasingStep, now: Callable[[], str]) -> None:
    """Carry out a planned step of a sync that erases content. If the step fails, set its `error`."""
    path = str(step.session.path)
    try:
        if step.deletion is not None:
            delete_session(step.deletion)
        elif step.what is not None:
            planned = plan_session_purge(path, step.what)  # an earlier step may have changed the log
            if not planned.is_nothing:
                salt = step.erasures[0].salt
                _, step.error = purge_session(planned, step.what, now=now, rule=None, salt=salt)
    except (ContextPersistentError, CatalogueError, OSError) as error:
        step.error = reason_of(error)
