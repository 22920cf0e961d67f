"""The entries of a Claude Code file in memory: a tree, and the facts about the session that they name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ..export_mark import ExportedPart
from ..imports.spool import SpooledValues
from .fields import mapping


@dataclass(slots=True, eq=False)
class ClaudeEntry:
    """An entry: its line, the place of its stored content, and its links to other entries."""

    line: int
    kind: str
    """`user`, `assistant`, `queued` or `clear`; `kept` for an entry that becomes metadata; `silent` for one that only
    links other entries."""
    uuid: str
    aside: int = -1
    """The place of the entry's stored content; -1 if none is stored."""
    has_parent: bool = False
    session: str = ""
    agent: str = ""
    is_person: bool = False
    is_told: bool = False
    """Whether the entry was inside a `progress` entry, which reports the work of a sub-agent."""
    above: ClaudeEntry | None = None
    """The nearest ancestor that is a message; None if there is none."""
    root: ClaudeEntry | None = None
    """The root of the entry's tree; None if the entry is the root itself."""
    head: ClaudeEntry | None = None
    """The first record of the same answer; None if the entry is the first one itself."""
    more: list[ClaudeEntry] | None = None
    """The further records of the answer, if the entry is the first one."""
    position: int = -1
    """The position among the messages of the session; -1 until all are known."""
    is_replaced: bool = False
    """Whether the entry is from a `progress` entry, and a later entry of its own has the same message."""
    exported_id: str = ""
    """The id of the message from which this package exported the entry; "" for any other entry."""

    @property
    def id(self) -> str:
        """The id for the entry's message."""
        return self.exported_id or self.uuid or f"claude-code-{self.line}"

    @property
    def speaks(self) -> bool:
        """Whether the entry becomes a message or a part of a message."""
        return self.kind in ("user", "assistant", "queued")

    @property
    def records(self) -> list[ClaudeEntry]:
        """The records of the entry's message, the entry itself first. Replaced records are left out."""
        return [record for record in (self, *(self.more or ())) if not record.is_replaced]


class Origin(NamedTuple):
    """The session that a file's session continues, and the line of the last message that was copied from it."""

    session: str
    last_line: int


NO_ORIGIN = Origin("", 0)


@dataclass(slots=True)
class ClaudeFile:
    """The entries of one file, and the facts about its session.

    Args:
        aside: stores the content of entries until all are known.
        has_file: returns whether a sub-agent of a session has a file of its own beside this file.
        name: the name of the file, without its ending.
    """

    aside: SpooledValues
    has_file: Callable[[str, str], bool] = lambda _agent, _session: False
    name: str = ""
    entries: list[ClaudeEntry] = field(default_factory=list)
    """The entries that become messages or are kept, in order. Of an answer, only its first record is here."""
    by_uuid: dict[str, ClaudeEntry] = field(default_factory=dict)
    answers: dict[str, dict[tuple[str, str, bool], ClaudeEntry]] = field(default_factory=dict)
    """The first record of each answer since the last message of a person, by agent and by the answer's key."""
    began: dict[str, ClaudeEntry] = field(default_factory=dict)
    """The first entry of each session."""
    agents: dict[str, str] = field(default_factory=dict)
    """The id of the call that started each sub-agent, by the sub-agent's id."""
    facts: dict[str, Any] = field(default_factory=dict)
    title_rank: int = -1
    """The rank of the title in `facts`; -1 if there is none."""
    session_id: str = ""
    """The id of the first entry or, as soon as an entry has it, the name of the file."""
    forked: Origin = NO_ORIGIN
    """The session that copied messages name in `forkedFrom`."""
    resumed_session: str = ""
    """The session whose id the first messages have, if it is not the name of the file."""
    resumed_to_line: int = 0
    """The line of the last message that has this id."""
    has_own: bool = False
    """Whether a message was read that was not copied."""
    agent_id: str = ""
    compaction: dict[str, Any] = field(default_factory=dict)
    """The content of the last `compact_boundary`."""
    silent: ClaudeEntry | None = None
    """The last entry of the kind `silent`."""
    exported: ExportedPart = field(default_factory=ExportedPart)

    @property
    def origin(self) -> Origin:
        """The session that this one continues; `NO_ORIGIN` if it began in this file."""
        if self.forked.session:
            return self.forked
        is_resumed = self.resumed_session and self.session_id == self.name
        return Origin(self.resumed_session, self.resumed_to_line) if is_resumed else NO_ORIGIN

    def go_on_as(self, name: str) -> None:
        """Give the session the name of its file: all its entries have the id of another session, which it continues."""
        if self.origin == NO_ORIGIN:
            self.forked = Origin(self.session_id, 0)
        self.session_id = name

    def value(self, entry: ClaudeEntry) -> dict[str, Any]:
        """Return the content of an entry: for a message only the keys that `claude_code_entries` keeps.

        Empty if nothing was stored.
        """
        return mapping(self.aside.get(entry.aside)) if entry.aside >= 0 else {}
