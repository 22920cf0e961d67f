"""`context-persistent sync`: copy new records of sessions between this home and another place, both ways.

Exit codes: 0 both sides are equal; 1 something is left: a session continued on both sides, is open or cannot be read,
or a file of the host, or another name of a file, contains what was erased; a dry run also if there is not enough room;
2 nothing was done.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import click

from ...clock import utc_now
from ...erasures.erasure_record import SESSION, Erasure
from ...log.database_location import parse_location, shown_location, stored_name
from ...log.room_on_disk import free_bytes
from ...sessions.filters import SessionFilter, matching
from ...sessions.other_projects import named_projects
from ...sessions.session_files import SessionFile
from ...sessions.session_name import read_name
from ..transfer.sync_and_backup.places_synced_before import forget_synced, note_synced, synced_places, why_not_known
from ..transfer.sync_and_backup.room_for_copies import room_of_all, room_of_purge
from ..transfer.sync_and_backup.sync_erasures import (
    ErasingStep,
    TravellingErasures,
    erase,
    erasing_steps,
    plan_erasing,
    travelling_erasures,
)
from ..transfer.sync_and_backup.sync_sessions import Sync
from ..transfer.sync_and_backup.sync_sides import Remotes, Side, home_side, of_project, other_side, with_sub_agents
from ..transfer.sync_and_backup.sync_step import Pair, Step, What, pairs_of
from .confirm import ask, check_can_ask
from .erasing import erasing_options
from .error_messages import UnusableError, unreadable, unusable
from .exit_codes import DONE, FINDINGS
from .filter_options import filter_options, watched
from .parameters import check_not_empty
from .progress import stages
from .room_text import lacks_room, room_text
from .session_argument import no_catalogue_option
from .session_rows import scaled
from .terminal import counted, cut, one_line, say

_NAME_CELLS = 40


@click.command("sync")
@no_catalogue_option
@click.argument("place", metavar="DIR|URL", callback=check_not_empty)
@filter_options(has_places=False)
@click.option(
    "--keep", type=click.Choice(["both"]), help="Keep both histories of a session that went on on both sides."
)
@click.option(
    "--forget", is_flag=True, help="Do not sync. Remove DIR or URL from the list of places that deletions mention."
)
@erasing_options
@click.pass_context
def sync(
    context: click.Context,
    place: str,
    *,
    everywhere: bool,
    wanted: SessionFilter,
    keep: str | None,
    forget: bool,
    dry_run: bool,
    yes: bool,
    as_json: bool,
) -> None:
    """Copy what is new between this home and DIR or URL, in both directions.

    DIR is any directory: a stick, a synced folder, the mount of a server, or another home. URL is a PostgreSQL
    database. The sessions of this project are synced; --all syncs those of all projects, and filters choose among them.

    The new records of a session on one side are appended to the session on the other side. Nothing is merged: if a
    session was continued on both sides, both stay unchanged, and the session is named. With --keep both, the other
    side's history becomes a new session on both sides, and this side's history keeps the id. Only names and tags that
    both sides gave are put together.

    Before anything is copied, the sessions and messages that were deleted or purged on one side are deleted or purged
    on the other side, whatever the filters say. The command shows them and asks first. A session that is open is not
    written to. If a sync is interrupted, the next sync finishes it.
    """
    if forget:
        _forget(place, dry_run=dry_run)
        return
    check_can_ask(as_json=as_json, yes=yes, dry_run=dry_run)
    scope = _Scope(wanted, everywhere=everywhere, keep_both=keep == "both")
    with unusable():
        here = home_side()
        there = other_side(place)
        if there.storage is not None:
            from ...log.postgres.server_connections import using  # its driver is an extra

            context.with_resource(using(parse_location(there.storage)))
        force, travelling = travelling_erasures(here, there)
        erasing = _erasing_on_both(here, there, travelling)
        plan = _plan(here, there, force, scope, without={step.session.id for step in erasing})
        erasing += plan.take_erasing()
    has_sessions = bool(plan.steps or plan.in_step or erasing)
    if not everywhere and not has_sessions:
        _say_none(_why_none(here, there, wanted), travelling)
    if not as_json:
        _show(erasing, plan, there)
    if not dry_run:
        count = _count_sessions(erasing) + sum(step.what is What.REPLACE for step in plan.steps)
        if count:
            ask(f"Erase it in {counted(count, 'session')}, and go on?", yes=yes)
        _note_place(there)
        with unusable():
            erase(erasing, travelling, now=utc_now)
            if erasing:
                not_erased = {step.session.id for step in erasing if step.error}
                plan = _plan(here, there, force, scope, without=not_erased)
            plan.carry_out()
            for side in (here, there):
                side.remove_stale_marks()
    context.exit(_told(erasing, travelling, plan, there, dry_run=dry_run, as_json=as_json))


def _note_place(there: Side) -> None:
    """Note that this home is synced with a place, for the messages of deletions."""
    if unknown := why_not_known():
        click.echo(f"{one_line(unknown)}; it is written anew, and deletions name this place alone", err=True)
    with suppress(OSError):  # only the messages of deletions need the note
        note_synced(there.name, utc_now())


def _say_none(why: str, travelling: Sequence[TravellingErasures]) -> None:
    """Say that no session is to be synced; raise this as an error if no erasure is to be passed on either."""
    if not any(erasures.new or erasures.lifted for erasures in travelling):
        raise UnusableError(why)
    click.echo(why, err=True)


def _forget(place: str, *, dry_run: bool) -> None:
    """Remove a place from the list of places that syncs noted, and print the place.

    Raises:
        UnusableError: the list does not have the place; the text names the places that it has.
    """
    if dry_run:
        raise click.UsageError("--forget changes nothing but the note of the place; give it without --dry-run")
    with unusable():
        forgotten = forget_synced(place)
    if not forgotten:
        known = one_line(", ".join(map(str, synced_places()))) or "none"
        raise UnusableError(f"no sync with {one_line(place)} is noted; noted places: {known}")
    for synced_place in forgotten:
        say(f"Forgotten: {one_line(str(synced_place))}. What is there stays; the next sync with it notes it again.")


def _count_sessions(erasing: Sequence[ErasingStep]) -> int:
    """Return the number of logs in which a sync erases something. Several erasures may concern one log."""
    return len({str(step.session.path) for step in erasing if not step.error})


def _erasing_on_both(here: Side, there: Side, travelling: Sequence[TravellingErasures]) -> list[ErasingStep]:
    """Return the steps of a sync that erase on each side what was erased on the other side."""
    by_salt = {erasure.salt: erasure for side_erasures in travelling for erasure in side_erasures.new}
    new = list(by_salt.values())
    if not new:
        return []
    steps: list[ErasingStep] = []
    for side in (here, there):
        steps += plan_erasing(side, side.sessions(), new)
    return steps


def _why_none(here: Side, there: Side, wanted: SessionFilter) -> str:
    """Return a message that says why no session was chosen, and which projects the sides have."""
    project = "of this project" if wanted.project is None else f"of the project {one_line(wanted.project)}"
    with unusable():
        sessions_by_side = {side: side.sessions() for side in (there, here)}
        if not any(sessions_by_side.values()):
            return "there is no session on either side"
        if any(of_project(sessions, wanted) for sessions in sessions_by_side.values()):
            return f"no session {project} matches on either side"
        sides = []
        for side, sessions in sessions_by_side.items():
            if sessions:
                sides.append(f"{side.where} {_projects(sessions)}")
    return f"no session {project} is on either side: {'; '.join(sides)}; --all takes the sessions of all projects"


def _projects(sessions: Sequence[SessionFile]) -> str:
    """Return the projects of the given sessions, as text for the user.

    For a single project, the text also has the repository that its logs name.
    """
    project_names = one_line(named_projects(sessions))
    if len({session.project for session in sessions}) > 1:
        return project_names
    remotes = Remotes()
    remote = next(filter(None, map(remotes.of, sessions)), "")
    return (
        f"{project_names}, and its repository is {one_line(remote)}"
        if remote
        else f"{project_names}, and its sessions name no git remote"
    )


@dataclass(frozen=True, slots=True)
class _Scope:
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
class _Plan:
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


def _plan(here: Side, there: Side, force: Sequence[Erasure], scope: _Scope, without: Iterable[str] = ()) -> _Plan:
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
    return _Plan(sync, different, in_step, second)


def _show(erasing: Sequence[ErasingStep], plan: _Plan, there: Side) -> None:
    """Print the planned steps of a sync: first the erasures, then the copies."""
    for side in (plan.sync.here, there):
        _show_erasing([step for step in erasing if step.side is side and not step.error], side)
        to_side = [step for step in plan.steps if step.to is side]
        if to_side:
            size = sum(step.new_bytes for step in to_side)
            size_text = f", {scaled(size, 'kMGT')}B" if size else ""
            say(f"To {_name(side)}: {counted(len(to_side), 'session')}{size_text}")
        room = plan.room(side, erasing)
        is_unpacked = any(step.unpacked_bytes for step in to_side)
        if is_unpacked or lacks_room(*room):
            say(f"  {room_text(*room)}")
        for step in to_side:
            say(f"  {_called(step.session_id, step.source)}: {_what_comes(step, plan.sync)}{_which(step, plan.sync)}")


def _show_erasing(steps: Sequence[ErasingStep], side: Side) -> None:
    """Print which sessions or messages are erased on one side of a sync, and which of their files stay."""
    if steps:
        say(f"To be erased first {side.where}, since it was erased elsewhere (then these are compared again):")
    for step in steps:
        say(f"  {_called(step.session.id, str(step.session.path))}: {_what_goes(step)}")
        for file in step.files_that_stay:
            say(f"    stays, the host's: {file}")
        for file in step.torn_tails:
            say(f"    stays, a saved torn tail, which `purge --torn` removes: {file}")
        for file in step.linked:
            say(f"    has another name (hard link), under which its content stays: {file}")


def _which(step: Step, sync: Sync) -> str:
    """Return words that name the further copy of a session that a step is about; "" if the other side has it once."""
    second = next((path for path in (step.source, step.target) if path in sync.second_copies), None)
    return f" (its second copy, {one_line(shown_location(second))})" if second is not None else ""


def _say_second_copies(sync: Sync) -> None:
    """Print which sessions the other side has more than once, and what to do."""
    for path, first in sync.second_copies.items():
        kept, removed = sorted((str(first.path), path), key=lambda one: one.split(os.sep))
        if stored_name(path) is not None:
            removal = "delete one of them there by SQL"
        else:
            removal = f"remove the directory {one_line(os.path.dirname(removed))} (`delete` would erase both)"
        places = f"{one_line(shown_location(kept))} and at {one_line(shown_location(removed))}"
        say(f"TWICE: {first.id}: {sync.there.name} has it at {places}.")
        say(f"  Each sync brings both in step. To have it once, once a sync says that nothing is new, {removal}.")


def _say_not_noted(not_noted: Sequence[TravellingErasures]) -> None:
    """Print which list of erasures cannot be written, and what that means."""
    for travelling in not_noted:
        what = "what was erased here stays there, and other machines that sync with it do not hear of it"
        click.echo(f"NOT NOTED {travelling.side.where}: {one_line(travelling.not_noted)}; until then {what}", err=True)


def _name(side: Side) -> str:
    return "this home" if side.is_this_home else side.name


def _called(session_id: str, log: str) -> str:
    """Return a session's id, followed by its name if the session has a name."""
    name = read_name(log).name
    return f"{session_id} ({cut(one_line(name), _NAME_CELLS)})" if name else session_id


