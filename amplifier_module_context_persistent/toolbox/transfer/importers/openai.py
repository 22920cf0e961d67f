"""Read bodies of OpenAI's Chat Completions and Responses APIs, and lists or lines of their messages and items.

`forms.openai_chat` and `forms.openai_responses` read messages and items. Reasoning, text and calls that follow each
other become one assistant's message; outputs become results. Codex keeps its history as such items, some without a
`type`.

A document is a list of messages, or an object with `messages` (Chat Completions, Anthropic) or `input` (Responses).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any

from ....forms.canonical import plain_content
from ....forms.openai_chat import usage as usage_of_openai
from ....forms.openai_in_files import (
    KINDS,
    as_function,
    is_of_answer,
    is_older_call,
    is_sure,
    of_provider,
    read_chat_answer,
    read_content,
    read_item,
    read_output,
)
from ....forms.openai_responses import kind_of
from ....forms.responses_calls import OUTPUTS
from .account import Account
from .events import Event, KeptEntry, MessageRead, SessionStart
from .fields import Message, assistant, items, mapping, metadata, named, result, text, thinking_block
from .lines import SourceObject
from .refused_import import ImportRefusedError
from .source_file import Sample, Source, entries_of, objects_of

ROLES = frozenset({"system", "developer", "user", "assistant", "tool", "function"})
_PARAMETERS = (
    "temperature",
    "top_p",
    "max_tokens",
    "max_output_tokens",
    "reasoning",
    "thinking",
    "tool_choice",
    "metadata",
)


def document_messages(document: Any) -> list[Any] | None:
    """Return the messages or items of a document, input before output, or None if it has neither."""
    if isinstance(document, list):
        return document
    body = mapping(document)
    for key in ("messages", "input"):
        listed = body.get(key)
        if isinstance(listed, str) and key == "input":
            listed = [{"type": "message", "role": "user", "content": listed}]
        if isinstance(listed, list):
            return [*listed, *items(body.get("output"))]
    return items(body["output"]) if isinstance(body.get("output"), list) else None


def facts_of(document: Any) -> dict[str, Any]:
    """Return the facts in a request body about the whole session: the model, tool definitions, parameters."""
    body = mapping(document)
    facts = named(body, model="model", title="title", session_id="session_id", source_id="id")
    parameters = {key: body[key] for key in _PARAMETERS if body.get(key) is not None}
    return {**facts, "tools": items(body.get("tools")), "parameters": parameters}


def messages_of(source: Source, account: Account) -> Iterator[SourceObject]:
    """Yield the messages with their numbers, from a document's list or from lines.

    Values that are not objects are lost.

    Raises:
        ImportRefusedError: a document has no messages.
    """
    sample = source.sample
    listed = document_messages(sample.document)
    if listed is None or (len(sample.entries) == 1 and _is_message(sample.entries[0])):
        if sample.document is not None and not sample.entries:
            raise ImportRefusedError("a JSON document without messages")
        yield from objects_of(source, account)
    else:
        yield from entries_of(listed, account)


def sampled(sample: Sample) -> list[dict[str, Any]]:
    """Return the first messages of a file."""
    listed = document_messages(sample.document)
    if listed is not None:
        return [message for message in listed[:200] if isinstance(message, dict)]
    return list(sample.entries)


def _is_message(entry: dict[str, Any]) -> bool:
    return text(entry.get("role")) in ROLES and "messages" not in entry and "input" not in entry


def score(sample: Sample) -> int:
    """Return how well a file fits this format.

    A document with messages scores 800, so a format that fits better wins. Lines score only if one of them has a shape
    that only OpenAI uses.
    """
    messages = sampled(sample)
    known = sum(_is_message_or_item(message) for message in messages)
    if document_messages(sample.document) is not None:
        return 800 if known else 0
    sure = sum(not _is_own_export(message) and is_sure(message) for message in messages)
    return known + 1 if sure else 0


def _is_message_or_item(message: dict[str, Any]) -> bool:
    """Return whether an object has the shape of a message or an item.

    The type `message` is not enough, because other programs use this type too.
    """
    if text(message.get("role")) in ROLES:
        return True
    return kind_of(message) in KINDS and (kind_of(message) != "message" or "content" in message)


def read(source: Source, account: Account) -> Iterator[Event]:
    """Yield the events of the session in a body of OpenAI's APIs, or in a list or lines of messages and items."""
    document = source.sample.document
    facts = facts_of(document)
    yield SessionStart("session", "", facts, text(facts.get("session_id")))
    instructions = text(mapping(document).get("instructions"))
    if instructions:
        yield MessageRead({"role": "system", "content": instructions, "metadata": metadata("openai-instructions")})
    usage = usage_of_openai(mapping(document).get("usage"))
    yield from _messages_and_items(source, account, text(facts.get("model")), usage)


def _messages_and_items(source: Source, account: Account, model: str, usage: dict[str, Any]) -> Iterator[Event]:
    """Yield the events of a list's messages, and of runs of items that are one answer.

    Args:
        source: the file.
        account: notes each entry.
        model: the model that the document names.
        usage: the usage of the document.
    """
    open_function = ""  # the id of the last call in the older form, whose result names no id
    for is_part, run in groupby(messages_of(source, account), lambda at: _is_part(at.value)):
        if is_part:
            yield from _answer_of_items(run, account, model, usage)
            continue
        for at in run:
            yield from _event(at, account, model, open_function)
            if is_older_call(at.value):
                open_function = f"{id_of(at, 'openai')}-call"


