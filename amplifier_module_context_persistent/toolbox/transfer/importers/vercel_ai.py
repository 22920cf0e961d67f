"""Read messages of Vercel's AI SDK: lists, lines, or objects with `messages`. Roo Code stores such an object.

`forms.vercel_ai` reads the messages. Model messages and UI messages may be in one file.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from ....forms.vercel_ai import is_model_message, is_ui_message, read_model_message, read_ui_message
from .account import Account
from .cline_marks import SummarizedMessages, without_environment
from .events import Event, KeptEntry, MessageRead, SessionStart
from .fields import Message, mapping, metadata, text
from .lines import SourceObject
from .openai import document_messages, facts_of, id_of, messages_of, sampled
from .source_file import Sample, Source

_ROLES = frozenset({"system", "user", "assistant", "tool"})
_OF_OTHERS = frozenset({"tool_use", "tool_result", "thinking", "image_url"})
"""Types of parts that messages of this SDK do not have."""


def score(sample: Sample) -> int:
    """Return how well a file fits this format: 0 unless a message has parts that only this SDK has."""
    messages = sampled(sample)
    sure = sum(is_model_message(message) or is_ui_message(message) for message in messages)
    if not sure or any(map(_is_others, messages)):
        return 0
    if document_messages(sample.document) is not None:
        return 960
    return sum(text(message.get("role")) in _ROLES for message in messages) + 2


def _is_others(message: dict[str, Any]) -> bool:
    content = message.get("content")
    parts = content if isinstance(content, list) else []
    return "tool_calls" in message or any(text(mapping(part).get("type")) in _OF_OTHERS for part in parts)


def read(source: Source, account: Account) -> Iterator[Event]:
    """Yield the events of the session in a list, an object or lines of this SDK's messages."""
    facts = facts_of(source.sample.document)
    yield SessionStart("session", "", facts, text(facts.get("session_id")))
    summarized = SummarizedMessages()
    for at in messages_of(source, account):
        message_id = id_of(at, "vercel")
        summary = summarized.take(at, message_id)
        if summary is not None:
            account.map("summary")
            yield summary
            continue
        events = list(_events(at, message_id, text(facts.get("model")), account))
        for event in events:
            if isinstance(event, MessageRead):
                summarized.add(event.message["metadata"]["message_id"])
        yield from events


def _events(at: SourceObject, message_id: str, model: str, account: Account) -> Iterator[Event]:
    number, message = at
    role = text(message.get("role"))
    if role not in _ROLES:
        kind = text(message.get("type"))
        if kind:
            account.keep(kind)
            yield KeptEntry(message, number, kind)
        else:
            account.lose(number, f"no message: its role is {str(message.get('role'))[:20]!r}")
        return
    others: list[Any] = []
    if is_ui_message(message):
        read_one = read_ui_message(message)
        messages = read_one.messages
        others = list(read_one.others)
    else:
        messages = read_model_message(message)
    with_content = [
        canonical
        for canonical in messages
        if canonical["role"] == "tool" or canonical["content"] or canonical.get("tool_calls")
    ]
    if with_content:
        account.map(role)
    elif others:
        account.keep(f"{role} without content")
    else:
        account.skip(f"{role} without content")
    for part in others:
        yield KeptEntry(part, number, text(mapping(part).get("type")))
    for canonical in _with_metadata(with_content, message, message_id, model):
        yield MessageRead(canonical, number)


def _with_metadata(
    messages: Iterable[Message], source_message: dict[str, Any], message_id: str, model: str
) -> Iterator[Message]:
    """Yield canonical messages with ids, time and model. What the program wrote is a message of its own."""
    own_metadata = mapping(source_message.get("metadata"))
    time = (
        source_message.get("createdAt")
        or own_metadata.get("createdAt")
        or source_message.get("ts")
        or source_message.get("timestamp")
    )
    count = 0
    for read_message in messages:
        parts = [(read_message, "")] if read_message["role"] != "user" else _of_person_and_program(read_message)
        for part, source in parts:
            count += 1
            own_id = message_id if count == 1 else f"{message_id}-{count}"
            failed = mapping(part.get("metadata")).get("is_error") is True
            maker = {"model": text(own_metadata.get("model")) or model} if part["role"] == "assistant" else {}
            facts = metadata(own_id, time, failed=failed, source=source or None, **maker)
            yield {**_with_call_ids(part, own_id), "metadata": facts}


def _of_person_and_program(message: Message) -> list[tuple[Message, str]]:
    """Return a user's message as one of the person and one of the program, each with its source."""
    persons, programs = without_environment(message["content"])
    found = [(persons, ""), (programs, "cline:environment")]
    return [({**message, "content": content}, source) for content, source in found if content]


def _with_call_ids(message: Message, message_id: str) -> Message:
    calls = message.get("tool_calls", ())
    if all(tool_call["id"] for tool_call in calls):
        return message
    named_calls = [
        {**tool_call, "id": tool_call["id"] or f"{message_id}-call{number}"}
        for number, tool_call in enumerate(calls, 1)
    ]
    return {**message, "tool_calls": named_calls}
