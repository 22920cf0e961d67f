"""Recognise the form of a message by its shape alone.

A message that no rule here recognises is in Amplifier's own form: texts, images with `source`, thinking, and calls in
`tool_calls`, also in OpenAI's shape (`function`), which hosts of Amplifier use too. A shape that several forms have is
a *guess*: a block of an unknown type, or a block that has only `text`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import isfinite
from typing import Any, NamedTuple, Protocol

from ..messages.message import CALL_BLOCKS, THINKING_BLOCKS, Message
from ..messages.metadata import TELLING_KEYS
from . import anthropic, bedrock, chat_parts, gemini, mcp, openai_chat, openai_responses, responses_parts
from .canonical import items, mapping, refused, text


class Form(Protocol):
    """The interface of a form's module, which reads messages of the form and writes messages in it."""

    def read(self, messages: Iterable[Mapping[str, Any]], /) -> list[Message]:
        """Return the canonical messages for messages in this form; raise RecordError if a message is malformed."""

    def write(self, messages: Iterable[Message], /, *, exact: bool = False) -> list[Message]:
        """Return canonical messages in this form."""


FORMS: Mapping[str, Form] = {
    module.NAME: module for module in (anthropic, openai_chat, openai_responses, gemini, bedrock, mcp)
}
"""The modules of the forms, by name."""

OWN = "amplifier"
"""The name of Amplifier's own form."""

NAMES = (OWN, *FORMS)
"""The names of all forms."""

_OWN_BLOCKS = CALL_BLOCKS | THINKING_BLOCKS | {"text", "image"}
_EVENTS = frozenset(
    {
        *("message_start", "message_delta", "message_stop", "ping", "error"),
        *("content_block_start", "content_block_delta", "content_block_stop"),
    }
)
"""Types of events in Anthropic's streams; the types of Responses begin with `response.`."""
_PLAIN_KEYS = frozenset({"role", "content", "metadata", "name", "tool_call_id", "tool_calls", "timestamp"})
_ORDINARY_KEYS = _PLAIN_KEYS - {"timestamp"}
_PLAIN_ROLES = frozenset({"user", "assistant", "tool", "system", "developer"})
_SCALARS = frozenset({str, int, bool, type(None)})
_MOST_LEVELS = 32
"""The number of levels that are looked at here; a more deeply nested message is copied and checked like any other."""
_OF_ANTHROPIC = anthropic.KINDS | {"document", "tool_use"}


class Shape(NamedTuple):
    """The recognised form of a message."""

    form: str
    guessed: bool = False
    """Whether another form has the same shape, so that the form is a guess."""
    is_answer: bool = False
    """Whether the message is the whole answer to a request, with its envelope."""


def shape_of(message: Mapping[str, Any], before: str = "", *, guesses: bool = True) -> Shape | None:
    """Return the form of a message; None for Amplifier's own form, and if no form is recognised.

    Args:
        message: the message, an item, or a whole answer.
        before: the form of the messages before it, which decides if the shape is ambiguous.
        guesses: whether a form is also given to a message of an ambiguous shape.

    Raises:
        RecordError: the value is an event of a stream, not a message.
    """
    if is_plain(message):
        return None
    shape = _of_answer(message) or _of_keys(message)
    if shape is None and "role" in message:
        shape = _of_content(message, before)
    if shape is not None and not guesses and _calls_alone(message):
        return None
    if shape is None or not shape.guessed:
        return shape
    if not guesses:
        return None
    is_other_form = before in FORMS and before not in (mcp.NAME, shape.form)
    if is_other_form and _may_be(before, message):
        return shape._replace(form=before)
    return shape


def is_plain(message: Mapping[str, Any]) -> bool:
    """Return whether a message is a plain text in Amplifier's own form, so that no other check is needed."""
    role = message.get("role")
    if not isinstance(role, str) or role not in _PLAIN_ROLES or not message.keys() <= _PLAIN_KEYS:
        return False
    content = message.get("content", "")
    if type(content) is list:
        if not all(map(_is_text_block, content)):
            return False
    elif not isinstance(content, str):
        return False
    calls = message.get("tool_calls")
    if not calls:
        return True
    return type(calls) is list and not any(type(call) is dict and "custom" in call for call in calls)


