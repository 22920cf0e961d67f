"""Read sessions of pi: `~/.pi/agent/sessions/--<directory>--/<time>_<uuid>.jsonl`, version 3 and older ones.

Entries form a tree by `parentId`. The path to the last line is the session; entries beside this path are branches.
Older files have no ids and are linear. A compaction keeps the entries from `firstKeptEntryId` on (older: the entry
number `firstKeptEntryIndex`).
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from sys import intern
from typing import Any

from ....forms.canonical import (
    base64_source,
    blocks_of,
    call,
    id_text,
    medium,
    plain_content,
    text_block,
    total,
    usage_of,
)
from ..export_mark import ExportedPart
from .account import Account
from .branches import Branch, TreeBranch, branches, split_tree
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
from .waiting_events import NO_PLACE, WaitingEvents

_CHANGES = frozenset({"model_change", "thinking_level_change"})
_TYPES = frozenset({"message", "compaction", "branch_summary", "label", "custom", "custom_message", "session_info"})
_TALK = frozenset({"message", "compaction", "branch_summary", "custom_message", "empty"})
_ROLES = frozenset(
    ["user", "assistant", "toolResult", "bashExecution", "custom", "hookMessage", "branchSummary", "compactionSummary"]
)


@dataclass(slots=True)
class _PiFile:
    """The entries of one file in columns.

    The header counts as an entry, because older versions refer to entries by number.

    A long session has hundreds of thousands of entries. In columns, each takes 200 bytes less than an object of its
    own.
    """

    events: WaitingEvents
    lines: array[int] = field(default_factory=lambda: array("L"))
    kinds: list[str] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    parents: array[int] = field(default_factory=lambda: array("l"))
    """The position of each entry's parent; -1 for a root."""
    places: array[int] = field(default_factory=lambda: array("q"))
    """The place of each entry's stored event; `NO_PLACE` if it has none."""
    facts: dict[str, Any] = field(default_factory=dict)
    session_id: str = ""
    summary: str = ""
    """The summary of the last compaction."""
    exported: ExportedPart = field(default_factory=ExportedPart)
    exported_ids: dict[int, str] = field(default_factory=dict)
    """The ids of the messages that entries were exported from, by line number."""

    def id_of(self, entry_id: str, line: int) -> str:
        """Return the id for the message of an entry."""
        return self.exported_ids.get(line) or entry_id or f"pi-{line}"

    def add(self, line: int, kind: str, entry_id: str, parent: int = -1, event: Event | None = None) -> None:
        """Add an entry."""
        self.lines.append(line)
        self.kinds.append(intern(kind))
        self.ids.append(entry_id)
        self.parents.append(parent)
        self.places.append(self.events.put(event) if event is not None else NO_PLACE)


def read(source: Source, account: Account) -> Iterator[Event]:
    """Yield the session and its branches."""
    file = _index(source, account)
    live, left = split_tree(file.parents, lambda _: True)
    part = file.exported
    yield SessionStart("session", "", file.facts, file.session_id, "", "", part.session_id, part.last_line)
    yield from _messages(file, live)

    def made(branch: TreeBranch) -> Branch:
        first = branch.own[0]
        name = session_name(file.ids[first])
        return Branch(file.lines[first], name, _messages(file, branch.common), _messages(file, branch.own))

    with_talk = [branch for branch in left if any(file.kinds[position] in _TALK for position in branch.own)]
    yield from branches(map(made, with_talk), account, file.facts, file.session_id)


def is_entry(entry: dict[str, Any]) -> bool:
    """Return whether an object has the type and the keys of an entry of this format."""
    kind = text(entry.get("type"))
    if kind == "session":
        return "cwd" in entry and "id" in entry
    if kind == "message":
        return text(mapping(entry.get("message")).get("role")) in _ROLES
    return kind in _CHANGES or (kind in _TYPES and "timestamp" in entry and "payload" not in entry)


def _index(source: Source, account: Account) -> _PiFile:
    """Read all entries of a file with their parents."""
    file = _PiFile(WaitingEvents(source.aside))
    known: dict[str, int] = {}
    for line, entry in objects_of(source, account):
        kind, entry_id = text(entry.get("type")), text(entry.get("id"))
        exported_id = file.exported.note(line, entry)
        if exported_id:
            file.exported_ids[line] = exported_id
        if kind == "session":
            account.keep("session")
            file.session_id = one_session(line, file.session_id, entry_id)
            file.facts = {**_facts_of(entry), **file.facts}
            file.add(line, "header", "")
            continue
        earlier = known.get(entry_id)
        if earlier is not None:
            if file.kinds[earlier] != "lost":
                account.lose(line, "an earlier entry has the same id")
                continue
            file.ids[earlier] = ""  # a lost entry leaves its id to the message
        kind, event = _kind_and_event(file, account, line, entry)
        parent = known.get(text(entry.get("parentId")), -1)
        if entry_id:
            known[entry_id] = len(file.ids)
        if kind == "session_info":
            file.facts |= named(entry, title="name")
        file.add(line, kind, entry_id, parent, event)
    return file


