"""Sync two sides, session by session: append missing records, and copy missing sessions as a whole.

A side is a home, a directory or a database with sessions. A session has "parted" if it was continued on both sides with
different records. Rules:
- Nothing is merged. A session that has parted is not changed on either side, and is reported. With `keep_both`, the
  other side's history becomes a session of its own, and this side's history keeps the id (`fork_whole`).
- Names and tags are no history: if both sides gave some, they are put together (`join_labels`).
- Content that was erased on one side never comes back (`sync_erasures`).
- A session is compared again right before it is changed. The plan only shows a person what will be done.
- A failure affects one session only. After a kill, the next sync continues.
- A copy is archived if its original is archived.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import sleep

from ....catalogue.catalogue_file import CatalogueError
from ....erasures.erasure_record import Erasure
from ....errors import ContextPersistentError, reason_of
from ....log.contract import ReadableLog
from ....log.database_location import shown_location, stored_name
from ....log.file_handle import size_of_log
from ....log.open_reader import open_reader
from ....paths import why_linked
from ....sessions.session_files import SessionFile
from ....sessions.session_is_open import is_open
from ..archive_session import archive_like, archive_session, is_archived_session
from ..damaged_log import check_sound
from ..erasing.purge_session import remove_left
from ..erasing.undone_erasures import erasures_of_log
from ..fork_whole import fork_id, fork_whole, is_fork_of, name_of_other_history
from ..host_files.find_host_copies import backups
from ..host_files.write_host_files import is_unfinished, making_session, write_host_files
from .append_to_copy import OPEN, append_to_copy
from .copy_in_form import copy_in_form, size_in_form
from .join_labels import has_labels_of, join_labels
from .relation_of_copies import Parting, Relation, compare_logs, why_damaged
from .replace_copy import replace_copy
from .room_for_copies import Room, log_bytes_of, room_of_more, room_of_new_copy, room_of_replacement
from .sync_host_files import beside_copy, finish, has_transcript, is_interrupted
from .sync_sides import Projects, Side
from .sync_step import HeldErased, HoldsErasedError, Pair, Step, What
from .what_disk_takes import why_copy_distrusted, why_name_refused, why_read_only

_LOOKS, _LOOK_S = 40, 0.05
"""The number of checks, and the pauses before them, whether another sync is done with a session that both make."""

_MOST_TRIES = 3
"""The number of attempts at a step whose session other syncs make at the same time."""
_FAILURES = (ContextPersistentError, CatalogueError, OSError)


@dataclass(slots=True)
class Sync:
    """A sync of two sides.

    Args:
        here: this home.
        there: the other side.
        pairs: all sessions of both sides (`pairs_of`).
        force: all erasures that are in force on the two sides.
        keep_both: if a session has parted, make the other side's history a session of its own.
        now: gives ISO 8601 timestamps.
    """

    here: Side
    there: Side
    pairs: Sequence[Pair]
    force: Sequence[Erasure]
    keep_both: bool
    now: Callable[[], str]
    _to_here: Projects = field(init=False)
    _to_there: Projects = field(init=False)
    second_copies: dict[str, SessionFile] = field(default_factory=dict)
    """The further copies of sessions that the other side has more than once, by their paths: the first copy of each."""
    _known: dict[str, str] = field(init=False)
    """The log of each session, by the session's id. If both sides have the session, it is this home's log."""
    _at: dict[str, SessionFile] = field(init=False)
    """The sessions of both sides, by their paths."""

    def __post_init__(self) -> None:
        ours = [pair.here for pair in self.pairs if pair.here is not None]
        theirs = [pair.there for pair in self.pairs if pair.there is not None]
        self._to_here = Projects(ours, here=True)
        self._to_there = Projects(theirs, here=False)
        self._at = {str(session.path): session for session in (*ours, *theirs)}
        self._known = {session.id: str(session.path) for session in (*theirs, *ours)}  # if both have an id, ours

    def plan(self, pair: Pair) -> Step:
        """Return the planned action for a session. Writes nothing."""
        try:
            step = self._plan(pair)
        except HoldsErasedError as error:
            return Step(pair.session_id, What.LEFT, why=str(error), erased_content=error.held)
        except (ContextPersistentError, OSError) as error:
            return Step(pair.session_id, What.LEFT, why=_why_failed(error))
        try:
            return replace(step, rooms=list(self._rooms(step)))
        except (ContextPersistentError, OSError):  # what cannot be read is told when it is carried out
            return step

    def _plan(self, pair: Pair) -> Step:
        if pair.first is not None and pair.there is not None:
            step = self._plan_second(pair, pair.there, pair.first)
        elif pair.here is None or pair.there is None:
            step = self._plan_copy(pair)
        else:
            step = self._plan_both(pair.here, pair.there)
        if step.to is not None and (why := self._why_not_written(step, step.to)):
            return Step(pair.session_id, What.LEFT, parting=step.parting, why=why)
        if step.what is What.APPEND and stored_name(step.target) is None and is_archived_session(step.target):
            return replace(step, unpacked_bytes=size_of_log(step.target))
        return step

    def _why_not_written(self, step: Step, to: Side) -> str:
        """Return the reason why a side does not take what a step writes; "" if there is none."""
        if why := why_read_only(to.root):
            return why
        if step.what is What.COPY:
            target = Path(step.target)
            return why_name_refused(to.root, target.parents[2].name, target.parent.name) if to.root is not None else ""
        if why := _why_not_written(step.target):
            return why
        other = self.there if to is self.here else self.here
        match step.what:
            case What.APPEND:
                return _why_not_appended_to(step.target, to)
            case What.LABELED:
                return _why_not_labeled(step, other)
            case What.FORK:  # both sides get the fork
                return why_read_only(other.root)
        return ""

    def _rooms(self, step: Step) -> Iterator[tuple[Side, Room]]:
        """Yield the room that a step needs on each side that is a directory."""
        to = step.to
        if step.what is What.FORK:
            log_bytes = log_bytes_of(step.target)
            for side in (self.here, self.there):
                yield side, room_of_new_copy(step.target, log_bytes, is_home=side.is_home)
        if to is None or to.root is None:
            return
        match step.what:
            case What.COPY:
                yield to, room_of_new_copy(step.source, step.new_bytes, is_home=to.is_home)
            case What.APPEND | What.FINISH:
                yield to, room_of_more(step.source, step.target, step.new_bytes, is_home=to.is_home)
            case _:
                yield to, room_of_replacement(step.source, step.target, is_home=to.is_home)

    def carry_out(self, step: Step) -> Step:
        """Carry out a planned step, and return the result: `What.LEFT`, with the reason in `why`, if the step fails.

        If another sync has already created the session on the same side, the two copies are compared again.
        """
        for _ in range(_MOST_TRIES - 1):
            try:
                return self._carry_out(step)
            except FileExistsError:
                step = self._plan_again(step)
            except _FAILURES as error:
                return replace(step, what=What.LEFT, why=_why_failed(error))
            if step.to is None:
                return step
        try:
            return self._carry_out(step)
        except _FAILURES as error:
            return replace(step, what=What.LEFT, why=_why_failed(error))

    def _plan_again(self, step: Step) -> Step:
        """Plan a step again whose target another sync has made, once that sync is done with the session."""
        pair = next(pair for pair in self.pairs if step.source in _paths_of(pair))
        known = pair.here or pair.there
        assert known is not None  # noqa: S101 - one side has it
        new_session = SessionFile(step.target, known.id, known.project, known.modified_s)
        for _ in range(_LOOKS):
            if not is_unfinished(step.target):
                break
            sleep(_LOOK_S)
        return self.plan(Pair(pair.session_id, pair.here or new_session, pair.there or new_session))

    def _carry_out(self, step: Step) -> Step:
        """Carry out a planned step, and return the result. Errors of the functions that write are passed on."""
        assert step.to is not None  # noqa: S101 - a step that writes says where
        new_bytes = step.new_bytes
        match step.what:
            case What.COPY:
                self._copy(step.source, step.target, step.to)
            case What.APPEND:
                with beside_copy(step.target, step.source, is_home=step.to.is_home, now=self.now):
                    new_bytes = append_to_copy(step.source, step.target, in_this_home=step.to.is_this_home)
            case What.FINISH if is_unfinished(step.target):
                self._copy(step.source, step.target, step.to)
            case What.FINISH:
                finish(step.target)
            case _:
                self._replace(step, step.to)
        archive_like(step.source, step.target)
        return replace(step, new_bytes=new_bytes)

    def _plan_copy(self, pair: Pair) -> Step:
        """Return the step for a session that only one side has.

        Raises:
            HoldsErasedError: the copy has content that was erased on the side that lacks the session.
        """
        if pair.here is not None:
            session, side, to = pair.here, self.here, self.there
            project = self._to_there.of(session)
        else:
            assert pair.there is not None  # noqa: S101 - one side has it
            session, side, to = pair.there, self.there, self.here
            project = self._to_here.of(session)
        step = Step(pair.session_id, What.COPY, str(session.path), to.place(project, session.id), to)
        if in_its_place := self._at.get(step.target):  # this side has the session twice
            return self._plan_both(pair.here or in_its_place, pair.there or in_its_place)
        with closing(open_reader(step.source)) as reader:
            reader.follow()
            undone = erasures_of_log(reader, step.source, self.force, is_incoming=to is self.here)
            if undone:
                raise HoldsErasedError([HeldErased(session, side, undone)])
            check_sound(reader)
            return replace(step, new_bytes=size_in_form(reader, step.target))

    def _plan_second(self, pair: Pair, second: SessionFile, first: SessionFile) -> Step:
        """Return the step for a further copy of a session that the other side has more than once.

        Programs that carry folders make such copies, also if two machines synced with the folder before the program had
        carried it. The copy is brought in step with this home. But if this home has less than the first copy, and the
        further copy is a beginning of the first one, it grows from the first one.
        """
        found = compare_logs(str(first.path), str(second.path))
        if found.relation is Relation.OTHER:  # another session of the same id, in another project
            return self._plan_copy(Pair(pair.session_id, None, second))
        self.second_copies[str(second.path)] = first
        is_here_behind = (
            pair.here is None or compare_logs(str(pair.here.path), str(first.path)).relation is Relation.SHORTER
        )
        if is_here_behind and found.relation in (Relation.SAME, Relation.LONGER):
            self._check_undo_nothing((second, self.there))
            step = Step(second.id, What.APPEND, str(first.path), str(second.path), self.there, found.new_bytes)
            return step if found.relation is Relation.LONGER else Step(second.id, What.SAME)
        if pair.here is None:
            return Step(second.id, What.LEFT, why=f"{second.path} is another copy of it, and has another history")
        return self._plan_both(pair.here, second)

    def plan_second_again(self, pair: Pair, done: Sequence[Step]) -> Step:
        """Plan a further copy of a session again, after the steps for first copies were carried out."""
        here = pair.here
        first_step = next((step for step in done if pair.first and step.source == str(pair.first.path)), None)
        if here is None and first_step is not None and pair.first is not None and not first_step.is_left:
            here = replace(pair.first, path=Path(first_step.target))
        return self.plan(replace(pair, here=here))

    def _check_undo_nothing(self, *copies: tuple[SessionFile, Side]) -> None:
        """Check that copies of a session would not bring erased content back on the other side.

        Raises:
            HoldsErasedError: a copy would.
        """
        if not self.force:
            return
        erased_content = []
        for session, side in copies:
            with closing(open_reader(str(session.path))) as reader:
                reader.follow()
                undone = erasures_of_log(reader, str(session.path), self.force)
                if undone:
                    erased_content.append(HeldErased(session, side, undone))
        if erased_content:
            raise HoldsErasedError(erased_content)

    def _plan_both(self, here: SessionFile, there: SessionFile) -> Step:
        ours, theirs = str(here.path), str(there.path)
        found = compare_logs(ours, theirs)
        to_there = Step(here.id, What.APPEND, ours, theirs, self.there, found.new_bytes)
        to_here = Step(here.id, What.APPEND, theirs, ours, self.here, found.new_bytes)
        match found.relation:
            case Relation.LONGER:
                return to_there
            case Relation.SHORTER:
                return to_here
            case Relation.PURGED | Relation.IMPORTED:
                self._check_undo_nothing((here, self.here))
                return replace(to_there, what=_why_replaced(found.relation))
            case Relation.PURGED_OTHER | Relation.IMPORTED_OTHER:
                self._check_undo_nothing((there, self.there))
                return replace(to_here, what=_why_replaced(found.relation))
            case Relation.LABELED | Relation.LABELED_OTHER:
                self._check_undo_nothing((here, self.here), (there, self.there))
                step = to_there if found.relation is Relation.LABELED else to_here
                return replace(step, what=What.LABELED)
            case Relation.PARTED:
                self._check_undo_nothing((here, self.here), (there, self.there))
                return self._parted(replace(to_there, parting=found.parting), replace(to_here, parting=found.parting))
            case Relation.DAMAGED | Relation.DAMAGED_OTHER:
                damaged = (here, self.here) if found.relation is Relation.DAMAGED else (there, self.there)
                return Step(here.id, What.LEFT, why=_why_damaged(*damaged))
            case Relation.OTHER:
                return Step(here.id, What.LEFT, why=_why_other(there))
        for step in (to_there, to_here):  # an earlier sync was killed before it updated the files beside the log
            if is_unfinished(step.target) or is_interrupted(step.target):
                return replace(step, what=What.FINISH)
        return Step(here.id, What.SAME)

    def _parted(self, to_there: Step, to_here: Step) -> Step:
        """Return the step for a session that has parted.

        An earlier sync may have made one side's history a session of its own (a fork). If that sync was killed before
        the fork was complete, the fork is made again. If the fork is complete, the other side's history only has to be
        replaced.
        """
        forks: list[str] = []
        for step in (to_there, to_here):
            with closing(open_reader(step.target)) as reader:
                reader.follow()
                if self.keep_both:
                    check_sound(reader)
                fork = fork_id(reader)
                is_kept = self._is_kept(fork, reader)
            forks.append(fork)
            if not is_kept:
                continue
            is_unfinished_fork = step is to_there and is_unfinished(self._known[fork])
            return replace(step, what=What.FORK if is_unfinished_fork else What.KEPT, fork=fork)
        if self.keep_both:
            return replace(to_there, what=What.FORK, fork=forks[0])
        parting = to_there.parting
        return Step(to_there.session_id, What.PARTED, parting=parting, why=_why_parted(parting))

    def _is_kept(self, fork: str, origin: ReadableLog) -> bool:
        return fork in self._known and is_fork_of(self._known[fork], origin)

    def _replace(self, step: Step, to: Side) -> None:
        if step.what is What.FORK:
            self._keep(step)
        elif step.what is What.LABELED:
            _join(step.source, step.target, in_this_home=to is not self.here)
        elif step.what is What.REPLACE:
            remove_left(list(map(os.fspath, backups(step.target))), step.target)  # as every purge does
        with beside_copy(step.target, step.source, is_home=to.is_home, now=self.now):
            replace_copy(step.source, step.target, kept=step.fork)

    def _keep(self, step: Step) -> None:
        """Fork the other side's history into a session of its own here, and copy the fork to the other side."""
        session = next(
            pair.there for pair in self.pairs if pair.there is not None and str(pair.there.path) == step.target
        )
        ours = self.here.place(self._to_here.of(session), step.fork)
        turn = step.parting.turn if step.parting is not None else 0
        name = name_of_other_history(session, turn)
        fork_whole(step.target, ours, session_id=step.fork, name=name, now=self.now)
        with suppress(FileExistsError):  # an earlier step has copied what a killed sync made here
            self._copy(ours, self.there.place(session.project, step.fork), self.there)

    def _copy(self, source: str, target: str, to: Side) -> None:
        with making_session(target):
            if not is_unfinished(target):
                copy_in_form(source, target, only_sound=True)
            named_only = not has_transcript(target, is_home=to.is_home)
            write_host_files(target, created=self.now(), origin=source, named_only=named_only)


