"""Read conversations of claude.ai: `conversations.json` of a data export, or a single conversation from it.

A conversation is `{uuid, name, created_at, chat_messages}`; a message `{uuid, sender: human|assistant, text, content,
attachments, files, created_at, parent_message_uuid}`. Its content has Anthropic's blocks; an answer contains results
between its own blocks. The export has the extracted text of attachments, but only the names of files. Messages form a
tree by `parent_message_uuid`.

There is no public specification. Confirmed by public readers of the export: Sinity/polylogue
(`docs/providers/claude-ai.md`), withLinda/claude-conversation-exporter, osteele/claude-chat-viewer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any

from ....forms.anthropic_in_files import answered_calls, with_ids
from ....forms.canonical import blocks_of, medium, text_block
from .account import Account
from .anthropic import user_messages
from .branches import NO_PARENT, Branch, TreeBranch, branches, split_tree
from .conversations import Conversation, conversations_in, note_empty, sampled_conversations
from .events import Event, KeptEntry, MessageRead, SessionStart
from .fields import Message, assistant, items, mapping, metadata, named, session_name, text
from .lines import SourceObject
from .provider_messages import answer_parts
from .source_file import Sample, Source, entries_of

_FACTS = {"title": "name", "created": "created_at", "model": "model"}
_NOT_SAID = frozenset({"token_budget", "flag"})


def score(sample: Sample) -> int:
    """Return 1000 if a document is an export of claude.ai, or a conversation from an export; else 0."""
    listed = sampled_conversations(sample)
    return 1_000 if any(isinstance(conversation.get("chat_messages"), list) for conversation in listed) else 0


def read(source: Source, account: Account) -> Iterator[Event]:
    """Yield each conversation, with its branches."""
    for conversation in conversations_in(source, account, messages="chat_messages", ids=("uuid",)):
        yield from _read_one(conversation, account)


def _read_one(source_conversation: Conversation, account: Account) -> Iterator[Event]:
    """Yield a conversation, with its branches."""
    name, session_id, conversation = source_conversation
    facts = named(conversation, **_FACTS)
    entries = list(entries_of(items(conversation.get("chat_messages")), account))
    events = [_events(entry, account) for entry in entries]
    if not any(isinstance(event, MessageRead) for part_events in events for event in part_events):
        note_empty(account, name)
    positions = {text(entry.value.get("uuid")): position for position, entry in enumerate(entries)}
    parents = [_parent_of(entry, position, positions) for position, entry in enumerate(entries)]
    live, left = split_tree(parents, lambda _: True)
    yield SessionStart("session", "", facts, session_id)
    yield from _all(events, live)

    def made(branch: TreeBranch) -> Branch:
        first = entries[branch.own[0]]
        own_name = session_name(text(first.value.get("uuid"))[:13])
        return Branch(first.number, own_name, _all(events, branch.common), _all(events, branch.own))

    yield from branches(map(made, left), account, facts, session_id)


def _parent_of(entry: SourceObject, position: int, positions: dict[str, int]) -> int:
    """Return the position of a message's parent. For a message without a parent key, this is the message before."""
    if "parent_message_uuid" not in entry.value:
        return position - 1 if position > 0 else NO_PARENT
    parent = positions.get(text(entry.value.get("parent_message_uuid")), NO_PARENT)
    return parent if parent < position else NO_PARENT


def _all(events: Sequence[list[Event]], positions: Iterable[int]) -> Iterator[Event]:
    for position in positions:
        yield from events[position]


def _events(at: SourceObject, account: Account) -> list[Event]:
    """Return the events of a message."""
    number, message = at
    sender = text(message.get("sender"))
    message_id = text(message.get("uuid")) or f"claude-ai-{number}"
    if sender not in ("human", "user", "assistant"):
        account.lose(number, f"a message of {sender[:20] or 'nobody'}")
        return []
    content = blocks_of(message.get("content")) or blocks_of(message.get("text"))
    content = [block for block in content if block.get("type") not in _NOT_SAID]
    for file in items(message.get("files")):
        name = text(mapping(file).get("file_name")) or text(mapping(file).get("file_uuid"))
        account.lose_part(number, f"the file {name[:80]!r} is not in the export")
    content += [_attachment(mapping(attachment)) for attachment in items(message.get("attachments"))]
    if sender == "assistant":
        messages: Iterable[Message] = _answers(content, message, message_id)
    else:
        messages = user_messages([_bare(block) for block in content], message_id, message.get("created_at"))
    events: list[Event] = [MessageRead(read_message, number) for read_message in messages]
    if events:
        account.map(sender)
        return events
    account.keep(f"{sender} without content")
    return [KeptEntry(message, number, sender)]


def _attachment(attachment: dict[str, Any]) -> Message:
    """Return an attachment's extracted text as a document block."""
    media_type = text(attachment.get("file_type"))
    source = {
        "type": "text",
        "media_type": media_type if "/" in media_type else "text/plain",
        "data": text(attachment.get("extracted_content")),
    }
    return medium("document", source, text(attachment.get("file_name")))


def _answers(content: list[Message], message: dict[str, Any], message_id: str) -> Iterator[Message]:
    """Yield the messages of an answer in turn: text and calls, then their results, and so on."""
    created = message.get("created_at")
    for number, step in enumerate(_steps(with_ids(content, message_id)), 1):
        step_id = message_id if number == 1 else f"{message_id}-{number}"
        if _is_result(step[0]):
            yield from user_messages(step, step_id, created)
            continue
        blocks, calls = answer_parts([_bare(block) for block in step])
        facts = metadata(step_id, created, provider="anthropic", model=text(message.get("model")))
        answer = assistant(blocks, calls, facts)
        if answer is not None:
            yield answer


def _steps(blocks: Iterable[Message]) -> list[list[Message]]:
    """Return blocks in groups of neighbours that all are results of calls, or all are not."""
    return [list(step) for _, step in groupby(blocks, _is_result)]


def _is_result(block: Message) -> bool:
    return bool(answered_calls([block]))


def _bare(block: Message) -> Message:
    """Return a text or thinking block without the export's times, flags and citations; other blocks unchanged."""
    if block.get("type") == "text" and isinstance(block.get("text"), str):
        return text_block(block["text"])
    if block.get("type") == "thinking":
        return {"type": "thinking", "thinking": text(block.get("thinking")), "signature": block.get("signature")}
    return block
