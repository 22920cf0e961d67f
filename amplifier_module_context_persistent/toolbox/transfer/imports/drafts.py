"""Drafts: the sessions of an import before any log is written, stored as the bodies of their records.

A log begins with its header, and the header of an import reports what became of every line of the source. This is known
only at the end, so until then the bodies are kept in a temporary file (`spool.py`).

Usage that providers reported stays in the answers' `metadata.usage`. A compaction of the source becomes a plan
(`imported_plans`).
"""

from __future__ import annotations

import re
from array import array
from collections import Counter
from dataclasses import dataclass, field
from itertools import compress
from typing import Any

from ....errors import ContextPersistentError, RecordError
from ....forms.canonical import UNKNOWN_TOOL
from ....log.index import ROLE_CODES
from ....log.record_limits import MAX_DEPTH, is_too_deep
from ....log.record_line import CONTROL_HEAD, ROLES, encode_whole, stored_message
from ....log.reset_record import Reset, frame
from ....messages.metadata import COMPACTION_SOURCE, is_human
from ....view.entry import INSTRUCTING
from ..copy_log import check_size
from ..importers.account import Account
from ..importers.events import ClearMark, CompactionEvent, CopiedMessages, Event, KeptEntry, MessageRead, SessionStart
from ..importers.fields import iso_time, result
from .imported_plans import ImportedPlans
from .spool import RecordBodies, Spool
from .too_large_value import with_texts_for_left_out

SOURCE_KIND = "source"
"""The kind of control record that holds an entry of the source that is not a message."""


_INSTRUCTING_CODES = frozenset(ROLE_CODES[role] for role in INSTRUCTING)
PLAN_HEAD = CONTROL_HEAD + b':"plan"'
CHANGED_MEANWHILE = "the session was changed by another process; import again"


class ImportConflictError(ContextPersistentError, ValueError):
    """Raised if nothing can be added to an earlier import: the session went on here, or its source has changed."""


_UNIQUE_ID = re.compile("[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[a-z]{2,5}_[0-9A-Za-z]{20,}")
"""A UUID, or an id such as OpenCode's. Importers derive other ids, from the number of a line for example."""


@dataclass(frozen=True, slots=True)
class EarlierImport:
    """The log of an earlier import of a session, compared with the session's current source.

    Only messages after the last clear of the earlier import are live, so only those messages are compared.
    """

    common: int
    """The number of messages, from the start of the source, that need not be imported again."""
    kept: int
    """The number of live messages in the log that are still the same in the source."""
    live: int
    records: int
    """The number of the source's records that the log contains."""
    is_older: bool = False
    """Whether the source is an older copy of the source that was imported. Then nothing is added, and nothing is
    hidden."""
    title: str = ""
    """The title that the source had at the earlier import."""
    is_cut: bool = False
    """Whether the earlier import was killed before it had written all records that its header announces."""
    hidden_here: int = 0
    """The number of the source's messages that a rewind or a clear hid here, and that stay hidden."""


@dataclass(slots=True)
class ImportTarget:
    """The destination of a draft: its log, and its session."""

    session_id: str | None = None
    path: str = ""
    key: str = ""
    """The import key: equal for every import of this session from this source."""
    parent_id: str | None = None
    remote: str = ""
    """The remote repository of the project's checkout (`checkout_remote`); "" if unknown."""
    is_origin: bool = False
    """Whether `path` is the log of the session that the file was exported from."""

    @property
    def name(self) -> str:
        """The session's name in messages: its id, or the path if it has none."""
        return self.session_id or self.path