def _paths_of(pair: Pair) -> list[str]:
    """Return the paths or locations of a session's logs on the two sides."""
    return [str(session.path) for session in (pair.here, pair.there) if session is not None]


def _join(source: str, target: str, *, in_this_home: bool) -> None:
    """Give a log the names and tags of a copy. An archived log is brought back for it, and archived again."""
    is_archived = is_archived_session(source)
    join_labels(source, target, in_this_home=in_this_home)
    if is_archived and not is_archived_session(source):
        with suppress(ContextPersistentError, OSError):  # it stays plain
            archive_session(source)


def _why_not_written(log: str) -> str:
    """Return the reason why a log in a file is not written to; "" if there is none, and for a log in a database."""
    if stored_name(log) is not None:
        return ""
    return why_linked(log) or (OPEN if is_open(log) else "")


def _why_not_appended_to(log: str, side: Side) -> str:
    """Return the reason why a log of a side is not appended to; "" if there is none, and for this home's logs."""
    return why_copy_distrusted(log) if side.root is not None and not side.is_this_home else ""


def _why_not_labeled(step: Step, side: Side) -> str:
    """Return the reason why a step's source cannot get its target's names and tags; "" if it can, or has them.

    `side` is the side of the source.
    """
    why = why_read_only(side.root) or _why_not_written(step.source) or _why_not_appended_to(step.source, side)
    if not why:
        return ""
    with closing(open_reader(step.source)) as source, closing(open_reader(step.target)) as target:
        source.follow()
        target.follow()
        return "" if has_labels_of(source, target) else why


