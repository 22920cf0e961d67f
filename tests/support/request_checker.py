"""An independent checker of what a request may have besides messages in order: bytes, images, bonds, chains.

Like `view_checker` it states the rules from the providers' documentation alone and imports nothing of the package. Each
function returns one sentence a violation, `"<rule>: …"`; an empty list is a view that keeps the rule.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
import struct
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

Messages = Sequence[Mapping[str, Any]]

most_request_bytes = 20_000_000
most_request_images = 90

published: Mapping[str, Mapping[str, Any]] = {
    # https://platform.claude.com/docs/en/build-with-claude/vision
    "anthropic": {
        "bytes": 32_000_000,
        "images": 100,
        "image": 5_000_000,
        "edge": 8_000,
        "many": (20, 2_000),
        "document": 32_000_000,
        "pages": 100,
        "types": "png jpeg jpg webp gif",
    },
    # https://platform.openai.com/docs/guides/images-vision
    "openai": {
        "bytes": 50_000_000,
        "images": 500,
        "image": 20_000_000,
        "document": 50_000_000,
        "types": "png jpeg jpg webp gif",
    },
    # https://ai.google.dev/gemini-api/docs/image-understanding
    "gemini": {
        "bytes": 20_000_000,
        "images": 3_600,
        "image": 20_000_000,
        "document": 20_000_000,
        "types": "png jpeg jpg webp heic heif",
    },
}
anybody: Mapping[str, Any] = {
    "bytes": 20_000_000,
    "images": 100,
    "image": 5_000_000,
    "edge": 8_000,
    "many": (20, 2_000),
    "document": 20_000_000,
    "types": "png jpeg jpg webp gif heic heif",
}

kinds_of_images = frozenset({"image", "image_url", "input_image"})
kinds_of_documents = frozenset({"document", "file", "input_file"})
identifiers: Mapping[str, tuple[str, str]] = {
    # "tool_use.id: String should match pattern"; "tools.0.custom.name: String should match pattern"
    "anthropic": (r"[a-zA-Z0-9_-]{1,64}", r"[a-zA-Z0-9_-]{1,128}"),
    # "Invalid 'input[95].call_id': string too long"; "Invalid 'messages[9].tool_calls[0].function.name'"
    "openai": (r"[^\ud800-\udfff]{1,64}", r"[a-zA-Z0-9_-]{1,64}"),
    # https://ai.google.dev/api/caching#FunctionDeclaration
    "gemini": (r"[^\ud800-\udfff]+", r"[a-zA-Z0-9_.:-]{1,128}"),
}
"""What the ids of calls and the names of tools look like."""
anybodys_identifiers = (r"[a-zA-Z0-9_-]{1,64}", r"[a-zA-Z0-9_-]{1,64}")
most_cache_marks = 4

chain_keys = ("response_id", "previous_response_id", "interaction_id", "previous_interaction_id")


def limit_violations(
    view: Messages,
    provider: str = "",
    *,
    most_bytes: int = most_request_bytes,
    most_images: int = most_request_images,
) -> list[str]:
    """Tell what a request with a view has too much of.

    Args:
        view: the messages.
        provider: whose limits; those of none in the table are the lowest of all.
        most_bytes: the most bytes, where that is fewer than the provider's.
        most_images: likewise of images.
    """
    limits = published.get(provider, anybody)
    contents = [message.get("content") for message in view]
    images = [_type_and_data(block) for content in contents for block in _blocks_of(content, kinds_of_images)]
    documents = [_type_and_data(block)[1] for content in contents for block in _blocks_of(content, kinds_of_documents)]
    size, allowed = len(json.dumps(list(view), ensure_ascii=False).encode(errors="replace")), limits["bytes"]
    found = []
    if size > (most := min(most_bytes, allowed)):
        found.append(f"bytes: the view has {size:,} of {most:,}")
    if len(images) > (most := min(most_images, limits["images"])):
        found.append(f"images: the view has {len(images)} of {most}")
    pages = sum(_pdf_pages(data) for data in documents if data is not None)
    if pages and len(images) + pages > (most := limits.get("pages", sys.maxsize)):
        found.append(f"pages: the view has {pages} pages and {len(images)} images of {most}")
    few, edge_of_many = limits.get("many", (0, sys.maxsize))
    most_pixels = min(limits.get("edge", sys.maxsize), edge_of_many if len(images) > few else sys.maxsize)
    for number, (kind, data) in enumerate(images):
        if data is None:
            continue
        if kind not in {f"image/{name}" for name in limits["types"].split()}:
            found.append(f"image type: image {number} is {kind or 'of no type'}")
        if len(data) > limits["image"]:
            found.append(f"image size: image {number} has {len(data):,} characters")
        if (edge := max(_edges(data))) > most_pixels:
            found.append(f"image edge: image {number} has {edge:,} pixels among {len(images)} images")
    for number, data in enumerate(documents):
        if data is not None and len(data) > limits["document"]:
            found.append(f"document size: document {number} has {len(data):,} characters")
    return found


def wire_violations(view: Messages, provider: str = "", *, strict: bool = True) -> list[str]:
    """Tell what in a view a provider answers with a 400, whatever its order and size.

    Args:
        view: the messages.
        provider: whose rules; without one, those that every provider in the table takes.
        strict: whether a provider that is not in the table has rules.
    """
    found = [
        f"text: message {at} has half a surrogate pair" for at, message in enumerate(view) if not _encodes(message)
    ]
    anything = (r"(?s).+", r"(?s).+")
    id_form, name_form = identifiers.get(provider, anybodys_identifiers if strict else anything)
    asked: list[str] = []
    for at, message in enumerate(view):
        answers = message.get("role") in ("tool", "function")
        calls = [*(message.get("tool_calls") or ()), *_blocks_of(message.get("content"), frozenset({"tool_call"}))]
        ids = dict.fromkeys(str(call.get("id")) for call in calls)
        asked += ids
        named = [*ids, *([str(message.get("tool_call_id"))] if answers else [])]
        names = [*map(_name_in, calls), *([message["name"]] if answers and message.get("name") else [])]
        found += [f"call id: message {at} has {one!a:.100}" for one in named if not re.fullmatch(id_form, one)]
        found += [f"tool name: message {at} has {one!a:.100}" for one in names if not re.fullmatch(name_form, one)]
    found += [f"call id: {call_id!a:.100} names two calls" for call_id in {i for i in asked if asked.count(i) > 1}]
    marks = sum(map(_cache_marks, view))
    if marks > most_cache_marks and (provider == "anthropic" or strict):
        found.append(f"cache marks: the view has {marks} of {most_cache_marks}")
    said = [message.get("role") for message in view if message.get("role") not in ("system", "developer")]
    if said and said[-1] == "assistant" and provider == "anthropic":
        found.append(f"prefill: the view ends with an answer, message {len(view) - 1}")
    return found


def _encodes(message: Mapping[str, Any]) -> bool:
    try:
        json.dumps(message, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


def _name_in(call: Mapping[str, Any]) -> str:
    function = call.get("function")
    return str(call.get("tool") or call.get("name") or (function or {}).get("name"))


def _cache_marks(value: Any) -> int:
    if isinstance(value, list):
        return sum(map(_cache_marks, value))
    if not isinstance(value, dict):
        return 0
    inner = [item for key, item in value.items() if key in ("content", "output")]
    return ("cache_control" in value) + sum(map(_cache_marks, inner))


def bond_violations(view: Messages, reader: str, makers: Mapping[str, str]) -> list[str]:
    """Tell what in a view is bound to another provider than the one that gets it.

    Args:
        view: the messages.
        reader: who gets it.
        makers: by message id, who made it; messages that nobody is named for are not looked at.
    """
    found = []
    for position, message in enumerate(view):
        maker = makers.get(str((message.get("metadata") or {}).get("message_id")), reader)
        if maker == reader:
            continue
        found += [f"bond: message {position} of {maker} shows {what} to {reader}" for what in _bound(message)]
    return found


def chain_violations(view: Messages, before: Collection[str]) -> list[str]:
    """Tell which messages of a view name a server's copy of what stood before a plan.

    Args:
        view: the messages.
        before: the ids of the messages that there were when the plan was made.
    """
    found = []
    for position, message in enumerate(view):
        metadata = message.get("metadata") or {}
        keys = [key for key in _keys(metadata) if key.split(":")[-1] in chain_keys]
        if keys and metadata.get("message_id") in before:
            found.append(f"chain: message {position} from before the plan has {keys[0]}")
    return found


def _bound(message: Mapping[str, Any]) -> Iterator[str]:
    content = message.get("content")
    blocks = [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []
    calls = message.get("tool_calls")
    for block in [*blocks, message.get("thinking_block"), *(calls if isinstance(calls, list) else ())]:
        if not isinstance(block, dict):
            continue
        if block.get("signature") or block.get("thought_signature") or block.get("encrypted_content"):
            yield "a signature"
        if block.get("type") in ("redacted_thinking", "reasoning") or (
            block.get("type") == "thinking" and block.get("content")
        ):
            yield f"{block['type']} that is encrypted"
    for key in _keys(message.get("metadata") or {}):
        name = key.split(":")[-1]
        if name in ("reasoning_items", "compaction", "encrypted_content", "wire_content"):
            yield key


def _keys(metadata: Mapping[str, Any]) -> list[str]:
    """The keys of metadata, and those below a provider's name."""
    inner = [key for name in published if isinstance(metadata.get(name), dict) for key in metadata[name]]
    return [str(key) for key in [*metadata, *inner]]


