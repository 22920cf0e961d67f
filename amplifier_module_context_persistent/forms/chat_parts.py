"""Parts of content in OpenAI's Chat Completions, and files in both of OpenAI's APIs: read and written."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..messages.media_blocks import source_of
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

CHAT = "openai_chat"
"""The name of the form."""
_OF_OPENAI = (CHAT, "openai_responses")
PARTS = frozenset({"image_url", "input_audio", "file", "refusal", "video_url", "audio_url"})
"""Types of parts that only this form has, besides `text`."""


def read_part(part: Mapping[str, Any]) -> Message:
    """Return a part of content as a block. A part of another form is returned unchanged."""
    kind = part.get("type")
    if not isinstance(kind, str):
        return dict(part)
    if kind == "refusal":
        return text_block(text(part.get("refusal")), **without(part, "type", "refusal"), refusal=True)
    if kind in ("image_url", "audio_url", "video_url"):
        url = _url_in(part.get(kind))
        if url:
            more = without(mapping(part[kind]), "url") | without(part, "type", kind)
            return medium(kind.removesuffix("_url"), source_from_url(url), **more)
    if kind == "input_audio":
        audio = mapping(part.get("input_audio"))
        source = base64_source(text(audio.get("data")), f"audio/{text(audio.get('format')) or 'wav'}")
        return medium("audio", source, **without(part, "type", "input_audio"))
    if kind == "file":
        return file_block(mapping(part.get("file")), without(part, "type", "file"))
    return item_block(part)


def _url_in(value: Any) -> str:
    return text(value) or text(mapping(value).get("url"))


def file_block(part: Mapping[str, Any], more: Mapping[str, Any]) -> Message:
    """Return a file of either of OpenAI's APIs as a document."""
    data = text(part.get("file_data"))
    file_id = text(part.get("file_id"))
    if data:
        source = source_from_url(data) if data.startswith("data:") else base64_source(data, "application/pdf")
    elif file_id:
        source = {"type": "file", "file_id": file_id}
    else:
        source = {"type": "url", "url": text(part.get("file_url"))}
    return medium("document", source, text(part.get("filename")), **more)


def file_part(block: Mapping[str, Any], form: str) -> Message | None:
    """Return a document as a file of OpenAI's (`filename`, `file_data`, `file_id`).

    Return None for a document that OpenAI does not accept.

    Args:
        block: the document.
        form: the form of its message; a file id is of use only to the provider that gave it.
    """
    source = source_of(block)
    if source is None or source.kind != "document":
        return None
    source_fields = mapping(block.get("source"))
    if source_fields.get("type") == "file" and text(source_fields.get("file_id")) and form in ("", *_OF_OPENAI):
        return {"file_id": source_fields["file_id"]}
    if source.data and (source.media_type == "application/pdf" or form in _OF_OPENAI):
        return {"filename": source.name or "document.pdf", "file_data": source.address}
    return None


def write_part(block: Mapping[str, Any], message: Message, *, exact: bool) -> Message | None:
    """Return a block as a part of a message: text, image, PDF or audio; any other block becomes a line about the block.

    None for an empty block.
    """
    original = original_of(block)
    is_own_form = form_of(message) == CHAT
    if is_own_form and original.get("refusal") is True:
        return {"type": "refusal", "refusal": text(original.get("text"))}
    medium = _medium_part(original, is_own_form=is_own_form)
    if medium is not None:
        return medium
    file = file_part(original, form_of(message))
    if file is not None:
        return {"type": "file", "file": file}
    if is_own_form and is_item(original) and not is_block(original, OF_ANTHROPIC):
        return dict(original)
    if is_own_form and exact and original.get("type") == "text":
        return {key: value for key, value in original.items() if key != "original"}
    return text_part(block)


def _medium_part(original: Mapping[str, Any], *, is_own_form: bool) -> Message | None:
    """Return an image, audio or video as a part; None for other blocks and for media that OpenAI does not accept.

    With `is_own_form` the block came in this form. Then the address is written back even if only some servers accept
    it.
    """
    source = source_of(original)
    if source is None:
        return None
    may_write_url = bool(source.url) if is_own_form else is_fetchable(source.url)
    if source.kind == "image" and (source.data or may_write_url):
        image: Message = {"url": source.address}
        if isinstance(original.get("detail"), str):
            image["detail"] = original["detail"]
        return {"type": "image_url", "image_url": image}
    audio_format = _audio_format(source.media_type)
    if source.kind == "audio" and source.data and audio_format:
        return {"type": "input_audio", "input_audio": {"data": source.data, "format": audio_format}}
    if is_own_form and source.kind in ("audio", "video") and source.address:
        key = f"{source.kind}_url"
        return {"type": key, key: {"url": source.address}}
    return None


def spoken_part(block: Mapping[str, Any]) -> Message | None:
    """Return a block as a part of an answer: a refusal or a text.

    Another block becomes a line about it; None if it is empty.
    """
    if block.get("refusal") is True:
        return {"type": "refusal", "refusal": text(block.get("text"))}
    return text_part(block)


def _audio_format(media_type: str) -> str:
    """Return OpenAI's name for a format of audio; "" for a format that OpenAI does not accept."""
    audio_format = media_type.rpartition("/")[2].removeprefix("x-").replace("mpeg", "mp3")
    return audio_format if audio_format in ("wav", "mp3") else ""


def text_part(block: Mapping[str, Any]) -> Message | None:
    """Return a block as a text part. A block without text becomes a line about it; None for an empty block."""
    words = words_or_line(block)
    return {"type": "text", "text": words} if words.strip() else None
