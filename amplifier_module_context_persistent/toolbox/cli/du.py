"""`context-persistent du`: show the space that sessions use on the disk, by project, session and kind.

Exit codes: 0 done, 1 some logs could not be read, 2 unusable.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import click

from ...catalogue.catalogue_file import catalogue_of
from ...errors import LogError
from ...log.filesystem import FileSystem
from ...sessions.filters import SessionFilter
from ...sessions.session_files import SessionFile
from ..transfer.disk_use import KINDS, DiskUse, catalogue_bytes, disk_use
from .completion import complete
from .error_messages import reason
from .exit_codes import DONE, FINDINGS
from .filter_options import check_no_filter, chosen_sessions, filter_options, split_places
from .progress import progress
from .session_argument import last_path, no_catalogue_option, path_of, storage_option, with_their_sub_agents
from .session_rows import scaled
from .short_ids import shortest_ids
from .tables import show_table, without_empty
from .terminal import console, counted, escaped, one_line

BY = ("session", "project")


@dataclass(slots=True)
class _Counted:
    """The disk use of each session, the errors of unreadable sessions, and the size of the catalogues."""

    uses: list[tuple[SessionFile, DiskUse]] = field(default_factory=list)
    unreadable: dict[str, str] = field(default_factory=dict)
    catalogues: int = 0

    @property
    def total(self) -> DiskUse:
        return _sum(use for _, use in self.uses)


@click.command("du")
@storage_option
@no_catalogue_option
@click.argument("sessions", metavar="[SESSION]...", nargs=-1, shell_complete=complete)
@click.option("--last", is_flag=True, help="The session of this project that was written to last.")
@filter_options()
@click.option("--by", type=click.Choice(BY), help="A line for each of these; by default session, with --all project.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_context
def du(
    context: click.Context,
    sessions: tuple[str, ...],
    *,
    last: bool,
    everywhere: bool,
    wanted: SessionFilter,
    by: str | None,
    as_json: bool,
) -> None:
    """Show what SESSION takes on the disk, or the sessions of this project, and what could be freed.

    A session's sub-agents have rows of their own. The sizes in a log are those of live messages, results of tools,
    images and documents in both, receipts of requests, plans, cleared messages, and the rest. The sizes beside the
    logs are those of saved torn tails and of copies that a rewind kept, and of the host's own files.

    Every byte is counted, so each log is read as a whole. Two sizes are estimates: `purge --cleared` would free the
    cleared messages with their resets, and the receipts after them; for `archive`, parts of each log are compressed
    as a sample.
    """
    names, places = split_places(sessions, wanted.places)
    wanted = replace(wanted, places=places)
    if names or last:
        check_no_filter(wanted, everywhere=everywhere)
        if names and last:
            raise click.UsageError("give either SESSION or --last")
        paths = [last_path()] if last else [path_of(name) for name in names]
        chosen = with_their_sub_agents(paths)
    else:
        chosen = chosen_sessions(wanted, everywhere=everywhere)
    sizes = _count(chosen)
    if by is None:
        by = "project" if everywhere else "session"
    if as_json:
        click.echo(json.dumps(_to_json(sizes)))
    else:
        _show(sizes, by)
    context.exit(FINDINGS if sizes.unreadable else DONE)


def _count(sessions: Sequence[SessionFile]) -> _Counted:
    found = _Counted()
    projects = set[str]()
    paths = [str(session.path) for session in sessions if isinstance(session.path, Path)]
    with progress(*paths, title="counting", passes=2) if paths else nullcontext(FileSystem()) as files:
        for session in sessions:
            try:
                found.uses.append((session, disk_use(session, files=files)))
            except (LogError, OSError, ValueError) as error:
                found.unreadable[str(session.path)] = reason(error)
            if isinstance(session.path, Path):
                projects.add(os.fspath(catalogue_of(session.path)))
    found.catalogues = catalogue_bytes(projects)
    return found


def _by(sizes: _Counted, by: str) -> Mapping[str, DiskUse]:
    """Return the disk use by session or by project, the largest first."""
    parts: dict[str, DiskUse] = {}
    for session, use in sizes.uses:
        name = session.id
        if by == "project":
            name = session.project or "no project"
        parts.setdefault(name, DiskUse()).add(use)
    names = sorted(parts, key=lambda name: (-parts[name].total, name))
    return {name: parts[name] for name in names}


def _sum(uses: Iterable[DiskUse]) -> DiskUse:
    total = DiskUse()
    for use in uses:
        total.add(use)
    return total


def _to_json(sizes: _Counted) -> dict[str, Any]:
    largest_first = sorted(sizes.uses, key=lambda part: (-part[1].total, part[0].id))
    sessions = []
    for session, use in largest_first:
        session_facts = {"session": session.id, "project": session.project, "path": str(session.path)}
        sessions.append({**session_facts, **use.to_json()})
    projects = [{"project": name, **use.to_json()} for name, use in _by(sizes, "project").items()]
    return {
        "sessions": sessions,
        "projects": projects,
        "total": {**sizes.total.to_json(), "catalogue_bytes": sizes.catalogues},
        "unreadable": [{"path": path, "error": why} for path, why in sizes.unreadable.items()],
    }


def _show(sizes: _Counted, by: str) -> None:
    parts = _by(sizes, by)
    total = sizes.total
    output = console()
    short_ids: Mapping[str, str] = {}
    if by == "session" and output.is_terminal:
        short_ids = shortest_ids(parts)
    rows = [_cells(short_ids.get(name, name), use) for name, use in parts.items()]
    if len(rows) > 1:
        rows.append(_cells("all", total))
    heads, cells = without_empty((by, "size", *KINDS, "saved", "host's files"), rows)
    show_table(output, heads, cells)
    click.echo()
    click.echo(f"{counted(len(sizes.uses), 'session')}, {_size(total.total)} in all.")
    if total.purge_frees:
        cleared = sum(use.purge_frees > 0 for _, use in sizes.uses)
        advice = f"`purge SESSION --cleared` would free about {_size(total.purge_frees)}"
        click.echo(f"{advice}, in {counted(cleared, 'session')}: what a clear, a reset or a rewind hid.")
    if total.archive_frees:
        click.echo(f"`archive` would free about {_size(total.archive_frees)} (from a sample of each log).")
        click.echo("It compresses the logs alone, not the host's files.")
    if total.unpacked > total.log_bytes:
        click.echo(f"What is archived would take {_size(total.unpacked - total.log_bytes)} more if it were not.")
    if sizes.catalogues:
        click.echo(f"Catalogues take {_size(sizes.catalogues)} more; they are made again when they are needed.")
    for path, why in sizes.unreadable.items():
        click.echo(escaped(one_line(f"not read: {path}: {why}")), err=True)


def _cells(name: str, use: DiskUse) -> tuple[str, ...]:
    """Return the cells of a row: a name and sizes. A size of 0 is an empty cell."""
    sizes = (use.total, *use.kinds.values(), use.saved, use.host)
    texts = [_size(size) if size else "" for size in sizes]
    return (name, *texts)


def _size(size_bytes: int) -> str:
    """Return a size in plain units, such as 3.2MB."""
    return f"{scaled(size_bytes, 'kMGT')}B"
