"""Messages of Vercel's AI SDK: model messages, which go to a model, and UI messages, which chats store.

| part of a model message | canonical |
| --- | --- |
| `text`, `reasoning`, `redacted-reasoning` | `text`, `thinking`, `redacted_thinking` |
| `image`, `file` | `image`, `document`, `audio`, `video` |
| `tool-call` | a call |
| `tool-result` with an `output` of any type | a message of the role `tool`; errors and denials have failed |
| other types | provider's items |

| part of a UI message | canonical |
| --- | --- |
| `text`, `reasoning`, `file` | the same |
| `tool-NAME`, `dynamic-tool`, `tool-invocation` | a call, and its result if the part has one |
| `step-start` | begins the next answer |
| `source-*`, `data-*` and other types | not part of the conversation: no model gets them |

Older versions write `args` for `input`, `result` for `output`, `mimeType` for `mediaType`, and a UI message with
`content` and `toolInvocations`.

Sources: vercel/ai, `packages/provider-utils/src/types/content-part.ts` at 06d915d, `packages/ai/src/ui/ui-messages.ts`
at 0103ba5; v4.ai-sdk.dev/docs/reference/ai-sdk-core/core-message.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, groupby
from typing import Any, NamedTuple

from ..messages.message import Message
from ..tokens.media import type_of_image
from .canonical import (
    as_text,
    base64_source,
    blocks_of,
    call,
    id_text,
    item_block,
    items,
    kind_of_type,
    mapping,
    medium,
    plain_content,
    result,
    source_from_url,
    text,
    text_block,
)

NAME = "vercel_ai"
_ROLES = frozenset({"system", "user", "assistant", "tool"})
_SURE_PARTS = frozenset({"tool-call", "tool-result", "redacted-reasoning", "tool-approval-request", "reasoning-file"})
_FAILED_OUTPUTS = frozenset({"error-text", "error-json", "execution-denied"})
_FAILED_STATES = frozenset({"output-error", "output-denied"})
_TOOL = "tool-"
_DENIED = "The call was denied."
_USUAL_IMAGE = "image/png"


class UiMessage(NamedTuple):
    """The canonical messages of a UI message, and its other parts."""

    messages: list[Message]
    """Its canonical messages: of an answer one for each step, each followed by the results of its calls."""
    others: list[Mapping[str, Any]]
    """Its parts that are not part of the conversation."""


def is_model_message(message: Mapping[str, Any]) -> bool:
    """Return whether a message has parts that only model messages of this SDK have."""
    if text(message.get("role")) not in _ROLES:
        return False
    return any(map(_is_sure_part, map(mapping, items(message.get("content")))))


def is_ui_message(message: Mapping[str, Any]) -> bool:
    """Return whether an object is a UI message: it has a role, and typed parts or calls of the older form."""
    if text(message.get("role")) not in _ROLES:
        return False
    parts = items(message.get("parts"))
    has_parts = bool(parts) and all(text(mapping(part).get("type")) for part in parts)
    return has_parts or any("toolCallId" in mapping(invocation) for invocation in items(message.get("toolInvocations")))


def _is_sure_part(part: Mapping[str, Any]) -> bool:
    kind = text(part.get("type"))
    if kind in _SURE_PARTS or "providerOptions" in part:
        return True
    if kind == "image":
        return "image" in part
    return kind == "file" and ("mediaType" in part or "mimeType" in part) and "data" in part


# -- model messages ----------------------------------------------------------------------------------------------------


def read_model_message(message: Mapping[str, Any]) -> list[Message]:
    """Read a model message and return canonical messages: an answer, a result for each `tool-result`, or one message.

    A result among the parts of an answer, of a tool that the provider ran, divides the answer.
    """
    role = text(message.get("role"))
    messages: list[Message] = []
    parts = blocks_of(message.get("content"))
    for is_result, group in groupby(parts, lambda part: part.get("type") == "tool-result"):
        if is_result:
            messages += map(_result_of, group)
        elif role == "assistant":
            messages.append(_answer(list(group)))
        else:
            known_blocks = [block for block in map(_block, group) if block is not None]
            messages.append({"role": "user" if role == "tool" else role, "content": plain_content(known_blocks)})
    return messages


def _answer(parts: Sequence[Mapping[str, Any]]) -> Message:
    blocks: list[Message] = []
    calls: list[Message] = []
    for part in parts:
        if part.get("type") == "tool-call":
            arguments = part.get("input", part.get("args"))
            calls.append(call(id_text(part.get("toolCallId")), text(part.get("toolName")), arguments))
            continue
        block = _block(part)
        if block is not None:
            blocks.append(block)
    answer: Message = {"role": "assistant", "content": plain_content(blocks)}
    if calls:
        answer["tool_calls"] = calls
    return answer


def _block(part: Mapping[str, Any]) -> Message | None:
    """Return a part of either kind of message as a block; None if it is empty."""
    kind = text(part.get("type"))
    if kind == "text":
        return text_block(text(part.get("text"))) if text(part.get("text")) else None
    if kind == "reasoning":
        return _reasoning(part)
    if kind == "redacted-reasoning":
        return {"type": "redacted_thinking", "data": text(part.get("data"))}
    if kind in ("image", "file"):
        return _medium(part)
    return item_block(part)


def _reasoning(part: Mapping[str, Any]) -> Message | None:
    """Return reasoning as a block, with the signature that Anthropic's models give it.

    Return None for a part without a text, a signature or redacted data.
    """
    thinking = text(part.get("text")) or text(part.get("reasoning"))
    of_anthropic: Mapping[str, Any] = {}
    for key in ("providerOptions", "providerMetadata"):
        of_anthropic = of_anthropic or mapping(mapping(part.get(key)).get("anthropic"))
    redacted = text(of_anthropic.get("redactedData"))
    if redacted:
        return {"type": "redacted_thinking", "data": redacted}
    signature = text(of_anthropic.get("signature")) or text(part.get("signature"))
    if not thinking and not signature:
        return None
    return {"type": "thinking", "thinking": thinking, "signature": signature or None}


def _medium(part: Mapping[str, Any]) -> Message:
    media_type = text(part.get("mediaType")) or text(part.get("mimeType"))
    body = part.get("image", part.get("data", part.get("url")))
    if isinstance(body, Mapping):
        body = _base64_of(body)
    if not isinstance(body, str) or not body:
        return item_block(part)
    is_image = part.get("type") == "image"
    if body.startswith("data:") or "://" in body[:16]:
        source = source_from_url(body)
    else:
        if is_image and not media_type:
            media_type = type_of_image(body) or _USUAL_IMAGE
        source = base64_source(body, media_type)
    kind = "image" if is_image else kind_of_type(media_type or text(source.get("media_type")))
    return medium(kind, source, text(part.get("filename")))


def _base64_of(body: Mapping[str, Any]) -> str:
    """Return bytes that JavaScript wrote as JSON, in base64; "" if the object is none: a `Buffer`, or a typed array."""
    numbers = list(body.values())  # of a typed array, whose keys are its indexes
    data = body.get("data")
    if body.get("type") == "Buffer" and isinstance(data, list):
        numbers = data
    if not all(type(number) is int and 0 <= number < 256 for number in numbers):
        return ""
    return base64.b64encode(bytes(numbers)).decode()


def _result_of(part: Mapping[str, Any]) -> Message:
    """Return a `tool-result` as a message of the role `tool`."""
    name = text(part.get("toolName"))
    call_id = id_text(part.get("toolCallId"))
    if "output" not in part:  # version 4
        content = part.get("experimental_content", part.get("content", part.get("result")))
        return result(call_id, _content_of_value(content), failed=part.get("isError") is True, name=name)
    output = part["output"]
    kind = text(mapping(output).get("type"))
    failed = kind in _FAILED_OUTPUTS
    if kind == "execution-denied":
        return result(call_id, text(mapping(output).get("reason")) or _DENIED, failed=True, name=name)
    if kind and "value" in mapping(output):
        return result(call_id, _content_of_value(mapping(output)["value"]), failed=failed, name=name)
    return result(call_id, _content_of_value(output), name=name)


def _content_of_value(value: Any) -> Any:
    """Return the value of an output: a text, blocks for a list of content parts, else its JSON."""
    parts = [mapping(part) for part in items(value)]
    if not parts or not all(_is_content_part(part) for part in parts):
        return "" if value is None else as_text(value)
    blocks = [block for block in map(_output_block, parts) if block is not None]
    return plain_content(blocks)


_CONTENT = frozenset({"text", "media", "image", "file", "custom"})


def _is_content_part(part: Mapping[str, Any]) -> bool:
    kind = text(part.get("type"))
    return kind in _CONTENT or kind.startswith(("file-", "image-"))


def _output_block(part: Mapping[str, Any]) -> Message | None:
    kind = text(part.get("type"))
    if kind == "text":
        return _block(part)
    media_type = text(part.get("mediaType")) or text(part.get("mimeType"))
    of_type = "image" if kind.startswith("image") else kind_of_type(media_type)
    name = text(part.get("filename"))
    if text(part.get("data")):
        if of_type == "image" and not media_type:
            media_type = type_of_image(part["data"]) or _USUAL_IMAGE
        return medium(of_type, base64_source(part["data"], media_type), name)
    if text(part.get("url")):
        return medium(of_type, source_from_url(part["url"]), name)
    if text(part.get("fileId")):
        return medium(of_type, {"type": "file", "file_id": part["fileId"]}, name)
    return item_block(part)


# -- UI messages -------------------------------------------------------------------------------------------------------


def read_ui_message(message: Mapping[str, Any]) -> UiMessage:
    """Read a UI message."""
    role = text(message.get("role"))
    parts = blocks_of(message.get("parts"))
    if not parts:  # older: the text, and calls beside it
        invoked = [
            {"type": "tool-invocation", "toolInvocation": invocation}
            for invocation in items(message.get("toolInvocations"))
        ]
        parts = [*invoked, *blocks_of(message.get("content"))]
    others: list[Mapping[str, Any]] = [
        part for part in parts if not _is_step_start(part) and not _is_conversation(part)
    ]
    steps = _steps_of(parts)
    if role != "assistant":
        blocks = map(_block, chain.from_iterable(steps))
        known_blocks = [block for block in blocks if block is not None]
        return UiMessage([{"role": role, "content": plain_content(known_blocks)}] if known_blocks else [], others)
    messages: list[Message] = []
    for step in filter(None, steps):
        messages += _messages_of_step(step)
    return UiMessage(messages, others)


def _is_step_start(part: Mapping[str, Any]) -> bool:
    return part.get("type") == "step-start"


def _steps_of(parts: Iterable[Mapping[str, Any]]) -> list[list[Mapping[str, Any]]]:
    """Divide the parts of the conversation into steps: a step begins where a part says so, and after calls of tools."""
    steps: list[list[Mapping[str, Any]]] = [[]]
    for part in parts:
        if _is_step_start(part):
            steps.append([])
            continue
        if not _is_conversation(part):
            continue
        follows_calls = _has_call(steps[-1]) and not _is_tool(part)
        if follows_calls:
            steps.append([])
        steps[-1].append(part)
    return steps


def _is_tool(part: Mapping[str, Any]) -> bool:
    kind = text(part.get("type"))
    return kind.startswith(_TOOL) or kind == "dynamic-tool"


def _has_call(step: Iterable[Mapping[str, Any]]) -> bool:
    return any(map(_is_tool, step))


def _is_conversation(part: Mapping[str, Any]) -> bool:
    return _is_tool(part) or part.get("type") in ("text", "reasoning", "file")


def _messages_of_step(step: Sequence[Mapping[str, Any]]) -> list[Message]:
    """Return the answer of a step, and the results of its calls."""
    tools = [_invocation(part) for part in step if _is_tool(part)]
    answer = _answer([part for part in step if not _is_tool(part)])
    if tools:
        answer["tool_calls"] = [
            call(id_text(invocation.get("toolCallId")), text(invocation.get("toolName")), _input_of(invocation))
            for invocation in tools
        ]
    results = [_result_of_invocation(invocation) for invocation in tools]
    return [answer, *(invocation for invocation in results if invocation is not None)]


def _invocation(part: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a part of a tool with the name of its tool; of an older part, the inner object."""
    kind = text(part.get("type"))
    if kind == "tool-invocation":
        return mapping(part.get("toolInvocation"))
    return part if kind == "dynamic-tool" else {**part, "toolName": kind.removeprefix(_TOOL)}


def _input_of(invocation: Mapping[str, Any]) -> Any:
    for key in ("input", "rawInput", "args"):
        if invocation.get(key) is not None:
            return invocation[key]
    return {}


def _result_of_invocation(invocation: Mapping[str, Any]) -> Message | None:
    """Return the result of a call; None if it has none, because it is not complete."""
    state = text(invocation.get("state"))
    call_id, name = id_text(invocation.get("toolCallId")), text(invocation.get("toolName"))
    if state in _FAILED_STATES:
        reason = text(mapping(invocation.get("approval")).get("reason"))
        words = text(invocation.get("errorText")) or reason or _DENIED
        return result(call_id, words, failed=True, name=name)
    if state == "output-available":
        return result(call_id, _content_of_value(invocation.get("output")), name=name)
    if state == "result":
        return result(call_id, _content_of_value(invocation.get("result")), name=name)
    return None
