"""Read sessions of Gemini CLI: `~/.gemini/tmp/<project>/chats/session-*.json`, or JSON Lines in newer versions.

Source: google-gemini/gemini-cli, `chatRecordingTypes.ts`, `chatRecordingService.ts` at 016443b. In JSON Lines the first
line has the facts about the session; messages and control lines follow: `$set` changes fields of the session,
`$rewindTo` removes a message and all later ones. A second message with the same id replaces the first one. `$set` with
`messages` gives the history that the model gets from there on (`gemini_cli_chat.py`). Sub-agents have files of their
own (`gemini_cli_files.py`).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from ....forms.canonical import items
from .account import Account
from .branches import Branch, branches
from .events import Event, MessageRead, SessionStart
from .fields import mapping, named, session_name, text
from .gemini_cli_chat import Chat
from .gemini_cli_entries import TALK, events_of
from .gemini_cli_files import parent_in_path, sub_agent_files
from .refused_import import ImportRefusedError, one_session
from .source_file import Sample, Source, entries_of, objects_of
from .waiting_events import WaitingEvents

_ENTRIES = TALK | {"info", "error", "warning"}


def score(sample: Sample) -> int:
    """Return how well a file fits this format: 1000 for a document of Gemini CLI, else the number of its lines."""
    document = mapping(sample.document)
    if "projectHash" in document and isinstance(document.get("messages"), list):
        return 1_000
    return sum(map(_is_own, sample.entries))


def read(source: Source, account: Account) -> Iterator[Event]:
    """Yield the session, as branches the messages that rewinds removed, and its sub-agents.

    Raises:
        ImportRefusedError: the file has no message.
    """
    chat = _read_chat(source, account)
    if not chat.live and not chat.rewound:
        raise ImportRefusedError("there is no message in it")
    parent = parent_in_path(source.path) if chat.facts.get("kind") == _SUB_AGENT else ""
    if parent:
        yield SessionStart("subagent", session_name(chat.session_id), chat.facts, "", parent_source_id=parent)
    else:
        yield SessionStart("session", "", chat.facts, chat.session_id)
    yield from chat.all(chat.live.values())
    found = (Branch(line, f"rewind{line}", chat.all(common), chat.all(taken)) for line, common, taken in chat.rewound)
    yield from branches(found, account, chat.facts, chat.session_id)
    if not parent:
        yield from _sub_agents(chat, source.path, account)


_SUB_AGENT = "subagent"


def _sub_agents(chat: Chat, path: str, account: Account) -> Iterator[Event]:
    """Yield the sub-agents of a session, which have files of their own."""
    for file in sub_agent_files(path, chat.session_id):
        account.file = os.path.relpath(file, os.path.dirname(path))
        with Source(file) as beside:
            sub = _read_chat(beside, account)
            facts = {**sub.facts, "spawned_by": chat.agents.get(sub.session_id, "")}
            yield SessionStart("subagent", session_name(sub.session_id), facts, sub.session_id)
            yield from sub.all(sub.live.values())
        account.file = ""


def _read_chat(source: Source, account: Account) -> Chat:
    """Read all entries of a file."""
    chat = Chat(WaitingEvents(source.aside))
    _take_all(chat, source, account)
    return chat


def _take_all(chat: Chat, source: Source, account: Account) -> None:
    """Add the entries of a file, which is a document or has an entry on each line."""
    document = source.sample.document
    if isinstance(mapping(document).get("messages"), list):
        _note_facts(chat, document)
        for number, entry in entries_of(document["messages"], account):
            _take(chat, number, entry, account, is_whole=True)
        return
    for number, entry in objects_of(source, account):
        _take(chat, number, entry, account)


def _is_own(entry: dict[str, Any]) -> bool:
    is_change = "$set" in entry or "$rewindTo" in entry
    is_head = "sessionId" in entry and "projectHash" in entry
    if is_change or is_head:
        return True
    return text(entry.get("type")) in _ENTRIES and "content" in entry and "message" not in entry


def _note_facts(chat: Chat, entry: dict[str, Any]) -> None:
    chat.session_id = text(entry.get("sessionId")) or chat.session_id
    chat.facts |= named(entry, project_hash="projectHash", title="summary", started="startTime", kind="kind")


def _take(chat: Chat, line: int, entry: dict[str, Any], account: Account, *, is_whole: bool = False) -> None:
    """Add an entry.

    In lines, a later entry with the same id replaces the earlier one. In a document (`is_whole`), the later entry is
    lost.
    """
    kind, entry_id = text(entry.get("type")), text(entry.get("id"))
    for tool_call in map(mapping, items(entry.get("toolCalls"))):
        agent_id = text(tool_call.get("agentId"))
        if agent_id:
            chat.agents[agent_id] = text(tool_call.get("id"))
    earlier = chat.live.get(entry_id) if kind in TALK else None
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
        chat.put(entry_id, earlier.line, events_of(entry, entry_id, earlier.line))
    elif "sessionId" in entry and "type" not in entry:
        account.keep("session")
        one_session(line, chat.session_id, text(entry["sessionId"]))
        _note_facts(chat, entry)
    else:
        message_id = entry_id or f"gemini-{line}"
        events = events_of(entry, message_id, line)
        if isinstance(events[0], MessageRead):
            account.map(kind or "without a type")
            chat.put(message_id, line, events)
        else:
            account.keep(kind or "without a type")
            chat.put(f"#{line}", line, events)


def _take_changes(chat: Chat, line: int, changes: dict[str, Any]) -> None:
    """Note changed facts of a chat, and take the history that replaces the one before."""
    _note_facts(chat, changes)
    messages = items(changes.get("messages"))
    if messages:
        chat.replace_history(line, messages, changes.get("lastUpdated"))
