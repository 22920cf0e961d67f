"""`context-persistent backup`: keep copies of all sessions of this home in a directory, and restore them.

Exit codes: 0 done; 1 something is not done: a log cannot be read, is shorter than its copy or damaged, a copy in the
backup is damaged, or something could not be erased or restored; a dry run also if there is not enough room; 2 nothing
was done.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path

import click

from ...clock import utc_now
from ...log.filesystem import FileSystem
from ...log.room_on_disk import free_bytes
from ..transfer.sync_and_backup.backup_sessions import Backup, BackupStep, Done, ErasedInBackup, erase_held, open_backup
from ..transfer.sync_and_backup.check_backup import BackupCheck, check_backup
from ..transfer.sync_and_backup.restore_sessions import Restore
from ..transfer.sync_and_backup.room_for_copies import room_of_all
from ..transfer.sync_and_backup.sync_sides import Side, home_side
from .confirm import ask, check_can_ask
from .erasing import erasing_options
from .error_messages import unusable
from .exit_codes import DONE, FINDINGS
from .parameters import check_not_empty
from .progress import progress, stages
from .room_text import lacks_room, room_text
from .session_rows import scaled
from .terminal import counted, one_line, say

_MOST_NAMED = 3


@click.command("backup")
@click.argument("place", metavar="DIR", callback=check_not_empty)
@click.option("--restore", is_flag=True, help="Copy the sessions and records that this home lacks from the backup.")
@click.option("--again", is_flag=True, help="With --restore: also restore sessions that were deleted here.")
@click.option("--check", is_flag=True, help="Read the whole backup, and say whether each log is sound.")
@click.option(
    "--erase", is_flag=True, help="Purge and delete in the backup, too, the content that was purged or deleted here."
)
@erasing_options
@click.pass_context
def backup(
    context: click.Context,
    place: str,
    *,
    restore: bool,
    again: bool,
    check: bool,
    erase: bool,
    dry_run: bool,
    yes: bool,
    as_json: bool,
) -> None:
    """Keep copies of all sessions of this home in DIR, or restore them.

    DIR is an empty directory at first. Sessions may run during a backup: each copy is a whole log up to some record.
    What is new since the last backup is appended to the copies, and checked by its checksums. Nothing in the backup is
    changed. So the backup still has what a purge or a deletion removed in this home. This is said each time; --erase
    removes it from the backup, after a question.

    --restore copies to this home what it lacks, and changes nothing that it has. The home may be a new one. What was
    deleted before the backup is left out; --again restores that too.
    """
    if restore + check + erase > 1:
        raise click.UsageError("give one of --restore, --check and --erase")
    if again and not restore:
        raise click.UsageError("--again is for --restore")
    if erase:
        check_can_ask(as_json=as_json, yes=yes, dry_run=dry_run)
    with unusable():
        there = open_backup(place, create=not (restore or check or erase))
        if check:
            code = _check(there, as_json=as_json)
        elif erase:
            code = _erase(there, dry_run=dry_run, yes=yes, as_json=as_json)
        elif restore:
            code = _restore(there, again=again, dry_run=dry_run, as_json=as_json)
        else:
            code = _back_up(there, dry_run=dry_run, as_json=as_json)
    context.exit(code)


def _back_up(there: Side, *, dry_run: bool, as_json: bool) -> int:
    run = Backup(home_side(), there, utc_now)
    steps = run.plan()
    if not dry_run:
        run.note_erasures()
        todo = [place for place, step in enumerate(steps) if step.what not in (Done.SAME, Done.LEFT)]
        with stages() as tell:
            for number, place in enumerate(todo):
                tell("copying", number, len(todo))
                steps[place] = run.carry_out(steps[place])
    erased_content = run.held_erased()
    check = None if dry_run else check_backup(home_side(), there, _watch, made=steps, now=utc_now)
    if as_json:
        result = {
            "dry_run": dry_run,
            "sessions": [step.to_json() for step in steps],
            "holds_erased": len(erased_content),
        }
        if check is not None:
            result |= check.to_json()
        click.echo(json.dumps(result))
    else:
        _show(steps, "backed up", there, dry_run=dry_run)
        if erased_content:
            say(
                f"The backup still holds what was erased here: {_described(erased_content)}."
                " --erase removes it there too."
            )
        if check is not None:
            _show_check(check)
    is_damaged = check is not None and bool(check.damaged)
    is_left = any(step.what is Done.LEFT or step.damage or step.copy_damage for step in steps)
    is_too_large = dry_run and lacks_room(*_room(steps, there))
    if is_left or is_damaged or is_too_large:
        return FINDINGS
    return DONE


def _watch(copies: Sequence[str]) -> AbstractContextManager[FileSystem]:
    return progress(*copies, title="checking")


def _show_check(check: BackupCheck) -> None:
    for path, why in check.damaged.items():
        click.echo(f"DAMAGED COPY: {one_line(path)}: {why}", err=True)
    if not check.read:
        return
    read = f"{check.read:,} {'copy' if check.read == 1 else 'copies'} read again"
    if check.damaged:
        say(f"{read}, {len(check.damaged):,} damaged.")
    elif check.since:
        say(f"{read}; all were found whole since {check.since[:10]}.")
    else:
        say(f"{read}; others were not read since they were made, --check reads all.")


def _restore(there: Side, *, again: bool, dry_run: bool, as_json: bool) -> int:
    run = Restore(there, home_side(), again, utc_now)
    steps = run.plan()
    if not dry_run:
        with stages() as tell:
            steps = run.carry_out(steps, lambda number: tell("copying", number, len(steps)))
    if as_json:
        click.echo(json.dumps({"dry_run": dry_run, "sessions": [step.to_json() for step in steps]}))
    else:
        _show(steps, "restored", run.home, dry_run=dry_run)
    is_too_large = dry_run and lacks_room(*_room(steps, run.home))
    if is_too_large or any(step.what is Done.LEFT for step in steps):
        return FINDINGS
    return DONE


def _show(steps: Sequence[BackupStep], done: str, to: Side, *, dry_run: bool) -> None:
    """Print what a backup did; `done` is the verb for it, such as `copied`, and `to` the side with the new copies."""
    for step in steps:
        if step.what is Done.LEFT:
            click.echo(f"LEFT: {one_line(step.source)}: {step.why}", err=True)
            continue
        if step.damage:
            click.echo(f"DAMAGED: {one_line(step.source)}: {one_line(step.damage)}; copied as it is", err=True)
        if step.copy_damage:
            handling = f"copied anew, and the damaged copy is kept as {Path(step.aside).name}"
            click.echo(f"DAMAGED COPY: {one_line(step.target)}: {one_line(step.copy_damage)}; {handling}", err=True)
        elif step.what is Done.ERASED:
            say(f"{step.session_id}: {step.why}")
        elif step.what is Done.ANEW:
            say(f"{step.session_id}: copied anew; the older copy is kept as {Path(step.aside).name}")
    counts = Counter(step.what for step in steps)
    new, same = counts[Done.NEW], counts[Done.SAME]
    copied = new + counts[Done.MORE] + counts[Done.ANEW]
    if not copied:
        say(f"Nothing is new: {counted(same, 'session')} {done} already.")
        return
    size = sum(step.new_bytes for step in steps if step.what not in (Done.LEFT, Done.ERASED))
    would = "would be " if dry_run else ""
    size_text = f"{scaled(size, 'kMGT')}B ({new:,} new)"
    say(f"{counted(copied, 'session')} {would}{done}, {size_text}, {same:,} had nothing new.")
    if dry_run:
        if lacks_room(*_room(steps, to)):
            say(room_text(*_room(steps, to)))
        say("Nothing was done (--dry-run).")


def _room(steps: Sequence[BackupStep], to: Side) -> tuple[int, int | None]:
    """Return the bytes that the steps need on the side of the copies, and the bytes that are free there, or None."""
    return room_of_all(step.room for step in steps), free_bytes(to.root) if to.root is not None else None


def _described(erased_content: ErasedInBackup) -> str:
    """Return a phrase: how many copies, saved ends and sessions a backup has although they were erased here."""
    parts = []
    if erased_content.asides:
        noun = "older copy of a purged log" if len(erased_content.asides) == 1 else "older copies of purged logs"
        parts.append(f"{len(erased_content.asides):,} {noun}")
    if erased_content.torn_tails:
        parts.append(counted(len(erased_content.torn_tails), "saved torn tail"))
    if erased_content.sessions:
        parts.append(counted(len(erased_content.sessions), "session"))
    return ", ".join(parts)


def _named(paths: Sequence[str]) -> str:
    """Return the ids of the first few sessions whose logs are in a backup, and the number of the remaining sessions."""
    ids = list(dict.fromkeys(Path(path).parent.name for path in paths))
    more = f" and {len(ids) - _MOST_NAMED:,} more" if len(ids) > _MOST_NAMED else ""
    return one_line(", ".join(ids[:_MOST_NAMED])) + more


def _erase(there: Side, *, dry_run: bool, yes: bool, as_json: bool) -> int:
    """Remove from a backup the sessions and messages that were erased in this home, and return the exit code."""
    erased_content = Backup(home_side(), there, utc_now).held_erased(before_a_run=True)
    paths = [str(path) for path in (*erased_content.asides, *erased_content.torn_tails)]
    paths += [str(step.session.path) for step in erased_content.sessions]
    linked = erased_content.linked
    if not as_json:
        for path in paths:
            say(f"{'would be' if dry_run else 'will be'} erased: {path}")
        for name in linked:
            say(f"has another name (hard link), under which its content stays: {name}")
        if not erased_content:
            say("The backup holds nothing that was erased here.")
    if not dry_run:
        if erased_content:
            ask(f"Erase {_described(erased_content)} ({_named(paths)}) from the backup for good?", yes=yes)
        erase_held(there, erased_content, now=utc_now)
    failed = [step for step in erased_content.sessions if step.error]
    if as_json:
        errors = [{"path": str(step.session.path), "error": step.error} for step in failed]
        click.echo(json.dumps({"dry_run": dry_run, "erased": paths, "linked": linked, "errors": errors}))
    else:
        for step in failed:
            click.echo(f"NOT ERASED: {one_line(str(step.session.path))}: {step.error}", err=True)
        if dry_run:
            say("Nothing was done (--dry-run).")
        elif erased_content:
            say(f"Done: {len(erased_content) - len(failed):,} erased from the backup.")
    if failed or linked:
        return FINDINGS
    return DONE


def _check(there: Side, *, as_json: bool) -> int:
    check = check_backup(home_side(), there, _watch, all_copies=True, now=utc_now)
    if as_json:
        click.echo(json.dumps({"logs": check.read, "damaged": check.to_json()["damaged"]}))
    else:
        for path, why in check.damaged.items():
            click.echo(f"DAMAGED: {one_line(path)}: {why}", err=True)
        say(f"{counted(check.read, 'log')} checked, {len(check.damaged):,} damaged.")
    return FINDINGS if check.damaged else DONE
