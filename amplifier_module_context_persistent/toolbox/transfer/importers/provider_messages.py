"""Messages in a provider's form, as parts for an importer: the room `forms` reads them.

A source may be damaged, and an importer loses as little of it as it can. So a block that the form refuses as malformed
stays in the content as it came, and the other blocks of its message are read.
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
    """Read the content of an answer: its content blocks, and its calls."""
    blocks: list[Message] = []
    calls: list[Message] = []
    for message in _read(form, "assistant", blocks_of(content)):
        blocks += message["content"]
        calls += parsed_calls(message).get("tool_calls", [])
    return blocks, calls


def said_parts(form: Form, content: Any) -> tuple[list[Message], list[Message]]:
    """Read the content of a user's message: the results in it as messages, and the blocks that are said beside them."""
    results: list[Message] = []
    said: list[Message] = []
    for message in _read(form, "user", blocks_of(content)):
        if message["role"] == "tool":
            results.append({**message, "content": bare_content(message["content"])})
        else:
            said += message["content"]
    return results, said


def _read(form: Form, role: str, blocks: list[Message]) -> list[Message]:
    """Read blocks as one message; if the form refuses it, read each block as a message of its own."""
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
    """Whether each call of an answer has an id."""
    return all(call.get("id") for call in message.get("tool_calls", ()))


def _with_objects(block: Message) -> Message:
    """A block whose content is a list of objects: other values in the list are texts."""
    return {**block, "content": blocks_of(block["content"])} if isinstance(block.get("content"), list) else block


def _with_texts_as_ids(block: Message) -> Message:
    """A block whose ids are texts: some programs write numbers."""
    numbers = {key: str(block[key]) for key in _ID_KEYS if type(block.get(key)) is int}
    return {**block, **numbers} if numbers else block


def whole_messages(
    form: Form, at: SourceObject, account: Account, message_id: str, time: Any = None, *, provider: str, model: str
) -> list[Message]:
    """Read a whole message of a form: results, then what is said beside them, each with an id; noted in the account.

    Args:
        form: the module of the form.
        at: the message and its number.
        account: told whether it says something; a message that the form refuses is lost.
        message_id: of the first message; others get a number at its end.
        time: the message's time.
        provider: who answered, for an answer.
        model: the model that answered; empty if it is not known.
    """
    try:
        read = form.read([at.value])
    except RecordError as refused:
        account.lose(at.number, str(refused))
        return []
    said = [message for message in read if message["content"] or message.get("tool_calls")]
    role = text(at.value.get("role")) or "message"
    if said:
        account.map(role)
    else:
        account.skip(f"{role} without content")
    return [
        _named(message, message_id if number == 1 else f"{message_id}-{number}", time, provider, model)
        for number, message in enumerate(said, 1)
    ]


def _named(message: Message, message_id: str, time: Any, provider: str, model: str) -> Message:
    """A message with its id and time; an answer with who gave it."""
    asked = {"provider": provider, "model": model} if message["role"] == "assistant" else {}
    content = message["content"]
    given = {key: value for key, value in metadata_of(message).items() if key != "message_id"}
    told = {**given, **metadata(message_id, time, failed=given.get("is_error") is True, **asked)}
    return {**message, "content": plain_content(content) if isinstance(content, list) else content, "metadata": told}