def id_of(at: SourceObject, format_name: str) -> str:
    """Return the id of a message: from this package's own export, else from the source, else made from its number."""
    own_metadata = mapping(at.value.get("metadata"))
    return text(own_metadata.get("message_id")) or text(at.value.get("id")) or f"{format_name}-{at.number}"


def _is_part(item: dict[str, Any]) -> bool:
    """Return whether an object is an item of an answer, not a whole message."""
    read_as = as_function(item)
    kind = kind_of(read_as)
    return is_of_answer(read_as, kind) and (kind != "message" or "type" in item)


def _is_own_export(message: dict[str, Any]) -> bool:
    """Return whether a message is from a file that this package exported."""
    return bool(mapping(message.get("metadata")).get("message_id"))


def _answer_of_items(
    run: Iterable[SourceObject], account: Account, model: str, usage: dict[str, Any]
) -> Iterator[Event]:
    """Yield one message that is made from successive items. Yield nothing if the items have no content."""
    blocks: list[Message] = []
    calls: list[Message] = []
    first = 0
    for number, item in run:
        read_as = as_function(item)
        more, called = read_item(read_as, kind_of(read_as))
        if not called and not plain_content(more):
            account.skip(f"{kind_of(item)} without content")
            continue
        account.map(kind_of(item))
        first = first or number
        blocks += more
        calls += called
    facts = metadata(f"openai-{first}", None, provider="openai", model=model, usage=usage)
    message = assistant(blocks, calls, facts)
    if message is not None:
        yield MessageRead(of_provider(message), first)


def _event(at: SourceObject, account: Account, model: str, open_function: str) -> Iterator[Event]:
    number, message = at
    kind = kind_of(message)
    role = text(message.get("role"))
    read_as = as_function(message)
    read_kind = kind_of(read_as)
    if read_kind in OUTPUTS:
        account.map(kind)
        call_id, content, failed = read_output(read_as, read_kind)
        facts = metadata(f"openai-{number}", failed=failed)
        yield MessageRead(result(call_id, content, facts), number)
    elif role in ROLES:
        read = _message(at, model, open_function)
        if read is None:
            account.skip(f"{role} without content")
        else:
            account.map(role)
            yield MessageRead(read, number)
    elif kind and kind != "message":
        account.keep(kind)
        yield KeptEntry(message, number, kind)
    else:
        account.lose(number, f"no message: its role is {str(message.get('role'))[:20]!r}")


def _message(at: SourceObject, model: str, open_function: str) -> Message | None:
    """Return a message of any role, or None for a message without content.

    Args:
        at: the message and its number.
        model: the model that the file names.
        open_function: the id of the last call that a result without an id answers.
    """
    message = at.value
    message_id = id_of(at, "openai")
    own_metadata = mapping(message.get("metadata"))
    time = own_metadata.get("timestamp") or message.get("timestamp") or message.get("created_at")
    role = message["role"]
    content = _content(message.get("content"))
    if role in ("tool", "function"):
        call_id = text(message.get("tool_call_id")) or open_function
        facts = metadata(message_id, time, failed=own_metadata.get("is_error") is True)
        return result(call_id, content, facts, text(message.get("name")))
    if role == "assistant":
        return _answer(message, message_id, time, own_metadata, model)
    if not content:
        return None
    converted: Message = {"role": role, "content": content}
    if isinstance(message.get("name"), str):
        converted["name"] = message["name"]
    converted["metadata"] = metadata(message_id, time, source=text(own_metadata.get("source")) or None)
    return converted


def _answer(message: Message, message_id: str, time: Any, own_metadata: dict[str, Any], model: str) -> Message | None:
    """Return an answer, or None for an answer with neither content nor calls.

    Args:
        message: the message in the file.
        message_id: the id of the answer.
        time: its time.
        own_metadata: the metadata that a message of this package has in the file.
        model: the model that the file names, if the message names none.
    """
    blocks, calls = read_chat_answer(message)
    blocks = [_signed(block, own_metadata) for block in blocks]
    for number, tool_call in enumerate(calls, 1):
        ending = "call" if is_older_call(message) else f"call{number}"
        tool_call["id"] = text(tool_call["id"]) or f"{message_id}-{ending}"
    facts = metadata(
        message_id,
        time,
        provider=text(own_metadata.get("provider")) or "openai",
        model=text(message.get("model")) or text(own_metadata.get("model")) or model,
        stop_reason=text(message.get("finish_reason")) or text(own_metadata.get("stop_reason")),
        usage=usage_of_openai(message.get("usage")) or mapping(own_metadata.get("usage")),
    )
    return assistant(blocks, calls, facts)


def _signed(block: Message, own_metadata: dict[str, Any]) -> Message:
    """Return a block; a thinking block gets its signature, which this package's own export has in the metadata."""
    if block.get("type") != "thinking" or "signature" in block:
        return block
    return thinking_block(text(block.get("thinking")), text(own_metadata.get("signature")) or None)


def _content(content: Any) -> Any:
    return content if isinstance(content, str) else plain_content(read_content(content))
