"""The entries of a file of Claude Code: which become messages, and how they hang together (`claude_code.py`).

Each line is read once. Memory keeps the place of an entry among the others; what it says is put aside until the live
path is known.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from sys import intern
from typing import Any

from ....forms.anthropic import answered_calls, usage
from ....forms.canonical import blocks_of, id_text
from ..export_mark import MARK_KEY, ExportedPart
from ..spool import SpooledValues
from .account import Account
from .claude_code_files import with_whole_outputs
from .fields import items, mapping, session_name, text
from .source_file import Source, SourceObject, TwoSessionsError, objects_of

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
"""Keys of an entry that become a message; for instance a result, which is in the message a second time."""
_CLEAR = re.compile(r"\s*(<command-message>[^<]*</command-message>\s*)?<command-name>/(clear|reset|new)</command-name>")


@dataclass(slots=True, eq=False)
class ClaudeEntry:
    """An entry: its line, the place of its stored content, and its place among the others."""

    line: int
    kind: str
    """`user`, `assistant`, `queued` or `clear`; `kept` if it becomes metadata; `silent` if it only links others."""
    uuid: str
    aside: int = -1
    """The place of its value among the values put aside; -1 if it says nothing."""
    has_parent: bool = False
    session: str = ""
    agent: str = ""
    is_person: bool = False
    is_told: bool = False
    """Whether it is what a `progress` entry tells of a sub-agent."""
    above: ClaudeEntry | None = None
    """The message below which it hangs; what says nothing is passed over."""
    root: ClaudeEntry | None = None
    """The first entry of its tree, if that is another one."""
    head: ClaudeEntry | None = None
    """The first record of its answer, if that is another one."""
    more: list[ClaudeEntry] | None = None
    """The further records of its answer."""
    position: int = -1
    """Which of its session's messages it is, once all are known."""
    is_replaced: bool = False
    """Whether a later entry says the same, and more surely."""
    exported_id: str = ""
    """The id of the message here that it was exported from."""

    @property
    def id(self) -> str:
        """The id of its message."""
        return self.exported_id or self.uuid or f"claude-code-{self.line}"

    @property
    def speaks(self) -> bool:
        """Whether it becomes a message, or a part of one."""
        return self.kind in ("user", "assistant", "queued")

    @property
    def records(self) -> list[ClaudeEntry]:
        """The records of its message, itself first."""
        return [one for one in (self, *(self.more or ())) if not one.is_replaced]


@dataclass(slots=True)
class ClaudeFile:
    """The contents of one file.

    Args:
        aside: stores the content of entries until all are known.
        has_file: whether a sub-agent of a session has a file of its own, beside this one.
    """

    aside: SpooledValues
    has_file: Callable[[str, str], bool] = lambda _agent, _session: False
    entries: list[ClaudeEntry] = field(default_factory=list)
    """Entries that become messages or are kept, in order; for an answer, its first record."""
    by_uuid: dict[str, ClaudeEntry] = field(default_factory=dict)
    answers: dict[str, dict[tuple[str, str, bool], ClaudeEntry]] = field(default_factory=dict)
    """The first record of each answer since a person spoke, by agent and the answer's key."""
    began: dict[str, ClaudeEntry] = field(default_factory=dict)
    """The first entry of each session."""
    agents: dict[str, str] = field(default_factory=dict)
    """The call that started each sub-agent, by the sub-agent's id."""
    facts: dict[str, Any] = field(default_factory=dict)
    title_rank: int = -1
    """The rank of the title in `facts`; -1 if there is none."""
    session_id: str = ""
    agent_id: str = ""
    compaction: dict[str, Any] = field(default_factory=dict)
    """The content of the last `compact_boundary`."""
    silent: ClaudeEntry | None = None
    """The last entry that says nothing."""
    exported: ExportedPart = field(default_factory=ExportedPart)

    def value(self, entry: ClaudeEntry) -> dict[str, Any]:
        """The content of an entry; for a message, the keys in `_OF_MESSAGES`."""
        return mapping(self.aside.get(entry.aside)) if entry.aside >= 0 else {}