def _what_goes(step: ErasingStep) -> str:
    if step.deletion is not None:
        return "the whole session"
    counts = step.purge.counts if step.purge is not None else None
    if counts is None:
        return "nothing"
    counts_by_fate = [(counts.messages_removed, "removed"), (counts.messages_redacted, "redacted")]
    parts = [f"{counted(number, 'message')} {fate}" for number, fate in counts_by_fate if number]
    return ", ".join(parts) or "copies and records of what was erased"


def _what_comes(step: Step, sync: Sync) -> str:
    size = f"{scaled(step.new_bytes, 'kMGT')}B"
    match step.what:
        case What.COPY:
            return f"new, {size}"
        case What.APPEND:
            unpacked = f"; its archived copy is brought back, {scaled(step.unpacked_bytes, 'kMGT')}B"
            return f"{size} more{unpacked if step.unpacked_bytes else ''}"
        case What.IMPORTED:
            return "imported on both sides; this import takes the place of the other one, which has nothing beyond it"
        case What.LABELED:
            return "names and tags of both sides are put together; nothing else differs there"
        case What.FINISH:
            return "what an earlier sync left is finished"
        case What.REPLACE:
            return "the purged log replaces the copy, which has nothing beyond it"
    to, other = (sync.there, sync.here) if step.to is sync.there else (sync.here, sync.there)
    fate = "becomes" if step.what is What.FORK else "is kept as"
    return f"{step.parting}; the history {to.where} {fate} the session {step.fork}; the one {other.where} keeps the id"


