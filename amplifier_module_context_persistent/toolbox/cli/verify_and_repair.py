"""`context-persistent verify` and `repair`: check logs, and repair the end of a log.

Exit codes: 0 sound or done, 1 damaged, 2 unusable or refused. Text from a file or its name is shown without control
characters.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from dataclasses import asdict, replace
from textwrap import wrap

import click
from rich.console import Console

from ...log.database_location import stored_name
from ...log.file_log import FileLog
from ...sessions.filters import ALL_SESSIONS, SessionFilter
from ..maintenance.verify import Finding, Report, verify_log
from .completion import complete
from .confirm import ask, check_can_ask
from .erasing import erasing_options
from .error_messages import UnusableError, reason, unusable
from .exit_codes import DONE, FINDINGS, UNUSABLE
from .filter_options import check_no_filter, chosen_sessions, filter_options, split_places
from .progress import progress
from .sealed_files import plain_path, reads_sealed
from .session_argument import (
    find_path,
    last_path,
    name_for_errors,
    no_catalogue_option,
    session_argument,
    storage_option,
)
from .terminal import console, counted, one_line

_MOST_SHOWN = 50  # the number of different findings of a log to show; --json has all
_MOST_PLACES = 5  # the number of places to show for equal findings


@click.command()
@storage_option
@reads_sealed
@no_catalogue_option
@filter_options()
@click.argument("sessions", metavar="[SESSION]...", nargs=-1, shell_complete=complete)
@click.option("--last", is_flag=True, help="The session of this project that was written to last.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of a report.")
@click.pass_context
def verify(
    context: click.Context,
    sessions: tuple[str, ...],
    *,
    last: bool,
    everywhere: bool,
    wanted: SessionFilter,
    as_json: bool,
) -> None:
    """Check logs: their records, their chain of checksums, their tails.

    Without SESSION, the logs of the sessions that filters choose are checked, or with --all those of all projects. If
    there are several logs, each sound log has one line; damaged logs, and a single log, are shown in full. The command
    only reads, and shows no text of messages. Exits with 0 if all logs are sound, 1 if one is damaged, 2 if one cannot
    be read.
    """
    output = console()
    code = DONE
    logs = []
    chosen = _named(sessions, last=last, everywhere=everywhere, wanted=wanted)
    for name in chosen:
        path = name_for_errors(name)
        try:
            path = find_path(name)
            plain = plain_path(path)
            with progress(plain, title="verifying", passes=2) as files:
                report = verify_log(plain, files=files)
        except (OSError, ValueError) as error:
            why = reason(error)
            logs.append({"path": path, "status": "unusable", "error": why})
            code = UNUSABLE
            if not as_json:
                _say(output, f"{path}: unusable", bold=True)
                _say(output, f"  {why}")
            continue
        logs.append(report.to_json() | {"path": path})
        code = max(code, DONE if report.is_sound else FINDINGS)
        if not as_json:
            _show(output, path, report, in_full=len(chosen) == 1 or not report.is_sound)
    if as_json:
        click.echo(json.dumps({"status": ("sound", "damaged", "unusable")[code], "logs": logs}, indent=2))
    elif len(logs) > 1:
        click.echo(_sum_of([str(log["status"]) for log in logs]), err=True)
    context.exit(code)


def _sum_of(states: Sequence[str]) -> str:
    """Return the number of logs in each state (such as `sound`) on one line."""
    counts = Counter(states)
    if len(counts) == 1:
        return f"{len(states):,} logs, all {states[0]}."
    return f"{len(states):,} logs: {', '.join(f'{count:,} {state}' for state, count in counts.most_common())}."


def _named(sessions: Sequence[str], *, last: bool, everywhere: bool, wanted: SessionFilter) -> Sequence[str]:
    """Return the sessions that the command line names, or the logs of the sessions that filters choose.

    Raises:
        UsageError: the command line names no session, or names sessions in two ways.
        UnusableError: there is no session.
    """
    sessions, places = split_places(sessions, wanted.places)
    wanted = replace(wanted, places=places)
    if sessions and last:
        raise click.UsageError("give either SESSION or --last")
    if sessions or last:
        check_no_filter(wanted, everywhere=everywhere)
        return sessions or [last_path()]
    if not everywhere and wanted == ALL_SESSIONS:
        raise click.UsageError("name at least one SESSION, or give --last, --all or a filter")
    chosen = chosen_sessions(wanted, everywhere=everywhere)
    if not chosen:
        click.echo("no session matches", err=True)
    return [str(session.path) for session in chosen]


@click.command()
@session_argument
@erasing_options
def repair(path: str, *, dry_run: bool, yes: bool, as_json: bool) -> None:
    """Repair the end of a log without losing anything.

    Adds the newline that a last line lacks, or saves a torn tail to a file beside the log and cuts it off. Everything
    else stays unchanged: readers skip damage in the middle of a log, and verify says what to do about it.
    """
    check_can_ask(as_json=as_json, yes=yes, dry_run=dry_run)
    if stored_name(path) is not None:
        raise UnusableError(f"{one_line(path)}: only a file can have a torn end; in a database there is none to repair")
    output = console()
    with unusable(path):
        report = verify_log(path)
    todo = [finding for finding in report.damage if finding.kind in ("torn_tail", "no_newline")]
    rest = len(report.damage) - len(todo)
    if as_json:
        if todo and not dry_run:
            _repair(path)
        findings = [asdict(finding) for finding in todo]
        click.echo(json.dumps({"path": path, "dry_run": dry_run, "repaired": findings, "findings_left": rest}))
        return
    for finding in todo:
        done = (
            "save them to a file beside the log, then cut them off"
            if finding.kind == "torn_tail"
            else "add the newline that it lacks"
        )
        _say(output, f"{path}, byte {finding.offset}: {finding.detail}; {done}.")
    if not todo:
        _say(output, f"{path}: nothing to repair.")
    elif dry_run:
        _say(output, "Nothing was done (--dry-run).")
    else:
        ask("Repair it?", yes=yes)
        _repair(path)
        _say(output, "Done.")
    if rest:
        _say(output, f"Findings that repair does not change: {rest}. See verify.")


def _repair(path: str) -> None:
    with unusable(path), closing(FileLog(path)) as log:
        log.repair()


# -- showing -----------------------------------------------------------------------------------------------------------


def _say(output: Console, text: str, *, bold: bool = False) -> None:
    shown_text = one_line(text).encode(output.encoding, "replace").decode(output.encoding)
    hanging = " " * (len(shown_text) - len(shown_text.lstrip(" -")))
    for line in wrap(
        shown_text, output.width, subsequent_indent=hanging, break_long_words=False, break_on_hyphens=False
    ):
        output.print(line, style="bold" if bold else None, soft_wrap=True)


def _show(output: Console, path: str, report: Report, *, in_full: bool) -> None:
    """Print the findings about a log; with `in_full=False`, only that the log is sound, and the number of notes."""
    if not in_full:
        notes = f"; {counted(len(report.notes), 'note')}" if report.notes else ""
        _say(output, f"{path}: sound{notes}")
        return
    total = sum(report.messages.values())
    state = "sound" if report.is_sound else "damaged"
    roles = ", ".join(f"{role} {count:,}" for role, count in sorted(report.messages.items()))
    of_roles = f" ({roles})" if roles else ""
    controls = ", ".join(f"{kind} {count:,}" for kind, count in sorted(report.controls.items()))
    _say(output, f"{path}: {state}", bold=True)
    _say(output, f"  {report.size_bytes:,} bytes; {counted(total, 'message')}{of_roles}")
    _say(output, f"  live: {report.live:,}; hidden by a clear or a reset: {total - report.live:,}")
    _say(output, f"  control records: {controls or 'none'}")
    _show_findings(output, "damage", report.damage)
    _show_findings(output, "notes", report.notes)


def _show_findings(output: Console, title: str, findings: list[Finding]) -> None:
    """Print findings about a log. Equal findings are printed once, followed by their other places."""
    if not findings:
        _say(output, f"  {title}: none")
        return
    _say(output, f"  {title}: {len(findings):,}")
    groups: dict[tuple[str, str], list[Finding]] = {}
    for finding in findings:
        groups.setdefault((finding.kind, finding.detail), []).append(finding)
    for (kind, detail), alike in list(groups.items())[:_MOST_SHOWN]:
        place = _place(alike[0])
        before = f"{place}: " if place else ""
        if kind == "archive_frame":  # its text says the place in the file
            before = "a part of the archive cannot be read: "
        else:
            before += f"{kind.replace('_', ' ')}: "
        _say(output, f"  - {before}{detail}")
        if len(alike) > 1 and place:
            _say(output, f"    {len(alike) - 1:,} more like it: {_other_places(alike, place)}")
        _say(output, f"    {alike[0].advice}")
    if len(groups) > _MOST_SHOWN:
        _say(output, f"  ... and {len(groups) - _MOST_SHOWN:,} more kinds; --json has all")


def _other_places(findings: Sequence[Finding], place: str) -> str:
    """Return the places of equal findings as a text, without `place`. Only the first few places are named."""
    places = dict.fromkeys(map(_place, findings))
    others = [other for other in places if other not in ("", place)]
    if not others:
        return "at the same place"
    listed = "; ".join(others[:_MOST_PLACES])
    left_out = len(others) - _MOST_PLACES
    if left_out > 0:
        listed += f"; and {left_out:,} more, --json has all"
    return listed


def _place(finding: Finding) -> str:
    """Return the line and the byte of a finding as text; "" if the finding has no place."""
    parts = []
    if finding.line is not None:
        parts.append(f"line {finding.line:,}")
    if finding.offset is not None:
        parts.append(f"byte {finding.offset:,}")
    return ", ".join(parts)
