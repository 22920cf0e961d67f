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
from .events import CompactionEvent, Event, KeptEntry, MessageRead, session_start
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
from .refused_import import one_session
from .source_file import Source, objects_of
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
        """Add an entry.

        Args:
            line: the number of the entry's line.
            kind: the type of the entry.
            entry_id: the id of the entry.
            parent: the position of the entry before it; -1 for a first entry.
            event: the event that the entry becomes; None if it becomes none.
        """
        self.lines.append(line)
        self.kinds.append(intern(kind))
        self.ids.append(entry_id)
        self.parents.append(parent)
        self.places.append(self.events.put(event) if event is not None else NO_PLACE)


def read(source: Source, account: Account) -> Iterator[Event]:
    """Yield the session and its branches."""
    file = _index(source, account)
    live, left = split_tree(file.parents, lambda _: True)
    yield session_start(file.facts, file.session_id, file.exported)
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
    """Return the kind of an entry, and its event (None for an entry without one).

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
    places = file.places
    return file.events.all(places[index] for index in indices if places[index] != NO_PLACE)


def _event(file: _PiFile, line: int, entry: dict[str, Any]) -> Event:
    """Return the event of an entry. An entry without content becomes a `KeptEntry`."""
    kind = text(entry.get("type"))
    message_id = file.id_of(text(entry.get("id")), line)
    message: Message | None = None
    if kind == "compaction":
        return _compaction(file, line, message_id, entry)
    if kind == "message":
        inner = mapping(entry.get("message"))
        if inner.get("role") == "compactionSummary" and text(inner.get("summary")):
            if inner["summary"] == file.summary:  # it repeats the `compaction` entry
                return KeptEntry(entry, line, "compactionSummary")
            return _compaction(file, line, message_id, {**inner, "timestamp": entry.get("timestamp")})
        message = _message(inner, message_id, entry)
    elif kind in _TALK:
        content = _content(text(entry.get("summary")) if kind == "branch_summary" else entry.get("content"))
        source = f"pi:{kind.removesuffix('_message').replace('_', '-')}"
        if content:
            message = user(content, metadata(message_id, entry.get("timestamp"), source=source))
    return MessageRead(message, line) if message is not None else KeptEntry(entry, line, kind)


def _content(content: Any) -> Any:
    return plain_content([_block(block) for block in blocks_of(content)])


def _message(message: dict[str, Any], message_id: str, entry: dict[str, Any]) -> Message | None:
    """Return a message of any role, or None for a message without content."""
    role, content_text = message.get("role"), message.get("content")
    time = entry.get("timestamp")
    if "timestamp" in message and not iso_time(time):
        time = message["timestamp"]
    if role == "assistant":
        return _answer(message, message_id, time)
    if role == "toolResult":
        facts = metadata(message_id, time, failed=message.get("isError") is True)
        return result(id_text(message.get("toolCallId")), _content(content_text), facts, text(message.get("toolName")))
    if role == "bashExecution":
        content_text = f"$ {text(message.get('command'))}\n{text(message.get('output'))}"
        code = message.get("exitCode")
        if isinstance(code, int) and code != 0:
            content_text += f"\nexit code {code}"
    elif role == "branchSummary":
        content_text = text(message.get("summary"))
    content = _content(content_text)
    if not content:
        return None
    source = None if role == "user" else f"pi:{role}"
    return user(content, metadata(message_id, time, source=source))


def _answer(message: dict[str, Any], message_id: str, time: Any) -> Message | None:
    """Return an answer, or None for an answer with neither content nor calls."""
    blocks: list[Message] = []
    calls: list[Message] = []
    for block in blocks_of(message.get("content")):
        call_id = id_text(block.get("id")) if block.get("type") == "toolCall" else ""
        if call_id:
            calls.append(call(call_id, text(block.get("name")), block.get("arguments")))
        else:
            blocks.append(_block(block))
    stop = text(message.get("stopReason"))
    facts = metadata(
        message_id,
        time,
        provider=text(message.get("provider")),
        model=text(message.get("model")),
        stop_reason=stop,
        usage=_usage(mapping(message.get("usage"))),
        failed=stop == "error",
        error=text(message.get("errorMessage")),
    )
    return assistant(blocks, calls, facts)


def _usage(reported: dict[str, Any]) -> dict[str, Any]:
    """Return the usage of an answer; {} if all counts are 0.

    All counts are 0 in an aborted answer, and in an answer of a copy that this package exported.
    """
    cache_read = reported.get("cacheRead")
    usage = usage_of(
        input_tokens=total(reported.get("input"), cache_read),
        output_tokens=reported.get("output"),
        cache_read_tokens=cache_read,
        cache_write_tokens=reported.get("cacheWrite"),
        cost_usd=mapping(reported.get("cost")).get("total") or None,  # pi writes 0 if it knows no price
    )
    return usage if any(usage.values()) else {}


def _block(block: Message) -> Message:
    """Return a content block in the form that hosts keep."""
    kind = block.get("type")
    if kind == "text":
        return text_block(text(block.get("text")))
    if kind == "thinking":
        signed = text(block.get("thinkingSignature"))
        if block.get("redacted") is True:
            return {"type": "redacted_thinking", "data": signed}
        return thinking_block(text(block.get("thinking")), signed or None)
    if kind == "image" and isinstance(block.get("data"), str):
        return medium("image", base64_source(block["data"], text(block.get("mimeType"))))
    return block


def _compaction(file: _PiFile, line: int, message_id: str, entry: dict[str, Any]) -> CompactionEvent:
    """Make the event of a compaction.

    The kept messages begin with the first message at or after an entry, which is named by its id or its number.
    """
    file.summary = text(entry.get("summary"))
    start = entry.get("firstKeptEntryIndex")
    first_id = text(entry.get("firstKeptEntryId"))
    if first_id:
        start = file.ids.index(first_id) if first_id in file.ids else None
    keep_from = ""
    if isinstance(start, int) and start >= 0:
        keep_from = _first_message_from(file, start)
    return CompactionEvent(
        file.summary,
        line,
        message_id=message_id,
        time=entry.get("timestamp"),
        keep_from=keep_from,
        tokens_before=entry.get("tokensBefore"),
    )


def _first_message_from(file: _PiFile, start: int) -> str:
    """Return the id of the first message at or after an entry's position; "" if there is none."""
    for position in range(start, len(file.ids)):
        if file.kinds[position] == "message":
            return file.id_of(file.ids[position], file.lines[position])
    return ""