def is_ordinary(message: Any) -> bool:
    """Return whether a message is plain and complete, has only JSON's types, and has no metadata about how to add it.

    Most messages are ordinary, and need no other checks when they are added: `json_copy`, `check_message` and
    `why_refused` (`messages/check_incoming.py`) would neither change nor refuse such a message. Such a message has no
    id and no time, is not ephemeral, is not hidden from models, and has no mark of another form (`metadata.form`).
    """
    if type(message) is not dict or not message.keys() <= _ORDINARY_KEYS:
        return False
    role = message.get("role")
    if type(role) is not str or role not in _PLAIN_ROLES:
        return False
    content = message.get("content")
    if type(content) is list:
        for block in content:  # `_is_text_block`, without a function call for each block
            if type(block) is not dict or len(block) != 2 or block.get("type") != "text":
                return False
            if type(block.get("text")) is not str:
                return False
    elif type(content) is not str and (content is not None or role != "assistant"):
        return False
    metadata = message.get("metadata")
    if metadata is not None and not _is_ordinary_metadata(metadata):
        return False
    calls = message.get("tool_calls")
    if role == "assistant":
        if "tool_call_id" in message or "name" in message:
            return False
        return calls is None or _are_ordinary_calls(calls)
    if calls is not None or (role == "tool" and message.get("tool_call_id") is None):
        return False
    return type(message.get("tool_call_id")) in _SCALARS and type(message.get("name")) in _SCALARS


def _is_ordinary_metadata(metadata: Any) -> bool:
    """Return whether metadata have only scalars and objects of scalars, and no key that controls how to store it."""
    if type(metadata) is not dict or not TELLING_KEYS.isdisjoint(metadata):
        return False
    for key, value in metadata.items():
        if type(key) is not str:
            return False
        is_scalar = type(value) in _SCALARS
        if not is_scalar and not (type(value) is dict and is_json(value, 0)):
            return False
    return True


def _are_ordinary_calls(calls: Any) -> bool:
    """Return whether calls are a list of objects with ids, in JSON's types, and none is of a custom tool of OpenAI."""
    if type(calls) is not list:
        return False
    for call in calls:
        if type(call) is not dict or "custom" in call or call.get("id") is None or not is_json(call):
            return False
    return True


def is_json(value: Any, levels: int = _MOST_LEVELS) -> bool:
    """Return whether a value has only JSON's types, no number that is not finite, and at most `levels` levels."""
    kind = type(value)
    if kind is dict:
        for key, item in value.items():
            if type(key) is not str:
                return False
            if type(item) not in _SCALARS and (levels == 0 or not is_json(item, levels - 1)):
                return False
        return True
    if kind is list:
        for item in value:
            if type(item) not in _SCALARS and (levels == 0 or not is_json(item, levels - 1)):
                return False
        return True
    return kind in _SCALARS or (kind is float and isfinite(value))


def _is_text_block(block: Any) -> bool:
    """Return whether a block is a text in the shape that all forms with typed blocks share."""
    return type(block) is dict and len(block) == 2 and block.get("type") == "text" and type(block.get("text")) is str


def _of_answer(message: Mapping[str, Any]) -> Shape | None:
    """Return the form of a whole answer; None for any other message."""
    if isinstance(message.get("choices"), list):
        return Shape(openai_chat.NAME, is_answer=True)
    if message.get("object") == "response" and isinstance(message.get("output"), list):
        return Shape(openai_responses.NAME, is_answer=True)
    if isinstance(message.get("candidates"), list):
        return Shape(gemini.NAME, is_answer=True)
    if isinstance(mapping(message.get("output")).get("message"), Mapping):
        return Shape(bedrock.NAME, is_answer=True)
    return None


def _of_keys(message: Mapping[str, Any]) -> Shape | None:
    """Return the form that a message's own keys show, without regard to its content; None if the keys show no form."""
    role = message.get("role")
    if isinstance(message.get("parts"), list | Mapping) or role == "model":
        return Shape(gemini.NAME)
    if "role" not in message:
        return _of_item(message)
    if role == "tool" and not mcp.ON_RESULTS.isdisjoint(message):
        return Shape(mcp.NAME)
    if role == "assistant" and "stop_reason" in message and isinstance(message.get("usage"), Mapping):
        return Shape(anthropic.NAME)
    if role == "function" or (role == "assistant" and _is_answer_of_chat(message)):
        return Shape(openai_chat.NAME)
    if message.get("type") == "message" and isinstance(message.get("content"), list):
        has_own_parts = not responses_parts.PARTS.isdisjoint(_kinds_in(message))
        return Shape(openai_responses.NAME, guessed=not has_own_parts)
    return None


def _is_answer_of_chat(message: Mapping[str, Any]) -> bool:
    """Return whether an answer has keys or calls that only Chat Completions has."""
    if mapping(message.get("function_call")):
        return True
    if any(isinstance(mapping(call).get("custom"), Mapping) for call in items(message.get("tool_calls"))):
        return True
    return any(message.get(key) for key in openai_chat.ON_ANSWERS)


