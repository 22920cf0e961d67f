"""Read sessions of Gemini CLI: `~/.gemini/tmp/<project>/chats/session-*.json`, or JSON Lines in newer versions.

Source: `chatRecordingTypes.ts` of google-gemini/gemini-cli. In JSON Lines the first line has the facts about the
session; messages and control lines follow: `$set` changes fields of the session, `$rewindTo` removes a message and all
later ones. A second message with the same id replaces the first one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ....forms import gemini
from ....forms.canonical import blocks_of, call, plain_content, text_block, total, usage_of
from .account import Account
from .branches import Branch, branches
from .events import Event, KeptEntry, MessageRead, SessionStart
from .fields import (
    Message,
    as_text,
    assistant,
    items,
    mapping,
    metadata,
    named,
    result,
    text,
    thinking_block,
    user,
)
from .source_file import ImportRefusedError, Sample, Source, entries_of, objects_of, one_session
from .waiting_events import WaitingEvents

_TALK = frozenset({"user", "gemini"})
_ENTRIES = _TALK | {"info", "error", "warning"}
_Events = list[MessageRead | KeptEntry]


class _Said(NamedTuple):
    """An entry: its line number, and the places of its stored events."""

    line: int
    events: list[int]


@dataclass(slots=True)
class _Chat:
    """The events of live entries, in order, and the entries that a rewind removed."""

    waiting: WaitingEvents
    facts: dict[str, Any] = field(default_factory=dict)
    session_id: str = ""
    live: dict[str, _Said] = field(default_factory=dict)
    """The live entries by the id of their message; entries without a message by `#` and the line number."""
    rewound: list[tuple[int, list[_Said], list[_Said]]] = field(default_factory=list)
    """The line of each rewind, the events before it, and the removed events."""

    def put(self, key: str, line: int, events: _Events) -> None:
        """Store the events of an entry, in place of events that were stored under the same key."""
        self.live[key] = _Said(line, list(map(self.waiting.put, events)))

    def rewind(self, line: int, to: Any) -> None:
        """Remove a message and all later ones. If there is no such message, remove everything."""
        ids = list(self.live)
        stay = ids.index(to) if to in ids else 0
        if stay < len(ids):
            common = [self.live[one] for one in ids[:stay]]
            self.rewound.append((line, common, [self.live.pop(one) for one in ids[stay:]]))


def score(sample: Sample) -> int:
    """Return how well a file fits this format: 1000 for a document of Gemini CLI, else the number of its lines."""
    document = mapping(sample.document)
    if "projectHash" in document and isinstance(document.get("messages"), list):
        return 1_000
    return sum(map(_is_own, sample.entries))


def read(source: Source, account: Account) -> Iterator[Event]:
    """Yield the session, and as branches the messages that rewinds removed.

    Raises:
        ImportRefusedError: the file has no message.
    """
    chat = _Chat(WaitingEvents(source.aside))
    _take_all(chat, source, account)
    if not chat.live and not chat.rewound:
        raise ImportRefusedError("there is no message in it")
    yield SessionStart("session", "", chat.facts, chat.session_id)
    yield from _all(chat, chat.live.values())
    found = (
        Branch(line, f"rewind{line}", _all(chat, common), _all(chat, taken)) for line, common, taken in chat.rewound
    )
    yield from branches(found, account, chat.facts, chat.session_id)


def _take_all(chat: _Chat, source: Source, account: Account) -> None:
    """Add the entries of a file, which is a document or has an entry on each line."""
    document = source.sample.document
    if isinstance(mapping(document).get("messages"), list):
        _note_facts(chat, document)
        for number, entry in entries_of(document["messages"], account):
            _take(chat, number, entry, account, is_whole=True)
        return
    for number, entry in objects_of(source, account):
        _take(chat, number, entry, account)


def _all(chat: _Chat, entries: Iterable[_Said]) -> Iterator[Event]:
    """Yield the events of entries."""
    for said in entries:
        yield from chat.waiting.all(said.events)


def _is_own(entry: dict[str, Any]) -> bool:
    if "$set" in entry or "$rewindTo" in entry or ("sessionId" in entry and "projectHash" in entry):
        return True
    return text(entry.get("type")) in _ENTRIES and "content" in entry and "message" not in entry


def _note_facts(chat: _Chat, given: dict[str, Any]) -> None:
    chat.session_id = text(given.get("sessionId")) or chat.session_id
    chat.facts |= named(given, project_hash="projectHash", title="summary", started="startTime", kind="kind")


def _take(chat: _Chat, line: int, entry: dict[str, Any], account: Account, *, is_whole: bool = False) -> None:
    """Add an entry.

    In lines, a later entry with the same id replaces the earlier one. In a document (`is_whole`), the later entry is
    lost.
    """
    kind, entry_id = text(entry.get("type")), text(entry.get("id"))
    earlier = chat.live.get(entry_id) if kind in _TALK else None
    if "$rewindTo" in entry:
        account.keep("$rewindTo")
        chat.rewind(line, entry["$rewindTo"])
    elif "$set" in entry:
        account.keep("$set")
        _take_changes(chat, line, mapping(entry["$set"]))
    elif earlier and is_whole:
        account.lose(line, "an earlier message has the same id")
    elif earlier:
        account.skip("replaced by a later version")
        chat.put(entry_id, earlier.line, _events(entry, entry_id, earlier.line))
    elif "sessionId" in entry and "type" not in entry:
        account.keep("session")
        one_session(line, chat.session_id, text(entry["sessionId"]))
        _note_facts(chat, entry)
    else:
        message_id = entry_id or f"gemini-{line}"
        events = _events(entry, message_id, line)
        if isinstance(events[0], MessageRead):
            account.map(kind or "without a type")
            chat.put(message_id, line, events)
        else:
            account.keep(kind or "without a type")
            chat.put(f"#{line}", line, events)


def _take_changes(chat: _Chat, line: int, changes: dict[str, Any]) -> None:
    """Note changed facts of a chat, and add messages that the chat lacks so far."""
    _note_facts(chat, changes)
    for number, message in enumerate(items(changes.get("messages"))):
        if isinstance(message, dict) and text(message.get("id")) not in chat.live:
            message_id = text(message.get("id")) or f"gemini-{line}-{number}"
            chat.put(message_id, line, _events(message, message_id, line))


def _events(entry: dict[str, Any], message_id: str, line: int) -> _Events:
    """Return the events of an entry. An entry without content becomes a `KeptEntry`."""
    messages: list[Message] = []
    if entry.get("type") == "gemini":
        messages = list(_answer(entry, message_id))
    elif entry.get("type") == "user" and (said := plain_content(_blocks(entry.get("content")))):
        messages = [user(said, metadata(message_id, entry.get("timestamp")))]
    return [MessageRead(message, line) for message in messages] or [KeptEntry(entry, line, text(entry.get("type")))]


def _answer(entry: dict[str, Any], message_id: str) -> Iterator[Message]:
    """Yield the message of an answer, and the results of its calls, which are in the same entry."""
    blocks = _thoughts(entry)
    blocks += _blocks(entry.get("content"))
    tool_calls = _tool_calls(entry, message_id)
    open_calls = {one.call_id: one.status for one in tool_calls if one.output is None and one.status}
    counts = mapping(entry.get("tokens"))
    usage = usage_of(
        input_tokens=counts.get("input"),
        output_tokens=total(counts.get("output"), counts.get("thoughts")),
        cache_read_tokens=counts.get("cached"),
    )
    facts = metadata(
        message_id,
        entry.get("timestamp"),
        provider="gemini",
        model=text(entry.get("model")),
        usage=usage,
        imported={"open_calls": open_calls} if open_calls else {},
    )
    calls = [call(one.call_id, one.name, one.given.get("args")) for one in tool_calls]
    message = assistant(blocks, calls, facts)
    if message is not None:
        yield message
    for one in tool_calls:
        if one.output is not None:
            failed = one.status in ("error", "cancelled")
            result_id = f"{message_id}-{one.call_id}"
            result_facts = metadata(result_id, one.given.get("timestamp"), failed=failed, status=one.status)
            yield result(one.call_id, one.output, result_facts, one.name)


def _thoughts(entry: dict[str, Any]) -> list[Message]:
    """Return the thoughts of an answer as one block, or [] if there are none."""
    texts = []
    for thought in items(entry.get("thoughts")):
        if isinstance(thought, dict):
            said = f"**{text(thought.get('subject'))}**\n{text(thought.get('description'))}"
            texts.append(said.removeprefix("****\n"))  # a thought without a subject
    thoughts = "\n\n".join(texts)
    return [thinking_block(thoughts)] if thoughts else []


class _ToolCall(NamedTuple):
    """A call in an answer's entry."""

    call_id: str
    name: str
    status: str
    output: Any
    """The result; None if the entry has none."""
    given: dict[str, Any]
    """The call as it is in the entry."""


