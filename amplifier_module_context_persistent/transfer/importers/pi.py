"""Sessions of pi: `~/.pi/agent/sessions/--<directory>--/<time>_<uuid>.jsonl`, version 3 and older ones.

Entries form a tree by `parentId`, whose leaf is the last line; what hangs elsewhere are branches. Older files have no
ids and are linear. A compaction keeps what follows `firstKeptEntryId` (older: the entry number `firstKeptEntryIndex`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from .account import Account
from .events import MOST_BRANCHES, Compacted, Event, Kept, MessageRead, SessionStart, branch
from .fields import (
    Message,
    assistant,
    call,
    iso_time,
    items,
    mapping,
    metadata,
    plain_content,
    result,
    session_name,
    text,
    total,
    usage_of,
)  # fmt: skip
from .source import Sample, Source, SourceObject, TwoSessionsError, objects_of
from .tree import branches_of, common_with, parents_of

_CHANGES = frozenset({"model_change", "thinking_level_change"})
_TYPES = frozenset({"message", "compaction", "branch_summary", "label", "custom", "custom_message", "session_info"})
_ROLES = frozenset({"user", "assistant", "toolResult", "bashExecution", "custom", "hookMessage", "branchSummary"})


class _Entry(NamedTuple):
    source: SourceObject
    kind: str
    id: str
    parent: str
    speaks: bool

    @property
    def line(self) -> int:
        """Its line."""
        return self.source.number


@dataclass(slots=True)
class _File:
    entries: list[_Entry] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)
    session_id: str = ""
    at_number: list[int] = field(default_factory=list)
    """By number of entry, the header being 0, its index in `entries`; -1 for the header."""


class Pi:
    """Importer of pi's sessions."""

    name = "pi"
    title = "a session of pi"

    def score(self, sample: Sample) -> int:
        """How many entries are of types and with keys of this format."""
        return sum(map(_is_own, sample.entries))

    def read(self, source: Source, account: Account) -> Iterator[Event]:
        """Yield the session and its branches."""
        file = _index(source, account)
        entries = file.entries
        parents = parents_of([entry.id for entry in entries], [entry.parent for entry in entries])
        roots = branches_of(parents, lambda at: True)
        yield SessionStart("session", "", file.facts, file.session_id)
        yield from _messages(file, [at for at in range(len(entries)) if roots[at] < 0])
        left = [at for at in range(len(entries)) if roots[at] == at]
        said = {roots[at] for at, entry in enumerate(entries) if entry.speaks}
        left = [at for at in left if at in said]
        for root in left[:MOST_BRANCHES]:
            name = session_name(entries[root].id) or f"line{entries[root].line}"
            start = SessionStart("branch", name, dict(file.facts), file.session_id)
            common = _messages(file, common_with(root, roots, parents))
            own = _messages(file, [at for at in range(len(entries)) if roots[at] == root])
            yield from branch(start, common, own)
        for root in left[MOST_BRANCHES:]:
            account.lose_part(entries[root].line, f"a branch; at most {MOST_BRANCHES} are imported")


def _is_own(entry: dict[str, Any]) -> bool:
    kind = text(entry.get("type"))
    if kind == "session":
        return "cwd" in entry and "id" in entry
    if kind == "message":
        return text(mapping(entry.get("message")).get("role")) in _ROLES
    return kind in _CHANGES or (kind in _TYPES and "timestamp" in entry and "payload" not in entry)


def _index(source: Source, account: Account) -> _File:
    file = _File()
    known: dict[str, int] = {}
    for at in objects_of(source, account):
        entry = at.value
        kind = text(entry.get("type"))
        if kind == "session":
            account.keep("session")
            if text(entry.get("id")) and file.session_id not in ("", entry["id"]):
                raise TwoSessionsError(at.number, file.session_id, entry["id"])
            _note_facts(file, entry)
            file.at_number.append(-1)
            continue
        entry_id = text(entry.get("id"))
        if (first := known.get(entry_id, -1)) >= 0:
            if file.entries[first].kind != "lost":
                account.lose(at.number, "an earlier entry has the same id")
                continue
            file.entries[first] = file.entries[first]._replace(id="")  # what says nothing takes no message its id
        speaks = kind in ("message", "compaction", "branch_summary", "custom_message")
        if kind == "message" and text(mapping(entry.get("message")).get("role")) not in _ROLES:
            account.lose(at.number, "a message of an unknown role")
            speaks, kind = False, "lost"
        elif kind == "message" and not _says(mapping(entry.get("message"))):
            account.keep("message without content")
            kind = "empty"
        elif speaks:
            account.map(kind)
        else:
            account.keep(kind or "without a type")
        if entry_id:
            known[entry_id] = len(file.entries)
        if kind == "session_info" and (title := text(entry.get("name"))):
            file.facts["title"] = title
        file.at_number.append(len(file.entries))
        parent = text(entry.get("parentId"))
        file.entries.append(_Entry(at, kind, entry_id, parent, speaks))
    return file


def _says(message: dict[str, Any]) -> bool:
    """Whether a message has content; an answer that failed may have none."""
    given = message.get("content") or message.get("command") or message.get("summary")
    return bool(given) or message.get("role") == "toolResult"


def _note_facts(file: _File, entry: dict[str, Any]) -> None:
    file.session_id = file.session_id or text(entry.get("id"))
    for key, named in (("cwd", "cwd"), ("parent_session", "parentSession"), ("branched_from", "branchedFrom")):
        if value := text(entry.get(named)):
            file.facts.setdefault(key, value)
    if isinstance(version := entry.get("version"), int):
        file.facts.setdefault("version", version)


