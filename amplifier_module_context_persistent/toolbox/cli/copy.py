"""`context-persistent copy`: copy a whole log between files and databases.

Exit codes: 0 done; 1 done, and the log is damaged, so its copy is, too; 2 nothing was done.
"""

from __future__ import annotations

import json

import click

from ...log.database_location import shown_location
from ..transfer.copy_log import copy_log, copy_target
from ..transfer.erasing.undone_erasures import check_not_erased
from .completion import complete
from .error_messages import unusable
from .exit_codes import DONE, FINDINGS
from .progress import progress
from .session_argument import path_of, storage_option
from .terminal import counted, one_line, say


@click.command("copy")
@storage_option
@click.argument("source", metavar="FROM", shell_complete=complete)
@click.argument("target", metavar="TO")
@click.option("--dry-run", is_flag=True, help="Show what would be copied, and write nothing.")
@click.option("--again", is_flag=True, help="Copy also a log of a session that was deleted or purged here.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of a report.")
@click.pass_context
def copy(context: click.Context, source: str, target: str, *, dry_run: bool, again: bool, as_json: bool) -> None:
    """Copy a session's log byte for byte: to keep it, to move it, into a database.

    FROM is a session, as for the other commands, or a location postgresql://...#NAME. TO is a file, a directory, or a
    location; without a #NAME the copy keeps the session's name. The copy is read back before it appears. FROM stays.
    Close the session first: what it writes during the copy may be missing. An old log of a session that was
    deleted here, or purged since, is not copied; --again copies it anyway.
    """
    path = path_of(source)
    with unusable(path), progress(path, title="reading" if dry_run else "copying", passes=1 if dry_run else 2) as files:
        location = copy_target(path, shown_location(target))
        if not again:
            check_not_erased(path, location)
        done = copy_log(path, location, dry_run=dry_run, files=files)
    if done.damage:
        where = one_line(shown_location(path))
        click.echo(f"DAMAGED: {where}: {one_line(done.damage)}; a copy has the damage too", err=True)
    if as_json:
        click.echo(json.dumps({**done.to_json(), "dry_run": dry_run}))
    elif dry_run:
        say(f"{counted(done.messages, 'message')}, {done.size_bytes:,} bytes would be copied to")
        say(done.path)
        say("Nothing was done (--dry-run).")
    else:
        say(f"Copied {counted(done.messages, 'message')}, {done.size_bytes:,} bytes; read back and the same.")
        say(done.path)
    context.exit(FINDINGS if done.damage else DONE)
