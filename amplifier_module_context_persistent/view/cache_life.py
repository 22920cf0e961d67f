"""The time for which providers keep the prefix of a request in their prompt cache."""

from __future__ import annotations

from typing import NamedTuple

from .recipients import ANTHROPIC, GEMINI, OPENAI, family_of


class CacheLife(NamedTuple):
    """The time for which a family of providers keeps a cached prefix after its last use."""

    family: str
    """The family of providers; "" for any."""
    seconds: float
    source: str
    read_on: str


_DAY = 86_400.0


CACHE_LIVES = (
    CacheLife(ANTHROPIC, 300.0, "Claude docs, Prompt caching: five minutes, unless an hour was paid for", "2026-11-23"),
    CacheLife(
        OPENAI, _DAY, "OpenAI API reference, prompt_cache_retention: 24h, where data may be retained", "2026-11-23"
    ),
    CacheLife(GEMINI, _DAY, "none is documented for implicit caching; the longest that another one has", "2026-11-23"),
    CacheLife("", 300.0, "none: the shortest that a provider is known to have", "2026-11-23"),
)
"""The cache lives by family. The first matching row is used."""


def cache_lives_s(provider: str, model: str) -> float:
    """Return the number of seconds for which a model's provider keeps a cached prefix after its last use."""
    family = family_of(provider, model)
    return next(row.seconds for row in CACHE_LIVES if row.family in ("", family))
