"""Tokens of images, documents and audio, by the providers' published size rules.

Rules of this module:

- A medium is never counted by the length of its base64 text. An image is measured by the dimensions in its decoded
  header, a PDF by its pages, audio by its seconds; if none of these can be read, by its size in bytes.
- If two providers' rules differ, the higher figure counts: providers accept a view that is a little too small, but
  refuse one that is too large.
- No input raises an error: bytes that cannot be read have an unknown size, for which there is a fixed count. An address
  is never fetched.

Sources (read in 2025): Anthropic, "Vision" (an image is scaled down to at most 1,568 px on its long edge and costs
about width x height / 750 tokens, at most about 1,600) and "PDF support" (1,500 to 3,000 tokens of text a page, and
the image of that page besides); OpenAI, "Images and vision" (85 tokens and 170 for each tile of 512 px, once the
image was fitted into 2,048 px and its short edge brought down to 768 px) and "Managing costs" of the realtime API
(10 tokens a second of audio); Google, "Understand and count tokens" (32 tokens a second of audio).
"""

from __future__ import annotations

import base64
import binascii
import io
import math
import re
import wave
import zlib
from collections.abc import Iterator, Mapping
from typing import Any

IMAGE_DEFAULT_TOKENS = 1600
"""Tokens of an image of unknown size: Anthropic's maximum."""

PDF_PAGE_TOKENS = 3100
"""Tokens of one page of a PDF: 1,500 for its text and 1,600 for the image of the page."""

AUDIO_TOKENS_PER_S = 32
"""Tokens of one second of audio, by the highest of the published rules (Google's)."""

MEDIUM_KINDS: Mapping[str, str] = {
    "image": "image",
    "image_url": "image",
    "input_image": "image",
    "document": "document",
    "file": "document",
    "input_file": "document",
    "audio": "audio",
    "input_audio": "audio",
    "video": "video",
}
"""The family of a medium, by the type of its block."""

BODY_KEYS = ("data", "file_data", "url")
TYPE_KEYS = ("media_type", "mime_type", "mimeType", "format")
_SOURCES = ("source", "image_url", "input_audio", "audio", "file", "image", "video")
_ELSEWHERE = ("http://", "https://", "file:", "gs:", "s3:")

_ANTHROPIC_EDGE_PX = 1568
_ANTHROPIC_PX_PER_TOKEN = 750
_ANTHROPIC_MAX_TOKENS = 1600
_OPENAI_FIT_PX = 2048
_OPENAI_SHORT_PX = 768
_OPENAI_TILE_PX = 512
_OPENAI_BASE_TOKENS = 85
_OPENAI_TILE_TOKENS = 170

_HEADER_BYTES = 4096
_JPEG_SCAN_BYTES = 1 << 20  # EXIF previews and colour profiles come before the frame header, in segments of 64 kB
_PDF_SCAN_BYTES = 4 << 20
_PDF_PAGE_BYTES = 60_000
_PDF_MAX_PAGES = 1000
_PDF_OBJECTS = re.compile(rb"/ObjStm\b[^>]{0,400}>>\s*stream\r?\n")
_PDF_PAGE = re.compile(rb"/Type\s*/Page(?![A-Za-z])")
_AUDIO_BYTES_PER_S = {"pcm16": 48_000, "wav": 48_000, "g711_ulaw": 8_000, "g711_alaw": 8_000}
_AUDIO_DEFAULT_BYTES_PER_S = 8_000  # 64 kbit/s, a usual rate of compressed speech
_FILE_BYTES_PER_TOKEN = 1_000


