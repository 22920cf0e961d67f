"""Read messages in a provider's form, for importers. The modules of `forms` do the reading.

A source may be damaged, and an importer loses as little of it as possible. So a malformed block that the form refuses
stays in the content unchanged, and the other blocks of its message are read.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ....errors import RecordError
from ....forms import anthropic
from ....forms.canonical import blocks_of, parsed_call, plain_content
from ....forms.mcp import bare_content
from ....forms.recognise import Form
from ....messages.message import metadata_of
from .account import Account
from .fields import Message, metadata, text
from .lines import SourceObject

_OF_CALLS = frozenset({"id", "tool", "arguments"})
_ID_KEYS = ("id", "tool_use_id", "tool_call_id", "call_id")


Parts = tuple[list[Message], list[Message]]
"""The content blocks of a message, and the other parts among its blocks: an answer's calls, or a user's results."""


def answer_parts(content: Any) -> Parts:
    """Return the content blocks and the calls in the content of an answer of Anthropic's."""
    spoken, calls = _read(_named_calls, blocks_of(content))
    return spoken, [tool_call if tool_call.keys() == _OF_CALLS else parsed_call(tool_call) for tool_call in calls]


def user_parts(content: Any) -> Parts:
    """Return the content blocks of a user's message of Anthropic's, and its results as messages."""
    spoken, results = _read(anthropic.user_parts, blocks_of(content))
    return spoken, [{**read_result, "content": bare_content(read_result["content"])} for read_result in results]


def _named_calls(blocks: list[Message]) -> Parts:
    spoken, calls = anthropic.answer_parts(blocks)
    if not all(tool_call["id"] for tool_call in calls):
        raise RecordError("a call without an id")
    return spoken, calls


def _read(read_parts: Callable[[list[Message]], Parts], blocks: list[Message]) -> Parts:
    """Read the blocks of a message. If the form refuses the blocks together, read each block alone."""
    try:
        return read_parts(blocks)
    except RecordError:
        pass
    if len(blocks) == 1:
        mended = [_with_texts_as_ids(_with_objects(block)) for block in blocks]
        return (blocks, []) if mended == blocks else _read(read_parts, mended)
    spoken: list[Message] = []
    others: list[Message] = []
    for block in blocks:
        more_said, more_others = _read(read_parts, [block])
        spoken += more_said
        others += more_others
    return spoken, others


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
    maker = {"provider": provider, "model": model} if message["role"] == "assistant" else {}
    content = message["content"]
    own_metadata = {key: value for key, value in metadata_of(message).items() if key != "message_id"}
    facts = {**own_metadata, **metadata(message_id, time, failed=own_metadata.get("is_error") is True, **maker)}
    return {**message, "content": plain_content(content) if isinstance(content, list) else content, "metadata": facts}
