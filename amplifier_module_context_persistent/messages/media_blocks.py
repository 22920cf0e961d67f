"""Images and documents in a message: where they are, how large they are, and the message without some of them.

A medium is a block of the content, or a block in the output of a `tool_result` block. Media are numbered in order, in
the form of the message that `normalise` returns. Only the first bytes of a medium's body are decoded, when the medium
is described.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote_to_bytes

from ..tokens.media import (
    BODY_KEYS,
    MEDIUM_KINDS,
    TYPE_KEYS,
    body_in,
    decoded_bytes,
    first_text,
    image_dimensions,
    pdf_pages,
    source_of_medium,
    type_in_address,
    type_of_image,
)
from .message import ORIGINAL, Message

IMAGE = "image"
IMAGE_TYPES = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})
"""The image types that every provider accepts."""
_MOST_DEPTH = 8
_MOST_EDGE = 1_000_000


@dataclass(frozen=True, slots=True)
class Medium:
    """One image, document, or other file in a message."""

    kind: str
    media_type: str
    """The media type that the block names, else the type of the image's first bytes; "" if neither is known."""
    chars: int
    """The length of the body's base64 text; 0 if the body is stored elsewhere."""
    width: int = 0
    height: int = 0
    bytes: int = 0
    """The approximate size of the file in bytes."""
    tokens: int = 0
    pages: int = 0
    """The approximate number of pages if the message contains a PDF; else 0."""

    @property
    def edge(self) -> int:
        """The longer edge of an image in pixels; 0 if its size is not known."""
        return max(self.width, self.height)

    def line(self, reference: str, number: int, of: int) -> str:
        """Return the line that a view shows instead of the medium.

        Args:
            reference: the reference by which the medium can be recalled; "" if it cannot.
            number: the position of the medium among the message's media, from 0.
            of: the number of media in the message.
        """
        is_one_of_many = of > 1
        details = list[str]()
        if self.media_type:
            details.append(self.media_type[:40])
        if self.width:
            details.append(f"{self.width} x {self.height} px")
        if self.chars:
            details.append(f"{self.bytes:,} bytes")
        line = f"{self.kind} {number + 1} of {of} left out" if is_one_of_many else f"{self.kind} left out"
        if details:
            line += f": {', '.join(details)}"
        if reference:
            line += f"; recall {reference}"
            if is_one_of_many:
                line += f" image={number + 1}"
        return f"[{line}]"


def media_of(message: Mapping[str, Any], count: Callable[[Message], int] | None = None) -> tuple[Medium, ...]:
    """Return the media of a message in order. With `count` (a function that counts tokens), each has its tokens."""
    return tuple(_medium(block, count) for block in medium_blocks(message))


def describe(block: Message) -> Medium:
    """Return the description of a medium's block, without its tokens."""
    return _medium(block, None)


def medium_blocks(message: Mapping[str, Any]) -> list[Message]:
    """Return the blocks of a message's media, in order."""
    found: list[Message] = []

    def take(block: Message, _: int) -> Message:
        found.append(block)
        return block

    _Walk(take).blocks(message.get("content"))
    return found


def without_media(message: Message, numbers: AbstractSet[int], reference: str) -> Message:
    """Return the message with a line in place of each left-out medium; their copies in `content_blocks` are removed.

    Args:
        message: a message with media; it is not changed.
        numbers: the positions of the left-out media among the message's media, from 0.
        reference: the reference by which they can be recalled; "" if they cannot.
    """
    count = len(medium_blocks(message))
    removed_bodies = set[str]()

    def replaced(block: Message, number: int) -> Message:
        if number not in numbers:
            return block
        removed_bodies.add(body_in(source_of_medium(block)) or "")
        return {"type": "text", "text": _medium(block, None).line(reference, number, count)}

    content = _Walk(replaced).blocks(message.get("content"))
    changed = {**message, "content": content}
    copies = message.get("content_blocks")
    if isinstance(copies, list):
        changed["content_blocks"] = [block for block in copies if not _has_body_of(block, removed_bodies)]
    return changed


def _has_body_of(block: Any, bodies: AbstractSet[str]) -> bool:
    """Return whether a block is a medium whose body is one of `bodies`."""
    return _is_medium(block) and body_in(source_of_medium(block)) in bodies


@dataclass(frozen=True, slots=True)
class MediaSource:
    """The source of a medium's body; a field is "" if the block does not have it."""

    kind: str
    """`image`, `document`, `audio` or `video`."""
    media_type: str = ""
    data: str = ""
    """The body in base64."""
    url: str = ""
    text: str = ""
    """The text of a document that is given as text."""
    name: str = ""

    @property
    def address(self) -> str:
        """The medium's URL; a `data:` URL if the block contains the body."""
        return f"data:{self.media_type};base64,{self.data}" if self.data else self.url


