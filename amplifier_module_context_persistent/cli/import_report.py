"""What `context-persistent import` prints: what was imported, the account of every line, and what is lost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ..transfer.import_all import ImportedFile
from ..transfer.import_report import Import
from ..transfer.importers.account import Account, Loss
from ..transfer.importers.registry import importer_of
from ..transfer.importers.source import STANDARD_INPUT
from .session_argument import say_how_to_go_on
from .terminal import counted, one_line, say

_MOST_SHOWN = 50  # lines that could not be imported; --json has more


def show_report(report: Import, *, dry_run: bool) -> None:
    """Print the report of one file."""
    roles = ", ".join(f"{role} {count:,}" for role, count in sorted(report.roles.items()))
    done = "would be imported" if dry_run else "imported"
    named = "standard input" if report.source == STANDARD_INPUT else report.source
    say(f"{named}: {importer_of(report.format).title}")
    copied = ", with all that the log holds beside them" if report.format == "log" else ""
    say(f"  {counted(report.messages, 'message')} {done} ({roles}){copied}")
    if any(session.is_older for session in report.sessions):
        say("  this copy is older than what was imported before, which stays as it is")
    elif report.added < sum(session.messages for session in report.sessions):
        say(f"  imported before; {report.added:,} of them {'would be' if dry_run else 'were'} added")
    if report.derived_ids:
        say(f"  {report.derived_ids:,} without an id; each has one now")
    if report.renamed:
        say(f"  {len(report.renamed):,} with another one's id; each has one of its own now")
    if report.without_timestamp:
        say(f"  {report.without_timestamp:,} without a timestamp; they stay so")
    if report.format == "transcript":
        say("  a transcript has no instructions and no thinking blocks: the host left them out")
    if report.hidden:
        say(f"  {report.hidden:,} more were hidden by a clear or a reset, and stay so")
    if report.controls:
        listed = ", ".join(f"{name} {count:,}" for name, count in sorted(report.controls.items()))
        say(f"  control records{'' if report.format == 'log' else ', not imported'}: {listed}")
    _show_account(report.account)
    _show_losses("imported although", report.notes, len(report.notes))
    _show_losses("NOT imported", report.not_carried, report.lost)
    if dry_run:
        say("Nothing was done (--dry-run).")
        return
    for session in report.sessions:
        named = f"Session {session.session_id}" if session.session_id else "The new session"
        kind = {"branch": " (a branch)", "subagent": " (a sub-agent)"}.get(session.kind, "")
        say(f"{named}{kind}: {session.path}")
    if report.sessions:
        say_how_to_go_on(report.sessions[0].path)


def show_summary(path: str, files: Sequence[ImportedFile], *, dry_run: bool) -> None:
    """Print what became of the files of a directory: a line for each that had news, losses or errors, and the sums."""
    reports = [file.report for file in files if file.report is not None]
    skipped = sum(not file.is_session for file in files)
    say(f"{path}: {counted(len(files), 'file')}, {skipped:,} of them no sessions")
    for report in reports:
        if report.added or report.lost:
            lost = f", NOT imported: {counted(report.lost, report.account.unit)}" if report.lost else ""
            named = report.session_id or report.path
            say(f"  {named}: {counted(report.added, 'message')} added{lost}")
    for file in files:
        if file.error and file.is_session:
            say(f"  FAILED {file.path}: {one_line(file.error)}")
    sessions = [session for report in reports for session in report.sessions]
    total = Account()
    for report in reports:
        total.lines_by_file.update(report.account.lines_by_file)
        total.mapped.update(report.account.mapped)
        total.metadata.update(report.account.metadata)
        total.not_conversational.update(report.account.not_conversational)
        total.lost_lines += report.account.lost_lines
    _show_account(total)
    added = sum(report.added for report in reports)
    did = "would be added" if dry_run else "added"
    say(f"{counted(len(sessions), 'session')}, {counted(added, 'message')} {did}")
    if dry_run:
        say("Nothing was done (--dry-run).")


def _show_account(account: Account) -> None:
    """The table: what became of every line, by type."""
    say(f"  {counted(account.lines, account.unit)} in all:")
    for title, counts in (
        ("mapped", account.mapped),
        ("kept as metadata", account.metadata),
        ("not conversational", account.not_conversational),
        ("lost", Counter({"": account.lost_lines})),
    ):
        if number := counts.total():
            kinds = ", ".join(f"{kind} {count:,}" for kind, count in counts.most_common() if kind)
            say(f"    {title:<20}{number:>8,}  {kinds}".rstrip())


def _show_losses(title: str, losses: Sequence[Loss], number: int) -> None:
    if losses:
        say(f"  {title}: {number:,}")
    for loss in losses[:_MOST_SHOWN]:
        where = f"{loss.file}, " if loss.file else ""
        byte = f", byte {loss.offset:,}" if loss.offset is not None else ""
        part = " (a part)" if loss.is_part else ""
        say(f"  - {where}line {loss.line:,}{byte}{part}: {loss.reason}")
    if number > _MOST_SHOWN:
        say(f"  ... and {number - _MOST_SHOWN:,} more; --json names up to a thousand")
