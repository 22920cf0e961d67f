"""`context-persistent sync`: copy new records of sessions between this home and another place, both ways.

Exit codes: 0 both sides are equal; 1 something is left: a session continued on both sides, is open or cannot be read,
or a file of the host, or another name of a file, contains what was erased; a dry run also if there is not enough room;
2 nothing was done.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

import click

from ...clock import utc_now
from ...log.database_location import parse_location
from ...sessions.filters import SessionFilter
from ...sessions.other_projects import named_projects
from ...sessions.session_files import SessionFile
from ..transfer.sync_and_backup.places_synced_before import forget_synced, note_synced, synced_places, why_not_known
from ..transfer.sync_and_backup.sync_erasures import (
    ErasingStep,
    TravellingErasures,
    erase,
    plan_erasing,
    travelling_erasures,
)
from ..transfer.sync_and_backup.sync_sides import Remotes, Side, home_side, of_project, other_side
from ..transfer.sync_and_backup.sync_step import What
from .confirm import ask, check_can_ask
from .erasing import erasing_options
from .error_messages import UnusableError, unusable
from .filter_options import filter_options
from .parameters import check_not_empty
from .session_argument import no_catalogue_option
from .sync_plan import SyncScope, plan_sync
from .sync_report import count_erased, report_result, show_plan
from .terminal import counted, one_line, say


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
    scope = SyncScope(wanted, everywhere=everywhere, keep_both=keep == "both")
    with unusable():
        here = home_side()
        there = other_side(place)
        if there.storage is not None:
            from ...log.postgres.server_connections import using  # its driver is an extra

            context.with_resource(using(parse_location(there.storage)))
        force, travelling = travelling_erasures(here, there)
        erasing = _erasing_on_both(here, there, travelling)
        plan = plan_sync(here, there, force, scope, without={step.session.id for step in erasing})
        erasing += plan.take_erasing()
    has_sessions = bool(plan.steps or plan.in_step or erasing)
    if not everywhere and not has_sessions:
        _say_none(_why_none(here, there, wanted), travelling)
    if not as_json:
        show_plan(erasing, plan, there)
    if not dry_run:
        count = count_erased(erasing) + sum(step.what is What.REPLACE for step in plan.steps)
        if count:
            ask(f"Erase it in {counted(count, 'session')}, and go on?", yes=yes)
        _note_place(there)
        with unusable():
            erase(erasing, travelling, now=utc_now)
            if erasing:
                not_erased = {step.session.id for step in erasing if step.error}
                plan = plan_sync(here, there, force, scope, without=not_erased)
            plan.carry_out()
            for side in (here, there):
                side.remove_stale_marks()
    context.exit(report_result(erasing, travelling, plan, there, dry_run=dry_run, as_json=as_json))


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
