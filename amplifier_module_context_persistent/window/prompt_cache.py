"""How long a provider keeps a session's prompt cache, and whether it is cold."""

from __future__ import annotations

from typing import NamedTuple

from ..messages.metadata import instant_of
from ..view.recipients import ANTHROPIC, GEMINI, OPENAI, family_of


class CacheLife(NamedTuple):
    """How long the models of a family keep what they cached after it was used last."""

    family: str
    """Empty for any."""
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
"""The first row that fits says how long."""


class PromptCache:
    """Tells whether a provider's prompt cache of this session has expired.

    Args:
        ttl_s: how many seconds they keep it, in place of the table; 0 where no plan is to depend on that.
    """

    def __init__(self, ttl_s: float | None) -> None:
        self._ttl_s = ttl_s
        self._asked_at = ""

    def note_request(self, provider: str, model: str, *, now: str, viewed_at: str) -> bool:
        """Note a request; whether what was cached by the one before it is gone.

        Args:
            provider: who is asked.
            model: its model.
            now: ISO 8601.
            viewed_at: when a process before this one made its last view, as the log says; empty where it does not.
        """
        before, self._asked_at = instant_of(self._asked_at or viewed_at), now
        asked = instant_of(now)
        family = family_of(provider, model)
        known = next(row.seconds for row in CACHE_LIVES if row.family in ("", family))
        lives = self._ttl_s if self._ttl_s is not None else known
        return bool(lives and before and asked and (asked - before).total_seconds() > lives)
