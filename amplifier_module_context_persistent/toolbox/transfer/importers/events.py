"""The events that importers yield: those of a session, in the order of its new log."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from ..copy_log import CopiedMessage

Message = dict[str, Any]

Kind = Literal["session", "branch", "subagent"]


@dataclass(slots=True)
class SessionStart:
    """A session begins; what follows, up to the next start, belongs to it.

    The first one is the session itself. `name` tells its branches and sub-agents apart, and is stable from one import
    to the next. `facts` go into the log's header; the importer may add to them until the next start.
    """

    kind: Kind = "session"
    name: str = ""
    facts: dict[str, Any] = field(default_factory=dict)
    source_id: str = ""
    """The session's id in the source; empty if it has none."""
    parent_source_id: str = ""
    """A sub-agent that is imported without its parent: the parent's id in the source."""
    forked_from: str = ""
    """A branch: the id of the last message that it has in common with its session."""
    exported_from: str = ""
    """The id of the session here that the file was exported from; empty for any other file."""
    exported_lines: int = 0
    """The last line of the file that the export wrote; an agent added what follows."""


class MessageRead(NamedTuple):
    """A message. Its `metadata.message_id` is stable from one import to the next.

    `metadata.usage` of an answer is what its provider reported, by the names of `forms.canonical.usage_of`.
    """

    message: Message
    line: int = 0


@dataclass(frozen=True, slots=True)
class CompactionEvent:
    """The source compacted its history: from here on the model got `summary`, the kept messages, and later ones.

    `keep` are ids of kept messages in order, `keep_runs` the first and last ids of runs of them; `keep_from` is the
    first kept message if all after it were kept. If there is no message before it, the summary is a message of its own,
    with `message_id` and `time`.
    """

    summary: str
    line: int = 0
    message_id: str = ""
    time: Any = None
    keep: Sequence[str] = ()
    keep_runs: Sequence[tuple[str, str]] = ()
    keep_from: str = ""
    tokens_before: Any = None
    """As the source says it; what is no number is not believed."""


class ClearMark(NamedTuple):
    """A person cleared the history: earlier messages are hidden, and the model sees only later ones."""

    line: int
    time: Any = None


class KeptEntry(NamedTuple):
    """An entry that is not a message and is kept unchanged, in a `source` record."""

    entry: Any
    line: int = 0
    kind: str = ""


Event = SessionStart | MessageRead | CompactionEvent | ClearMark | KeptEntry | CopiedMessage
