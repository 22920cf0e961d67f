"""The index of a Claude Code file: its entries in order, and what the order of messages depends on."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from sys import intern
from typing import Any

from .account import Account
from .fields import items, mapping, named, session_name, text
from .source import Source, SourceObject, objects_of

NOT_CONVERSATIONAL = frozenset({"progress", "file-history-snapshot", "last-prompt", "permission-mode"})
TYPES = NOT_CONVERSATIONAL | {
    "user", "assistant", "system", "summary", "attachment", "queue-operation", "ai-title", "custom-title",
}  # fmt: skip
NOT_A_PERSON = re.compile(
    r"\s*(<(command-|local-command|bash-|task-notification|system-reminder|user-prompt-submit-hook|ide_)"
    r"|\[Request interrupted)"
)

_OWN_KEYS = frozenset({"parentUuid", "sessionId", "isSidechain", "uuid", "leafUuid", "snapshot", "attachment"})
_SILENT = ("tree", "kept", "clear")
_CLEAR = re.compile(r"\s*(<command-message>[^<]*</command-message>\s*)?<command-name>/(clear|reset|new)</command-name>")


@dataclass(frozen=True, slots=True)
class ClaudeEntry:
    """An entry: its line, what it says, and what the order of messages depends on."""

    line: int
    value: dict[str, Any]
    kind: str
    """`user`, `assistant`, `queued`; `clear`, `kept` as metadata; `tree`, if only its place among the others counts."""
    uuid: str
    parent: str
    message_id: str = ""
    is_person: bool = False
    agent: str = ""
    is_told: bool = False
    """Whether it is what a `progress` entry tells of a sub-agent."""
    session: str = ""

    @property
    def speaks(self) -> bool:
        """Whether it becomes a message, or a part of one."""
        return self.kind not in _SILENT


@dataclass(slots=True)
class ClaudeFile:
    """The index of one file.

    Args:
        has_file: whether a sub-agent of a session has a file of its own, beside this one.
    """

    has_file: Callable[[str, str], bool] = lambda _agent, _session: False
    entries: list[ClaudeEntry] = field(default_factory=list)
    groups: dict[str, list[int]] = field(default_factory=dict)
    """By `message.id`, the entries of one answer."""
    agents: dict[str, str] = field(default_factory=dict)
    """By a sub-agent's id, the call that started it."""
    facts: dict[str, Any] = field(default_factory=dict)
    session_id: str = ""
    agent_id: str = ""
    first_of: dict[str, int] = field(default_factory=dict)
    """By uuid, the entry that has it."""
    compaction: dict[str, Any] = field(default_factory=dict)
    """What the last `compact_boundary` said."""


def is_entry(entry: dict[str, Any]) -> bool:
    """Whether an object has the type and the keys of an entry of this format."""
    kind = text(entry.get("type"))
    if kind in ("user", "assistant"):
        return isinstance(entry.get("message"), dict)
    return kind in TYPES and (bool(_OWN_KEYS & entry.keys()) or "timestamp" in entry) and "payload" not in entry


def index_of(source: Source, account: Account, file: ClaudeFile) -> ClaudeFile:
    """Read a file, and note each line in the account."""
    for at in objects_of(source, account):
        _note_facts(file, at.value)
        data = mapping(at.value.get("data"))
        if text(at.value.get("type")) == "progress" and text(data.get("agentId")) and mapping(data.get("message")):
            _take_progress(file, at, account)
        elif not _is_repeated(file, at, account):
            _take(file, at, account)
    return file


def _is_repeated(file: ClaudeFile, at: SourceObject, account: Account) -> bool:
    """Whether an entry is a copy of an earlier one, as resumed sessions hold them; noted if so.

    What says nothing, and what `progress` told of a sub-agent, keeps no message from having its uuid.
    """
    entry, uuid = at.value, text(at.value.get("uuid"))
    number = file.first_of.get(uuid, -1) if uuid else -1
    if number < 0:
        return False
    first, says = file.entries[number], bool(mapping(entry.get("message")).get("content"))
    if says and (first.is_told or not first.speaks):
        file.entries[number] = replace(first, uuid="", kind="tree" if first.is_told else first.kind)
        del file.first_of[uuid]
        return False
    if first.value.get("message") == entry.get("message"):
        account.skip("copy of an earlier entry")
    else:
        account.lose(at.number, "an earlier entry has the same uuid, with other content")
    return True