@dataclass(slots=True, eq=False)
class SessionDraft:
    """A session before it is written: the bodies of its records, facts about its messages, and its destination."""

    start: SessionStart
    bodies: RecordBodies
    file: str = ""
    """The file with the session, if it is another file than the one that was named for the import; else ""."""
    at: array[int] = field(default_factory=lambda: array("L"))
    """The position of each message among the bodies."""
    ids: list[str] = field(default_factory=list)
    with_ids: array[int] = field(default_factory=lambda: array("L"))
    """The positions of messages that have a unique id in the source.

    If two sessions have such an id, they have a common beginning, as a session and its fork.
    """
    clears: list[int] = field(default_factory=list)
    """The number of messages before each clear."""
    roles: Counter[str] = field(default_factory=Counter)
    renamed: dict[str, str] = field(default_factory=dict)
    derived_ids: int = 0
    without_timestamp: int = 0
    known: set[str] = field(default_factory=set)
    reports: int = 0
    """The number of answers for which the source reports the input tokens of the request."""
    target: ImportTarget = field(default_factory=ImportTarget)
    plans: ImportedPlans = field(init=False)
    """The plans that take the place of the source's compactions."""
    family: int = 0
    """The number, from 0, of the file's session to which this session belongs: itself, or the one whose branch or
    sub-agent it is."""
    first_line: int = 0
    """The number of the line or entry of the first message."""
    earlier: EarlierImport | None = None
    exported: int = 0
    """The number of messages at the beginning that an export of this package wrote; an agent added the later messages.
    """

    def __post_init__(self) -> None:
        """Begin without compactions."""
        self.plans = ImportedPlans(self.ids, self.at, self.bodies)

    @property
    def messages(self) -> int:
        """The number of messages in the session."""
        return len(self.ids)

    @property
    def has_new_compaction(self) -> bool:
        """Whether the session was imported before, and has a compaction that its log lacks."""
        earlier = self.earlier
        if earlier is None or earlier.is_older or not earlier.records:
            return False
        return any(body.startswith(PLAN_HEAD) for body in self.bodies.part(self.first_new_record(earlier)))

    def first_new_record(self, earlier: EarlierImport) -> int:
        """Return the position of the first record that the log of an earlier import lacks.

        Records after the last common message may be in the log already: the earlier import wrote them after that
        message.
        """
        after_common = self.record_after(earlier.common)
        next_message = self.at[earlier.common] if earlier.common < self.messages else len(self.bodies)
        return min(max(after_common, earlier.records), next_message)

    @property
    def cleared(self) -> int:
        """The number of messages before the last clear."""
        return self.clears[-1] if self.clears else 0

    def record_after(self, messages: int) -> int:
        """Return the number of the record that follows the first `messages` messages; 0 for the first record."""
        return self.at[messages - 1] + 1 if messages else 0