def _why_replaced(relation: Relation) -> What:
    return What.REPLACE if relation in (Relation.PURGED, Relation.PURGED_OTHER) else What.IMPORTED


def _why_failed(error: Exception) -> str:
    """Return the reason of a failure, after the path or the location of the failed file, so that the side is clear."""
    place = getattr(error, "filename", None)
    return f"{shown_location(place)}: {reason_of(error)}" if isinstance(place, str) else reason_of(error)


def _why_damaged(session: SessionFile, side: Side) -> str:
    what = "if the other side has all of it, remove this file, and the next sync copies it again"
    return f"{side.where} {why_damaged(str(session.path))}; {what}"


def _why_other(there: SessionFile) -> str:
    return (
        f"another session has its id on the other side: {shown_location(str(there.path))}; neither is changed; `fork` "
        "one of them, which gives it an id of its own, and then `delete` that one under the old id"
    )


def _why_parted(parting: Parting | None) -> str:
    if parting is not None and parting.is_one_purged:
        return "one copy was purged and the other one went on; purge that too, or --keep both"
    if parting is not None and not parting.is_of_conversation:
        ours, theirs = (", ".join(sorted(differs)) for differs in (parting.differs, parting.other_differs))
        differ = f"no message differs, but a model would see them otherwise: here {ours}, there {theirs}"
        return f"{differ}; nothing is merged; --keep both makes the other side's a session of its own"
    return "both sides went on; nothing is merged; --keep both makes the other side's a session of its own"
