"""Read the entries of a Claude Code file: find out which become messages, and how they are linked (`claude_code.py`).

An entry is the JSON object of a line. Entries form a tree; the live path is the branch that the session continued on.
Each line is read once. Memory keeps only the links between entries. Their content is put aside in a temporary file
until the live path is known.

A session's id is the name of its file. A resumed session or a branch may begin with copies of entries of the session
that it continues: under that session's id, or with a `forkedFrom` that names it. Some versions went on under the older
id in the new file (github.com/anthropics/claude-code/issues/8614). Then the id in the entries counts, unless that
session has a file of its own beside this one.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from sys import intern
from typing import Any, NamedTuple

from ....forms.anthropic import usage
from ....forms.anthropic_in_files import answered_calls
from ....forms.canonical import blocks_of, id_text
from ..export_mark import MARK_KEY, ExportedPart
from ..spool import SpooledValues
from .account import Account
from .claude_code_files import with_whole_outputs
from .fields import items, mapping, session_name, text
from .refused_import import TwoSessionsError
from .source_file import Source, SourceObject, objects_of

NOT_CONVERSATIONAL = frozenset({"progress", "file-history-snapshot", "last-prompt", "permission-mode"})
TYPES = NOT_CONVERSATIONAL.union(
    [
        "user",
        "assistant",
        "system",
        "summary",
        "attachment",
        "queue-operation",
        "ai-title",
        "custom-title",
        "agent-name",
    ]
)
NOT_A_PERSON = re.compile(
    r"\s*(<(command-|local-command|bash-|task-notification|system-reminder|user-prompt-submit-hook|ide_)"
    r"|\[Request interrupted)"
)

_OWN_KEYS = frozenset({"parentUuid", "sessionId", "isSidechain", "uuid", "leafUuid", "snapshot", "attachment"})
_OF_MESSAGES = (
    "message",
    "timestamp",
    "requestId",
    "cwd",
    "gitBranch",
    "isMeta",
    "isCompactSummary",
    "isApiErrorMessage",
    MARK_KEY,
)
"""The keys of an entry that are kept for a message. Other keys are dropped; `toolUseResult`, for example, repeats the
result."""
_CLEAR = re.compile(r"\s*(<command-message>[^<]*</command-message>\s*)?<command-name>/(clear|reset|new)</command-name>")


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
    """Whether a later entry has the same content from a more reliable place."""
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
        return [one for one in (self, *(self.more or ())) if not one.is_replaced]


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
    resumed: Origin = NO_ORIGIN
    """The session whose id the first messages have, if it is not the name of the file."""
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
        return self.resumed if self.session_id == self.name else NO_ORIGIN

    def go_on_as(self, name: str) -> None:
        """Give the session the name of its file: all its entries have the id of another session, which it continues."""
        if self.origin == NO_ORIGIN:
            self.forked = Origin(self.session_id, 0)
        self.session_id = name

    def value(self, entry: ClaudeEntry) -> dict[str, Any]:
        """Return the content of an entry: for a message only the keys in `_OF_MESSAGES`.

        Empty if nothing was stored.
        """
        return mapping(self.aside.get(entry.aside)) if entry.aside >= 0 else {}


def is_entry(entry: dict[str, Any]) -> bool:
    """Return whether an object has the type and the keys of an entry of this format."""
    kind = text(entry.get("type"))
    if kind in ("user", "assistant"):
        return isinstance(entry.get("message"), dict)
    return kind in TYPES and (bool(_OWN_KEYS & entry.keys()) or "timestamp" in entry) and "payload" not in entry


AsEntry = Callable[[dict[str, Any]], dict[str, Any] | None]
"""Makes an entry from a line in another format; returns None if the line is not part of the conversation."""


def read_file(source: Source, account: Account, file: ClaudeFile, as_entry: AsEntry | None = None) -> ClaudeFile:
    """Read a source into `file`, note each line in the account, and return `file`.

    Raises:
        TwoSessionsError: the source has two sessions.
    """
    for at in objects_of(source, account):
        if as_entry is not None:
            entry = as_entry(at.value)
            if entry is None:
                account.skip(text(at.value.get("type")))
                continue
            at = SourceObject(at.number, entry)
        kind = text(at.value.get("type"))
        _note_facts(file, at.value, kind)
        if kind == "progress" and _is_of_agent(at.value):
            _take_progress(file, at, account)
        elif not _is_repeated(file, at, account):
            if kind == "user":
                _complete_outputs(at.value, source.path, at.number, account)
            _take(file, at, kind, account)
    file.by_uuid.clear()  # each entry has a link to its parent by now
    return file


def _is_of_agent(progress: dict[str, Any]) -> bool:
    """Return whether a `progress` entry has a message of a sub-agent."""
    data = mapping(progress.get("data"))
    return bool(text(data.get("agentId")) and mapping(data.get("message")))


def _complete_outputs(entry: dict[str, Any], path: str, line: int, account: Account) -> None:
    """Replace the shortened outputs in a user's entry. The whole outputs are read from files of their own."""
    message = mapping(entry.get("message"))
    if isinstance(message.get("content"), list):
        message["content"] = with_whole_outputs(message["content"], path, line, account)


