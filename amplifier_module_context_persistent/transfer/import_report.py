"""What an import did: the sessions that it made or added to, and the account of every line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from .importers.account import Account, LostLine

_FRAME = frozenset({"header", "reset_begin", "reset_commit"})


@dataclass(frozen=True, slots=True)
class ImportedSession:
    """One session of an import: the file's own one, a branch of it, or a sub-agent."""

    kind: str
    session_id: str | None
    path: str
    messages: int
    added: int
    """Of them, those that this import added; fewer than `messages` where the session had been imported before."""
    compactions: int = 0
    usage_reports: int = 0
    is_older: bool = False
    """Whether the source is an older copy of what was imported before, which stays as it is."""

    def to_json(self) -> dict[str, Any]:
        """Plain JSON types."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(slots=True)
class Import:
    """What an import copied from a file into new logs, and what it could not."""

    source: str
    format: str
    """What the file is: the name of an importer."""
    path: str
    session_id: str | None
    account: Account
    sessions: list[ImportedSession] = field(default_factory=list)
    """The session itself first, then its branches and sub-agents."""
    roles: Counter[str] = field(default_factory=Counter)
    """The messages of the session itself, by role."""
    derived_ids: int = 0
    """Of them, those that had no id."""
    renamed: dict[str, str] = field(default_factory=dict)
    """New ids, where another message had the id, with the old ones."""
    without_timestamp: int = 0
    """Of them, those that had no timestamp."""
    hidden: int = 0
    """Messages of a log that a clear or a reset hid; they are copied with it."""

    @property
    def messages(self) -> int:
        """How many messages the session has."""
        return self.roles.total()

    @property
    def added(self) -> int:
        """How many messages were added, in all sessions."""
        return sum(session.added for session in self.sessions)

    @property
    def controls(self) -> dict[str, int]:
        """Records of a log that are no messages (plans, receipts and so on), by kind."""
        counts = self.account.mapped + self.account.not_conversational
        named = {kind.removesuffix(" record"): number for kind, number in counts.items() if kind.endswith(" record")}
        return {kind: number for kind, number in named.items() if kind not in _FRAME}

    @property
    def not_carried(self) -> Sequence[LostLine]:
        """What is lost, by line; the first ones where there are very many."""
        return self.account.lost_in_order()

    @property
    def notes(self) -> Sequence[LostLine]:
        """What was wrong with lines that were copied all the same."""
        return self.account.notes

    @property
    def lost(self) -> int:
        """How many lines, or parts of lines, are lost."""
        return self.account.lost_lines + self.account.lost_parts

    def to_json(self) -> dict[str, Any]:
        """The report in plain JSON types."""
        return {
            "source": self.source,
            "format": self.format,
            "path": self.path,
            "session_id": self.session_id,
            "messages": self.messages,
            "added": self.added,
            "roles": dict(self.roles),
            "derived_ids": self.derived_ids,
            "renamed": self.renamed,
            "without_timestamp": self.without_timestamp,
            "hidden": self.hidden,
            "controls": self.controls,
            "account": self.account.to_json(),
            "sessions": [session.to_json() for session in self.sessions],
            "not_carried": [loss.to_json() for loss in self.not_carried],
            "notes": [note.to_json() for note in self.notes],
        }
