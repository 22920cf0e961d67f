"""Messages in a provider's form, as parts for an importer: the room `forms` reads them.

A source may be damaged, and an importer loses as little of it as it can. So a block that the form refuses as malformed
(a call without an id, say) stays in the content as it came, and the other blocks of its message are read.
"""

from __future__ import annotations

from typing import Any

from ....errors import RecordError
from ....forms.canonical import blocks_of, parsed_calls
from ....forms.recognise import Form, is_plain
from .fields import Message


def answer_parts(form: Form, content: Any) -> tuple[list[Message], list[Message]]:
    """Read the content of an answer: its content blocks, and its calls."""
    blocks, calls = list[Message](), list[Message]()
    for message in _read(form, "assistant", blocks_of(content)):
        blocks += message["content"]
        calls += parsed_calls(message).get("tool_calls", [])
    return blocks, calls


def said_parts(form: Form, content: Any) -> tuple[list[Message], list[Message]]:
    """Read the content of a user's message: the results in it as messages, and the blocks that are said beside them."""
    results, said = list[Message](), list[Message]()
    for message in _read(form, "user", blocks_of(content)):
        if message["role"] == "tool":
            results.append(message)
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
    mended = [_with_objects(block) for block in blocks]
    return [given] if mended == blocks else _read(form, role, mended)


def _is_named(message: Message) -> bool:
    """Whether each call of an answer has an id."""
    return all(call.get("id") for call in message.get("tool_calls", ()))


def _with_objects(block: Message) -> Message:
    """A block whose content is a list of objects: other values in the list are texts."""
    return {**block, "content": blocks_of(block["content"])} if isinstance(block.get("content"), list) else block
