"""How long a provider keeps a session's prompt cache, and whether it is cold."""

from __future__ import annotations

from ..messages.metadata import instant_of
from ..view.cache_life import cache_lives_s


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
        lives = self._ttl_s if self._ttl_s is not None else cache_lives_s(provider, model)
        return bool(lives and before and asked and (asked - before).total_seconds() > lives)