def _facts_of(header: dict[str, Any]) -> dict[str, Any]:
    """Return the facts in the header of a session."""
    facts = named(header, cwd="cwd", parent_session="parentSession", branched_from="branchedFrom")
    if isinstance(header.get("version"), int):
        facts["version"] = header["version"]
    return facts


def _kind_and_event(file: _PiFile, account: Account, line: int, entry: dict[str, Any]) -> tuple[str, Event | None]:
    """Return the kind of an entry, and its event.

    The kind is `lost` if the entry cannot be read, and `empty` for a message without content.
    """
    kind = text(entry.get("type"))
    if kind == "message" and text(mapping(entry.get("message")).get("role")) not in _ROLES:
        account.lose(line, "a message of an unknown role")
        return "lost", None
    event = _event(file, line, entry)
    if not isinstance(event, KeptEntry):
        account.map(kind)
        return kind, event
    account.keep("message without content" if event.kind == "message" else event.kind or "without a type")
    return ("empty" if kind == "message" else kind), event


def _messages(file: _PiFile, indices: Sequence[int]) -> Iterator[Event]:
    """Yield the events of entries, in order."""
    return file.events.all(place for index in indices if (place := file.places[index]) != NO_PLACE)


def _event(file: _PiFile, line: int, entry: dict[str, Any]) -> Event:
    """Return the event of an entry. An entry without content becomes a `KeptEntry`."""
    kind, message_id, message = text(entry.get("type")), file.id_of(text(entry.get("id")), line), None
    inner = mapping(entry.get("message")) if kind == "message" else {}
    if kind == "compaction":
        return _compaction(file, line, message_id, entry)
    if inner.get("role") == "compactionSummary" and text(inner.get("summary")):
        if inner["summary"] == file.summary:  # it repeats the `compaction` entry
            return KeptEntry(entry, line, "compactionSummary")
        return _compaction(file, line, message_id, {**inner, "timestamp": entry.get("timestamp")})
    if kind == "message":
        message = _message(inner, message_id, entry)
    elif kind in _TALK:
        said = _content(text(entry.get("summary")) if kind == "branch_summary" else entry.get("content"))
        source = f"pi:{kind.removesuffix('_message').replace('_', '-')}"
        message = user(said, metadata(message_id, entry.get("timestamp"), source=source)) if said else None
    return MessageRead(message, line) if message is not None else KeptEntry(entry, line, kind)


def _content(content: Any) -> Any:
    return plain_content([_block(block) for block in blocks_of(content)])


def _message(message: dict[str, Any], message_id: str, entry: dict[str, Any]) -> Message | None:
    role, said = message.get("role"), message.get("content")
    time = iso_time(entry.get("timestamp")) or iso_time(message.get("timestamp"))
    if role == "assistant":
        return _answer(message, message_id, time)
    if role == "toolResult":
        given = metadata(message_id, time, failed=message.get("isError") is True)
        return result(id_text(message.get("toolCallId")), _content(said), given, text(message.get("toolName")))
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
    asked = [block for block in given if block.get("type") == "toolCall" and id_text(block.get("id"))]
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
        usage = {}  # an answer that was aborted, or a copy: its usage is not known
    stop = text(message.get("stopReason"))
    return assistant(
        [_block(block) for block in given if block not in asked],
        [call(id_text(block["id"]), text(block.get("name")), block.get("arguments")) for block in asked],
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
    """Return a content block in the form that hosts keep."""
    signed = text(block.get("thinkingSignature"))
    if block.get("type") == "thinking" and block.get("redacted") is True:
        return {"type": "redacted_thinking", "data": signed}
    if block.get("type") == "thinking":
        return thinking_block(text(block.get("thinking")), signed or None)
    if block.get("type") == "image" and isinstance(block.get("data"), str):
        return medium("image", base64_source(block["data"], text(block.get("mimeType"))))
    return text_block(text(block.get("text"))) if block.get("type") == "text" else block


def _compaction(file: _PiFile, line: int, message_id: str, entry: dict[str, Any]) -> CompactionEvent:
    """Make the event of a compaction.

    The kept messages begin with the first message at or after an entry, which is named by its id or its number.
    """
    file.summary = text(entry.get("summary"))
    start, first = entry.get("firstKeptEntryIndex"), text(entry.get("firstKeptEntryId"))
    if first:
        start = next((at for at, other in enumerate(file.ids) if other == first), -1)
    following = range(start, len(file.ids)) if isinstance(start, int) and start >= 0 else range(0)
    return CompactionEvent(
        file.summary,
        line,
        message_id=message_id,
        time=entry.get("timestamp"),
        keep_from=next(
            (file.id_of(file.ids[at], file.lines[at]) for at in following if file.kinds[at] == "message"), ""
        ),
        tokens_before=entry.get("tokensBefore"),
    )
