"""Terms: the paths, names and ids of a text that somebody may need again, and where they stand in it. Pure.

A term is a path (a word with a slash), a file name (with a dot and an ending), a compound name (snake_case or
CamelCase, also as a part of a path or a dotted name), or a hexadecimal id; of six characters or more. Plain words are
none: what they say stands in many places.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from .plan import Cut
from .shape import Message, blocks_of

LEAST_CHARS = 6
_MOST_CHARS = 200
_WORD = re.compile(r"[A-Za-z0-9_~@/.][\w./~@+-]{4,}\w", re.ASCII)
_PART = re.compile(r"[./~@+-]+")
_COMPOUND = re.compile(r"[a-z0-9][A-Z]|[A-Za-z0-9]_+[A-Za-z0-9]")
_HEX = re.compile(r"(?=[0-9]*[a-f])(?=[a-f]*[0-9])[0-9a-f]{7,40}\Z")
_FILE = re.compile(r"[\w@+-][\w.@+-]*\.[A-Za-z][A-Za-z0-9]{0,5}\Z", re.ASCII)
_TEXT_BLOCKS = frozenset({"text", "tool_result"})
_FIXED_BLOCKS = frozenset({"thinking", "tool_call"})

Spans = dict[str, tuple[int, int]]


@lru_cache(maxsize=1 << 15)
def terms_of_word(word: str) -> tuple[str, ...]:
    """The terms in one word."""
    word = word.strip("./~@+-")
    if len(word) > _MOST_CHARS:
        return ()
    found = {part for part in _PART.split(word) if len(part) >= LEAST_CHARS and _is_name(part)}
    if len(word) >= LEAST_CHARS and ("/" in word or _FILE.match(word)):
        found.add(word)
    return tuple(sorted(found))


def _is_name(part: str) -> bool:
    return _COMPOUND.search(part) is not None or _HEX.match(part) is not None


def spans(text: str) -> Spans:
    """Where each term of a text ends first, and where it begins last."""
    found: Spans = {}
    for match in _WORD.finditer(text):
        for term in terms_of_word(match.group()):
            known = found.get(term)
            found[term] = (match.end() if known is None else known[0], match.start())
    return found


@dataclass(frozen=True, slots=True)
class Terms:
    """The terms of one message: those that stay however it is cut, and those of its texts by place."""

    fixed: frozenset[str] = frozenset()
    texts: list[tuple[int, Spans]] = field(default_factory=list)

    def visible(self, cut: Cut | None) -> frozenset[str]:
        """The terms that a message shows when it is cut."""
        shown = set(self.fixed)
        for length, where in self.texts:
            if cut is None or cut.head_chars + cut.tail_chars >= length:
                shown.update(where)
            else:
                head, tail = cut.head_chars, length - cut.tail_chars
                shown.update(term for term, (end, start) in where.items() if end <= head or start >= tail)
        return frozenset(shown)


def terms_of(message: Message) -> Terms:
    """The terms of a message; arguments and thinking cannot be cut."""
    content = message.get("content")
    texts = [content] if isinstance(content, str) else []
    for block in blocks_of(message, _TEXT_BLOCKS):
        text = block.get("text" if block["type"] == "text" else "output")
        if isinstance(text, str):
            texts.append(text)
    thinking = "\n".join(str(block.get("thinking", "")) for block in blocks_of(message, _FIXED_BLOCKS))
    return Terms(argument_terms(message) | spans(thinking).keys(), [(len(text), spans(text)) for text in texts])


def argument_terms(message: Message) -> frozenset[str]:
    """The terms in the arguments of a message's calls: what somebody has needed."""
    return frozenset(term for arguments in _arguments(message) for text in _strings(arguments) for term in spans(text))


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _strings(item)


def _arguments(message: Message) -> Iterator[Any]:
    listed = message.get("tool_calls")
    if isinstance(listed, list) and listed:
        for call in listed:
            function = call.get("function")
            yield function.get("arguments") if isinstance(function, dict) else call.get("arguments")
    else:
        for block in blocks_of(message, frozenset({"tool_call"})):
            yield block.get("input")
