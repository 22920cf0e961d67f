"""How long a provider keeps a session's prompt cache, and whether it is cold."""

from __future__ import annotations

from ..messages.metadata import instant_of
from ..view.cache_life import cache_lives_s


class PromptCache:
    """The time of a session's last request, by which its prompt cache is known to be warm or cold.

    Args:
        ttl_s: the seconds that providers keep it, in place of the table; 0 if plans must not depend on it.
    """

    def __init__(self, ttl_s: float | None) -> None:
        self._ttl_s = ttl_s
        self._asked_at = ""

    def note_request(self, provider: str, model: str, *, now: str, viewed_at: str) -> bool:
        """Note a request and return whether the cached prefix of the last request has expired.

        Args:
            provider: the provider of the request.
            model: the model of the request.
            now: ISO 8601.
            viewed_at: the time of an earlier process's last view, from the log; "" if unknown.
        """
        before, self._asked_at = instant_of(self._asked_at or viewed_at), now
        asked = instant_of(now)
        lives = self._ttl_s if self._ttl_s is not None else cache_lives_s(provider, model)
        return bool(lives and before and asked and (asked - before).total_seconds() > lives)
