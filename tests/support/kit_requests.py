"""A strict stand-in for a provider that other kits ask: it refuses what is too long or does not pair, and has a cache.

It sees requests as parts: a value, the calls in it, and the calls that it answers. It counts a token for each word and
sign, and four for each part; names and ids count for nothing.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

WORDS = ["agent", "reads", "files", "tells", "found", "about", "caches", "parsers", "locks", "tests", "this", "project"]


class Part(NamedTuple):
    """One item of a request."""

    value: Any
    calls: Sequence[str] = ()
    answers: Sequence[str] = ()


@dataclass
class StrictService:
    """What a provider's server checks and bills.

    Args:
        window_tokens: a longer request is refused.
        on_request: told of each request: its parts as text.
    """

    window_tokens: int
    on_request: Callable[[list[str]], None] = lambda texts: None
    requests: int = 0
    sent_chars: int = 0
    cached_chars: int = 0
    largest_tokens: int = 0
    refused: list[str] = field(default_factory=list)
    _last: list[str] = field(default_factory=list)

    def ask(self, parts: Sequence[Part]) -> None:
        """Take a request."""
        texts = [json.dumps(part.value, sort_keys=True) for part in parts]
        tokens = sum(_count(part.value) + 4 for part in parts)
        self.requests += 1
        self.on_request(texts)
        self.largest_tokens = max(self.largest_tokens, tokens)
        if tokens > self.window_tokens:
            self.refused.append(f"request {self.requests}: {tokens} tokens")
        self.refused += [f"request {self.requests}: {one}" for one in _misfits(parts)]
        same = next((n for n, (a, b) in enumerate(zip(texts, self._last, strict=False)) if a != b), None)
        if same is None:
            same = min(len(texts), len(self._last))
        self.sent_chars += sum(map(len, texts))
        self.cached_chars += sum(map(len, texts[:same]))
        self._last = texts

    @property
    def cached_share(self) -> float:
        """Of all that was sent, what the request before it had at its beginning too."""
        return self.cached_chars / self.sent_chars


def _misfits(parts: Sequence[Part]) -> Iterator[str]:
    if not parts:
        yield "it is empty"
    waiting: list[str] = []
    for number, part in enumerate(parts):
        for call in part.answers:
            if call not in waiting:
                yield f"part {number} answers a call that is not before it: {call}"
            else:
                waiting.remove(call)
        if waiting and not part.answers and not part.calls and _is_talk(part):
            yield f"part {number} comes before the results of {waiting}"
        waiting += part.calls
    if waiting:
        yield f"no results of {waiting}"
    if parts and isinstance(parts[-1].value, dict) and parts[-1].value.get("role") == "assistant":
        yield "it ends with an answer"


_TOKEN = re.compile(r"\w+|[^\w\s]")
_NAMES = frozenset({"id", "type", "call_id", "role", "status", "name", "tool_call_id", "tool_name"})


def _count(value: Any) -> int:
    if isinstance(value, str):
        return len(_TOKEN.findall(value))
    if isinstance(value, dict):
        return sum(_count(item) for key, item in value.items() if key not in _NAMES)
    return sum(map(_count, value)) if isinstance(value, list) else 0


def _is_talk(part: Part) -> bool:
    return isinstance(part.value, dict) and part.value.get("role") in ("user", "system")


def words(rng: random.Random, count: int) -> str:
    """So many words."""
    return " ".join(rng.choice(WORDS) for _ in range(count))
