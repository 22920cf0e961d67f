"""Read an entry of a Gemini CLI session: a message of a person or of the model, with the calls that the entry contains.

A model's entry has its thoughts, its text and its calls with their results. A history that the program wrote back
(`gemini_cli_chat.py`) has Google's parts in `content` instead: calls, and results in a user's entry.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from ....forms import gemini
from ....forms.canonical import blocks_of, call, plain_content, text_block, total, usage_of
from .events import KeptEntry, MessageRead
from .fields import (
    Message,
    as_text,
    assistant,
    items,
    mapping,
    metadata,
    result,
    text,
    thinking_block,
    user,
)

TALK = frozenset({"user", "gemini"})
"""The types of entries that are messages."""
CONTEXT = ("This is the Gemini CLI.", "<session_context>", "<state_snapshot>", "<hook_context>")
"""The beginnings of user messages that the program writes."""
Events = list[MessageRead | KeptEntry]


def events_of(entry: dict[str, Any], message_id: str, line: int) -> Events:
    """Return the events of an entry. An entry without content becomes a `KeptEntry`."""
    messages: list[Message] = []
    if entry.get("type") == "gemini":
        messages = list(_answer(entry, message_id))
    elif entry.get("type") == "user":
        messages = list(_said_by_user(entry, message_id))
    return [MessageRead(message, line) for message in messages] or [KeptEntry(entry, line, text(entry.get("type")))]


def words_in(messages: list[Message]) -> str:
    """Return the text of messages, without thinking and results."""
    found = []
    for message in messages:
        if message["role"] != "tool":
            blocks = blocks_of(message["content"])
            found += [text(block.get("text")) for block in blocks if block.get("type") == "text"]
    return "\n".join(found).strip()


def _said_by_user(entry: Mapping[str, Any], message_id: str) -> Iterator[Message]:
    """Yield the results in a user's entry, then its other content as a message."""
    time = entry.get("timestamp")
    others: list[Message] = []
    for part in _parts(entry.get("content")):
        response = mapping(part.get("functionResponse"))
        if not response:
            others.append(part)
            continue
        call_id = text(response.get("id")) or f"{message_id}-result"
        output = as_text(gemini.said_in_result(part))
        yield result(call_id, output, metadata(f"{message_id}-{call_id}", time), text(response.get("name")))
    content = plain_content([_block(part) for part in others])
    if content:
        first = content if isinstance(content, str) else text(mapping(content[0]).get("text"))
        source = "gemini-cli:context" if first.lstrip().startswith(CONTEXT) else None
        yield user(content, metadata(message_id, time, source=source))


def _calls_in(entry: Mapping[str, Any]) -> list[Any]:
    """Return the calls of an answer: those that the program recorded, else those among its parts."""
    recorded = items(entry.get("toolCalls"))
    if recorded:
        return recorded
    parts = _parts(entry.get("content"))
    return [dict(mapping(part["functionCall"])) for part in parts if mapping(part.get("functionCall"))]


def _answer(entry: dict[str, Any], message_id: str) -> Iterator[Message]:
    """Yield the message of an answer, and the results of its calls, which are in the same entry."""
    blocks = _thoughts(entry)
    parts = [part for part in _parts(entry.get("content")) if "functionCall" not in part]
    blocks += [_block(part) for part in parts if not (blocks and part.get("thought") is True)]
    tool_calls = _tool_calls(entry, message_id)
    open_calls = {
        tool_call.call_id: tool_call.status for tool_call in tool_calls if tool_call.output is None and tool_call.status
    }
    counts = mapping(entry.get("tokens"))
    usage = usage_of(
        input_tokens=counts.get("input"),
        output_tokens=total(counts.get("output"), counts.get("thoughts")),
        cache_read_tokens=counts.get("cached"),
    )
    facts = metadata(
        message_id,
        entry.get("timestamp"),
        provider="gemini",
        model=text(entry.get("model")),
        usage=usage,
        imported={"open_calls": open_calls} if open_calls else {},
    )
    calls = [call(tool_call.call_id, tool_call.name, tool_call.entry.get("args")) for tool_call in tool_calls]
    message = assistant(blocks, calls, facts)
    if message is not None:
        yield message
    for tool_call in tool_calls:
        if tool_call.output is not None:
            failed = tool_call.status in ("error", "cancelled")
            result_id = f"{message_id}-{tool_call.call_id}"
            result_facts = metadata(result_id, tool_call.entry.get("timestamp"), failed=failed, status=tool_call.status)
            yield result(tool_call.call_id, tool_call.output, result_facts, tool_call.name)


def _thoughts(entry: dict[str, Any]) -> list[Message]:
    """Return the thoughts of an answer as one block, or [] if there are none."""
    texts = []
    for thought in items(entry.get("thoughts")):
        if isinstance(thought, dict):
            thought_text = f"**{text(thought.get('subject'))}**\n{text(thought.get('description'))}"
            texts.append(thought_text.removeprefix("****\n"))  # a thought without a subject
    thoughts = "\n\n".join(texts)
    return [thinking_block(thoughts)] if thoughts else []


class _ToolCall(NamedTuple):
    """A call in an answer's entry."""

    call_id: str
    name: str
    status: str
    output: Any
    """The result; None if the entry has none."""
    entry: dict[str, Any]
    """The call in the form of the entry."""


def _tool_calls(entry: dict[str, Any], message_id: str) -> list[_ToolCall]:
    """Return the calls of an answer. A call without an id gets an id."""
    given_calls = [listed for listed in _calls_in(entry) if isinstance(listed, dict)]
    tool_calls = []
    for number, listed_call in enumerate(given_calls, 1):
        call_id = text(listed_call.get("id")) or f"{message_id}-call{number}"
        tool_calls.append(
            _ToolCall(
                call_id,
                text(listed_call.get("name")),
                text(listed_call.get("status")),
                _output(listed_call),
                listed_call,
            )
        )
    return tool_calls


def _output(function_call: dict[str, Any]) -> Any:
    """Return the result of a call: the function's response, else the displayed text, or None if there is neither."""
    output, display = function_call.get("result"), function_call.get("resultDisplay")
    if output is None:
        return as_text(display) if display else None
    if isinstance(output, str):
        return output
    texts = [as_text(gemini.said_in_result(part)) for part in items(output)]
    return "\n".join(texts) if texts else as_text(display or "")


def _parts(content: Any) -> list[Message]:
    """Return the parts of an entry's content, which may be a text, a part, or a list of both."""
    if isinstance(content, str):
        return [{"text": content}] if content else []
    return blocks_of([content] if isinstance(content, dict) else content)


def _block(part: Message) -> Message:
    """Return a part as a block, without fields that are only needed to write the part in Google's form again."""
    block = gemini.read_part(gemini.parts_in([part])[0])
    if block["type"] == "text":
        return text_block(text(block.get("text")))
    return thinking_block(text(block.get("thinking"))) if block["type"] == "thinking" else block