def source_of_medium(block: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the part of a medium's block with its body or address: an object in the block, or the block itself."""
    for key in _SOURCES:
        source = block.get(key)
        if source is not None:
            return source if isinstance(source, Mapping) else {"url": source}
    return block


def body_in(source: Mapping[str, Any]) -> str | None:
    """Return the base64 text or `data:` address in this part; None if the medium is stored elsewhere."""
    body = first_text(source, BODY_KEYS)
    if body is None or body.startswith(_ELSEWHERE):
        return None
    return body


def type_in_address(body: str) -> str:
    """Return the media type at the beginning of a `data:` address."""
    return body[5:200].partition(";")[0].partition(",")[0]


def first_text(source: Mapping[str, Any], keys: tuple[str, ...]) -> str | None:
    """Return the first value under some keys that is a text; None if there is none."""
    for key in keys:
        value = source.get(key)
        if isinstance(value, str):
            return value
    return None


def decode_head(data: str, limit_bytes: int) -> bytes:
    """Return the first bytes of a base64 text.

    Args:
        data: base64, standard or URL-safe, perhaps with line breaks or after a `data:` prefix.
        limit_bytes: the largest number of bytes to return.

    Returns:
        At most `limit_bytes` bytes; fewer, or none, if the text is shorter or is not base64.
    """
    start = data.find(",") + 1 if data.startswith("data:") else 0
    base64_chars = limit_bytes * 4 // 3
    line_break_chars = limit_bytes // 24  # enough for CR and LF after every 76 characters, the usual width
    text = data[start : start + base64_chars + line_break_chars + 8]
    try:
        digits = text.encode("ascii").translate(_URL_SAFE, b" \t\r\n=")
        if len(digits) % 4 == 1:  # the first digit of a group is not a whole byte
            digits = digits[:-1]
        return base64.b64decode(digits + b"==")[:limit_bytes]
    except (UnicodeEncodeError, binascii.Error):
        return b""


_URL_SAFE = bytes.maketrans(b"-_", b"+/")


def decoded_bytes(data: str) -> int:
    """Return the approximate number of bytes of a base64 text, without decoding it.

    Line breaks count as if they were part of the base64 text.
    """
    start = data.find(",") + 1 if data.startswith("data:") else 0
    return (len(data) - start - data.count("=", max(start, len(data) - 2))) * 3 // 4


def image_size(head: bytes) -> tuple[int, int] | None:
    """Return width and height in pixels, read from an image's header.

    Args:
        head: the image's first bytes. A JPEG needs all bytes up to its frame header; a PNG, GIF or WebP image needs 30.

    Returns:
        Width and height, or `None` if the format is unknown, the header is cut off, or a dimension is not positive.
    """
    if head.lstrip().startswith(b"<"):  # providers accept no XML images, so XML is not parsed for a size
        return None
    import imagesize  # the import takes tens of milliseconds, as it imports an HTTP client; most sessions have no image

    width, height = imagesize.get(io.BytesIO(head), exif_rotation=False)
    if width > 0 and height > 0:
        return (width, height)
    return None


def size_tokens(width: int, height: int) -> int:
    """Return the number of tokens of an image of this size: the higher of Anthropic's and OpenAI's rule.

    Example:
        >>> size_tokens(1000, 1000), size_tokens(4000, 3000), size_tokens(16, 16)
        (1334, 1600, 255)
    """
    return max(anthropic_tokens(width, height), openai_tokens(width, height))


def anthropic_tokens(width: int, height: int) -> int:
    """Return the number of tokens of an image of this size by Anthropic's rule."""
    scale = min(1.0, _ANTHROPIC_EDGE_PX / max(width, height))
    return min(_ANTHROPIC_MAX_TOKENS, math.ceil(width * scale * height * scale / _ANTHROPIC_PX_PER_TOKEN))


def openai_tokens(width: int, height: int) -> int:
    """Return the number of tokens of an image of this size by OpenAI's rule for tiles, in high detail."""
    scale = min(1.0, _OPENAI_FIT_PX / max(width, height))
    scale *= min(1.0, _OPENAI_SHORT_PX / (min(width, height) * scale))
    # Rounded first: 2048 * (768 / 2048) may come out a hair above 768, and would begin another tile.
    across, down = (math.ceil(round(edge * scale, 6) / _OPENAI_TILE_PX) for edge in (width, height))
    return _OPENAI_BASE_TOKENS + _OPENAI_TILE_TOKENS * max(1, across) * max(1, down)


def image_tokens(data: str | None) -> int:
    """Return the number of tokens of an image that is given as base64 text or as a `data:` address.

    Args:
        data: base64 or a `data:` address; None for an image that is stored elsewhere (an address, a file id).
    """
    size = image_dimensions(data) if data else None
    if size is None:
        return IMAGE_DEFAULT_TOKENS
    width, height = size
    return size_tokens(width, height)


def image_dimensions(data: str) -> tuple[int, int] | None:
    """Return width and height of an image in base64 text or a `data:` address; None if the size is unknown."""
    size = image_size(decode_head(data, _HEADER_BYTES))
    if size is None and data.lstrip().startswith(("/9j/", "data:image/jp")):
        size = image_size(decode_head(data, _JPEG_SCAN_BYTES))
    return size


def type_of_image(data: str) -> str:
    """Return the media type of an image, read from its first bytes; "" if the format is unknown."""
    head = decode_head(data, 16)
    for beginning, media_type in _BEGINNINGS:
        if head.startswith(beginning) and (media_type != "image/webp" or head[8:12] == b"WEBP"):
            return media_type
    return ""


_BEGINNINGS = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8", "image/jpeg"),
    (b"GIF8", "image/gif"),
    (b"RIFF", "image/webp"),
)


