"""What `context-persistent sync` prints: the plan, and the result."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import Any

import click

from ...erasures.erasure_record import SESSION
from ...log.database_location import shown_location, stored_name
from ...sessions.session_name import read_name
from ..transfer.sync_and_backup.sync_erasures import (
    ErasingStep,
    TravellingErasures,
)
from ..transfer.sync_and_backup.sync_sessions import Sync
from ..transfer.sync_and_backup.sync_sides import Side
from ..transfer.sync_and_backup.sync_step import Step, What
from .exit_codes import DONE, FINDINGS
from .room_text import lacks_room, room_text
from .session_rows import scaled
from .sync_plan import SyncPlan
from .terminal import counted, cut, one_line, say

_NAME_CELLS = 40


def count_erased(erasing: Sequence[ErasingStep]) -> int:
    """Return the number of logs in which a sync erases something. Several erasures may concern one log."""
    return len({str(step.session.path) for step in erasing if not step.error})


def show_plan(erasing: Sequence[ErasingStep], plan: SyncPlan, there: Side) -> None:
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


def report_result(
    erasing: Sequence[ErasingStep],
    travelling: Sequence[TravellingErasures],
    plan: SyncPlan,
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


def _summary(erasing: Sequence[ErasingStep], plan: SyncPlan, *, dry_run: bool) -> str:
    """Return a line with the numbers of copied and erased sessions; for a dry run, in the form of a plan."""
    if not plan.steps and not erasing:
        if not plan.in_step:
            return "No session matches."
        return f"Nothing is new: {counted(plan.in_step, 'session')} in step."
    left = sum(step.is_left for step in plan.steps)
    done = len(plan.steps) - left
    erased = count_erased(erasing)
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
