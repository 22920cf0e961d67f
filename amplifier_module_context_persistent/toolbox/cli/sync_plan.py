"""The plan of a sync: which sessions are compared, which actions they need, and carrying the actions out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ...clock import utc_now
from ...erasures.erasure_record import Erasure
from ...log.room_on_disk import free_bytes
from ...sessions.filters import SessionFilter, matching
from ..transfer.sync_and_backup.room_for_copies import room_of_all, room_of_purge
from ..transfer.sync_and_backup.sync_erasures import (
    ErasingStep,
    erasing_steps,
)
from ..transfer.sync_and_backup.sync_sessions import Sync
from ..transfer.sync_and_backup.sync_sides import Side, of_project, with_sub_agents
from ..transfer.sync_and_backup.sync_step import Pair, Step, What, pairs_of
from .error_messages import unreadable
from .filter_options import watched
from .progress import stages


@dataclass(frozen=True, slots=True)
class SyncScope:
    """The filter of sessions, and whether to keep both histories of a session that continued on both sides."""

    wanted: SessionFilter
    everywhere: bool
    keep_both: bool

    def ids(self, sides: Iterable[Side]) -> set[str]:
        """Return the ids of the chosen sessions on either side, and of their sub-agents' sessions."""
        chosen: set[str] = set()
        all_ids: set[str] = set()
        for side in sides:
            sessions = side.sessions()
            all_ids |= {session.id for session in sessions}
            if not self.everywhere or self.wanted.project is not None:
                sessions = of_project(sessions, self.wanted)
            with unreadable():
                chosen |= {session.id for session in matching(sessions, self.wanted, watch=watched)}
        return with_sub_agents(chosen, all_ids)


@dataclass(slots=True)
class SyncPlan:
    """The planned actions; `in_step` is the number of sessions that need no action."""

    sync: Sync
    steps: list[Step]
    """The actions for the sessions that differ between the sides."""
    in_step: int
    second: list[Pair]
    """The further copies of sessions that the other side has more than once."""

    def take_erasing(self) -> list[ErasingStep]:
        """Remove the sessions in which something has to be erased first, and return the erasing actions."""
        all_erasing: list[ErasingStep] = []
        for step in list(self.steps):
            erasing: list[ErasingStep] = []
            for erased_content in step.erased_content:
                erasing += erasing_steps(
                    erased_content.session, erased_content.side, erased_content.erasures, is_chosen=True
                )
            if erasing:
                self.steps.remove(step)
                all_erasing += erasing
        return all_erasing

    def room(self, side: Side, erasing: Iterable[ErasingStep]) -> tuple[int, int | None]:
        """Return the bytes that all actions need on a side, and the bytes that are free there, or None."""
        rooms = [room for step in self.steps for owner, room in step.rooms if owner is side]
        rooms += [
            room_of_purge(str(step.session.path), is_home=side.is_home)
            for step in erasing
            if step.side is side and step.purge is not None and side.root is not None
        ]
        return room_of_all(rooms), free_bytes(side.root) if side.root is not None else None

    def carry_out(self) -> None:
        """Carry out the planned actions, with a progress bar. `steps` has their results then.

        Further copies of sessions come last, and are compared again first: what the first copies had is here then.
        """
        self.steps = [step for step in self.steps if not self._is_of_second_copy(step)]
        todo = [place for place, step in enumerate(self.steps) if not step.is_left]
        with stages() as tell:
            for number, place in enumerate(todo):
                tell("copying", number, len(todo))
                self.steps[place] = self.sync.carry_out(self.steps[place])
        known = {(step.session_id, step.why) for step in self.steps if step.is_left}
        for pair in self.second:
            step = self.sync.plan_second_again(pair, self.steps)
            if step.what is not What.SAME and (step.session_id, step.why) not in known:
                self.steps.append(step if step.is_left else self.sync.carry_out(step))

    def _is_of_second_copy(self, step: Step) -> bool:
        """Return whether a planned action, which writes, is about a further copy of a session."""
        return step.source in self.sync.second_copies or step.target in self.sync.second_copies


def plan_sync(
    here: Side, there: Side, force: Sequence[Erasure], scope: SyncScope, without: Iterable[str] = ()
) -> SyncPlan:
    """Compare the chosen sessions except those in `without`, and return the plan."""
    pairs = pairs_of(here.sessions(), there.sessions())
    sync = Sync(here, there, pairs=pairs, force=force, keep_both=scope.keep_both, now=utc_now)
    chosen = scope.ids((here, there)).difference(without)
    todo = [pair for pair in pairs if pair.session_id in chosen]
    second = [pair for pair in todo if pair.first is not None]
    different = []
    in_step = 0
    with stages() as tell:
        for number, pair in enumerate(todo):
            tell("comparing sessions", number, len(todo))
            step = sync.plan(pair)
            if step.what is not What.SAME:
                different.append(step)
            elif pair.first is None:
                in_step += 1
    return SyncPlan(sync, different, in_step, second)