def _take(file: ClaudeFile, at: SourceObject, account: Account) -> None:
    entry = at.value
    kind, message = text(entry.get("type")), mapping(entry.get("message"))
    if _clears(entry):
        account.keep("clear")
        held = "clear"
    elif kind in ("user", "assistant") and message and not message.get("content"):
        account.keep(f"{kind} without content")
        held = "kept"
    elif kind in ("user", "assistant") and message:
        account.map(kind)
        held = kind
    elif kind == "attachment" and queued_prompt(entry) is not None:
        account.map("queued command")
        held = "queued"
    elif kind in NOT_CONVERSATIONAL:
        account.skip(kind)
        held = "tree"
    elif kind in ("user", "assistant"):
        account.lose(at.number, f"{kind} without a message")
        held = "tree"
    else:
        account.keep(kind or "without a type")
        held = "kept"
    uuid = text(entry.get("uuid"))
    if held == "tree" and not uuid:
        return
    parent = text(entry.get("parentUuid")) or text(entry.get("logicalParentUuid"))
    agent = _agent_of(file, entry, uuid, parent)
    person = held == "user" and _is_person(entry, message)
    session = intern(text(entry.get("sessionId")))
    if held in ("user", "assistant"):
        entry.pop("toolUseResult", None)  # nobody reads it any more: the result stands in the message
    value = {} if held == "tree" else entry  # what says nothing is not read again
    read = ClaudeEntry(at.number, value, held, uuid, parent, is_person=person, agent=agent, session=session)
    _add(file, read, message)


def _take_progress(file: ClaudeFile, at: SourceObject, account: Account) -> None:
    """Note what an entry tells of a sub-agent; it has its own place among the others besides."""
    entry, data = at.value, mapping(at.value.get("data"))
    agent, inner = data["agentId"], data["message"]
    kind, message, uuid = text(inner.get("type")), mapping(inner.get("message")), text(inner.get("uuid"))
    if text(entry.get("uuid")):
        parent = text(entry.get("parentUuid")) or text(entry.get("logicalParentUuid"))
        session = intern(text(entry.get("sessionId")))
        _add(file, ClaudeEntry(at.number, {}, "tree", entry["uuid"], parent, session=session), {})
    file.agents.setdefault(agent, text(entry.get("parentToolUseID")))
    if file.has_file(agent, text(entry.get("sessionId"))):
        account.skip("progress of a sub-agent that has a file of its own")
    elif uuid and uuid in file.first_of:
        account.skip("copy of an earlier entry")
    elif kind not in ("user", "assistant") or not message.get("content"):
        account.keep(f"progress of a sub-agent: {kind or 'without a type'}")
        _add(file, ClaudeEntry(at.number, entry, "kept", "", "", agent=agent), {})
    else:
        account.map("progress of a sub-agent")
        _add(file, ClaudeEntry(at.number, inner, kind, uuid, "", agent=agent, is_told=True), message)


def _add(file: ClaudeFile, entry: ClaudeEntry, message: dict[str, Any]) -> None:
    index = len(file.entries)
    if entry.uuid:
        file.first_of.setdefault(entry.uuid, index)
    if entry.kind == "assistant" and (answer := text(message.get("id"))):
        file.groups.setdefault(answer, []).append(index)
        entry = replace(entry, message_id=answer)
    file.entries.append(entry)


def _agent_of(file: ClaudeFile, entry: dict[str, Any], uuid: str, parent: str) -> str:
    """The sub-agent that an entry belongs to: as it names it, else by the entry that its side chain begins with."""
    if entry.get("isSidechain") is not True:
        return ""
    if named := text(entry.get("agentId")):
        file.agent_id = file.agent_id or named
        return named
    above = file.first_of.get(parent, -1) if parent else -1
    if above >= 0 and file.entries[above].agent:
        return file.entries[above].agent
    return session_name(uuid[:13]) or f"line{len(file.entries)}"


def _note_facts(file: ClaudeFile, entry: dict[str, Any]) -> None:
    file.session_id = file.session_id or text(entry.get("sessionId"))
    for key, found in named(entry, cwd="cwd", git_branch="gitBranch", version="version", slug="slug").items():
        file.facts.setdefault(key, found)
    kind = entry.get("type")
    if kind in ("summary", "ai-title", "custom-title"):
        title = text(entry.get("summary")) or text(entry.get("aiTitle")) or text(entry.get("customTitle"))
        if title:
            file.facts["title"] = title
    answered = mapping(entry.get("toolUseResult"))
    if agent := text(answered.get("agentId")):
        for block in items(mapping(entry.get("message")).get("content")):
            if isinstance(block, dict) and block.get("type") == "tool_result":
                file.agents.setdefault(agent, text(block.get("tool_use_id")))


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
    blocks = [block for block in items(content) if isinstance(block, dict)]
    if any(block.get("type") == "tool_result" for block in blocks):
        return False
    said = next((text(block.get("text")) for block in blocks if block.get("type") == "text"), "")
    return bool(blocks) and not NOT_A_PERSON.match(said)
