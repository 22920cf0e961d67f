"""Read sessions of Qwen Code: `~/.qwen/projects/<directory>/chats/<session>.jsonl`.

A record is `{uuid, parentUuid, sessionId, timestamp, type, message, …}`. Its `message` is a content of Gemini's API,
read by `forms.gemini`. Records of the type `tool_result` have results; records of the type `system` change how the
history is read, or are only shown. Records form a tree by `parentUuid`; a branch begins where a person's message has a
sibling. `chat_compression` has the history that the model gets from there on.

Source: QwenLM/qwen-code, `packages/core/src/services/chatRecordingService.ts` at 015346f.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ....forms import gemini
from .account import Account
from .branches import Branch, TreeBranch, branches, split_tree
from .events import CompactionEvent, Event, KeptEntry, MessageRead, SessionStart
from .fields import Message, items, mapping, named, session_name, text
from .lines import SourceObject
from .provider_messages import whole_messages
from .refused_import import one_session
from .source_file import Sample, Source, objects_of
from .waiting_events import WaitingEvents

_TALK = frozenset({"user", "assistant", "tool_result"})
_OF_PERSONS = frozenset({"", "mid_turn_user_message", "realtime_message"})
"""Subtypes of a user's records that a person wrote."""
_FAILED = frozenset({"error", "cancelled"})


@dataclass(slots=True)
class _QwenFile:
    """The records of a file in columns."""

    events: WaitingEvents
    facts: dict[str, Any] = field(default_factory=dict)
    session_id: str = ""
    lines: array[int] = field(default_factory=lambda: array("L"))
    ids: list[str] = field(default_factory=list)
    agents: list[str] = field(default_factory=list)
    """The sub-agent that wrote each record; "" for the session itself."""
    parents: array[int] = field(default_factory=lambda: array("l"))
    places: list[list[int]] = field(default_factory=list)
    """The places of each record's stored events."""
    persons: list[bool] = field(default_factory=list)
    earlier_contents: list[tuple[int, list[str]]] = field(default_factory=list)
    """The hash of each message's parts, and the ids of the messages that it became."""


def score(sample: Sample) -> int:
    """Return how well a file fits this format: 0 unless a record has a message with parts, else the number of lines."""
    is_sure = any(_has_parts(entry) for entry in sample.entries)
    if not is_sure:
        return 0
    return 1 + sum("uuid" in entry and "sessionId" in entry for entry in sample.entries)


def _has_parts(entry: dict[str, Any]) -> bool:
    is_record = text(entry.get("type")) in _TALK and "uuid" in entry and "sessionId" in entry
    return is_record and isinstance(mapping(entry.get("message")).get("parts"), list)


def read(source: Source, account: Account) -> Iterator[Event]:
    """Yield the session, its branches, and sub-agents whose records are in the file."""
    file = _QwenFile(WaitingEvents(source.aside))
    known: dict[str, int] = {}
    for at in objects_of(source, account):
        _take(file, at, account, known)
    own = [position for position, agent in enumerate(file.agents) if not agent]
    number_of = {position: number for number, position in enumerate(own)}
    parents = [number_of.get(file.parents[position], -1) for position in own]
    live, left = split_tree(parents, lambda number: file.persons[own[number]])
    yield SessionStart("session", "", file.facts, file.session_id)
    yield from _events(file, [own[number] for number in live])

    def made(branch: TreeBranch) -> Branch:
        first = own[branch.own[0]]
        common = [own[number] for number in branch.common]
        rest = [own[number] for number in branch.own]
        return Branch(file.lines[first], session_name(file.ids[first][:13]), _events(file, common), _events(file, rest))

    yield from branches(map(made, left), account, file.facts, file.session_id)
    for agent in dict.fromkeys(filter(None, file.agents)):
        yield SessionStart("subagent", session_name(agent), dict(file.facts), file.session_id)
        yield from _events(file, [position for position, name in enumerate(file.agents) if name == agent])


def _events(file: _QwenFile, positions: Sequence[int]) -> Iterator[Event]:
    for position in positions:
        yield from file.events.all(file.places[position])


