"""What a provider is sent: a host's request in the order and the form in which a provider module writes it.

Three forms, as the modules of Amplifier write them:

- Claude (Messages API): system text first, results in the user's role, thinking as blocks. An answer whose metadata
  holds the server's own blocks (`anthropic.wire_content`) is sent back as these, if they still fit its message.
- OpenAI (Responses API): reasoning items before the item that they belong to, from the content or from the metadata.
- Gemini: a thought signature on the call that it came with.

A request is flattened into parts, because providers join neighbours of one role. What is no part of the conversation
is left out: metadata, `visibility`, `cache_control`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tests.support.messages import Message

CLAUDE, OPENAI, GEMINI = "claude", "openai", "gemini"
_NOT_SENT = frozenset({"visibility", "cache_control"})
_SIGNED = frozenset({"thinking", "redacted_thinking"})


@dataclass(frozen=True, slots=True)
class Part:
    """One block of a request or an answer."""

    place: str
    """Where it stands, as errors name it: `messages.3.content.0`."""
    role: str
    kind: str
    text: str
    """What it says, as canonical JSON; without the mark."""
    mark: str = ""
    """Reasoning: what only the provider can read of it. It names the block."""
    name: str = ""
    """A call or a result: the call's id."""


@dataclass(frozen=True, slots=True)
class Sent:
    """One request."""

    provider: str
    model: str
    tools: str
    system: tuple[str, ...]
    parts: tuple[Part, ...]


def canonical(value: Any) -> str:
    """JSON with sorted keys, without what is not sent."""
    return json.dumps(_sent(value), sort_keys=True, separators=(",", ":"))


def _sent(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _sent(item) for key, item in value.items() if key not in _NOT_SENT and item is not None}
    return [_sent(item) for item in value] if isinstance(value, list) else value


def sent(
    family: str, provider: str, model: str, tools: Iterable[Message], messages: Sequence[Message], *, in_place: bool
) -> Sent:
    """Flatten a request.

    Args:
        family: CLAUDE, OPENAI or GEMINI.
        provider: its name; an account of its own.
        model: the model.
        tools: name, description and schema of each, in order.
        messages: as the host gives them, as dictionaries.
        in_place: whether system messages after the first other message stay where they are, instead of going first.
    """
    parts: list[Part] = []
    system: list[str] = []
    at, previous = -1, ""
    for message in messages:
        role = message["role"]
        if role in ("system", "developer") and not (in_place and parts):
            system.append(canonical([role, message["content"]]))
            continue
        shown = {"tool": "user", "developer": "system"}.get(role, role)
        if not (role == "tool" and previous == "tool"):
            at, number = at + 1, 0
        previous = role
        for block in _FORMS[family](message):
            parts.append(as_part(block, shown, f"messages.{at}.content.{number}"))
            number += 1
    return Sent(provider, model, canonical(list(tools)), tuple(system), tuple(parts))


def as_part(block: Message, role: str, place: str) -> Part:
    """A block as a part; what is bound in it becomes its mark."""
    kind, marks = str(block.get("type")), ("signature", "data", "encrypted_content")
    name = str(block.get("id") or block.get("tool_use_id") or block.get("call_id") or "")
    if kind not in (*_SIGNED, "reasoning", "thought_signature"):
        return Part(place, role, kind, canonical(block), name=name)
    mark = next((str(block[key]) for key in marks if block.get(key)), "")
    return Part(place, role, kind, canonical({key: block[key] for key in block if key not in marks}), mark)


def _claude(message: Message) -> Iterator[Message]:
    role, content = message["role"], message["content"]
    if role == "tool":
        yield {"type": "tool_result", "tool_use_id": message["tool_call_id"], "content": content}
    elif role != "assistant":
        yield from [{"type": "text", "text": content}] if isinstance(content, str) else content
    elif (exact := wire_content(message)) is not None:
        yield from exact
    else:
        blocks = list(_blocks(message))
        own = message.get("thinking_block")
        if own and not any(block["type"] in _SIGNED for block in blocks):
            blocks.insert(0, own)
        yield from (_claude_block(block) for block in blocks if block["type"] != "reasoning")


def _claude_block(block: Message) -> Message:
    if block["type"] == "tool_call":
        return {"type": "tool_use", "id": block["id"], "name": block["name"], "input": block["input"]}
    if block["type"] == "thinking":
        signature = {"signature": block["signature"]} if block.get("signature") else {}
        return {"type": "thinking", "thinking": block["thinking"], **signature}
    return block


def wire_content(message: Message) -> list[Message] | None:
    """The server's own blocks of an answer; None where there are none, or where the message no longer fits them."""
    exact = ((message.get("metadata") or {}).get("anthropic") or {}).get("wire_content")
    if not exact:
        return None
    blocks = list(_blocks(message))
    calls = [block["id"] for block in exact if block["type"] == "tool_use"]
    if calls != [block["id"] for block in blocks if block["type"] == "tool_call"]:
        return None
    texts = ["".join(block["text"] for block in side if block["type"] == "text") for side in (exact, blocks)]
    return list(exact) if texts[0] == texts[1] else None


def _blocks(message: Message) -> Iterator[Message]:
    """The blocks of an answer, its calls among them."""
    content = message["content"]
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) and content else content or []
    yield from blocks
    if not any(block["type"] == "tool_call" for block in blocks):
        for call in message.get("tool_calls") or ():
            yield {"type": "tool_call", "id": call["id"], "name": call["tool"], "input": call["arguments"]}


def _openai(message: Message) -> Iterator[Message]:
    role, content = message["role"], message["content"]
    if role == "tool":
        yield {"type": "function_call_output", "call_id": message["tool_call_id"], "output": content}
        return
    if role != "assistant":
        yield {"type": "message", "content": content}
        return
    blocks = list(_blocks(message))
    here = {block["content"][1] for block in blocks if block["type"] == "thinking" and block.get("content")}
    kept = (message.get("metadata") or {}).get("openai:reasoning_items") or ()
    yield from (item for item in kept if item["id"] not in here)
    for block in blocks:
        if block["type"] == "thinking" and block.get("content"):
            yield _reasoning_item(block)
        elif block["type"] == "text":
            yield {"type": "message", "content": block["text"]}
        elif block["type"] == "tool_call":
            arguments = canonical(block["input"])
            yield {"type": "function_call", "call_id": block["id"], "name": block["name"], "arguments": arguments}


def _reasoning_item(block: Message) -> Message:
    encrypted, item_id = block["content"]
    summary = [{"type": "summary_text", "text": block["thinking"]}]
    return {"type": "reasoning", "id": item_id, "encrypted_content": encrypted, "summary": summary}


def _gemini(message: Message) -> Iterator[Message]:
    role, content = message["role"], message["content"]
    if role == "tool":
        yield {"type": "function_response", "call_id": message["tool_call_id"], "response": content}
    elif role != "assistant":
        yield from [{"type": "text", "text": content}] if isinstance(content, str) else content
    else:
        for block in _blocks(message):
            if block["type"] == "tool_call":
                if block.get("thought_signature"):
                    yield {"type": "thought_signature", "signature": block["thought_signature"]}
                yield {"type": "function_call", "call_id": block["id"], "name": block["name"], "args": block["input"]}
            elif block["type"] == "text":
                yield block


_FORMS = {CLAUDE: _claude, OPENAI: _openai, GEMINI: _gemini}
