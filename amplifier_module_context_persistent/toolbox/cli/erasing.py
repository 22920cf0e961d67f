"""Common parts of commands that erase: their options and checks, and the summary before the question."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import click

from ...erasures.erasure_list import lists_of, read_erasures
from ...errors import ContextPersistentError, reason_of
from ...log.database_location import split_location, stored_name, without_password
from ...sessions.filters import ALL_SESSIONS, SessionFilter
from ...sessions.overview import Overview
from ..transfer.sync_and_backup.places_synced_before import synced_places, why_not_known
from .session_rows import scaled
from .terminal import counted, one_line

R = TypeVar("R")

_MOST_PROJECTS = 5
_MOST_LEFT_OUT = 20


def check_says_which(wanted: SessionFilter, *, everywhere: bool, everything: bool, besides: str = "") -> None:
    """Check that the command line says which sessions are to be erased.

    Args:
        wanted: the filters.
        everywhere: whether `--all` was given.
        everything: whether the command line says that all sessions are to be erased.
        besides: further ways to say which sessions, for the message.

    Raises:
        UsageError: nothing says which sessions are to be erased.
    """
    if everything or replace(wanted, places=(), without_tags=(), excepted=()) != ALL_SESSIONS:
        return  # filters that only exclude sessions do not count
    if wanted.places:
        scope = f"all sessions in {one_line(', '.join(wanted.places))}"
    elif everywhere:
        scope = "the sessions of all projects"
    else:
        scope = "all sessions of this project"
    raise click.UsageError(
        f"this would mean {scope}: give {besides}a filter (--project, --since, --until, --model, --tool, --name, "
        "--tag, --untagged, --failed, -n), or --everything if all are meant"
    )


def extent(projects: Sequence[str], size_bytes: int) -> str:
    """Return the extent of an erasure on one line: the number of sessions, their projects, and their size.

    Args:
        projects: the project of each session; "" for a session outside of projects.
        size_bytes: the size of all logs together.
    """
    size = f"{scaled(size_bytes, 'kMGT')}B in all"
    if not any(projects):
        return f"{counted(len(projects), 'session')}, {size}"
    if len(projects) == 1:
        return f"1 session, {size} ({projects[0]})"
    counts = Counter(project or "no project" for project in projects)
    listed = ", ".join(f"{name} {count:,}" for name, count in counts.most_common(_MOST_PROJECTS))
    if len(counts) > _MOST_PROJECTS:
        listed += f", and {len(counts) - _MOST_PROJECTS:,} more"
    of_projects = f" of {counted(len(counts), 'project')}" if len(counts) > 1 else ""
    return f"{counted(len(projects), 'session')}{of_projects}, {size} ({listed})"


def what_follows(logs: Iterable[str]) -> str:
    """Return a line that names the places in which the next sync erases copies; "" if this home was never synced.

    Args:
        logs: the paths or locations of the logs in which something is erased.
    """
    synced = synced_places()
    if not synced:
        unknown = why_not_known()
        return f"{one_line(unknown)}; a sync with each of them erases it there too." if unknown else ""
    erased_now = {_place_of(log) for log in logs}
    others = [place for place in synced if place.name not in erased_now]
    names = [str(place) for place in others]
    is_in_synced_place = len(others) < len(synced)
    if is_in_synced_place:
        names.insert(0, "this home")  # it syncs with that place, so it erases its copies too
    place_names = one_line(", ".join(names))
    follows = (
        f"At the next `context-persistent sync` it is erased in {place_names} too, and on other machines at theirs."
    )
    if any(place.is_missing for place in others):
        follows += " `context-persistent sync PLACE --forget` leaves out a place that is gone."
    return follows


def say_damaged_lists(logs: Iterable[str]) -> None:
    """Print on the error stream which lists of erasures that apply to logs are damaged.

    What is erased now is noted in a line of its own. But imports and syncs are refused until a person puts it right.
    """
    places = {str(place): place for log in logs for place in lists_of(log)}
    for place in places.values():
        try:
            read_erasures(place)
        except (OSError, ContextPersistentError) as error:
            name = str(getattr(error, "filename", None) or place)
            click.echo(f"DAMAGED LIST: {one_line(name)}: {one_line(reason_of(error))}", err=True)


def _place_of(log: str) -> str:
    """Return the name that a sync gives the directory or the database with a log."""
    if stored_name(log) is not None:
        return split_location(without_password(log))[0]
    parents = Path(os.path.abspath(log)).parents
    return os.fspath(parents[3]) if len(parents) > 3 else ""


def say_left_by_age(sessions: Iterable[Overview], older: float) -> None:
    """Print on the error stream which sessions `--older` leaves out because their messages have no times.

    The age of such a session is that of the log's file, which an import or a copy may have written recently.
    """
    left = [overview.session.id for overview in sessions if not overview.has_time and overview.last_s >= older]
    if not left:
        return
    listed_ids = one_line(", ".join(left[:_MOST_LEFT_OUT]))
    if len(left) > _MOST_LEFT_OUT:
        listed_ids += f" and {len(left) - _MOST_LEFT_OUT:,} more"
    reason = "whose messages have no times, and which were written since then; name them to mean them"
    click.echo(f"left out: {counted(len(left), 'session')} {reason}: {listed_ids}", err=True)


def erasing_options(command: Callable[..., R]) -> Callable[..., R]:
    """Add the options `--dry-run`, `--yes` and `--json` to a command, as `dry_run`, `yes` and `as_json`."""
    json_help = "Print one JSON object; with it, --yes or --dry-run is needed."
    for option in (
        click.option("--json", "as_json", is_flag=True, help=json_help),
        click.option("--yes", is_flag=True, help="Do not ask."),
        click.option("--dry-run", is_flag=True, help="Show what would be done, and do nothing."),
    ):
        command = option(command)
    return command
