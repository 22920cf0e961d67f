"""Print what a purge does: as lines of text, or as one JSON object at the end."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import click

from ...messages.json_fields import present
from ..maintenance.purge_options import PurgeCounts
from ..transfer.erasing.purge_session import SessionPurge
from ..transfer.host_files.after_rewind_or_purge import BACKUP_MARK
from .terminal import counted, one_line, say


class PurgeReport:
    """Reports what a purge does, as lines of text, or as one JSON object at the end.

    Args:
        dry_run: whether nothing is done.
        as_json: whether only the object is printed.
    """

    def __init__(self, *, dry_run: bool, as_json: bool) -> None:
        self.dry_run = dry_run
        self._as_json = as_json
        self._errors: list[dict[str, str]] = []
        self.other_capitals = 0
        self.sub_agents: list[str] = []
        """The logs of sub-agents' sessions that hold the text to remove, and are not purged."""

    def say(self, text: str) -> None:
        """Print a line, unless JSON is printed."""
        if not self._as_json:
            say(text)

    def failed(self, what: str, path: str, why: str) -> None:
        """Report a session that was not read or not purged, with the reason."""
        self._errors.append({"path": path, "error": why})
        if self._as_json:
            return
        text = why if one_line(path) in why else f"{one_line(path)}: {why}"
        click.echo(f"{what}: {text}", err=True)

    def plan(self, session: SessionPurge) -> None:
        """Print how much a purge removes from one session, and which of the session's files it changes."""
        removed = "would be removed" if self.dry_run else "will be removed for good"
        whose = "log" if session.is_log else "session of another agent"
        self.say(f"{session.path}: of this {whose}, this {removed}:")
        if session.finishes:
            self.say(
                "  an earlier purge was interrupted and is finished now;"
                " content that only the earlier one was to remove stays"
            )
        self.counts(session.counts)
        self.session_id(session)
        if session.own is not None:
            self.say(f"  {session.own}, which an import or a fork wrote, is brought in step")
        for agent_fork in session.agent_forks:
            self.say(f"  {agent_fork.path}, a fork to {agent_fork.agent} that has not gone on, is redacted")
        for name in session.removed:
            is_backup = BACKUP_MARK in name and not name.endswith(".part")
            origin = "which a rewind kept" if is_backup else "which was left"
            self.say(f"  {name}, {origin}, is removed")
        for name in session.remaining.linked:
            self.say(f"  {name} has another name (hard link), under which its content stays")

    def session_id(self, session: SessionPurge) -> None:
        """Print a line if the session's id contains the text to remove."""
        if session.remaining.is_id_matching:
            self.say("  the session's id holds it, and stays; only delete removes it")

    def counts(self, counts: PurgeCounts) -> None:
        """Print the numbers of records that a purge removes and keeps."""
        for number, what, fate in _fates(counts):
            if number:
                self.say(f"  {counted(number, what)} {fate}")

    def end(self, planned: Sequence[SessionPurge], purged: Sequence[SessionPurge]) -> None:
        """Print the JSON object about the removed messages; in a dry run, about those that would be removed."""
        if not self._as_json:
            return
        sub_agents = [f"{path}: a sub-agent's session" for path in self.sub_agents]
        result = {
            "dry_run": self.dry_run,
            "purged": [_plain(session) for session in purged],
            "copies_that_stay": [*(copy for session in planned for copy in session.remaining.copies), *sub_agents],
            "errors": self._errors,
            **present(other_capitals=self.other_capitals),
        }
        click.echo(json.dumps(result))


def _plain(session: SessionPurge) -> dict[str, Any]:
    """Return the counts and files of a session's purge, as plain JSON types."""
    return {
        "path": session.path,
        **session.counts.to_record(),
        "own": str(session.own) if session.own is not None else None,
        "removed": session.removed,
        "agent_forks": [agent_fork.path for agent_fork in session.agent_forks],
        "linked": session.remaining.linked,
        "finishes": session.finishes,
    }


def _fates(counts: PurgeCounts) -> Sequence[tuple[int, str, str]]:
    """Return a row for each kind of content: the count, the noun for it, and what the purge does (remove, keep, …)."""
    return (
        (counts.messages_removed, "message", "removed"),
        (counts.messages_redacted, "message", "redacted"),
        (counts.controls_removed, "control record", "removed (plans, receipts and resets that go with them)"),
        (counts.controls_redacted, "control record", "redacted"),
        (counts.unreadable_removed, "unreadable piece", "removed or redacted"),
        (counts.torn_bytes, "byte", "of a torn tail removed"),
        (counts.saved_tails, "saved torn tail", "removed"),
        (counts.leftover_lines, "row", "that an earlier session of this name left in the table removed"),
        (counts.tails_matching, "torn tail", "kept although it matches; --torn removes it"),
        (counts.names_matching, "record", "with it in an id, a name or a key, which stay; only delete removes them"),
        (counts.messages_kept, "message", "kept"),
        (counts.unreadable_kept, "unreadable piece", "kept; only --everything removes them"),
        (counts.altered_kept, "altered message", "among those kept; verify reports them"),
    )