def _is_repeated(file: ClaudeFile, at: SourceObject, account: Account) -> bool:
    """Return whether an earlier entry has the same uuid. If so, note the entry in the account.

    Resumed sessions contain such copies. An earlier entry that is silent, or that is from a `progress` entry, does not
    count: a message may have its uuid.
    """
    uuid = id_text(at.value.get("uuid"))
    first = file.by_uuid.get(uuid)
    if first is None:
        return False
    message = at.value.get("message")
    if mapping(message).get("content") and (first.is_told or not first.speaks):
        if first.is_told:
            first.is_replaced = True
        del file.by_uuid[uuid]
        return False
    if file.value(first).get("message") == message:
        account.skip("copy of an earlier entry")
    else:
        account.lose(at.number, "an earlier entry has the same uuid, with other content")
    return True


def _take(file: ClaudeFile, at: SourceObject, kind: str, account: Account) -> None:
    entry = at.value
    message = mapping(entry.get("message"))
    held = "kept"
    if _clears(kind, message.get("content") if kind == "user" else entry.get("content")):
        account.keep("clear")
        held = "clear"
    elif kind in NOT_CONVERSATIONAL:
        account.skip(kind)
        held = "silent"
    elif kind == "attachment" and queued_prompt(entry) is not None:
        account.map("queued command")
        held = "queued"
    elif kind not in ("user", "assistant"):
        account.keep(kind or "without a type")
    elif not message:
        account.lose(at.number, f"{kind} without a message")
        held = "silent"
    elif not _has_content(message.get("content")):
        account.keep(f"{kind} without content")
    else:
        account.map(kind)
        held = kind
    read = _at_its_place(file, at, held)
    read.agent = _agent_of(file, read, entry)
    read.is_person = held == "user" and _is_person(entry, message)
    read.exported_id = file.exported.note(at.number, entry)
    _add(file, read, entry)
    _check_is_one(file, read)
    if read.speaks and not (file.has_own or read.agent):
        _note_origin(file, read, entry)


def _note_origin(file: ClaudeFile, read: ClaudeEntry, entry: dict[str, Any]) -> None:
    """Note whether a message was copied from the session that this one continues.

    Copies come before all messages of the session itself.
    """
    forked_from = id_text(mapping(entry.get("forkedFrom")).get("sessionId"))
    if forked_from:
        file.forked = Origin(forked_from, read.line)
    elif read.session and read.session != file.name:
        file.resumed = Origin(read.session, read.line)
    else:
        file.has_own = True


def _has_content(content: Any) -> bool:
    return bool(content if isinstance(content, str) else blocks_of(content))


def _take_progress(file: ClaudeFile, at: SourceObject, account: Account) -> None:
    """Add the sub-agent's message in a `progress` entry.

    The `progress` entry itself stays as a link between its neighbours.
    """
    entry = at.value
    data = mapping(at.value.get("data"))
    agent, inner = data["agentId"], data["message"]
    kind, message, uuid = text(inner.get("type")), mapping(inner.get("message")), text(inner.get("uuid"))
    _add(file, _at_its_place(file, at, "silent"), entry)
    file.agents.setdefault(agent, text(entry.get("parentToolUseID")))
    if file.has_file(agent, text(entry.get("sessionId"))):
        account.skip("progress of a sub-agent that has a file of its own")
    elif uuid in file.by_uuid:
        account.skip("copy of an earlier entry")
    elif kind not in ("user", "assistant") or not message.get("content"):
        account.keep(f"progress of a sub-agent: {kind or 'without a type'}")
        _add(file, ClaudeEntry(at.number, "kept", "", agent=agent), entry)
    else:
        account.map("progress of a sub-agent")
        _add(file, ClaudeEntry(at.number, kind, uuid, agent=agent, is_told=True), inner)