def source_of(block: Mapping[str, Any]) -> MediaSource | None:
    """Return the source of a medium's body, for every known form of block; None if the block is not a medium."""
    if not _is_medium(block):
        return None
    medium = _medium(dict(block), None)
    source = source_of_medium(block)
    name = _name_of(block, source)
    body = body_in(source)
    if not body:
        url = first_text(source, BODY_KEYS) or first_text(source, ("file_url", "url")) or ""
        return MediaSource(medium.kind, medium.media_type, url=url, name=name)
    if source.get("type") == "text":
        return MediaSource(medium.kind, medium.media_type or "text/plain", text=body, name=name)
    data = _base64_in(body) if body.startswith("data:") else body
    media_type = type_of_image(data) if medium.kind == IMAGE else ""
    if not media_type:
        media_type = medium.media_type or _USUAL_TYPES.get(medium.kind, "")
    return MediaSource(medium.kind, media_type, data, name=name)


_USUAL_TYPES = {"image": "image/png", "document": "application/pdf"}


def _name_of(block: Mapping[str, Any], source: Mapping[str, Any]) -> str:
    """Return the name of a medium's file, or "" without a name."""
    for name in (block.get("title"), block.get("filename"), source.get("filename"), source.get("name")):
        if isinstance(name, str):
            return name
    return ""


def _base64_in(address: str) -> str:
    """Return the data of a `data:` URL in base64. The URL may have the data in percent-encoding (RFC 2397)."""
    head, _, data = address.partition(",")
    if head.endswith(";base64"):
        return data
    return base64.b64encode(unquote_to_bytes(data)).decode()


def with_true_types(message: Message) -> Message:
    """Return a message with the media types of its images corrected by their first bytes.

    Return the message itself if all types are right.
    """
    content = _Walk(lambda block, _: _with_true_type(block)).blocks(message.get("content"))
    return message if content is message.get("content") else {**message, "content": content}


def _with_true_type(block: Message) -> Message:
    source = block.get("source")
    if block["type"] != IMAGE or not isinstance(source, dict) or source.get("type") != "base64":
        return block
    if not isinstance(source.get("data"), str):
        return block
    stated_type = source.get("media_type")
    usual = "image/jpeg" if stated_type == "image/jpg" else stated_type
    media_type = type_of_image(source["data"]) or usual
    if media_type == stated_type:
        return block
    return {**block, "source": {**source, "media_type": media_type}}


class _Walk:
    """Visits the media of a content, and replaces each by the block that the visitor returns."""

    def __init__(self, visit: Callable[[Message, int], Message]) -> None:
        self._visit = visit
        self._number = 0

    def blocks(self, value: Any, depth: int = 0) -> Any:
        """Visit a list of blocks and return the new list; the same list if nothing was replaced."""
        if not isinstance(value, list) or depth > _MOST_DEPTH:
            return value
        visited = [self._block(block, depth) for block in value]
        same = all(new is old for new, old in zip(visited, value, strict=True))
        return value if same else visited

    def _block(self, block: Any, depth: int) -> Any:
        if not isinstance(block, dict):
            return block
        if _is_medium(block):
            self._number += 1
            return self._visit(block, self._number - 1)
        original = block.get(ORIGINAL)
        if _is_medium(original):  # a text block that describes a medium
            visited = self._block(original, depth)
            if visited is original:
                return block
            return visited if visited.get("type") == "text" else {**block, ORIGINAL: visited}
        if block.get("type") == "tool_result":
            key = "output"
        elif depth:
            key = "content"
        else:
            return block
        inner = block.get(key)
        if not isinstance(inner, dict):
            visited = self.blocks(inner, depth + 1)
        elif depth < _MOST_DEPTH:
            visited = self._block(inner, depth + 1)
        else:
            visited = inner
        return block if visited is inner else {**block, key: visited}


def _is_medium(block: Any) -> bool:
    if not isinstance(block, dict):
        return False
    kind = block.get("type")
    return isinstance(kind, str) and kind in MEDIUM_KINDS


def _medium(block: Message, count: Callable[[Message], int] | None) -> Medium:
    """Return the facts about a medium; its tokens and pages only if there is a function that counts tokens."""
    source = source_of_medium(block)
    kind = MEDIUM_KINDS[block["type"]]
    body = body_in(source)
    tokens = 0
    if count is not None:
        tokens = count({"content": [block]}) - count({"content": []})
    media_type = first_text(source, TYPE_KEYS) or ""
    if body is None:
        return Medium(kind, media_type.lower(), 0, tokens=tokens)
    if body.startswith("data:"):
        media_type = media_type or type_in_address(body)
    width = 0
    height = 0
    if kind == IMAGE or media_type.lower().startswith("image/"):
        size = image_dimensions(body)
        if size is not None and max(size) <= _MOST_EDGE:  # a larger size means that the bytes are not an image
            width, height = size
        media_type = media_type or type_of_image(body)
    pages = 0
    is_pdf = kind == "document" and (not media_type or "pdf" in media_type.lower())
    if is_pdf and count is not None:
        pages = pdf_pages(body)
    return Medium(
        kind,
        media_type.lower(),
        chars=len(body),
        width=width,
        height=height,
        bytes=decoded_bytes(body),
        tokens=tokens,
        pages=pages,
    )
