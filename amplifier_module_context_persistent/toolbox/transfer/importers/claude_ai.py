"""Read conversations of claude.ai: `conversations.json` of a data export, or a single conversation from it.

A conversation is `{uuid, name, created_at, chat_messages}`; a message `{uuid, sender: human|assistant, text, content,
attachments, files, created_at, parent_message_uuid}`. Its content has Anthropic's blocks; an answer contains results
between its own blocks. The export has the extracted text of attachments, but only the names of files. Messages form a
tree by `parent_message_uuid`.

There is no public specification. Confirmed by public readers of the export: Sinity/polylogue
(`docs/providers/claude-ai.md`), withLinda/claude-conversation-exporter, osteele/claude-chat-viewer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from ....forms.anthropic import answered_calls, with_ids
from ....forms.canonical import blocks_of, medium, text_block
from .account import Account
from .anthropic import assistant_parts, user_messages
from .branches import Branch, branches, split_tree
from .events import Event, KeptEntry, MessageRead, SessionStart
from .fields import Message, assistant, items, mapping, metadata, named, session_name, text
from .source_file import Sample, Source, SourceObject, entries_of

_FACTS = {"title": "name", "created": "created_at", "model": "model"}
_NOT_SAID = frozenset({"token_budget", "flag"})


def score(sample: Sample) -> int:
    """Return 1000 if a document is an export or a conversation from one, else 0."""
    listed = _conversations(list(sample.long_list) or sample.document)
    return 1_000 if listed and all(isinstance(one.get("chat_messages"), list) for one in listed[:3]) else 0


def _conversations(document: Any) -> list[dict[str, Any]]:
    given = document if isinstance(document, list) else [document]
    return [one for one in given if isinstance(one, dict)]


def read(source: Source, account: Account) -> Iterator[Event]:
    """Yield each conversation, with its branches."""
    for conversation in source.entries():
        if isinstance(conversation, dict):
            yield from _read_one(conversation, account)


def _read_one(conversation: dict[str, Any], account: Account) -> Iterator[Event]:
    facts, session_id = named(conversation, **_FACTS), text(conversation.get("uuid"))
    entries = list(entries_of(items(conversation.get("chat_messages")), account))
    read_entries = [_events(at, account) for at in entries]
    places = {text(at.value.get("uuid")): place for place, at in enumerate(entries)}
    parents = [_before(places, place, at) for place, at in enumerate(entries)]
    live, left = split_tree(parents, lambda _: True)
    yield SessionStart("session", "", facts, session_id)
    yield from _all(read_entries, live)
    found = (
        Branch(
            entries[own[0]].number,
            session_name(text(entries[own[0]].value.get("uuid"))[:13]),
            _all(read_entries, common),
            _all(read_entries, own),
        )
        for common, own in left
    )
    yield from branches(found, account, facts, session_id)


def _before(places: dict[str, int], place: int, at: SourceObject) -> int:
    """Return the position of a message's parent, or -1 for a root. Without a parent key, it is the message before."""
    if "parent_message_uuid" not in at.value:
        return place - 1
    parent = places.get(text(at.value.get("parent_message_uuid")), -1)
    return parent if parent < place else -1


def _all(read_entries: list[list[Event]], places: Iterable[int]) -> Iterator[Event]:
    for place in places:
        yield from read_entries[place]


def _events(at: SourceObject, account: Account) -> list[Event]:
    number, message = at
    sender, message_id = text(message.get("sender")), text(message.get("uuid")) or f"claude-ai-{at.number}"
    if sender not in ("human", "user", "assistant"):
        account.lose(number, f"a message of {sender[:20] or 'nobody'}")
        return []
    content = blocks_of(message.get("content")) or blocks_of(message.get("text"))
    content = [block for block in content if block.get("type") not in _NOT_SAID]
    for file in items(message.get("files")):
        name = text(mapping(file).get("file_name")) or text(mapping(file).get("file_uuid"))
        account.lose_part(number, f"the file {name[:80]!r} is not in the export")
    content += map(_attachment, map(mapping, items(message.get("attachments"))))
    if sender == "assistant":
        found: list[Event] = [MessageRead(one, number) for one in _answers(content, message, message_id)]
    else:
        read_messages = user_messages(list(map(_bare, content)), message_id, message.get("created_at"))
        found = [MessageRead(one, number) for one in read_messages]
    if found:
        account.map(sender)
        return found
    account.keep(f"{sender} without content")
    return [KeptEntry(message, number, sender)]


def _attachment(given: dict[str, Any]) -> Message:
    """Return an attachment's extracted text as a document block."""
    media_type = text(given.get("file_type"))
    source = {
        "type": "text",
        "media_type": media_type if "/" in media_type else "text/plain",
        "data": text(given.get("extracted_content")),
    }
    return medium("document", source, text(given.get("file_name")))


def _answers(content: list[Message], message: dict[str, Any], message_id: str) -> Iterator[Message]:
    """Yield the messages of an answer in turn: text and calls, then their results, and so on."""
    steps: list[list[Message]] = [[]]
    for block in with_ids(content, message_id):
        if bool(answered_calls([block])) != bool(steps[-1] and answered_calls(steps[-1][:1])) and steps[-1]:
            steps.append([])
        steps[-1].append(block)
    for number, step in enumerate(steps, 1):
        own = message_id if number == 1 else f"{message_id}-{number}"
        if step and answered_calls(step[:1]):
            yield from user_messages(step, own, message.get("created_at"))
            continue
        blocks, calls = assistant_parts(list(map(_bare, step)))
        told = metadata(own, message.get("created_at"), provider="anthropic", model=text(message.get("model")))
        if (one := assistant(blocks, calls, told)) is not None:
            yield one


def _bare(block: Message) -> Message:
    """Return a text or thinking block without the export's times, flags and citations; other blocks unchanged."""
    if block.get("type") == "text" and isinstance(block.get("text"), str):
        return text_block(block["text"])
    if block.get("type") == "thinking":
        return {"type": "thinking", "thinking": text(block.get("thinking")), "signature": block.get("signature")}
    return block