def is_entry(entry: dict[str, Any]) -> bool:
    """Whether an object has the type and the keys of an entry of this format."""
    kind = text(entry.get("type"))
    if kind in ("user", "assistant"):
        return isinstance(entry.get("message"), dict)
    return kind in TYPES and (bool(_OWN_KEYS & entry.keys()) or "timestamp" in entry) and "payload" not in entry


AsEntry = Callable[[dict[str, Any]], dict[str, Any] | None]
"""Makes an entry of a line that is in another form; None if the line is no part of the conversation."""


def read_file(source: Source, account: Account, file: ClaudeFile, as_entry: AsEntry | None = None) -> ClaudeFile:
    """Read a file, and note each line in the account.

    Raises:
        TwoSessionsError: it holds two sessions.
    """
    for at in objects_of(source, account):
        if as_entry is not None:
            entry = as_entry(at.value)
            if entry is None:
                account.skip(text(at.value.get("type")))
                continue
            at = SourceObject(at.number, entry)
        _note_facts(file, at.value)
        data = mapping(at.value.get("data"))
        if text(at.value.get("type")) == "progress" and text(data.get("agentId")) and mapping(data.get("message")):
            _take_progress(file, at, account)
        elif not _is_repeated(file, at, account):
            _complete_outputs(at.value, source.path, at.number, account)
            _take(file, at, account)
    file.by_uuid.clear()  # each entry knows by now what it hangs below
    return file


def _complete_outputs(entry: dict[str, Any], path: str, line: int, account: Account) -> None:
    """Replace the beginnings of large outputs in the transcript by the whole outputs."""
    message = mapping(entry.get("message"))
    if entry.get("type") == "user" and isinstance(message.get("content"), list):
        message["content"] = with_whole_outputs(message["content"], path, line, account)


def _is_repeated(file: ClaudeFile, at: SourceObject, account: Account) -> bool:
    """Whether an entry is a copy of an earlier one, as resumed sessions hold them; noted if so.

    What says nothing, and what `progress` told of a sub-agent, keeps no message from having its uuid.
    """
    message, uuid = at.value.get("message"), id_text(at.value.get("uuid"))
    first = file.by_uuid.get(uuid)
    if first is None:
        return False
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


def _take(file: ClaudeFile, at: SourceObject, account: Account) -> None:
    entry, kind = at.value, text(at.value.get("type"))
    message = mapping(entry.get("message"))
    held = "kept"
    if _clears(entry):
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
    elif not blocks_of(message.get("content")):
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


def _take_progress(file: ClaudeFile, at: SourceObject, account: Account) -> None:
    """Note what an entry says of a sub-agent. The entry itself stays, as a link between those around it."""
    entry, data = at.value, mapping(at.value.get("data"))
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
    """An entry below its parent, which comes before it."""
    entry = at.value
    parent = _parent_of(entry)
    session = intern(id_text(entry.get("sessionId")))
    read = ClaudeEntry(at.number, kind, id_text(entry.get("uuid")), has_parent=bool(parent), session=session)
    if (found := file.by_uuid.get(parent)) is not None:
        read.above = (found.head or found) if found.speaks else found.above
        read.root = found.root or found
    return read


def _shared(last: ClaudeEntry | None, entry: ClaudeEntry) -> ClaudeEntry:
    """The last entry that says nothing, if this one has the same place: sessions are full of such entries."""
    if last is None or last.above is not entry.above or last.root is not entry.root or entry.root is None:
        return entry
    return last if (last.agent, last.session) == (entry.agent, entry.session) else entry


def _parent_of(entry: dict[str, Any]) -> str:
    return id_text(entry.get("parentUuid")) or id_text(entry.get("logicalParentUuid"))