def _left(step: Step) -> str:
    where = f"{step.parting}; " if step.parting is not None else ""
    return f"LEFT: {step.session_id}: {where}{step.why}"


def _told(
    erasing: Sequence[ErasingStep],
    travelling: Sequence[TravellingErasures],
    plan: _Plan,
    there: Side,
    *,
    dry_run: bool,
    as_json: bool,
) -> int:
    """Print the finished steps of a sync, and return the exit code."""
    left = [step for step in plan.steps if step.is_left]
    failed = [step for step in erasing if step.error and not step.is_orphan]
    is_too_large = dry_run and any(lacks_room(*plan.room(side, erasing)) for side in (plan.sync.here, there))
    not_noted = [erasures for erasures in travelling if erasures.not_noted]
    has_files_left = any(step.files_that_stay or step.torn_tails or step.linked for step in erasing)
    if as_json:
        result = {
            "dry_run": dry_run,
            "with": there.name,
            "erased": [_erased_json(step) for step in erasing],
            "sessions": [step.to_json() for step in plan.steps],
            "in_step": plan.in_step,
        }
        if plan.sync.second_copies:
            result["twice"] = [[str(first.path), path] for path, first in plan.sync.second_copies.items()]
        if not_noted:
            result["not_noted"] = [erasures.not_noted for erasures in not_noted]
        if dry_run:
            result["lacks_room"] = is_too_large
        click.echo(json.dumps(result))
    else:
        for step in erasing:
            if step.is_orphan:
                say(f"{step.session.id}, a sub-agent's without its parent, stays: {step.error}")
        for step in failed:
            click.echo(f"NOT ERASED: {step.session.id} {step.side.where}: {step.error}", err=True)
        for unchanged in left:
            click.echo(_left(unchanged), err=True)
        _say_not_noted(not_noted)
        _say_second_copies(plan.sync)
        say(_summary(erasing, plan, dry_run=dry_run))
        if dry_run:
            say("Nothing was done (--dry-run).")
        elif any(not step.error for step in erasing):
            say(f"Other machines that sync with {there.name} follow at their next sync.")
    if left or failed or not_noted or has_files_left or is_too_large:
        return FINDINGS
    return DONE


