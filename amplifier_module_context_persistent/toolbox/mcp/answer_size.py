"""The size of an answer of the server: at most `MOST_TOKENS`, because it takes room in a model's context."""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Callable, Sequence
from typing import Any

from ...tokens.counter import open_counter

MOST_TOKENS = 9_500
"""The most tokens of an answer, which a client gets twice: as fields, and as the same JSON in a text."""


def fits(answer: Any) -> bool:
    """Return whether an answer fits the size limit even if each character beyond ASCII is a token."""
    counter = open_counter("estimate")
    text = json.dumps(answer, ensure_ascii=False)
    in_ascii = text.encode("ascii", "ignore").decode()
    tokens = counter.count_text(text)
    most_tokens = counter.count_text(in_ascii) + len(text) - len(in_ascii)
    return max(tokens, most_tokens) <= MOST_TOKENS


def in_limit(
    items: Sequence[dict[str, Any]], fits_together: Callable[[list[dict[str, Any]]], bool]
) -> list[dict[str, Any]]:
    """Return as many items from the start as fit together.

    Args:
        items: the items of an answer, in order.
        fits_together: tells whether an answer with these items fits.
    """

    def is_too_many(count: int) -> int:
        return 0 if fits_together(list(items[:count])) else 1

    most = bisect_left(range(1, len(items) + 1), 1, key=is_too_many)
    return list(items[:most])