def _blocks_of(value: Any, kinds: frozenset[str]) -> Iterator[Mapping[str, Any]]:
    """Blocks of some kinds, also within results."""
    if isinstance(value, list):
        for item in value:
            yield from _blocks_of(item, kinds)
    elif isinstance(value, dict):
        if str(value.get("type")) in kinds:
            yield value
        else:
            for key in ("output", "content"):
                yield from _blocks_of(value.get(key), kinds)


def _type_and_data(block: Mapping[str, Any]) -> tuple[str, str | None]:
    source: Any = block.get("source") or block.get("image_url") or block.get("file") or block
    source = source if isinstance(source, dict) else {"url": source}
    data = source.get("data") or source.get("file_data") or source.get("url")
    if not isinstance(data, str) or data.startswith(("http:", "https:", "file:", "gs:", "s3:")):
        return "", None
    kind = source.get("media_type") or source.get("mimeType") or (data[5:].split(";")[0] if data[:5] == "data:" else "")
    if not kind:
        kind = "image/png" if data.startswith("iVBORw0KGgo") else "image/jpeg" if data.startswith("/9j/") else ""
    return str(kind).lower(), data


def _edges(data: str) -> tuple[int, int]:
    """Width and height by the header of a PNG or a JPEG; zeros where it is neither."""
    text = data.partition(",")[2] if data[:5] == "data:" else data
    try:
        head = base64.b64decode(text[: 4 * (min(len(text), 1 << 16) // 4)])
    except (binascii.Error, ValueError):
        return 0, 0
    found = (0, 0)
    if head[:8] == b"\x89PNG\r\n\x1a\n" and len(head) >= 24:
        found = struct.unpack(">II", head[16:24])
    elif head[:2] == b"\xff\xd8":
        at = 2
        while at + 9 <= len(head) and head[at] == 0xFF:
            if 0xC0 <= head[at + 1] <= 0xC3:
                height, width = struct.unpack(">HH", head[at + 5 : at + 9])
                found = (width, height)
                break
            at += 2 + int.from_bytes(head[at + 2 : at + 4], "big")
    return found if max(found) <= 1_000_000 else (0, 0)


def _pdf_pages(data: str) -> int:
    """The page objects that stand in a PDF as they are; none where they are compressed."""
    text = data.partition(",")[2] if data[:5] == "data:" else data
    try:
        body = base64.b64decode(text[: 4 * (len(text) // 4)])
    except (binascii.Error, ValueError):
        return 0
    return len(re.findall(rb"/Type\s*/Page\b(?!s)", body)) if body[:5] == b"%PDF-" else 0
