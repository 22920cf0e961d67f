"""Offloading: every view shows a big tool result as its head and tail only, with a reference to the rest.

The shown part is fixed when the result is appended, as `metadata.offload`: the numbers of characters at the beginning
and at the end of its text. So every process shows the result in the same way, whatever is configured later, and no
prefix changes. The history keeps the whole result.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from .elide import cut_for, elide_message
from .message import Message, metadata_of, texts_of
from .metadata import NO_RECALL_KEY, OFFLOAD_KEY, RECALL_TOOL, offload_cut, recalled_from
from .normalize import normalise

_BYTES_PER_CHAR = 4  # a token has at least one byte
_REFERENCE = "m" + "0" * 16  # an id of the same length as the log's ids
_ATTEMPTS = 8


def may_offload(message: Message, threshold_tokens: int) -> bool:
    """Return whether a message may be a result with more tokens than the threshold, without counting its tokens."""
    if message.get("role") not in ("tool", "function"):
        return False
    metadata = metadata_of(message)
    content = message.get("content")
    if OFFLOAD_KEY in metadata or metadata.get("pinned") is True or metadata.get("critical") is True:
        return False
    if message.get("name") == RECALL_TOOL or recalled_from(message):  # a page that the model asked for is shown whole
        return False
    return not isinstance(content, str) or len(content) * _BYTES_PER_CHAR > threshold_tokens


def offload(
    message: Message,
    count: Callable[[Message], int],
    *,
    threshold_tokens: int,
    preview_tokens: int,
    offers_recall: bool = True,
) -> Message:
    """Mark a result of more than `threshold_tokens`, so that views show only its beginning and its end.

    Return a copy with the mark in its metadata; any other message is returned unchanged.

    Args:
        message: a message for which `may_offload` is true; it is not mutated.
        count: counts the tokens of a message.
        threshold_tokens: the largest size of a result that is not offloaded.
        preview_tokens: the largest size of the shown part, unless the marker alone is longer.
        offers_recall: whether the session has the tool `recall`, so that the marker can name it.
    """
    accepted = normalise(message)
    if not accepted:
        return message
    texts = texts_of(accepted)
    tokens = count(accepted)
    if not texts or tokens <= threshold_tokens:
        return message
    chars = sum(map(len, texts))
    keep_chars = chars * preview_tokens // tokens // len(texts)  # of each text
    for _ in range(_ATTEMPTS):
        cut = replace(cut_for(keep_chars), no_recall=not offers_recall)
        excerpt_message = elide_message(accepted, cut, reference=_REFERENCE)
        shown_tokens = count(excerpt_message)
        if shown_tokens <= preview_tokens or not keep_chars:
            break
        keep_chars = keep_chars * preview_tokens // shown_tokens * 9 // 10
    if shown_tokens >= tokens:
        return message
    cut = cut_for(keep_chars)
    mark: dict[str, Any] = {OFFLOAD_KEY: [cut.head_chars, cut.tail_chars]}
    if not offers_recall:
        mark[NO_RECALL_KEY] = True
    marked = {**message, "metadata": {**metadata_of(message), **mark}}
    return marked if offload_cut(marked) is not None else message