def _summary(erasing: Sequence[ErasingStep], plan: _Plan, *, dry_run: bool) -> str:
    """Return a line with the numbers of copied and erased sessions; for a dry run, in the form of a plan."""
    if not plan.steps and not erasing:
        if not plan.in_step:
            return "No session matches."
        return f"Nothing is new: {counted(plan.in_step, 'session')} in step."
    left = sum(step.is_left for step in plan.steps)
    done = len(plan.steps) - left
    erased = _count_sessions(erasing)
    orphans = sum(step.is_orphan for step in erasing)
    not_erased = len({str(step.session.path) for step in erasing if step.error and not step.is_orphan})
    would, were = ("would be ", "are") if dry_run else ("", "were")
    parts = [f"{counted(done, 'session')} {would}brought in step", f"{plan.in_step:,} {were} so already"]
    if erased:
        parts.append(f"{would}erased in {counted(erased, 'session')}")
    if not_erased:
        parts.append(f"{not_erased:,} not erased")
    if orphans:
        parts.append(f"{orphans:,} named above")
    if left:
        parts.append(f"{left:,} left as they are")
    return f"{', '.join(parts)}."


def _erased_json(step: ErasingStep) -> dict[str, Any]:
    is_deletion = any(erasure.what == SESSION for erasure in step.erasures)
    entry: dict[str, Any] = {
        "session": step.session.id,
        "path": str(step.session.path),
        "what": "deleted" if is_deletion else "purged",
    }
    if step.linked:
        entry["linked"] = step.linked
    if step.error:
        entry["error"] = step.error
    return entry
