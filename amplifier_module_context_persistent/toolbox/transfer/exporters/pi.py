"""Write a session of the coding agent pi, version 3: `~/.pi/agent/sessions/--<directory>--/<time>_<id>.jsonl`.

The file has a header, then an entry for each message. Each entry has an id of eight hexadecimal digits, and names the
entry before it in `parentId`. Source: badlogic/pi-mono, `packages/coding-agent/src/core/session-manager.ts` at 0507789,
`packages/ai/src/types.ts`.

pi has its own system prompt, so system prompts are left out. It has no place for documents and media other than images;
they become text. Words that no person wrote are entries of the type `custom_message`. Usage must be there: all counts
are 0 if not both input and output are known. The parts of a cost are 0, because only the sum is known.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from typing import Any

from ....messages.media_blocks import source_of
from ....messages.message import Message, is_block, metadata_of, result_id_of
from ....messages.metadata import given_id, is_human
from ....messages.text import block_text, blocks_without_calls, calls_with_arguments
from .agent_session import UNKNOWN_MODEL, AgentSession, answer_usage, iso, milliseconds
from .session_view import SessionView

VERSION = 3
_APIS = {"anthropic": "anthropic-messages", "openai": "openai-responses", "gemini": "google-generative-ai"}
_STOPS = {"tool_use": "toolUse", "max_tokens": "length", "length": "length", "error": "error", "aborted": "aborted"}

Entry = dict[str, Any]


def session_entries(view: SessionView) -> Iterator[Entry]:
    """Yield the header and the entries, in order."""
    session = AgentSession.of(view)
    began = iso(session.began)
    yield {"type": "session", "version": VERSION, "id": session.id, "timestamp": began, "cwd": session.working_dir}
    parent: str | None = None
    for number, (message, time) in enumerate(session.messages(view, "anthropic")):
        written = _message(message, milliseconds(time), is_copy=session.is_copy)
        if written is None:
            continue
        own = _entry_id(given_id(message) or str(number), number)
        place = {"id": own, "parentId": parent, "timestamp": time}
        if written["role"] == "user" and not is_human(message):
            entry = {"type": "custom_message", **place, **_injected(message, written["content"])}
        else:
            entry = {"type": "message", **place, "message": written}
        yield {**entry, **session.mark(message)}
        parent = own


def _injected(message: Message, content: list[Any]) -> Entry:
    """Return the fields of an entry for words that no person wrote. pi gives them to the model as a user's."""
    source = metadata_of(message).get("source")
    return {"customType": f"amplifier:{source or 'reminder'}", "content": content, "display": True}


def _entry_id(name: str, number: int) -> str:
    """Return an id of eight hexadecimal digits: the given id if it has this form, else an id made of both values."""
    if len(name) == 8 and all(sign in "0123456789abcdef" for sign in name):
        return name
    return hashlib.sha256(f"{number}:{name}".encode("utf-8", "surrogatepass")).hexdigest()[:8]


def _message(message: Message, time_ms: int, *, is_copy: bool) -> Entry | None:
    """Return a message in pi's form, or None if pi has no place for any of its content."""
    role = message["role"]
    if role == "assistant":
        return _answer(message, {} if is_copy else message, time_ms)
    content = _blocks(message)
    call_id = result_id_of(message)
    if call_id is not None:
        return {
            "role": "toolResult",
            "toolCallId": call_id,
            "toolName": str(message.get("name") or ""),
            "content": content,
            "isError": metadata_of(message).get("is_error") is True,
            "timestamp": time_ms,
        }
    return {"role": "user", "content": content, "timestamp": time_ms} if content else None


def _answer(message: Message, billed: Message, time_ms: int) -> Entry | None:
    """Return an answer in pi's form, or None if the answer has no content.

    `billed` gives the usage. For a copy of a session it is empty: answers in a copy have no ids, so they would be
    billed twice.
    """
    blocks = _blocks(message)
    calls = [
        {"type": "toolCall", "id": call_id, "name": name, "arguments": arguments}
        for call_id, name, arguments in calls_with_arguments(message)
    ]
    if not blocks and not calls:
        return None
    metadata = metadata_of(message)
    provider = str(metadata.get("provider") or UNKNOWN_MODEL)
    stop = str(metadata.get("stop_reason") or "")
    usual_stop = "toolUse" if calls else "stop"
    return {
        "role": "assistant",
        "content": [*blocks, *calls],
        "api": _APIS.get(provider, "openai-completions"),
        "provider": "google" if provider == "gemini" else provider,
        "model": str(metadata.get("model") or UNKNOWN_MODEL),
        "usage": _usage(billed),
        "stopReason": _STOPS.get(stop, usual_stop),
        "timestamp": time_ms,
    }


def _blocks(message: Message) -> list[Any]:
    """Return the content of a message in pi's form. Blocks for which pi has no place are left out."""
    blocks = [_block(block) for block in blocks_without_calls(message)]
    return [block for block in blocks if block is not None]


def _usage(message: Message) -> Entry:
    usage = answer_usage(message)
    written = usage.writes.get("cache_write_tokens", 0)
    parts = {"input": usage.uncached, "output": usage.output, "cacheRead": usage.cached or 0, "cacheWrite": written}
    costs = {**dict.fromkeys(parts, 0), "total": usage.cost}
    return {**parts, "totalTokens": sum(parts.values()), "cost": costs}


def _block(block: Message) -> Entry | None:
    """Return a block in pi's form, or None if it must be left out. A block of a kind that pi lacks becomes text."""
    if block.get("type") == "redacted_thinking":
        signed = {"thinkingSignature": str(block.get("data") or "")}
        return {"type": "thinking", "thinking": "", **signed, "redacted": True}
    if block.get("type") == "thinking":
        signature = block.get("signature")
        signed = {}
        if isinstance(signature, str) and signature:
            signed = {"thinkingSignature": signature}
        return {"type": "thinking", "thinking": str(block.get("thinking") or ""), **signed}
    if is_block(block, _REASONING):
        return None
    source = source_of(block)
    if source is not None and source.kind == "image" and source.data:
        return {"type": "image", "data": source.data, "mimeType": source.media_type}
    words = block_text(block)
    return {"type": "text", "text": words} if words else None


_REASONING: Sequence[str] = ("reasoning",)
