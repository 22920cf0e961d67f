"""The body of a message on the page: its parts in order, and its images.

A part is a list whose first item names its kind: `["t", text]`, `["k", thinking]`, `["c", call id, tool, arguments]`
with the arguments as JSON text, and `["i", media type, base64]`. Images above the cap are named in the text only.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ...messages.media_blocks import source_of
from ...messages.message import Message
from ...messages.secrets.own_forms import OwnForms
from ...messages.secrets.redact import redact_text, redact_value
from ...messages.text import parts_of
from .visible_text import visible

IMAGE_BYTES = 2_000_000
"""The largest image that is shown, in characters of base64."""
ALL_IMAGES_BYTES = 20_000_000
"""The largest total size of all images on a page."""

_SHOWN_MEDIA = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
_BASE64 = re.compile(r"[A-Za-z0-9+/]+={0,2}")


@dataclass(slots=True)
class Bodies:
    """Makes the bodies of messages; counts redacted secrets and images."""

    redact: bool = True
    own: OwnForms | None = None
    """Further forms of secrets that the user wants replaced."""
    redacted: Counter[int] = field(default_factory=Counter)
    """The number of replaced secrets, by the position of the message."""
    kinds: Counter[str] = field(default_factory=Counter)
    """The number of replaced secrets, by kind."""
    images: int = 0
    images_left_out: int = 0
    _image_bytes: int = 0

    def body(self, position: int, message: Message) -> list[list[str]]:
        """Return the body of the message at a position, and count its secrets and images."""
        bare, images = _without_images(message)
        if self.redact:
            bare = redact_value(bare, lambda kind, _field: self._tell(position, kind), own=self.own)
        parts: list[list[str]] = []
        for part in parts_of(bare):
            if part.kind == "call":
                parts.append(["c", visible(part.call_id), visible(part.name), visible(part.text)])
            elif part.text:
                parts.append(["k" if part.kind == "thinking" else "t", visible(part.text)])
        parts += [["i", kind, data] for kind, data in images if self._is_shown(kind, data)]
        return parts

    def name(self, text: str) -> str:
        """Return a name or an id, redacted and escaped."""
        return visible(redact_text(text, own=self.own) if self.redact else text)

    def _tell(self, position: int, kind: str) -> None:
        self.redacted[position] += 1
        self.kinds[kind] += 1

    def _is_shown(self, kind: str, data: str) -> bool:
        self.images += 1
        fits = len(data) <= IMAGE_BYTES and self._image_bytes + len(data) <= ALL_IMAGES_BYTES
        if not fits or kind not in _SHOWN_MEDIA or not _BASE64.fullmatch(data):
            self.images_left_out += 1
            return False
        self._image_bytes += len(data)
        return True


def _without_images(message: Message) -> tuple[Message, list[tuple[str, str]]]:
    """Replace the images of a message by words; return the message, and the images as (type, base64)."""
    content = message.get("content")
    images: list[tuple[str, str]] = []
    if not isinstance(content, list):
        return message, images
    blocks = [_named(block, images) for block in content]
    return ({**message, "content": blocks}, images) if images else (message, images)


def _named(block: Any, images: list[tuple[str, str]]) -> Any:
    if not isinstance(block, dict):
        return block
    image = _image_of(block)
    if image is None:
        inner = block.get("content")
        if block.get("type") == "tool_result" and isinstance(inner, list):
            return {**block, "content": [_named(part, images) for part in inner]}
        return block
    images.append(image)
    return {"type": "text", "text": f"[{image[0] or 'image'}, {len(image[1]) * 3 // 4:,} bytes]"}


def _image_of(block: Mapping[str, Any]) -> tuple[str, str] | None:
    source = source_of(block)
    if source is None or source.kind != "image" or not source.data:
        return None
    return source.media_type.lower(), source.data