def _take(file: _QwenFile, at: SourceObject, account: Account, known: dict[str, int]) -> None:
    """Add a record, and note it in the account."""
    number, record = at
    own_id = text(record.get("uuid"))
    if own_id in known:
        account.lose(number, "an earlier record has the same uuid")
        return
    if "sessionId" in record:
        file.session_id = one_session(number, file.session_id, text(record["sessionId"]))
        file.facts = {**named(record, cwd="cwd", version="version", git_branch="gitBranch"), **file.facts}
    events = _events_of(file, at, account)
    is_person = any(map(_is_persons, events))
    if own_id:
        known[own_id] = len(file.ids)
    file.lines.append(number)
    file.ids.append(own_id)
    file.agents.append(text(record.get("agentId")) if record.get("isSidechain") is True else "")
    file.parents.append(known.get(text(record.get("parentUuid")), -1))
    file.places.append([file.events.put(event) for event in events])
    file.persons.append(is_person)


def _is_persons(event: Event) -> bool:
    """Return whether an event is a person's message."""
    if not isinstance(event, MessageRead):
        return False
    return event.message["role"] == "user" and "source" not in event.message["metadata"]


def _events_of(file: _QwenFile, at: SourceObject, account: Account) -> list[Event]:
    number, record = at
    kind, subtype = text(record.get("type")), text(record.get("subtype"))
    payload = mapping(record.get("systemPayload"))
    if kind == "system" and subtype == "chat_compression" and items(payload.get("compressedHistory")):
        account.map(subtype)
        return [_compaction(file, at, payload)]
    if kind not in _TALK or not mapping(record.get("message")):
        account.keep(subtype or kind or "without a type")
        if subtype == "custom_title":
            file.facts |= named(payload, title="customTitle")
        return [KeptEntry(record, number, subtype or kind)]
    messages = _messages(at, account)
    parts = mapping(record["message"]).get("parts")
    if record.get("isSidechain") is not True:  # a compression is of the session itself
        file.earlier_contents.append(
            (hash(repr(parts)), [read_message["metadata"]["message_id"] for read_message in messages])
        )
    return [MessageRead(read_message, number) for read_message in messages] or [KeptEntry(record, number, kind)]


def _messages(at: SourceObject, account: Account) -> list[Message]:
    """Return the messages of a record."""
    number, record = at
    message_id = text(record.get("uuid")) or f"qwen-{number}"
    model = text(record.get("model"))
    content = SourceObject(number, record["message"])
    time = record.get("timestamp")
    messages = whole_messages(gemini, content, account, message_id, time, provider="", model=model)
    subtype = text(record.get("subtype"))
    is_persons = subtype in _OF_PERSONS and (text(record.get("provenance")) in ("", "real_user"))
    usage = gemini.usage(record.get("usageMetadata"))
    for message in messages:
        facts = message["metadata"]
        if message["role"] == "user" and not is_persons:
            facts["source"] = f"qwen-code:{subtype or text(record.get('provenance'))}"
        elif message["role"] == "assistant" and usage:
            facts["usage"] = usage
        elif message["role"] == "tool" and text(mapping(record.get("toolCallResult")).get("status")) in _FAILED:
            facts["is_error"] = True
    return messages


def _compaction(file: _QwenFile, at: SourceObject, payload: dict[str, Any]) -> CompactionEvent:
    """Make the event of a compression. Its summary is the first content; the last contents were said before."""
    first, *others = map(mapping, items(payload.get("compressedHistory")))
    texts = [text(mapping(part).get("text")) for part in items(first.get("parts"))]
    return CompactionEvent(
        "\n".join(words for words in texts if words),
        at.number,
        message_id=text(at.value.get("uuid")) or f"qwen-{at.number}",
        time=at.value.get("timestamp"),
        keep=_ids_at_end(file, others),
    )


def _ids_at_end(file: _QwenFile, contents: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the ids of the earlier messages that are repeated at the end of `contents`."""
    kept_backwards = list[list[str]]()
    for content, (said_parts, ids) in zip(reversed(contents), reversed(file.earlier_contents), strict=False):
        if hash(repr(content.get("parts"))) != said_parts:
            break
        kept_backwards.append(ids)
    return [message_id for ids in reversed(kept_backwards) for message_id in ids]
