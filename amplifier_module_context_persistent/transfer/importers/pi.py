"""Sessions of pi: `~/.pi/agent/sessions/--<directory>--/<time>_<uuid>.jsonl`, version 3 and older ones.

Entries form a tree by `parentId`, whose leaf is the last line; what hangs elsewhere are branches. Older files have no
ids and are linear. A compaction keeps what follows `firstKeptEntryId` (older: the entry number `firstKeptEntryIndex`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from .account import Account
from .events import CompactionEvent, Event, Kept, MessageRead, SessionStart, branches, tree_branches
from .fields import (
    Message,
    assistant,
    blocks_of,
    call,
    image_block,
    iso_time,
    mapping,
    metadata,
    named,
    plain_content,
    result,
    text,
    text_block,
    thinking_block,
    total,
    usage_of,
    user,
)
from .source import Source, objects_of, one_session
from .tree import branches_of, parents_of

_CHANGES = frozenset({"model_change", "thinking_level_change"})
_TYPES = frozenset({"message", "compaction", "branch_summary", "label", "custom", "custom_message", "session_info"})
_TALK = frozenset({"message", "compaction", "branch_summary", "custom_message"})
_ROLES = frozenset({"user", "assistant", "toolResult", "bashExecution", "custom", "hookMessage", "branchSummary"})


class _Entry(NamedTuple):
    line: int
    kind: str
    id: str
    parent: str
    value: dict[str, Any]


@dataclass(slots=True)
class _PiFile:
    entries: list[_Entry] = field(default_factory=list)
    """In their order, the header among them: older versions name entries by their number."""
    facts: dict[str, Any] = field(default_factory=dict)
    session_id: str = ""


def read(source: Source, account: Account) -> Iterator[Event]:
    """Yield the session and its branches."""
    file = _index(source, account)
    parents = parents_of([entry.id for entry in file.entries], [entry.parent for entry in file.entries])
    roots = branches_of(parents, lambda at: True)
    yield SessionStart("session", "", file.facts, file.session_id)
    yield from _messages(file, [at for at, root in enumerate(roots) if root < 0])
    said = {root for root, entry in zip(roots, file.entries, strict=True) if entry.kind in {*_TALK, "empty"}}
    found = tree_branches(
        sorted(said - {-1}),
        roots,
        parents,
        lambda root: (file.entries[root].line, file.entries[root].id),
        lambda places: _messages(file, places),
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
    file = _PiFile()
    known: dict[str, int] = {}
    for line, entry in objects_of(source, account):
        kind, entry_id = text(entry.get("type")), text(entry.get("id"))
        if kind == "session":
            account.keep("session")
            file.session_id = one_session(line, file.session_id, entry_id)
            facts = named(entry, cwd="cwd", parent_session="parentSession", branched_from="branchedFrom")
            version = {"version": entry["version"]} if isinstance(entry.get("version"), int) else {}
            file.facts = {**facts, **version, **file.facts}
            file.entries.append(_Entry(line, "header", "", "", {}))
            continue
        if (first := known.get(entry_id, -1)) >= 0:
            if file.entries[first].kind != "lost":
                account.lose(line, "an earlier entry has the same id")
                continue
            file.entries[first] = file.entries[first]._replace(id="")  # what says nothing takes no message its id
        message = mapping(entry.get("message"))
        if kind == "message" and text(message.get("role")) not in _ROLES:
            account.lose(line, "a message of an unknown role")
            kind = "lost"
        elif kind == "message" and not _says(message):
            account.keep("message without content")
            kind = "empty"
        elif kind in _TALK:
            account.map(kind)
        else:
            account.keep(kind or "without a type")
        if entry_id:
            known[entry_id] = len(file.entries)
        if kind == "session_info":
            file.facts |= named(entry, title="name")
        file.entries.append(_Entry(line, kind, entry_id, text(entry.get("parentId")), entry))
    return file


def _says(message: dict[str, Any]) -> bool:
    """Whether a message has content; an answer that failed may have none."""
    given = message.get("content") or message.get("command") or message.get("summary")
    return bool(given) or message.get("role") == "toolResult"


def _messages(file: _PiFile, indices: Sequence[int]) -> Iterator[Event]:
    for entry in (file.entries[index] for index in indices):
        if entry.kind == "message":
            message = _message(mapping(entry.value.get("message")), _id_of(entry), entry.value)
            if message is not None:
                yield MessageRead(message, entry.line)
        elif entry.kind == "compaction":
            yield _compaction(file, entry)
        elif entry.kind in _TALK:
            said = text(entry.value.get("summary")) if entry.kind == "branch_summary" else entry.value.get("content")
            source = f"pi:{entry.kind.removesuffix('_message').replace('_', '-')}"
            given = metadata(_id_of(entry), entry.value.get("timestamp"), source=source)
            yield MessageRead(user(_content(said), given), entry.line)
        elif entry.kind not in ("header", "lost"):
            yield Kept(entry.value, entry.line, entry.kind)


def _id_of(entry: _Entry) -> str:
    return entry.id or f"pi-{entry.line}"


def _content(content: Any) -> Any:
    return plain_content([_block(block) for block in blocks_of(content)])


def _message(message: dict[str, Any], message_id: str, entry: dict[str, Any]) -> Message | None:
    role, said = message.get("role"), message.get("content")
    time = iso_time(entry.get("timestamp")) or iso_time(message.get("timestamp"))
    if role == "assistant":
        return _answer(message, message_id, time)
    if role == "toolResult":
        failed = True if message.get("isError") is True else None
        given = metadata(message_id, time, is_error=failed)
        return result(text(message.get("toolCallId")), _content(said), given, text(message.get("toolName")))
    if role == "bashExecution":
        code = message.get("exitCode")
        end = f"\nexit code {code}" if isinstance(code, int) and code else ""
        said = f"$ {text(message.get('command'))}\n{text(message.get('output'))}{end}"
    elif role == "branchSummary":
        said = text(message.get("summary"))
    return user(_content(said), metadata(message_id, time, source=None if role == "user" else f"pi:{role}"))


def _answer(message: dict[str, Any], message_id: str, time: str) -> Message | None:
    given = blocks_of(message.get("content"))
    calls = [
        call(block["id"], text(block.get("name")), block.get("arguments"))
        for block in given
        if block.get("type") == "toolCall" and text(block.get("id"))
    ]
    reported = mapping(message.get("usage"))
    read = reported.get("cacheRead")
    usage = usage_of(
        input_tokens=total(reported.get("input"), read),
        output_tokens=reported.get("output"),
        cache_read_tokens=read,
        cache_write_tokens=reported.get("cacheWrite"),
        cost_usd=mapping(reported.get("cost")).get("total"),
    )
    stop = text(message.get("stopReason"))
    return assistant(
        [_block(block) for block in given if block.get("type") != "toolCall"],
        calls,
        metadata(
            message_id,
            time,
            provider=text(message.get("provider")),
            model=text(message.get("model")),
            stop_reason=stop,
            usage=usage,
            is_error=True if stop == "error" else None,
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
        return image_block(block["data"], text(block.get("mimeType")))
    return text_block(text(block.get("text"))) if block.get("type") == "text" else block


def _compaction(file: _PiFile, entry: _Entry) -> CompactionEvent:
    """What stays begins with the first message from an entry on, which is named by its id or its number."""
    start, first = entry.value.get("firstKeptEntryIndex"), text(entry.value.get("firstKeptEntryId"))
    if first:
        start = next((at for at, other in enumerate(file.entries) if other.id == first), -1)
    following = file.entries[start:] if isinstance(start, int) and start >= 0 else []
    return CompactionEvent(
        text(entry.value.get("summary")),
        entry.line,
        message_id=_id_of(entry),
        time=entry.value.get("timestamp"),
        keep_from=next((_id_of(other) for other in following if other.kind == "message"), ""),
        tokens_before=entry.value.get("tokensBefore"),
    )
