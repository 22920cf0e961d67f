"""What `context-persistent import` prints: the report of one file, or the summary of a directory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from ..transfer.fork_to_agent import AGENTS
from ..transfer.importers.account import Account, Import, LostLine
from ..transfer.importers.registry import importer_of
from ..transfer.importers.source_file import STANDARD_INPUT
from ..transfer.imports.import_directory import ImportedFile
from .how_to_go_on import say_how_to_go_on
from .terminal import counted, one_line, say

_MOST_SHOWN = 50  # the number of lines that could not be imported to show; --json has more
_MOST_SHOWN_OF_MANY = 5
_MOST_SESSIONS_SHOWN = 20


def show_report(report: Import, *, dry_run: bool) -> None:
    """Print the report of one file."""
    roles = ", ".join(f"{role} {count:,}" for role, count in sorted(report.roles.items()))
    source = "standard input" if report.source == STANDARD_INPUT else report.source
    imported = "would be imported" if dry_run else "imported"
    copied = ", with all that the log holds beside them" if report.format == "log" else ""
    say(f"{source}: {importer_of(report.format).title}")
    say(f"  {counted(report.messages, 'message')} {imported} ({roles}){copied}")
    _show_earlier_import(report, dry_run=dry_run)
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
        not_imported = "" if report.format == "log" else ", not imported"
        say(f"  control records{not_imported}: {listed}")
    for erased in report.erased:
        say(f"  {erased}")
    _show_account(report.account)
    _show_losses(f"noted: {len(report.notes):,}", report.notes, len(report.notes))
    _show_losses(loss_words(report.account), report.not_carried, report.lost)
    if dry_run:
        say("Nothing was done (--dry-run).")
    else:
        _show_sessions(report)


def _show_earlier_import(report: Import, *, dry_run: bool) -> None:
    """Print a line if a session of the file was imported before, or was exported from a session here."""
    were = "would be" if dry_run else "were"
    if any(session.is_older for session in report.sessions):
        say("  this copy is older than what was imported before, which stays as it is")
    elif any(session.is_origin for session in report.sessions):
        say(f"  it was exported from session {report.session_id}, which is here; {report.added:,} of them {were} added")
    elif report.added < sum(session.messages for session in report.sessions):
        say(f"  imported before; {report.added:,} of them {were} added")
    _show_other_changes(report)


def _show_other_changes(report: Import) -> None:
    """Print what an import changes beside new messages: a compaction since; and which messages it leaves hidden."""
    if report.has_new_compaction:
        say("  its agent has compacted it since; here too the model now sees the summary")
    if report.hidden_here:
        are, stay = ("is", "stays") if report.hidden_here == 1 else ("are", "stay")
        say(f"  {counted(report.hidden_here, 'message')} of it {are} hidden here by a rewind or a clear, and {stay} so")


def _show_sessions(report: Import) -> None:
    """Print the sessions that an import made, and how to go on with a single one."""
    for session in report.sessions[:_MOST_SESSIONS_SHOWN]:
        name = f"Session {session.session_id}" if session.session_id else "The new session"
        kind = {"branch": " (a branch)", "subagent": " (a sub-agent)"}.get(session.kind, "")
        say(f"{name}{kind}: {session.path}")
    if len(report.sessions) > _MOST_SESSIONS_SHOWN:
        say(f"... and {len(report.sessions) - _MOST_SESSIONS_SHOWN:,} more; `list` shows them")
    main_sessions = sum(session.kind == "session" for session in report.sessions)
    if report.sessions and main_sessions <= 1:
        say_how_to_go_on(report.sessions[0].path)
        _say_how_to_hand_back([report])


def show_summary(path: str, files: Sequence[ImportedFile], *, dry_run: bool) -> None:
    """Print a line for each file of a directory that had new messages, losses or errors, and the sums."""
    reports = [file.report for file in files if file.report is not None]
    added = "would be added" if dry_run else "added"
    _show_number_of_files(path, files)
    for report in reports:
        _show_one_of_many(report, added)
    for file in files:
        if file.is_erased:
            say(f"  left out: {file.path}: {one_line(file.error)}")
        if is_failed(file):
            say(f"  FAILED {file.path}: {one_line(file.error)}")
    _show_strangers([file for file in files if not file.is_session])
    _show_account(_sum_of_accounts([report.account for report in reports]))
    sessions = [session for report in reports for session in report.sessions]
    if sessions and not dry_run:
        say("  each is in the project of its directory; `context-persistent list --all` shows them")
        _say_how_to_hand_back(reports)
    sub_agents = sum(session.kind == "subagent" for session in sessions)
    with_agents = f" and {counted(sub_agents, 'sub-agent')}" if sub_agents else ""
    messages = counted(sum(report.added for report in reports), "message")
    say(f"{counted(len(sessions) - sub_agents, 'session')}{with_agents}, {messages} {added}")
    if dry_run:
        say("Nothing was done (--dry-run).")


def show_news(file: ImportedFile) -> None:
    """Print what was new in a file of a running agent."""
    report = file.report
    if file.is_erased:
        say(f"left out: {file.path}: {file.error}")
    elif report is None:
        say(f"FAILED {file.path}: {file.error}")
    else:
        say(f"{report.session_id or report.path}: {counted(report.added, 'message')} added")
        _show_other_changes(report)
        for erased in report.erased:
            say(f"  {erased}")
        title = f"{report.source}: {loss_words(report.account)}"
        _show_losses(title, report.not_carried, report.lost, most=_MOST_SHOWN_OF_MANY)


def _show_one_of_many(report: Import, added: str) -> None:
    """Print the new messages, the losses and the erasures of one file of a directory; `added` is the verb."""
    if report.added or report.lost or report.hidden_here or report.has_new_compaction:
        session_name = report.session_id or report.path
        say(f"  {session_name}: {counted(report.added, 'message')} {added}{_of_others(report)}")
    _show_other_changes(report)
    title = f"{report.source}: {loss_words(report.account)}"
    _show_losses(title, report.not_carried, report.lost, most=_MOST_SHOWN_OF_MANY)
    for erased in report.erased:
        say(f"  {erased}")


def _show_number_of_files(path: str, files: Sequence[ImportedFile]) -> None:
    """Print how many files a directory has, how many of them are no sessions, and how many the filters left out."""
    parts = list[str]()
    no_sessions = sum(not file.is_session for file in files)
    if no_sessions:
        parts.append("1 is no session" if no_sessions == 1 else f"{no_sessions:,} are no sessions")
    left_out = sum(file.is_left_out for file in files)
    if left_out:
        parts.append(f"{left_out:,} {'is' if left_out == 1 else 'are'} left out by the filters")
    number = counted(len(files), "file")
    say(f"{path}: {number}; {', '.join(parts)}" if parts else f"{path}: {number}")


def _sum_of_accounts(accounts: Sequence[Account]) -> Account:
    """Return the sum of several accounts, which say how many lines of each type an import mapped, kept or lost."""
    return Account(
        lines_by_file=_sum(account.lines_by_file for account in accounts),
        mapped=_sum(account.mapped for account in accounts),
        metadata=_sum(account.metadata for account in accounts),
        not_conversational=_sum(account.not_conversational for account in accounts),
        lost_lines=sum(account.lost_lines for account in accounts),
    )


def _of_others(report: Import) -> str:
    """Return words for the number of added messages that are in sessions of branches and of sub-agents."""
    parts = list[str]()
    for kind, noun, plural in (("branch", "branch", "branches"), ("subagent", "sub-agent", "sub-agents")):
        sessions = [session for session in report.sessions if session.kind == kind and session.added]
        if sessions and len(sessions) < len(report.sessions):
            added = sum(session.added for session in sessions)
            noun_in_number = noun if len(sessions) == 1 else plural
            parts.append(f"{added:,} of them in {len(sessions):,} {noun_in_number}")
    return f" ({', '.join(parts)})" if parts else ""


def _say_how_to_hand_back(reports: Sequence[Import]) -> None:
    """Print the command that continues an imported session in its own agent, if there is such a command."""
    first_by_agent: dict[str, Import] = {}
    for report in reports:
        if report.sessions:
            first_by_agent.setdefault(_AGENT_OF.get(report.format, report.format), report)
    for agent, report in first_by_agent.items():
        if agent in AGENTS:
            session = report.session_id if len(reports) == 1 else "SESSION"
            say(f"  to go on in {agent}: context-persistent fork {session or report.path} --to {agent}")


_AGENT_OF = {"claude-stream": "claude-code", "codex-exec": "codex"}
"""The names of agents by the formats of their files, if the two differ."""


def _show_strangers(files: Sequence[ImportedFile]) -> None:
    """Print the first files that are not sessions, with the reasons."""
    for file in files[:_MOST_SHOWN_OF_MANY]:
        say(f"  no session: {file.path}: {one_line(file.error.partition('; formats are')[0])}")
    if len(files) > _MOST_SHOWN_OF_MANY:
        say(f"  ... and {len(files) - _MOST_SHOWN_OF_MANY:,} more that are no sessions; --json names them all")


def _sum(counters: Iterable[Counter[str]]) -> Counter[str]:
    return sum(counters, Counter())


def _show_account(account: Account) -> None:
    """Print a table with the number of lines of each type that an import mapped, kept or lost."""
    say(f"  {counted(account.lines, account.unit)} in all:")
    for title, counts in (
        ("mapped", account.mapped),
        ("kept as metadata", account.metadata),
        ("not conversational", account.not_conversational),
        ("lost", Counter({"": account.lost_lines})),
    ):
        number = counts.total()
        if number:
            kinds = ", ".join(f"{kind} {count:,}" for kind, count in counts.most_common() if kind)
            say(f"    {title:<20}{number:>8,}  {kinds}".rstrip())


def loss_words(account: Account) -> str:
    """Return words for the number of lost lines, and the number of lost parts of other lines."""
    unit = account.unit
    words = []
    if account.lost_lines:
        words.append(counted(account.lost_lines, unit))
    if account.lost_parts == 1:
        words.append(f"a part of one {unit}")
    elif account.lost_parts:
        units = counted(2, unit).removeprefix("2 ")
        words.append(f"{account.lost_parts:,} parts of {units}")
    return f"{' and '.join(words)} not imported:"


def _show_losses(title: str, losses: Sequence[LostLine], number: int, most: int = _MOST_SHOWN) -> None:
    if losses:
        say(f"  {title}")
    for loss in losses[:most]:
        where = f"{loss.file}, " if loss.file else ""
        byte = f", byte {loss.offset:,}" if loss.offset is not None else ""
        part = " (a part)" if loss.is_part else ""
        say(f"  - {where}line {loss.line:,}{byte}{part}: {loss.reason}")
    if number > most:
        say(f"  ... and {number - most:,} more; --json names up to a thousand")


def is_failed(file: ImportedFile) -> bool:
    """Return whether a file that should have been imported was not."""
    if file.is_erased or file.is_left_out or not file.is_session:
        return False
    return bool(file.error)
