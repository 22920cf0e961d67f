"""The index of a Claude Code file: for each entry where it lies, and what the order of messages depends on."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from .account import Account
from .fields import items, mapping, session_name, text
from .lines import objects_of
from .source import Line, Source

NOT_CONVERSATIONAL = frozenset({"progress", "file-history-snapshot", "last-prompt", "permission-mode"})
TYPES = NOT_CONVERSATIONAL | {
    "user", "assistant", "system", "summary", "attachment", "queue-operation", "ai-title", "custom-title",
}  # fmt: skip
NOT_A_PERSON = re.compile(
    r"\s*(<(command-|local-command|bash-|task-notification|system-reminder|user-prompt-submit-hook|ide_)"
    r"|\[Request interrupted)"
)

_OWN_KEYS = frozenset({"parentUuid", "sessionId", "isSidechain", "uuid", "leafUuid", "snapshot", "attachment"})


@dataclass(frozen=True, slots=True)
class Entry:
    """What is held of an entry: where it lies, and what the order of messages depends on."""

    line: int
    offset: int
    length: int
    kind: str
    uuid: str
    parent: str
    message_id: str = ""
    is_person: bool = False
    agent: str = ""


@dataclass(slots=True)
class SessionFile:
    """The index of one file."""

    source: Source
    entries: list[Entry] = field(default_factory=list)
    groups: dict[str, list[int]] = field(default_factory=dict)
    """By `message.id`, the entries of one answer."""
    names: dict[str, str] = field(default_factory=dict)
    """Tool names by call id."""
    agents: dict[str, str] = field(default_factory=dict)
    """By a sub-agent's id, the call that started it."""
    facts: dict[str, Any] = field(default_factory=dict)
    session_id: str = ""
    agent_id: str = ""
    first_of: dict[str, int] = field(default_factory=dict)
    """By uuid, the entry that has it."""
    compaction: dict[str, Any] = field(default_factory=dict)
    """What the last `compact_boundary` said."""

    def parsed(self, index: int) -> dict[str, Any]:
        """Read an entry again."""
        entry = self.entries[index]
        return self.source.object_at(entry.offset, entry.length)


def is_entry(entry: dict[str, Any]) -> bool:
    """Whether an object has the type and the keys of an entry of this format."""
    kind = text(entry.get("type"))
    if kind in ("user", "assistant"):
        return isinstance(entry.get("message"), dict)
    return kind in TYPES and (bool(_OWN_KEYS & entry.keys()) or "timestamp" in entry) and "payload" not in entry


def index_of(source: Source, account: Account) -> SessionFile:
    """Read a file once, and note each line in the account."""
    file = SessionFile(source)
    for line, entry in objects_of(source, account):
        if not _is_repeated(file, line, entry, account):
            _take(file, line, entry, account)
    return file


def _is_repeated(file: SessionFile, line: Line, entry: dict[str, Any], account: Account) -> bool:
    """Whether an entry is a copy of an earlier one, as resumed sessions hold them; noted if so."""
    uuid = text(entry.get("uuid"))
    first = file.first_of.get(uuid, -1) if uuid else -1
    if first < 0:
        return False
    if file.parsed(first).get("message") == entry.get("message"):
        account.skip("copy of an earlier entry")
    else:
        account.lose(line.number, "an earlier entry has the same uuid, with other content")
    return True


def _take(file: SessionFile, line: Line, entry: dict[str, Any], account: Account) -> None:
    kind, message = text(entry.get("type")), mapping(entry.get("message"))
    _note_facts(file, entry)
    if kind in ("user", "assistant") and message and not message.get("content"):
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
        account.lose(line.number, f"{kind} without a message")
        held = "tree"
    else:
        account.keep(kind or "without a type")
        held = "kept"
    uuid = text(entry.get("uuid"))
    if held == "tree" and not uuid:
        return
    index = len(file.entries)
    if uuid:
        file.first_of.setdefault(uuid, index)
    answer = text(message.get("id")) if held == "assistant" else ""
    if answer:
        file.groups.setdefault(answer, []).append(index)
    for block in items(message.get("content")) if held == "assistant" else ():
        if isinstance(block, dict) and block.get("type") == "tool_use":
            file.names.setdefault(text(block.get("id")), text(block.get("name")))
    parent = text(entry.get("parentUuid")) or text(entry.get("logicalParentUuid"))
    agent = _agent_of(file, entry, uuid, parent)
    person = held == "user" and _is_person(entry, message)
    file.entries.append(Entry(line.number, line.offset, line.length, held, uuid, parent, answer, person, agent))


def _agent_of(file: SessionFile, entry: dict[str, Any], uuid: str, parent: str) -> str:
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


def _note_facts(file: SessionFile, entry: dict[str, Any]) -> None:
    file.session_id = file.session_id or text(entry.get("sessionId"))
    for key, named in (("cwd", "cwd"), ("git_branch", "gitBranch"), ("version", "version"), ("slug", "slug")):
        if key not in file.facts and (value := text(entry.get(named))):
            file.facts[key] = value
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