def _messages(file: _File, indices: Sequence[int]) -> Iterator[Event]:
    names: dict[str, str] = {}
    for index in indices:
        entry = file.entries[index]
        if entry.kind == "lost":
            continue
        parsed = entry.source.value
        if entry.kind == "message":
            message = _message(mapping(parsed.get("message")), _id_of(entry), parsed, names)
            if message is not None:
                yield MessageRead(message, entry.line, "message")
        elif entry.kind == "compaction":
            yield _compaction(file, parsed, entry)
        elif entry.kind == "branch_summary":
            yield MessageRead(_noted(text(parsed.get("summary")), entry, parsed, "branch-summary"), entry.line)
        elif entry.kind == "custom_message":
            yield MessageRead(_noted(parsed.get("content"), entry, parsed, "custom"), entry.line)
        else:
            yield Kept(parsed, entry.line, entry.kind)


def _id_of(entry: _Entry) -> str:
    return entry.id or f"pi-{entry.line}"


def _noted(content: Any, entry: _Entry, parsed: dict[str, Any], what: str) -> Message:
    said = content if isinstance(content, str) else plain_content(_blocks(content))
    given = metadata(_id_of(entry), parsed.get("timestamp"), source=f"pi:{what}")
    return {"role": "user", "content": said, "metadata": given}


def _message(message: dict[str, Any], message_id: str, entry: dict[str, Any], names: dict[str, str]) -> Message | None:
    role, content = message.get("role"), message.get("content")
    time = iso_time(entry.get("timestamp")) or iso_time(message.get("timestamp"))
    if role == "assistant":
        return _answer(message, message_id, time, names)
    if role == "toolResult":
        call_id = text(message.get("toolCallId"))
        name = text(message.get("toolName")) or names.get(call_id, "")
        failed = True if message.get("isError") is True else None
        given = metadata(message_id, time, is_error=failed)
        return result(call_id, name, content if isinstance(content, str) else plain_content(_blocks(content)), given)
    if role == "user":
        said = content if isinstance(content, str) else plain_content(_blocks(content))
        return {"role": "user", "content": said, "metadata": metadata(message_id, time)}
    source, said = f"pi:{role}", content if isinstance(content, str) else plain_content(_blocks(content))
    if role == "bashExecution":
        code = message.get("exitCode")
        end = f"\nexit code {code}" if isinstance(code, int) and code else ""
        said = f"$ {text(message.get('command'))}\n{text(message.get('output'))}{end}"
    elif role == "branchSummary":
        said = text(message.get("summary"))
    return {"role": "user", "content": said, "metadata": metadata(message_id, time, source=source)}


def _answer(message: dict[str, Any], message_id: str, time: str, names: dict[str, str]) -> Message | None:
    calls = []
    content = message.get("content")
    given = [{"type": "text", "text": content}] if isinstance(content, str) else items(content)
    for block in given:
        if isinstance(block, dict) and block.get("type") == "toolCall" and text(block.get("id")):
            calls.append(call(block["id"], text(block.get("name")), block.get("arguments")))
            names[block["id"]] = text(block.get("name"))
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
    error = text(message.get("errorMessage"))
    return assistant(
        _blocks([block for block in given if not (isinstance(block, dict) and block.get("type") == "toolCall")]),
        calls,
        metadata(
            message_id,
            time,
            provider=text(message.get("provider")),
            model=text(message.get("model")),
            stop_reason=stop,
            usage=usage,
            is_error=True if stop == "error" else None,
            error=error,
        ),
    )


def _blocks(content: Any) -> list[Message]:
    """Content blocks as hosts keep them."""
    blocks: list[Message] = []
    for block in items(content):
        if not isinstance(block, dict):
            blocks.append({"type": "text", "text": str(block)})
        elif block.get("type") == "thinking" and block.get("redacted") is True:
            blocks.append({"type": "redacted_thinking", "data": text(block.get("thinkingSignature"))})
        elif block.get("type") == "thinking":
            signed = text(block.get("thinkingSignature")) or None
            blocks.append({"type": "thinking", "thinking": text(block.get("thinking")), "signature": signed})
        elif block.get("type") == "image" and isinstance(block.get("data"), str):
            source = {"type": "base64", "media_type": text(block.get("mimeType")), "data": block["data"]}
            blocks.append({"type": "image", "source": source})
        elif block.get("type") == "text":
            blocks.append({"type": "text", "text": text(block.get("text"))})
        else:
            blocks.append(block)
    return blocks


def _compaction(file: _File, parsed: dict[str, Any], entry: _Entry) -> Compacted:
    keep_from = text(parsed.get("firstKeptEntryId"))
    number = parsed.get("firstKeptEntryIndex")
    if not keep_from and isinstance(number, int) and 0 <= number < len(file.at_number):
        following = (file.at_number[at] for at in range(number, len(file.at_number)))
        messages = (at for at in following if at >= 0 and file.entries[at].kind == "message")
        first = next(messages, -1)
        keep_from = _id_of(file.entries[first]) if first >= 0 else ""
    elif keep_from:
        keep_from = _first_message_from(file, keep_from)
    before = parsed.get("tokensBefore")
    return Compacted(
        text(parsed.get("summary")),
        entry.line,
        message_id=_id_of(entry),
        time=parsed.get("timestamp"),
        keep_from=keep_from,
        tokens_before=before if isinstance(before, int) else 0,
    )


def _first_message_from(file: _File, entry_id: str) -> str:
    """The entry of that id, or the first message after it."""
    start = next((at for at, entry in enumerate(file.entries) if entry.id == entry_id), len(file.entries))
    return next((_id_of(entry) for entry in file.entries[start:] if entry.kind == "message"), "")