def _at_its_place(file: ClaudeFile, at: SourceObject, kind: str) -> ClaudeEntry:
    """Make an entry that is linked to its parent, which must have been read before."""
    entry = at.value
    parent = _parent_of(entry)
    session = intern(id_text(entry.get("sessionId")))
    read = ClaudeEntry(at.number, kind, id_text(entry.get("uuid")), has_parent=bool(parent), session=session)
    found = file.by_uuid.get(parent)
    if found is not None:
        read.above = (found.head or found) if found.speaks else found.above
        read.root = found.root or found
    return read


def _shared(last: ClaudeEntry | None, entry: ClaudeEntry) -> ClaudeEntry:
    """Return the last silent entry if it has the same links as a new silent entry, else the new entry.

    Sessions have very many such entries, so this saves memory.
    """
    if last is None or last.above is not entry.above or last.root is not entry.root or entry.root is None:
        return entry
    return last if (last.agent, last.session) == (entry.agent, entry.session) else entry


def _parent_of(entry: dict[str, Any]) -> str:
    return id_text(entry.get("parentUuid")) or id_text(entry.get("logicalParentUuid"))


def _add(file: ClaudeFile, entry: ClaudeEntry, value: dict[str, Any]) -> None:
    """Add an entry, link it to the records of its answer, and store its content."""
    if entry.kind in ("user", "assistant"):
        entry.aside = file.aside.put({key: value[key] for key in _OF_MESSAGES if key in value})
    elif entry.kind != "silent":
        entry.aside = file.aside.put(value)
    uuid = entry.uuid
    if entry.kind == "silent":
        entry = file.silent = _shared(file.silent, entry)
    if uuid:
        file.by_uuid.setdefault(uuid, entry)
    answers = file.answers.setdefault(entry.agent, {})
    if entry.is_person:
        answers.clear()
    answer = _answer_key(entry, value) if entry.kind == "assistant" else None
    if answer and answer in answers and _begins_anew(file, answers[answer], entry, value):
        answers[answer] = entry
    head = answers.setdefault(answer, entry) if answer else entry
    if head is not entry:
        entry.head = head
        head.more = head.more or []
        head.more.append(entry)
    elif entry.kind != "silent":
        file.entries.append(entry)


def _begins_anew(file: ClaudeFile, head: ClaudeEntry, entry: ClaudeEntry, value: dict[str, Any]) -> bool:
    """Return whether a record with an answer's key begins another answer.

    This is so if a result came before the record, and one of these is true:
    - The answer had ended: its last record has a stop reason.
    - The record has no `requestId`, and either does not begin with a call, or its usage is zero or differs.

    This is needed because some gateways give the same id to every answer. A result alone is not enough, because calls
    may run before their answer has ended.
    """
    if entry.above is None or entry.above.kind != "user":
        return False
    last = mapping(file.value((head.more or [head])[-1]).get("message"))
    if last.get("stop_reason"):
        return True
    if text(value.get("requestId")):
        return False
    said = mapping(value.get("message"))
    if any(block.get("type") != "tool_use" for block in blocks_of(said.get("content"))[:1]):
        return True
    reported = usage(said.get("usage"))
    return not any(reported.values()) or reported != usage(mapping(file.value(head).get("message")).get("usage"))


def _answer_key(entry: ClaudeEntry, value: dict[str, Any]) -> tuple[str, str, bool] | None:
    """Return the key that all records of one answer share, or None if the record has no id.

    The message's id alone is not enough, because some gateways give the same id to every answer.
    """
    message_id = id_text(mapping(value.get("message")).get("id"))
    if not message_id:
        return None
    return message_id, text(value.get("requestId")), entry.is_told


