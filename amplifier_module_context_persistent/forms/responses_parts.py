"""Parts of content in OpenAI's Responses: read and written."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..messages.media_blocks import MediaSource, source_of
from ..messages.message import (
    Message,
    is_block,
)
from ..messages.uncarried_blocks import original_of
from .anthropic import KINDS as OF_ANTHROPIC
from .block_text import words_or_line
from .canonical import (
    base64_source,
    form_of,
    is_fetchable,
    is_item,
    item_block,
    mapping,
    medium,
    source_from_url,
    text,
    text_block,
    without,
)
from .chat_parts import file_block, file_part

RESPONSES = "openai_responses"
"""The name of the form."""
PARTS = frozenset({"input_text", "output_text", "input_image", "input_file", "computer_screenshot", "reasoning_text"})
"""Types of content parts that only this form has."""


def read_part(part: Mapping[str, Any]) -> Message:
    """Return a part of content as a block. A part of another form is returned unchanged."""
    kind = part.get("type")
    if kind in ("input_text", "output_text", "text"):
        return text_block(text(part.get("text")), **without(part, "type", "text"))
    if kind == "refusal":
        return text_block(text(part.get("refusal")), **without(part, "type", "refusal"), refusal=True)
    if kind in ("input_image", "computer_screenshot"):
        image_url = part.get("image_url")
        url = text(image_url) or text(mapping(image_url).get("url"))
        file_id = part.get("file_id")
        if url:
            source = source_from_url(url)
        elif isinstance(file_id, str):
            source = {"type": "file", "file_id": file_id}
        else:
            return item_block(part)
        part_keys = {"part": kind} if kind == "computer_screenshot" else {}
        return medium("image", source, **without(part, "type", "image_url", "file_id"), **part_keys)
    if kind == "input_file":
        return file_block(part, without(part, "type", "file_data", "file_id", "file_url", "filename"))
    if kind == "input_audio":
        audio = mapping(part.get("input_audio"))
        source = base64_source(text(audio.get("data")), f"audio/{text(audio.get('format')) or 'wav'}")
        return medium("audio", source)
    return item_block(part)


def write_part(block: Mapping[str, Any], message: Message, *, exact: bool) -> Message | None:
    """Return a block of a person or a tool as a part. A block that this form does not accept becomes one line.

    None for an empty block.
    """
    original = original_of(block)
    is_own_form = form_of(message) == RESPONSES
    source = source_of(original)
    if source is not None and source.kind == "image":
        image = _image_part(original, source, is_own_form=is_own_form, exact=exact)
        if image is not None:
            return image
    file = file_part(original, form_of(message))
    if file is not None:
        return {"type": "input_file", **file}
    if source is not None and source.kind == "document" and is_fetchable(source.url):
        return {"type": "input_file", "file_url": source.url}
    if is_own_form and is_item(original) and not is_block(original, OF_ANTHROPIC):
        return dict(original)
    words = words_or_line(block)
    if is_own_form and exact and original.get("type") == "text":
        return {"type": "input_text", "text": words, **without(original, "type", "text", "item")}
    return {"type": "input_text", "text": words} if words.strip() else None


def _image_part(block: Mapping[str, Any], source: MediaSource, *, is_own_form: bool, exact: bool) -> Message | None:
    """Return the part for an image; None if this form does not accept its source."""
    source_fields = mapping(block.get("source"))
    detail = {"detail": block["detail"]} if isinstance(block.get("detail"), str) else {}
    if source_fields.get("type") == "file" and is_own_form:
        return {"type": "input_image", "file_id": source_fields.get("file_id"), "detail": "auto", **detail}
    if source.data or is_fetchable(source.url) or (is_own_form and source.url):
        if not exact:
            detail = {"detail": "auto", **detail}
        return {"type": "input_image", "image_url": source.address, **detail}
    return None
