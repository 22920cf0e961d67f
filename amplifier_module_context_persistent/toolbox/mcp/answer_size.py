"""The size of an answer of the server: at most `MOST_TOKENS`, because it takes room in a model's context."""

from __future__ import annotations

import json
from typing import Any

from ...tokens.counter import open_counter

MOST_TOKENS = 9_500
"""The most tokens of an answer, which a client gets twice: as fields, and as the same JSON in a text."""


def fits(answer: Any) -> bool:
    """Tell whether an answer fits, also if each character beyond ASCII is a token, as in a run of one character."""
    counter = open_counter("estimate")
    text = json.dumps(answer, ensure_ascii=False)
    in_ascii = text.encode("ascii", "ignore").decode()
    tokens = counter.count_text(text)
    most_tokens = counter.count_text(in_ascii) + len(text) - len(in_ascii)
    return max(tokens, most_tokens) <= MOST_TOKENS