class Drafts:
    """All sessions of an import.

    Args:
        account: records the messages that cannot be stored.
        spool: stores the bodies of records.
    """

    def __init__(self, account: Account, spool: Spool) -> None:
        self._account = account
        self._spool = spool
        self.sessions: list[SessionDraft] = []
        self._tools: dict[str, str] = {}
        """The tool of each call, by the call's id."""

    def take(self, event: Event) -> None:
        """Add an event to the current session.

        A `SessionStart` begins a new session; the first event must be a `SessionStart`.
        """
        if isinstance(event, MessageRead):  # nearly always
            self._message(self.sessions[-1], event)
            return
        if isinstance(event, SessionStart):
            self.sessions.append(SessionDraft(event, RecordBodies(self._spool), self._account.file))
            return
        draft = self.sessions[-1]
        if isinstance(event, CopiedMessages):
            self._copied(draft, event)
        elif isinstance(event, CompactionEvent):
            self._compacted(draft, event)
        elif isinstance(event, ClearMark):
            self._cleared(draft, event)
        else:
            self._kept(draft, event)

    def finish(self) -> None:
        """Write the compactions that are still pending, and drop sessions without a message."""
        for draft in self.sessions:
            draft.plans.write_pending()
        self.sessions = [draft for draft in self.sessions if draft.ids]

    def _message(self, draft: SessionDraft, event: MessageRead) -> None:
        """Add a message. If an earlier message of the session has the same id, the message gets a new id."""
        message, line = event
        role = message["role"]
        if role == "assistant":
            for call in message.get("tool_calls", ()):
                self._tools[call["id"]] = call["tool"]
        elif role == "tool" and "name" not in message:
            message = self._with_tool(message)
        if self._account.has_left_out:
            message = with_texts_for_left_out(message)
        metadata = message["metadata"]
        given_message_id = metadata["message_id"]
        message_id, number = given_message_id, 1
        while message_id in draft.known:
            number += 1
            message_id = f"{given_message_id}.{number}"
        record = self._encoded(line, stored_message(message, message_id, None))
        if record is None:
            return
        if not draft.ids:
            draft.first_line = line
        if message_id == given_message_id and _UNIQUE_ID.fullmatch(given_message_id):
            draft.with_ids.append(len(draft.ids))
        if message_id != given_message_id:
            draft.renamed[message_id] = given_message_id
        if "timestamp" not in metadata:
            draft.without_timestamp += 1
        if role == "assistant" and metadata.get("usage", {}).get("input_tokens"):
            draft.reports += 1
        if role in INSTRUCTING:
            draft.plans.note_system(len(draft.ids))
        draft.at.append(draft.bodies.append_whole(record))
        draft.known.add(message_id)
        draft.ids.append(message_id)
        draft.roles[role] += 1
        if line <= draft.start.exported_lines:
            draft.exported = len(draft.ids)
        if role == "user" and is_human(message):
            draft.plans.note_person()

    def _with_tool(self, message: dict[str, Any]) -> dict[str, Any]:
        """Return a result without a tool's name, with the name from its call if the call was read."""
        tool = self._tools.get(message.get("tool_call_id", ""), UNKNOWN_TOOL)
        if tool == UNKNOWN_TOOL:
            return message
        return result(message["tool_call_id"], message["content"], message["metadata"], tool)

    def _copied(self, draft: SessionDraft, copies: CopiedMessages) -> None:
        """Add messages that are copied unchanged, column by column. They are the only records of the session."""
        positions = range(len(copies.ids))
        draft.renamed |= {
            copies.ids[position]: given_message_id for position, given_message_id in copies.renamed.items()
        }
        draft.derived_ids += copies.have_own_id.count(0) - len(copies.renamed)
        draft.without_timestamp += copies.have_timestamp.count(0)
        draft.with_ids.extend(compress(positions, copies.have_own_id))
        draft.bodies.take_over(copies.bodies)
        draft.at.extend(positions)
        draft.ids += copies.ids
        draft.known.update(copies.ids)
        draft.roles.update(map(ROLES.__getitem__, copies.roles))
        for position, role in zip(positions, copies.roles, strict=True):
            if role in _INSTRUCTING_CODES:
                draft.plans.note_system(position)

    def _kept(self, draft: SessionDraft, event: KeptEntry) -> None:
        entry = {"_record": SOURCE_KIND, "line": event.line, "type": event.kind, "entry": event.entry}
        record = self._encoded(event.line, entry)
        if record is not None:
            draft.bodies.append_whole(record)

    def _encoded(self, line: int, value: dict[str, Any]) -> bytes | None:
        """Return the JSON of a record.

        If the record is too long or nested too deeply to be read back, note the loss and return None.
        """
        try:
            record = encode_whole(value)
            if is_too_deep(record, value, MAX_DEPTH):
                raise RecordError(f"nested deeper than {MAX_DEPTH} levels")
            check_size(len(record) - 1)
        except (RecordError, RecursionError) as refused:
            self._account.lose_part(line, str(refused) or "nested too deeply")
            return None
        return record

    def _cleared(self, draft: SessionDraft, event: ClearMark) -> None:
        """Write the records of a reset, as a clear in this package does.

        If no message was added since the last clear, nothing is written.
        """
        if len(draft.ids) == draft.cleared:
            return
        draft.plans.write_pending()
        draft.clears.append(len(draft.ids))
        reset = Reset(f"imported-clear-{len(draft.clears)}", "clear", iso_time(event.time), draft.ids[-1], 0, 0)
        for body in frame(reset, ()):
            draft.bodies.append(body)
        draft.plans.forget_cleared()

    def _compacted(self, draft: SessionDraft, event: CompactionEvent) -> None:
        if not draft.plans.compact(event, cleared=draft.cleared) and event.summary.strip():
            self._summary_message(draft, event)

    def _summary_message(self, draft: SessionDraft, event: CompactionEvent) -> None:
        """Add the summary of a compaction as a message."""
        metadata: dict[str, Any] = {"source": COMPACTION_SOURCE, "message_id": event.message_id}
        time = iso_time(event.time)
        if time:
            metadata["timestamp"] = time
        message = {"role": "user", "content": event.summary, "metadata": metadata}
        self._message(draft, MessageRead(message, event.line))
