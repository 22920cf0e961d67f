"""The events that importers yield: what a session contains, in the order of its new log."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from ..export_mark import ExportedPart
from ..imports.spool import RecordBodies

Message = dict[str, Any]

Kind = Literal["session", "branch", "subagent"]

MOST_SUBAGENTS = 10_000
"""The most files of sub-agents that are imported with a session."""


@dataclass(slots=True)
class SessionStart:
    """The beginning of a session. The events up to the next `SessionStart` belong to this session.

    In a file, the main session is first. `name` distinguishes its branches and sub-agents, and is the same in every
    import. `facts` go into the log's header; the importer may add to them until the next start.
    """

    kind: Kind = "session"
    name: str = ""
    facts: dict[str, Any] = field(default_factory=dict)
    source_id: str = ""
    """The session's id in the source; "" if the source gives none."""
    parent_source_id: str = ""
    """The id of the parent session in the source, for a sub-agent that is imported without its parent; else empty."""
    forked_from: str = ""
    """The id of the last message that a branch has in common with its session, or that a session copied from the one
    that it continues; else empty."""
    exported_from: str = ""
    """The id of the session that this package exported to the file; "" for any other file."""
    exported_lines: int = 0
    """The number of the last line that the export wrote; an agent added the later lines."""
    origin_logs: tuple[str, ...] = ()
    """The ids of the logs that an export, or a fork to another agent, wrote records of the file from."""


def session_start(facts: dict[str, Any], source_id: str, exported: ExportedPart) -> SessionStart:
    """Return the start of a main session, with what an export of this package wrote into its file.

    Args:
        facts: the facts about the session.
        source_id: the session's id in the source.
        exported: the part of the file that an export wrote.
    """
    return SessionStart(
        facts=facts,
        source_id=source_id,
        exported_from=exported.session_id,
        exported_lines=exported.last_line,
        origin_logs=tuple(exported.log_ids),
    )


class MessageRead(NamedTuple):
    """A message. Its `metadata.message_id` is the same in every import.

    For an answer, `metadata.usage` is the usage that the provider reported, with the keys of
    `forms.canonical.usage_of`.
    """

    message: Message
    line: int = 0


@dataclass(frozen=True, slots=True)
class CompactionEvent:
    """A compaction in the source: from here on the model got `summary`, the kept messages, and later messages.

    If there is no message before the compaction, the summary becomes a message of its own, with `message_id` and
    `time`.
    """

    summary: str
    line: int = 0
    message_id: str = ""
    time: Any = None
    keep: Sequence[str] = ()
    """The ids of kept messages, in order."""
    keep_runs: Sequence[tuple[str, str]] = ()
    """The ids of the first and the last message of each run of kept messages."""
    keep_from: str = ""
    """The id of a message; this message and all messages after it were kept. "" if the source does not name the kept
    messages in this way."""
    tokens_before: Any = None
    """The tokens before the compaction, as given by the source; ignored if it is not a number."""


class ClearMark(NamedTuple):
    """A clear of the history by a person: earlier messages are hidden, and the model sees only later messages."""

    line: int
    time: Any = None


@dataclass(slots=True)
class CopiedMessages:
    """Messages that are copied unchanged, with the bodies of their records.

    The columns have equal length. They take less memory than an object for each message.
    """

    bodies: RecordBodies
    roles: bytearray = field(default_factory=bytearray)
    """Positions in `ROLES`."""
    ids: list[str] = field(default_factory=list)
    have_timestamp: bytearray = field(default_factory=bytearray)
    have_own_id: bytearray = field(default_factory=bytearray)
    """Whether the message has its id from the source. Otherwise the id is derived from its bytes and its offset, or
    another one, because an earlier message has the same id."""
    renamed: dict[int, str] = field(default_factory=dict)
    """The ids in the source of messages that got another one, by position."""


class KeptEntry(NamedTuple):
    """An entry that is not a message and is kept unchanged, in a `source` record."""

    entry: Any
    line: int = 0
    kind: str = ""


Event = SessionStart | MessageRead | CompactionEvent | ClearMark | KeptEntry | CopiedMessages
