"""The report of an import: its sessions, and the account of what became of every line of the source.

For a JSON document, the account is of every entry.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ....log.record_limits import MAX_RECORD_BYTES
from ....messages.json_fields import present

MOST_NAMED = 1_000
"""The number of losses that are listed one by one. Later losses are only counted."""


@dataclass(frozen=True, slots=True)
class LostLine:
    """A loss: the number of its line in the source file, from 1, and the reason.

    `offset` is the line's offset in bytes, or None if only the number is known. `file` is the name of another file of
    the session; "" for the source file itself.
    """

    line: int
    offset: int | None
    reason: str
    file: str = ""
    is_part: bool = False
    """Whether only a part of the line is lost."""

    def to_json(self) -> dict[str, Any]:
        """Return the loss in plain JSON types."""
        plain: dict[str, Any] = {}
        if self.file:
            plain["file"] = self.file
        plain["line"] = self.line
        if self.offset is not None:
            plain["offset"] = self.offset
        plain["reason"] = self.reason
        if self.is_part:
            plain["part"] = True
        return plain


@dataclass(slots=True)
class Account:
    """The account of an import: for every line, whether it was mapped, kept as metadata, not conversational, or lost.

    Each line is noted once. Parts of a mapped line may be lost in addition.
    """

    unit: str = "line"
    """The counted unit: `line`, or `entry` of a JSON document."""
    lines_by_file: Counter[str] = field(default_factory=Counter)
    """The number of lines in each file, by name; "" is the source file itself."""
    mapped: Counter[str] = field(default_factory=Counter)
    metadata: Counter[str] = field(default_factory=Counter)
    not_conversational: Counter[str] = field(default_factory=Counter)
    lost_lines: int = 0
    lost_parts: int = 0
    lost: list[LostLine] = field(default_factory=list)
    """The first `MOST_NAMED` losses."""
    notes: list[LostLine] = field(default_factory=list)
    """Defects that cost no message, such as a conversation without words."""
    file: str = ""
    """The name of the file that is being read; "" for the source file itself."""
    has_left_out: bool = False
    """Whether a text was left out of a line."""

    @property
    def lines(self) -> int:
        """The number of lines in all files."""
        return self.lines_by_file.total()

    def next_line(self) -> None:
        """Count a line that was read. One of the other methods must then note the line."""
        self.lines_by_file[self.file] += 1

    def map(self, kind: str) -> None:
        """Note that the current line became a message, or a part of a message."""
        self.mapped[kind] += 1

    def keep(self, kind: str) -> None:
        """Note a line whose content is kept in the header, in a message's metadata, or in a `source` record."""
        self.metadata[kind] += 1

    def skip(self, kind: str) -> None:
        """Note a line that is not part of the conversation, by its type."""
        self.not_conversational[kind] += 1

    def lose(self, line: int, reason: str, offset: int | None = None) -> None:
        """Note a line that is lost."""
        self.lost_lines += 1
        self._name(LostLine(line, offset, reason, self.file))

    def lose_part(self, line: int, reason: str) -> None:
        """Note that a part of a line is lost. The line itself must be noted in addition."""
        self.lost_parts += 1
        self._name(LostLine(line, None, reason, self.file, is_part=True))

    def leave_out(self, line: int, size_bytes: int) -> None:
        """Note that a text of a line is left out, because the text is too large for a record."""
        self.has_left_out = True
        self.lose_part(line, f"a text of {size_bytes:,} bytes; a record has at most {MAX_RECORD_BYTES:,}")

    def _name(self, loss: LostLine) -> None:
        if len(self.lost) < MOST_NAMED:
            self.lost.append(loss)

    def lost_in_order(self) -> list[LostLine]:
        """Return the listed losses, sorted by file and line."""
        return sorted(self.lost, key=lambda loss: (loss.file, loss.line))

    @property
    def accounted(self) -> int:
        """The number of noted lines; equal to `lines` at the end of the import."""
        return self.mapped.total() + self.metadata.total() + self.not_conversational.total() + self.lost_lines

    def to_json(self) -> dict[str, Any]:
        """Return the account in plain JSON types."""
        return {
            "unit": self.unit,
            "lines": self.lines,
            "mapped": dict(self.mapped),
            "metadata": dict(self.metadata),
            "not_conversational": dict(self.not_conversational),
            "lost_lines": self.lost_lines,
            "lost_parts": self.lost_parts,
            "lost": [loss.to_json() for loss in self.lost_in_order()],
        }