def _add(file: ClaudeFile, entry: ClaudeEntry, value: dict[str, Any]) -> None:
    """Put an entry among the others, and what it says aside."""
    if entry.speaks and entry.kind != "queued":
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
    """Whether a record under the key of an answer is another answer: a result came before it, and one of these is true.

    - The answer had ended: its last record says why it stopped.
    - The record has no `requestId`, and it begins with something else than a call, or its usage is zero or another one.

    Some gateways give one id to every answer. A result alone does not tell: calls may run while their answer is given.
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
    """The key that the records of one answer share; None if the record has no id.

    A message's id alone does not do: some gateways give one id to every answer.
    """
    message_id = id_text(mapping(value.get("message")).get("id"))
    if not message_id:
        return None
    return message_id, text(value.get("requestId")), entry.is_told


def _check_is_one(file: ClaudeFile, entry: ClaudeEntry) -> None:
    """Check that an entry is of the session that the file begins with.

    A resumed session holds entries of the one that it goes on from, under that one's id: they are one tree. Another
    session has a tree of its own, whose root is the first entry under its id.

    Raises:
        TwoSessionsError: a person speaks in a second one.
    """
    if entry.session and (entry.uuid or entry.speaks):
        file.began.setdefault(entry.session, entry)
    root = entry.root or entry
    if entry.is_person and not entry.agent and root.session and not root.has_parent:
        known, began = next(iter(file.began.items()))
        if began is not root and file.began[root.session] is root:
            raise TwoSessionsError(root.line, known, root.session)


def _agent_of(file: ClaudeFile, read: ClaudeEntry, entry: dict[str, Any]) -> str:
    """The sub-agent that an entry belongs to: as it names it, else by the entry that its side chain begins with."""
    if entry.get("isSidechain") is not True:
        return ""
    if named := text(entry.get("agentId")):
        file.agent_id = file.agent_id or named
        return named
    parent = file.by_uuid.get(_parent_of(entry))
    return (parent.agent if parent is not None else "") or session_name(read.uuid[:13]) or f"line{read.line}"


_FACTS = (("cwd", "cwd"), ("git_branch", "gitBranch"), ("version", "version"), ("slug", "slug"))


def _note_facts(file: ClaudeFile, entry: dict[str, Any]) -> None:
    file.session_id = file.session_id or id_text(entry.get("sessionId"))
    for key, theirs in _FACTS:
        if key not in file.facts and (found := text(entry.get(theirs))):
            file.facts[key] = found
    _note_title(file, entry)
    answered = mapping(entry.get("toolUseResult"))
    if started_by := text(entry.get("parent_tool_use_id")):
        file.agents.setdefault(text(entry.get("agentId")), started_by)
    if agent := text(answered.get("agentId")):
        for call_id in answered_calls(mapping(entry.get("message")).get("content")):
            file.agents.setdefault(agent, call_id)


_TITLES = {"summary": "summary", "ai-title": "aiTitle", "agent-name": "agentName", "custom-title": "customTitle"}
"""By the type of an entry, the key of the title that it gives; a person's own name for a session comes last."""
_RANK_OF_TITLE = {kind: rank for rank, kind in enumerate(_TITLES)}


def _note_title(file: ClaudeFile, entry: dict[str, Any]) -> None:
    """Note a session's title: the last one of the highest rank. A model's title does not replace a person's."""
    kind = text(entry.get("type"))
    if kind not in _TITLES or not (title := text(entry.get(_TITLES[kind])).strip()):
        return
    if _RANK_OF_TITLE[kind] >= file.title_rank:
        file.title_rank, file.facts["title"] = _RANK_OF_TITLE[kind], title


def queued_prompt(entry: dict[str, Any]) -> Any:
    """What a person or a task queued while the agent worked; None for another attachment."""
    attachment = mapping(entry.get("attachment"))
    prompt = attachment.get("prompt")
    return prompt if attachment.get("type") == "queued_command" and isinstance(prompt, str | list) else None


def _clears(entry: dict[str, Any]) -> bool:
    """Whether an entry is the program's own note that a person cleared the history, not a text that quotes one."""
    kind = entry.get("type")
    told = entry.get("content") if kind == "system" else mapping(entry.get("message")).get("content")
    return kind in ("user", "system") and isinstance(told, str) and bool(_CLEAR.match(told))


def _is_person(entry: dict[str, Any], message: dict[str, Any]) -> bool:
    if entry.get("isMeta") is True or entry.get("isCompactSummary") is True:
        return False
    content = message.get("content")
    if isinstance(content, str):
        return bool(content.strip()) and not NOT_A_PERSON.match(content)
    if answered_calls(content):
        return False
    blocks = [block for block in items(content) if isinstance(block, dict)]
    said = next((text(block.get("text")) for block in blocks if block.get("type") == "text"), "")
    return bool(blocks) and not NOT_A_PERSON.match(said)
