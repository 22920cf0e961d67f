"""Messages with calls and results among their blocks, as in Anthropic's, Gemini's and Bedrock's forms.

An answer becomes one canonical message. The content of a user becomes one message for each result, and one for each run
of other blocks between results.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ..messages.message import Message, given_calls
from ..messages.text import blocks_without_calls
from .canonical import answer, form_of, in_places, mark_of, part_number

Block = Mapping[str, Any]


def read_answer(
    blocks: Iterable[Block],
    read_call: Callable[[int, Block], Message | None],
    read_block: Callable[[Block], Message],
    **metadata: Any,
) -> Message:
    """Convert the blocks of an answer into one canonical message.

    Args:
        blocks: the blocks in order.
        read_call: called with a position and a block; returns the call in the block, or None for another block.
        read_block: returns any other block in canonical form.
        metadata: more metadata of the answer; empty values are left out.
    """
    other_blocks, calls, places = split_calls(blocks, read_call, read_block)
    return answer(other_blocks, calls, places, **metadata)


def split_calls(
    blocks: Iterable[Block],
    read_call: Callable[[int, Block], Message | None],
    read_block: Callable[[Block], Message],
) -> tuple[list[Message], list[Message], list[int]]:
    """Split the blocks of an answer: return other blocks, calls, and the positions of the calls among the blocks.

    Args:
        blocks: the blocks in order.
        read_call: as for `read_answer`.
        read_block: as for `read_answer`.
    """
    other_blocks: list[Message] = []
    calls: list[Message] = []
    places: list[int] = []
    for position, block in enumerate(blocks):
        called = read_call(position, block)
        if called is None:
            other_blocks.append(read_block(block))
        else:
            calls.append(called)
            places.append(position)
    return other_blocks, calls, places


def read_user_blocks(
    blocks: Iterable[Block],
    read_result: Callable[[int, Block], Message | None],
    read_block: Callable[[Block], Message],
    **more: Any,
) -> list[Message]:
    """Read the blocks of a user's message and return canonical messages, in order.

    Args:
        blocks: the blocks in order.
        read_result: called with a position and a block; returns the result in the block, or None for another block.
        read_block: returns any other block in canonical form.
        more: further keys of the messages that are not results, with their role.
    """
    messages: list[Message] = []
    for position, block in enumerate(blocks):
        result = read_result(position, block)
        if result is not None:
            messages.append(result)
        elif messages and messages[-1].get("role") != "tool":
            messages[-1]["content"].append(read_block(block))
        else:
            messages.append({**more, "content": [read_block(block)]})
    return messages


def write_answer(
    message: Message,
    form: str,
    write_call: Callable[[str, Message], Message],
    write_block: Callable[[Message], Message | None],
    *,
    given: list[Message] | None = None,
) -> list[Message]:
    """Return an answer's blocks and calls in a provider's form, in the order in which the provider gave them.

    Args:
        message: the answer.
        form: the form to write. The calls of an answer from another form are put at the end.
        write_call: returns a call in this form; its arguments are the id and the call.
        write_block: returns a block in this form; None leaves it out.
        given: the blocks of the answer; None for the blocks of its content.
    """
    blocks = blocks_without_calls(message) if given is None else given
    calls = [{_CALL: write_call(call_id, call)} for call_id, call in given_calls(message).items()]
    places = None
    if form_of(message) == form:
        places = mark_of(message).get("calls_at")
    written: list[Message] = []
    for block in in_places(blocks, calls, places):
        is_call = block.keys() == {_CALL}
        new = block[_CALL] if is_call else write_block(block)
        if new is not None:
            written.append(new)
    return written


_CALL = " call"
"""The key that marks a call as already written. No block has this key."""


def is_next_part(before: Message, message: Message) -> bool:
    """Return whether a message and the message before it are parts of the same foreign message."""
    if part_number(message) <= 0:
        return False
    return before["role"] == "tool" or part_number(before) >= 0