_FRAME = frozenset({"header", "reset_begin", "reset_commit"})


@dataclass(frozen=True, slots=True)
class ImportedSession:
    """One session of an import: the main session of the file, a branch of it, or a sub-agent."""

    kind: str
    session_id: str | None
    path: str
    messages: int
    added: int
    """The number of messages that this import added; fewer than `messages` if the session was imported before."""
    compactions: int = 0
    usage_reports: int = 0
    is_older: bool = False
    """Whether the source is an older copy of an earlier import, whose log is not changed."""
    is_origin: bool = False
    """Whether the file was exported from this session, which already existed here."""
    hidden_here: int = 0
    """The number of the file's messages that were hidden here after an earlier import, as by a rewind, and stay so."""
    has_new_compaction: bool = False
    """Whether the agent compacted the session after an earlier import."""

    def to_json(self) -> dict[str, Any]:
        """Return the session in plain JSON types; `hidden_here` and `has_new_compaction` only if they are not 0."""
        rare = {name: getattr(self, name) for name in ("hidden_here", "has_new_compaction")}
        return {name: getattr(self, name) for name in self.__slots__ if name not in rare} | present(**rare)


@dataclass(slots=True)
class Import:
    """The result of an import: the copied sessions, and the losses."""

    source: str
    format: str
    """The format of the file: the name of an importer."""
    path: str
    session_id: str | None
    account: Account
    sessions: list[ImportedSession] = field(default_factory=list)
    """The session itself first, then its branches and sub-agents."""
    roles: Counter[str] = field(default_factory=Counter)
    """The number of messages of the main session, by role; of all sessions if the file has several unrelated ones."""
    derived_ids: int = 0
    """The number of the messages in `roles` that had no id."""
    renamed: dict[str, str] = field(default_factory=dict)
    """The old ids of messages that got a new id because theirs was taken, by the new ids."""
    without_timestamp: int = 0
    """The number of the messages in `roles` that had no timestamp."""
    hidden: int = 0
    """The number of a log's messages that a clear or a reset hid. These are copied with the log."""
    erased: list[str] = field(default_factory=list)
    """Sentences for a person about content that was left out or replaced because it was deleted or purged here."""

    @property
    def messages(self) -> int:
        """The number of the session's messages."""
        return self.roles.total()

    @property
    def added(self) -> int:
        """The number of added messages, in all sessions."""
        return sum(session.added for session in self.sessions)

    @property
    def has_new_compaction(self) -> bool:
        """Whether the agent compacted one of the sessions after an earlier import of it."""
        return any(session.has_new_compaction for session in self.sessions)

    @property
    def hidden_here(self) -> int:
        """The number of messages that were hidden here after an earlier import, in all sessions."""
        return sum(session.hidden_here for session in self.sessions)

    @property
    def controls(self) -> dict[str, int]:
        """The number of a log's records that are not messages (plans, receipts and so on), by kind."""
        counts = self.account.mapped + self.account.not_conversational
        counts_by_kind = {
            kind.removesuffix(" record"): number for kind, number in counts.items() if kind.endswith(" record")
        }
        return {kind: number for kind, number in counts_by_kind.items() if kind not in _FRAME}

    @property
    def not_carried(self) -> Sequence[LostLine]:
        """The losses, sorted by file and line; only the first `MOST_NAMED`."""
        return self.account.lost_in_order()

    @property
    def notes(self) -> Sequence[LostLine]:
        """Defects that cost no message."""
        return self.account.notes

    @property
    def lost(self) -> int:
        """The number of lost lines and lost parts of lines."""
        return self.account.lost_lines + self.account.lost_parts

    def to_json(self) -> dict[str, Any]:
        """Return the report in plain JSON types."""
        return {
            "source": self.source,
            "format": self.format,
            **({"erased": self.erased} if self.erased else {}),
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