def pdf_tokens(data: str | None) -> int:
    """Return the number of tokens of a PDF: by the number of its pages."""
    return PDF_PAGE_TOKENS * min(pdf_pages(data), _PDF_MAX_PAGES) if data else PDF_PAGE_TOKENS


def pdf_pages(data: str) -> int:
    """Return the number of pages of a PDF, at least 1.

    The pages are counted in the file's first bytes, including object streams, where newer files have them. The rest of
    a longer file is assumed to be like its beginning. If no page is found, the number is estimated from the size.
    """
    total_bytes = decoded_bytes(data)
    body = decode_head(data, _PDF_SCAN_BYTES)
    pages = len(_PDF_PAGE.findall(body)) or sum(len(_PDF_PAGE.findall(inner)) for inner in _object_streams(body))
    if pages and total_bytes > _PDF_SCAN_BYTES:
        pages = math.ceil(pages * total_bytes / len(body))
    return max(1, pages or math.ceil(total_bytes / _PDF_PAGE_BYTES))


def _object_streams(body: bytes) -> Iterator[bytes]:
    """Yield the objects in the compressed streams of a PDF that can be read (PDF 1.5, 7.5.7)."""
    left = _PDF_SCAN_BYTES
    for match in _PDF_OBJECTS.finditer(body):
        end = body.find(b"endstream", match.end())
        try:
            inner = zlib.decompressobj().decompress(body[match.end() : end if end > 0 else None], left)
        except zlib.error:
            continue
        left -= len(inner)
        yield inner
        if left <= 0:
            return


def audio_tokens(data: str | None, kind: str = "") -> int:
    """Return the number of tokens of audio: by the seconds in a WAV header, else by the size.

    Args:
        data: base64; `None` for audio that is stored elsewhere, which counts as a minute.
        kind: a media type or a format's name (`audio/wav`, `mp3`, `pcm16`), if it is known.
    """
    if not data:
        return 60 * AUDIO_TOKENS_PER_S
    seconds = _wav_seconds(decode_head(data, _HEADER_BYTES), decoded_bytes(data))
    if seconds is None:
        rate = _AUDIO_BYTES_PER_S.get(kind.rpartition("/")[2].lower(), _AUDIO_DEFAULT_BYTES_PER_S)
        seconds = decoded_bytes(data) / rate
    return max(1, math.ceil(seconds * AUDIO_TOKENS_PER_S))


def _wav_seconds(head: bytes, total_bytes: int) -> float | None:
    """Return the length of a RIFF/WAVE file in seconds; None for another file.

    A `data` chunk of unknown length ends with the file.
    """
    try:
        with wave.open(io.BytesIO(head)) as file:
            chunk_bytes = total_bytes // (file.getsampwidth() * file.getnchannels())
            return float(min(file.getnframes(), chunk_bytes) / file.getframerate())
    except (wave.Error, EOFError, ArithmeticError):
        return None


def file_tokens(data: str | None) -> int:
    """Estimate the tokens of a file for which no provider publishes a rule: one per 1,000 bytes, at least 100."""
    return max(100, decoded_bytes(data) // _FILE_BYTES_PER_TOKEN) if data else IMAGE_DEFAULT_TOKENS


def medium_tokens(family: str, media_type: str, data: str | None) -> int:
    """Return the number of tokens of a medium.

    Args:
        family: `image`, `document`, `audio` or `video`, as the block says.
        media_type: the media type or format, or ""; if it names another family, the rule of that family is used.
        data: base64 or a `data:` address; `None` for a medium that is stored elsewhere.
    """
    named_family = media_type.partition("/")[0].lower()
    family = named_family if named_family in ("image", "audio", "video", "text") else family
    if family == "image":
        return image_tokens(data)
    if family == "audio":
        return audio_tokens(data, media_type)
    if family == "text" and data:
        return -(-decoded_bytes(data) // 4)
    if family == "document" and (not media_type or "pdf" in media_type.lower()):
        return pdf_tokens(data)
    return file_tokens(data)
