"""Blocks that Amplifier's requests cannot contain: each becomes text, with the block itself beside it.

A view shows such a block as a text block, which every host's provider module can send. The text block has the stored
block under the key `original`. A module that writes requests (`forms/`) puts the stored block back if its provider
accepts it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..tokens.media import MEDIUM_KINDS
from .media_blocks import Medium, describe, source_of
from .message import ORIGINAL, Message, as_json, is_block

_NAME_CHARS = 80
_MOST_TEXT_DEPTH = 4
_WORDS = ("text", "content", "output", "refusal")


def carried(block: Message, reference: str) -> Message:
    """Return a text block that describes a block and has the block under `original`.

    Args:
        block: a block that Amplifier's requests cannot contain.
        reference: the id of its message, by which the block can be recalled; "" if the message has none.
    """
    source = source_of(block)
    words = source.text if source is not None else ""
    if not words:
        words = _found_text(block)
    if not words.strip():
        words = line_about(block, reference)
    return {"type": "text", "text": words, ORIGINAL: block}


def original_of(block: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the block that a text block describes; for any other block, the block itself."""
    original = block.get(ORIGINAL)
    if block.get("type") == "text" and isinstance(original, Mapping):
        return original
    return block


def _found_text(block: Mapping[str, Any]) -> str:
    """Return the words of a search result with its title and source, or of a document's blocks; "" for other blocks."""
    source = block.get("source")
    if block.get("type") == "document" and isinstance(source, Mapping) and source.get("type") == "content":
        return words_of(source)
    if block.get("type") != "search_result":
        return ""
    places = [block[key] for key in ("title", "source") if isinstance(block.get(key), str)]
    return "\n".join([*places, words_of(block)])


def line_about(block: Mapping[str, Any], reference: str = "") -> str:
    """Return a line about a block: its kind, its name, its size, and how it can be recalled."""
    if is_block(block, MEDIUM_KINDS):
        medium = describe(dict(block))
        kind = _kind_of(medium)
        details = _details_of_medium(medium)
    else:
        kind = kind_of_item(block)
        details = [f"{len(as_json(block)):,} characters"]
    name = next(iter(_names_in(block)), "")
    if name:
        details = [name, *details]
    line = f"{kind}: {', '.join(details)}" if details else kind
    if reference:
        line += f"; recall {reference}"
    return f"[{line}]"


def words_of(block: Mapping[str, Any]) -> str:
    """Return the words of a block of an unknown type: its texts under `text`, `content`, `output` or `refusal`."""
    return "\n".join(text for text in _texts_in(block, 0) if text.strip())


def _kind_of(medium: Medium) -> str:
    return "PDF" if "pdf" in medium.media_type else medium.kind


def _details_of_medium(medium: Medium) -> list[str]:
    size = f"{medium.bytes:,} bytes" if medium.chars else ""
    return [part for part in (medium.media_type[:40], size) if part]


def kind_of_item(block: Mapping[str, Any]) -> str:
    """Return the kind of a provider's item: its type; for an item without a type, its first key."""
    kind = block.get("type")
    if not isinstance(kind, str) or kind == "part":
        kind = next((key for key in block if key != "type"), "block")
    return " ".join(kind.replace("_", " ").split())[:_NAME_CHARS] or "block"


def _names_in(block: Mapping[str, Any]) -> Iterator[str]:
    inner = [value for value in block.values() if isinstance(value, Mapping)]
    for place in (block, *inner):
        for key in ("title", "filename", "name", "uri", "url"):
            name = place.get(key)
            if isinstance(name, str) and name.strip() and not name.startswith("data:"):
                yield " ".join(name.split())[:_NAME_CHARS]


def _texts_in(value: Any, depth: int) -> Iterator[str]:
    if depth > _MOST_TEXT_DEPTH:
        return
    if isinstance(value, Mapping):
        yield from (value[key] for key in _WORDS if isinstance(value.get(key), str))
        inner = list(value.values())
    else:
        inner = value if isinstance(value, list) else []
    for item in inner:
        if isinstance(item, Mapping | list):
            yield from _texts_in(item, depth + 1)
