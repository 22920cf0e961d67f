"""Read messages in a provider's form, for importers. The modules of `forms` do the reading.

A source may be damaged, and an importer loses as little of it as possible. So a malformed block that the form refuses
stays in the content unchanged, and the other blocks of its message are read.
"""

from __future__ import annotations

from typing import Any

from ....errors import RecordError
from ....forms.canonical import blocks_of, parsed_calls, plain_content
from ....forms.mcp import bare_content
from ....forms.recognise import Form, is_plain
from ....messages.metadata import metadata_of
from .account import Account
from .fields import Message, metadata, text
from .source_file import SourceObject

_ID_KEYS = ("id", "tool_use_id", "tool_call_id", "call_id")


def answer_parts(form: Form, content: Any) -> tuple[list[Message], list[Message]]:
    """Return the content blocks and the calls in the content of an answer."""
    blocks: list[Message] = []
    calls: list[Message] = []
    for message in _read(form, "assistant", blocks_of(content)):
        blocks += message["content"]
        calls += parsed_calls(message).get("tool_calls", [])
    return blocks, calls


def said_parts(form: Form, content: Any) -> tuple[list[Message], list[Message]]:
    """Return the results in a user's message, as messages, and its other content blocks."""
    results: list[Message] = []
    said: list[Message] = []
    for message in _read(form, "user", blocks_of(content)):
        if message["role"] == "tool":
            results.append({**message, "content": bare_content(message["content"])})
        else:
            said += message["content"]
    return results, said


def _read(form: Form, role: str, blocks: list[Message]) -> list[Message]:
    """Read blocks as one message. If the form refuses the message, read each block as a message of its own."""
    given: Message = {"role": role, "content": blocks}
    if is_plain(given):
        return [given]
    try:
        read = form.read([given])
    except RecordError:
        read = []
    if read and all(map(_is_named, read)):
        return read
    if len(blocks) > 1:
        return [message for block in blocks for message in _read(form, role, [block])]
    mended = [_with_texts_as_ids(_with_objects(block)) for block in blocks]
    return [given] if mended == blocks else _read(form, role, mended)


def _is_named(message: Message) -> bool:
    """Return whether each call of an answer has an id."""
    return all(call.get("id") for call in message.get("tool_calls", ()))


def _with_objects(block: Message) -> Message:
    """Return a block in whose content other values than objects became text blocks."""
    return {**block, "content": blocks_of(block["content"])} if isinstance(block.get("content"), list) else block


def _with_texts_as_ids(block: Message) -> Message:
    """Return a block with ids as texts, because some programs write numbers."""
    numbers = {key: str(block[key]) for key in _ID_KEYS if type(block.get(key)) is int}
    return {**block, **numbers} if numbers else block


def whole_messages(
    form: Form, at: SourceObject, account: Account, message_id: str, time: Any = None, *, provider: str, model: str
) -> list[Message]:
    """Read a message in a provider's form, and note it in the account.

    Return its results, then its other content, as messages.

    Args:
        form: the module of the form.
        at: the message and its number.
        account: records whether the message has content; a message that the form refuses is lost.
        message_id: the id of the first message; for the others a number is added to it.
        time: the message's time.
        provider: the provider of an answer.
        model: the model that answered; empty if it is not known.
    """
    try:
        read = form.read([at.value])
    except RecordError as refused:
        account.lose(at.number, str(refused))
        return []
    role = text(at.value.get("role")) or "message"
    messages: list[Message] = []
    for message in read:
        if message["content"] or message.get("tool_calls"):
            own_id = f"{message_id}-{len(messages) + 1}" if messages else message_id
            messages.append(_named(message, own_id, time, provider, model))
    if messages:
        account.map(role)
    else:
        account.skip(f"{role} without content")
    return messages


def _named(message: Message, message_id: str, time: Any, provider: str, model: str) -> Message:
    """Return a message with its id and time; an answer also with its provider and model."""
    asked = {"provider": provider, "model": model} if message["role"] == "assistant" else {}
    content = message["content"]
    given = {key: value for key, value in metadata_of(message).items() if key != "message_id"}
    told = {**given, **metadata(message_id, time, failed=given.get("is_error") is True, **asked)}
    return {**message, "content": plain_content(content) if isinstance(content, list) else content, "metadata": told}
