"""Read contents of Google's Gemini API (lists, request bodies, lines), and chats that Gemini CLI saved.

A content is `{role: user|model, parts}`. `/chat save` of Gemini CLI writes a list of them, or `{history, authType}`, to
`checkpoint-<tag>.json` (google-gemini/gemini-cli, `packages/core/src/core/logger.ts`); a body has `contents`.
`forms.gemini` reads the contents, and can write them again in their original form.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ....forms import gemini
from ....forms.canonical import plain_content
from .account import Account
from .events import Event, MessageRead, SessionStart
from .fields import items, mapping, metadata, named, text
from .lines import SourceObject
from .provider_messages import whole_messages
from .source_file import Sample, Source, entries_of, objects_of

_ROLES = frozenset({"user", "model", "function", ""})
_CONTEXT = ("This is the Gemini CLI.", "<session_context>")
"""The beginnings of the first content, which the program writes as the user."""


def score(sample: Sample) -> int:
    """Return how well a file fits this format: 950 for a document of contents, else the number of lines with one."""
    listed = _contents(sample.document)
    if listed is not None:
        if listed and all(map(_is_content, listed[:20])):
            return 950
        return 0
    return sum(map(_is_content, sample.entries))


def _contents(document: Any) -> list[Any] | None:
    """Return the contents of a document, or None for a document without such a list."""
    if isinstance(document, list):
        return document
    fields = mapping(document)
    listed = fields.get("history", fields.get("contents"))
    return listed if isinstance(listed, list) else None


def _is_content(content: Any) -> bool:
    parts = mapping(content).get("parts")
    return isinstance(parts, list) and text(content.get("role")) in _ROLES and all(map(_is_part, parts))


def _is_part(part: Any) -> bool:
    """Return whether a value can be a part of Gemini's: a text, or an object without `type` and `part_kind`."""
    if isinstance(part, dict):
        return "type" not in part and "part_kind" not in part
    return isinstance(part, str)


def read(source: Source, account: Account) -> Iterator[Event]:
    """Yield the events of the session in a request body, a saved chat, or a list or lines of Gemini's contents."""
    body = mapping(source.sample.document)
    facts = {**named(body, model="model", auth_type="authType"), "tools": items(body.get("tools"))}
    yield SessionStart("session", "", facts, text(body.get("session_id")))
    instruction = body.get("systemInstruction", body.get("system_instruction"))
    if instruction:
        [read_one] = gemini.read([{"role": "user", **_as_content(instruction)}])[:1]
        system_text = plain_content(read_one["content"])
        yield MessageRead({"role": "system", "content": system_text, "metadata": metadata("gemini-system")})
    listed = _contents(source.sample.document)
    entries = objects_of(source, account) if listed is None else entries_of(listed, account)
    for at in entries:
        yield from _messages(at, account, text(facts.get("model")))


def _as_content(instruction: Any) -> dict[str, Any]:
    return instruction if isinstance(instruction, dict) else {"parts": [{"text": str(instruction)}]}


def _messages(at: SourceObject, account: Account, model: str) -> Iterator[Event]:
    number, content = at
    if not _is_content(content):
        account.lose(number, f"no content: it has {', '.join(sorted(content))[:60] or 'nothing'}")
        return
    read_messages = whole_messages(gemini, at, account, f"gemini-{number}", provider="gemini", model=model)
    for message in read_messages:
        if message["role"] == "user" and _is_context(message["content"]):
            message["metadata"] = {"source": "gemini-cli:context", **message["metadata"]}
        yield MessageRead(message, number)


def _is_context(content: Any) -> bool:
    first = content if isinstance(content, str) else text(mapping(next(iter(content), None)).get("text"))
    return first.lstrip().startswith(_CONTEXT)
