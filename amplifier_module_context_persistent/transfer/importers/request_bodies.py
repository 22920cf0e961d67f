"""Bodies of requests to providers: where messages stand in a document or in lines, and what is beside them.

A document is a list of messages, or an object with `messages` (Chat Completions, Anthropic) or `input` (Responses).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .account import Account
from .fields import items, mapping, named, text
from .source import ImportRefusedError, Sample, Source, SourceObject, entries_of, objects_of

ROLES = frozenset({"system", "developer", "user", "assistant", "tool", "function"})
_KEPT = ("temperature", "top_p", "max_tokens", "max_output_tokens", "reasoning", "thinking", "tool_choice", "metadata")


def document_messages(document: Any) -> list[Any] | None:
    """The messages or items of a document, with the output after the input; None where it has none."""
    if isinstance(document, list):
        return document
    body = mapping(document)
    for key in ("messages", "input"):
        given = body.get(key)
        if isinstance(given, str) and key == "input":
            given = [{"type": "message", "role": "user", "content": given}]
        if isinstance(given, list):
            return [*given, *items(body.get("output"))]
    return items(body["output"]) if isinstance(body.get("output"), list) else None


def facts_of(document: Any) -> dict[str, Any]:
    """What a body says of the whole: the model, tool definitions, parameters."""
    body = mapping(document)
    facts = named(body, model="model", title="title", session_id="session_id", source_id="id")
    parameters = {key: body[key] for key in _KEPT if body.get(key) is not None}
    return {**facts, "tools": items(body.get("tools")), "parameters": parameters}


def messages_of(source: Source, account: Account) -> Iterator[SourceObject]:
    """The messages with their numbers, from a document's list or from lines; what is no object is lost.

    Raises:
        ImportRefusedError: a document has no messages.
    """
    sample = source.sample()
    listed = document_messages(sample.document)
    if listed is None or (len(sample.entries) == 1 and _is_message(sample.entries[0])):
        if sample.document is not None and not sample.entries:
            raise ImportRefusedError("a JSON document without messages")
        yield from objects_of(source, account)
    else:
        yield from entries_of(listed, account)


def sampled(sample: Sample) -> list[dict[str, Any]]:
    """The first messages of a file."""
    listed = document_messages(sample.document)
    if listed is not None:
        return [message for message in listed[:200] if isinstance(message, dict)]
    return list(sample.entries)


def _is_message(entry: dict[str, Any]) -> bool:
    return text(entry.get("role")) in ROLES and "messages" not in entry and "input" not in entry