def _of_item(message: Mapping[str, Any]) -> Shape | None:
    """Return the form of a value without a role, which is an item of OpenAI's Responses; None for an unknown value.

    Raises:
        RecordError: the value is an event of a stream; with it, every later request would be refused.
    """
    kind = openai_responses.kind_of(message)
    if kind in _EVENTS or kind.startswith("response."):
        raise refused("", f"{kind!r:.60} is an event of a stream, or an error", "add the final message of the stream")
    if kind in openai_responses.KINDS and kind != "message":
        return Shape(openai_responses.NAME)
    is_message = kind in ("", "message", "human", "ai", "system", "tool", "user", "assistant") or "content" in message
    return None if is_message else Shape(openai_responses.NAME, guessed=True)


def _of_content(message: Mapping[str, Any], before: str) -> Shape | None:
    """Return the form of the first block that only one form has, else a likely form. Return None if none is likely."""
    content = message.get("content")
    is_single_block = isinstance(content, Mapping) and "type" in content
    listed = [content] if is_single_block else items(content)
    blocks = [block for block in listed if isinstance(block, Mapping)]
    role = text(message.get("role"))
    for block in blocks:
        form = _of_block(block, role)
        if form is not None:
            return Shape(form)
    untyped = [block for block in blocks if not text(block.get("type"))]
    if any(block.keys() == {"text"} for block in untyped):
        return Shape(bedrock.NAME, guessed=True)
    for block in blocks:
        kind = text(block.get("type"))
        if kind and kind not in _OWN_BLOCKS and kind != "tool_result":
            return _of_strange(kind, role, before)
    if any(len(block) == 1 for block in untyped):
        return Shape(bedrock.NAME, guessed=True)
    return None


def _of_strange(kind: str, role: str, before: str) -> Shape | None:
    """Return the likely form of a message with a block of an unknown type; None if no form is likely.

    An answer may be sent back to its provider. A block of a person or a tool is sent to a provider only if the messages
    before it are from that provider. Any other provider would refuse the block, and with it every later request.
    """
    if before in (anthropic.NAME, openai_chat.NAME, openai_responses.NAME):
        return Shape(before, guessed=True)
    if kind.startswith(("input_", "output_")):
        return Shape(openai_responses.NAME, guessed=True)
    if role == "assistant":
        return Shape(anthropic.NAME, guessed=True)
    return Shape(mcp.NAME, guessed=True) if role == "tool" else None


def _of_block(block: Mapping[str, Any], role: str) -> str | None:
    """Return the only form that has blocks of this kind; None if there is no such form, or several."""
    kind = text(block.get("type"))
    if not kind:
        if not gemini.PARTS.isdisjoint(block):
            return gemini.NAME
        own_blocks_of_bedrock = bedrock.BLOCKS - {"text"}
        return None if own_blocks_of_bedrock.isdisjoint(block) else bedrock.NAME
    if kind == "tool_result":
        if role == "user" or "tool_use_id" in block:
            return anthropic.NAME
        return None
    if kind in responses_parts.PARTS:
        return openai_responses.NAME
    if kind in chat_parts.PARTS:
        return openai_chat.NAME
    has_data = kind in ("image", "audio") and isinstance(block.get("data"), str)
    if kind in mcp.KINDS or has_data:
        return mcp.NAME
    has_citations = kind == "text" and isinstance(block.get("citations"), list)
    if kind in _OF_ANTHROPIC or has_citations:
        return anthropic.NAME
    return None


def _calls_alone(message: Mapping[str, Any]) -> bool:
    """Return whether an answer has calls as blocks and otherwise only Amplifier's blocks, as hosts of Amplifier do."""
    kinds = _kinds_in(message) if message.get("role") == "assistant" else set()
    return "tool_use" in kinds and kinds <= _OWN_BLOCKS


def _may_be(form: str, message: Mapping[str, Any]) -> bool:
    """Return whether a message of an ambiguous shape can be in this form."""
    if "role" not in message:
        return form == openai_responses.NAME
    blocks = [block for block in items(message.get("content")) if isinstance(block, Mapping)]
    if any("type" not in block for block in blocks):
        return form == bedrock.NAME
    return form in (anthropic.NAME, openai_chat.NAME, openai_responses.NAME)


def _kinds_in(message: Mapping[str, Any]) -> set[str]:
    return {text(mapping(block).get("type")) for block in items(message.get("content"))}


def check_name(form: str | None) -> None:
    """Check that a name is the name of a form, or None.

    Raises:
        ValueError: there is no form of this name; the message lists the names.
    """
    if form is not None and form not in NAMES:
        raise ValueError(f"form {form!r:.40} is not known; there are {', '.join(NAMES)}")