def _check_is_one(file: ClaudeFile, entry: ClaudeEntry) -> None:
    """Check that an entry belongs to the session that the file begins with.

    A resumed session contains entries of the session that it continues, under that session's id; all of them form one
    tree. A second session has a tree of its own, whose root is the first entry with its id.

    Raises:
        TwoSessionsError: the entry is a message of a person in a second session.
    """
    if entry.session and (entry.uuid or entry.speaks):
        file.began.setdefault(entry.session, entry)
    root = entry.root or entry
    if entry.is_person and not entry.agent and root.session and not root.has_parent:
        known, began = next(iter(file.began.items()))
        if began is not root and file.began[root.session] is root:
            raise TwoSessionsError(root.line, known, root.session)


def _agent_of(file: ClaudeFile, read: ClaudeEntry, entry: dict[str, Any]) -> str:
    """Return the id of the sub-agent that wrote an entry, or "" for an entry of the main session.

    Without an id of the agent, the name is made from the first entry of its side chain.
    """
    if entry.get("isSidechain") is not True:
        return ""
    named = text(entry.get("agentId"))
    if named:
        file.agent_id = file.agent_id or named
        return named
    parent = file.by_uuid.get(_parent_of(entry))
    return (parent.agent if parent is not None else "") or session_name(read.uuid[:13]) or f"line{read.line}"


_FACTS = (("cwd", "cwd"), ("git_branch", "gitBranch"), ("version", "version"), ("slug", "slug"))


def _note_facts(file: ClaudeFile, entry: dict[str, Any], kind: str) -> None:
    session = id_text(entry.get("sessionId"))
    if session and (not file.session_id or session == file.name):
        file.session_id = session
    for key, theirs in _FACTS:
        if key not in file.facts and theirs in entry and (found := text(entry[theirs])):
            file.facts[key] = found
    if kind in _TITLES:
        _note_title(file, entry, kind)
    started_by = text(entry.get("parent_tool_use_id"))
    if started_by:
        file.agents.setdefault(text(entry.get("agentId")), started_by)
    if "toolUseResult" in entry:
        agent = text(mapping(entry["toolUseResult"]).get("agentId"))
        if agent:
            for call_id in answered_calls(mapping(entry.get("message")).get("content")):
                file.agents.setdefault(agent, call_id)


_TITLES = {"summary": "summary", "ai-title": "aiTitle", "agent-name": "agentName", "custom-title": "customTitle"}
"""The key of the title in an entry, by the entry's type. A later type outranks an earlier one; a person's own title is
last."""
_RANK_OF_TITLE = {kind: rank for rank, kind in enumerate(_TITLES)}


def _note_title(file: ClaudeFile, entry: dict[str, Any], kind: str) -> None:
    """Note the title in an entry of a type in `_TITLES`, unless a title of a higher rank is known.

    A model's title does not replace a person's.
    """
    title = text(entry.get(_TITLES[kind])).strip()
    if title and _RANK_OF_TITLE[kind] >= file.title_rank:
        file.title_rank = _RANK_OF_TITLE[kind]
        file.facts["title"] = title


def queued_prompt(entry: dict[str, Any]) -> Any:
    """Return the prompt that a person or a task queued while the agent worked, or None for any other attachment."""
    attachment = mapping(entry.get("attachment"))
    prompt = attachment.get("prompt")
    return prompt if attachment.get("type") == "queued_command" and isinstance(prompt, str | list) else None


def _clears(kind: str, content: Any) -> bool:
    """Return whether an entry is the program's own note of a clear by a person, and not a quotation of one."""
    return kind in ("user", "system") and isinstance(content, str) and bool(_CLEAR.match(content))


def _is_person(entry: dict[str, Any], message: dict[str, Any]) -> bool:
    if entry.get("isMeta") is True or entry.get("isCompactSummary") is True:
        return False
    content = message.get("content")
    if isinstance(content, str):
        is_blank = not content or content.isspace()
        return not is_blank and not NOT_A_PERSON.match(content)
    if answered_calls(content):
        return False
    blocks = [block for block in items(content) if isinstance(block, dict)]
    said = next((text(block.get("text")) for block in blocks if block.get("type") == "text"), "")
    return bool(blocks) and not NOT_A_PERSON.match(said)
