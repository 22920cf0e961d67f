"""Sessions of pi: `~/.pi/agent/sessions/--<directory>--/<time>_<uuid>.jsonl`, version 3 and older ones.

Entries form a tree by `parentId`, whose leaf is the last line; what hangs elsewhere are branches. Older files have no
ids and are linear. A compaction keeps what follows `firstKeptEntryId` (older: the entry number `firstKeptEntryIndex`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ....forms.canonical import base64_source, blocks_of, call, medium, plain_content, text_block, total, usage_of
from .account import Account
from .branches import Branch, branches, split_tree
from .events import CompactionEvent, Event, KeptEntry, MessageRead, SessionStart
from .fields import (
    Message,
    assistant,
    iso_time,
    mapping,
    metadata,
    named,
    result,
    session_name,
    text,
    thinking_block,
    user,
)
from .source_file import Source, objects_of, one_session
from .waiting_events import Waiting, WaitingEvents

_CHANGES = frozenset({"model_change", "thinking_level_change"})
_TYPES = frozenset({"message", "compaction", "branch_summary", "label", "custom", "custom_message", "session_info"})
_TALK = frozenset({"message", "compaction", "branch_summary", "custom_message", "empty"})
_ROLES = frozenset({"user", "assistant", "toolResult", "bashExecution", "custom", "hookMessage", "branchSummary"})


class _Entry(NamedTuple):
    line: int
    kind: str
    id: str
    parent: int
    """The position of its parent, -1 for a root."""
    event: Waiting | None = None


@dataclass(slots=True)
class _PiFile:
    events: WaitingEvents
    entries: list[_Entry] = field(default_factory=list)
    """In their order, the header among them: older versions name entries by their number."""
    facts: dict[str, Any] = field(default_factory=dict)
    session_id: str = ""


def read(source: Source, account: Account) -> Iterator[Event]:
    """Yield the session and its branches."""
    file = _index(source, account)
    entries = file.entries
    live, left = split_tree([entry.parent for entry in entries], lambda at: True)
    talks = [(common, own) for common, own in left if any(entries[at].kind in _TALK for at in own)]
    yield SessionStart("session", "", file.facts, file.session_id)
    yield from _messages(file, live)
    found = (
        Branch(entries[own[0]].line, session_name(entries[own[0]].id), _messages(file, common), _messages(file, own))
        for common, own in talks
    )
    yield from branches(found, account, file.facts, file.session_id)


def is_entry(entry: dict[str, Any]) -> bool:
    """Whether an object has the type and the keys of an entry of this format."""
    kind = text(entry.get("type"))
    if kind == "session":
        return "cwd" in entry and "id" in entry
    if kind == "message":
        return text(mapping(entry.get("message")).get("role")) in _ROLES
    return kind in _CHANGES or (kind in _TYPES and "timestamp" in entry and "payload" not in entry)


def _index(source: Source, account: Account) -> _PiFile:
    file = _PiFile(WaitingEvents(source.aside))
    known: dict[str, int] = {}
    for line, entry in objects_of(source, account):
        kind, entry_id = text(entry.get("type")), text(entry.get("id"))
        if kind == "session":
            account.keep("session")
            file.session_id = one_session(line, file.session_id, entry_id)
            facts = named(entry, cwd="cwd", parent_session="parentSession", branched_from="branchedFrom")
            version = {"version": entry["version"]} if isinstance(entry.get("version"), int) else {}
            file.facts = {**facts, **version, **file.facts}
            file.entries.append(_Entry(line, "header", "", -1))
            continue
        if (first := known.get(entry_id, -1)) >= 0:
            if file.entries[first].kind != "lost":
                account.lose(line, "an earlier entry has the same id")
                continue
            file.entries[first] = file.entries[first]._replace(id="")  # what says nothing takes no message its id
        event = None
        if kind == "message" and text(mapping(entry.get("message")).get("role")) not in _ROLES:
            account.lose(line, "a message of an unknown role")
            kind = "lost"
        elif isinstance(event := _event(file, line, entry), KeptEntry):
            account.keep("message without content" if kind == "message" else kind or "without a type")
            kind = "empty" if kind == "message" else kind
        else:
            account.map(kind)
        parent = known.get(text(entry.get("parentId")), -1)
        if entry_id:
            known[entry_id] = len(file.entries)
        if kind == "session_info":
            file.facts |= named(entry, title="name")
        file.entries.append(_Entry(line, kind, entry_id, parent, file.events.put(event) if event else None))
    return file


def _messages(file: _PiFile, indices: Sequence[int]) -> Iterator[Event]:
    """What some entries stand for, in their order."""
    for index in indices:
        if (event := file.entries[index].event) is not None:
            yield file.events.get(event)


def _event(file: _PiFile, line: int, entry: dict[str, Any]) -> Event:
    """What an entry stands for; one that says nothing is kept as it is."""
    kind, message_id, message = text(entry.get("type")), _id_of(text(entry.get("id")), line), None
    if kind == "compaction":
        return _compaction(file, line, message_id, entry)
    if kind == "message":
        message = _message(mapping(entry.get("message")), message_id, entry)
    elif kind in _TALK:
        said = _content(text(entry.get("summary")) if kind == "branch_summary" else entry.get("content"))
        source = f"pi:{kind.removesuffix('_message').replace('_', '-')}"
        message = user(said, metadata(message_id, entry.get("timestamp"), source=source)) if said else None
    return MessageRead(message, line) if message is not None else KeptEntry(entry, line, kind)


def _id_of(entry_id: str, line: int) -> str:
    return entry_id or f"pi-{line}"


def _content(content: Any) -> Any:
    return plain_content([_block(block) for block in blocks_of(content)])


def _message(message: dict[str, Any], message_id: str, entry: dict[str, Any]) -> Message | None:
    role, said = message.get("role"), message.get("content")
    time = iso_time(entry.get("timestamp")) or iso_time(message.get("timestamp"))
    if role == "assistant":
        return _answer(message, message_id, time)
    if role == "toolResult":
        given = metadata(message_id, time, failed=message.get("isError") is True)
        return result(text(message.get("toolCallId")), _content(said), given, text(message.get("toolName")))
    if role == "bashExecution":
        code = message.get("exitCode")
        end = f"\nexit code {code}" if isinstance(code, int) and code else ""
        said = f"$ {text(message.get('command'))}\n{text(message.get('output'))}{end}"
    elif role == "branchSummary":
        said = text(message.get("summary"))
    content = _content(said)
    source = None if role == "user" else f"pi:{role}"
    return user(content, metadata(message_id, time, source=source)) if content else None


def _answer(message: dict[str, Any], message_id: str, time: str) -> Message | None:
    given = blocks_of(message.get("content"))
    asked = [block for block in given if block.get("type") == "toolCall" and text(block.get("id"))]
    reported = mapping(message.get("usage"))
    read = reported.get("cacheRead")
    usage = usage_of(
        input_tokens=total(reported.get("input"), read),
        output_tokens=reported.get("output"),
        cache_read_tokens=read,
        cache_write_tokens=reported.get("cacheWrite"),
        cost_usd=mapping(reported.get("cost")).get("total"),
    )
    if not any(usage.values()):
        usage = {}  # an answer that was aborted, or a copy: nobody says what it took
    stop = text(message.get("stopReason"))
    return assistant(
        [_block(block) for block in given if block not in asked],
        [call(block["id"], text(block.get("name")), block.get("arguments")) for block in asked],
        metadata(
            message_id,
            time,
            provider=text(message.get("provider")),
            model=text(message.get("model")),
            stop_reason=stop,
            usage=usage,
            failed=stop == "error",
            error=text(message.get("errorMessage")),
        ),
    )


def _block(block: Message) -> Message:
    """A content block as hosts keep it."""
    signed = text(block.get("thinkingSignature"))
    if block.get("type") == "thinking" and block.get("redacted") is True:
        return {"type": "redacted_thinking", "data": signed}
    if block.get("type") == "thinking":
        return thinking_block(text(block.get("thinking")), signed or None)
    if block.get("type") == "image" and isinstance(block.get("data"), str):
        return medium("image", base64_source(block["data"], text(block.get("mimeType"))))
    return text_block(text(block.get("text"))) if block.get("type") == "text" else block


def _compaction(file: _PiFile, line: int, message_id: str, entry: dict[str, Any]) -> CompactionEvent:
    """What stays begins with the first message from an entry on, which is named by its id or its number."""
    start, first = entry.get("firstKeptEntryIndex"), text(entry.get("firstKeptEntryId"))
    if first:
        start = next((at for at, other in enumerate(file.entries) if other.id == first), -1)
    following = file.entries[start:] if isinstance(start, int) and start >= 0 else []
    return CompactionEvent(
        text(entry.get("summary")),
        line,
        message_id=message_id,
        time=entry.get("timestamp"),
        keep_from=next((_id_of(other.id, other.line) for other in following if other.kind == "message"), ""),
        tokens_before=entry.get("tokensBefore"),
    )
