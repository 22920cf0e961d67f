"""The texts that Cline and the programs made from it (Roo Code, Kilo Code) add to the messages of a provider's form.

- A user's message ends with `<environment_details>`, which no person wrote. Without native calls of tools, the results
  are texts of a user's message: `[read_file for 'a'] Result:`.
- Roo Code marks a summary (`isSummary`), the messages that it replaced (`condenseParent`), and a place from which older
  messages are left out (`isTruncationMarker`, `truncationParent`). Replaced messages stay in the file.

Sources: cline/cline, `src/core/task/index.ts`; RooCodeInc/Roo-Code, `src/core/condense/index.ts` at 04fc2a0,
`src/core/task-persistence/rooMessage.ts` at 286c465.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from ....forms.canonical import blocks_of, plain_content, text_block
from .events import CompactionEvent
from .fields import Message, text
from .lines import SourceObject

_BEGIN, _END = "<environment_details>", "</environment_details>"
_RESULT = re.compile(r"\s*\[\w+(?: for [^\n]*)?\] Result:")


_MARKS = frozenset({"isSummary", "condenseId", "condenseParent", "isTruncationMarker", "truncationParent"})


def is_marked(message: Mapping[str, Any]) -> bool:
    """Return whether a message of a file has something that only these programs write."""
    if not _MARKS.isdisjoint(message):
        return True
    return message.get("role") == "user" and any(
        _environment_begin(block) >= 0 for block in blocks_of(message.get("content"))
    )


def without_environment(content: Any) -> tuple[Any, Any]:
    """Split a user's content: what the person wrote, and what the program added; each is "" if there is none."""
    blocks = blocks_of(content)
    if not any(_environment_begin(block) >= 0 for block in blocks):
        return content, ""
    persons: list[Message] = []
    programs: list[Message] = []
    words_are_of = programs if _RESULT.match(text(blocks[0].get("text"))) else persons
    for block in blocks:
        begin = _environment_begin(block)
        if begin < 0:
            words_are_of.append(block)
            continue
        words = block["text"]
        if words[:begin].strip():
            words_are_of.append(text_block(words[:begin].rstrip()))
        programs.append(text_block(words[begin:].strip()))
    return plain_content(persons), plain_content(programs)


def _environment_begin(block: Mapping[str, Any]) -> int:
    """Return where the environment begins at the end of a text block; -1 if the block has none."""
    if block.get("type") != "text":
        return -1
    words = text(block.get("text"))
    if not words.rstrip().endswith(_END):
        return -1
    return words.rfind(_BEGIN)


class _Earlier(NamedTuple):
    """A message that was read, and the ids of the summary and the mark that hide it from the model."""

    message_id: str
    parents: frozenset[str]


class SummarizedMessages:
    """The messages of a file so far, and which of them its summaries replaced."""

    def __init__(self) -> None:
        self._earlier: list[_Earlier] = []
        self._summaries = set[str]()
        self._parents = frozenset[str]()

    def take(self, at: SourceObject, message_id: str) -> CompactionEvent | None:
        """Begin with the next message of the file. If it is a summary, return its event, else None."""
        message = at.value
        self._parents = frozenset({_id(message, "condenseParent"), _id(message, "truncationParent")}) - {""}
        if message.get("isSummary") is not True and message.get("isTruncationMarker") is not True:
            return None
        self._summaries |= {_id(message, "condenseId"), _id(message, "truncationId")} - {""}
        texts = (text(block.get("text")) for block in blocks_of(message.get("content")) if block.get("type") == "text")
        keep = [earlier.message_id for earlier in self._earlier if self._summaries.isdisjoint(earlier.parents)]
        if not self._is_marked:
            keep = keep[:1]  # older versions deleted the replaced messages, all but the first
        summary = "\n".join(filter(None, texts))
        return CompactionEvent(summary, at.number, message_id=message_id, time=message.get("ts"), keep=keep)

    @property
    def _is_marked(self) -> bool:
        return any(earlier.parents for earlier in self._earlier)

    def add(self, message_id: str) -> None:
        """Note a message that was read from the message that `take` began with."""
        self._earlier.append(_Earlier(message_id, self._parents))


def _id(message: Mapping[str, Any], key: str) -> str:
    return text(message.get(key))