def _tool_calls(entry: dict[str, Any], message_id: str) -> list[_ToolCall]:
    """Return the calls of an answer. A call without an id gets an id."""
    given_calls = [one for one in items(entry.get("toolCalls")) if isinstance(one, dict)]
    tool_calls = []
    for number, given in enumerate(given_calls, 1):
        call_id = text(given.get("id")) or f"{message_id}-call{number}"
        tool_calls.append(_ToolCall(call_id, text(given.get("name")), text(given.get("status")), _output(given), given))
    return tool_calls


def _output(asked: dict[str, Any]) -> Any:
    """Return the result of a call: the function's response, else the displayed text, or None if there is neither."""
    given, shown = asked.get("result"), asked.get("resultDisplay")
    if given is None:
        return as_text(shown) if shown else None
    if isinstance(given, str):
        return given
    said = [as_text(gemini.said_in_result(part)) for part in items(given)]
    return "\n".join(said) if said else as_text(shown or "")


def _blocks(content: Any) -> list[Message]:
    """Return content blocks for a text or for parts of Google's API."""
    if isinstance(content, str):
        return [text_block(content)] if content else []
    return [_block(part) for part in blocks_of([content] if isinstance(content, dict) else content)]


def _block(part: Message) -> Message:
    """Return a part as a block, without fields that are only needed to write the part in Google's form again."""
    block = gemini.read_part(gemini.parts_in([part])[0])
    if block["type"] == "text":
        return text_block(text(block.get("text")))
    return thinking_block(text(block.get("thinking"))) if block["type"] == "thinking" else block
