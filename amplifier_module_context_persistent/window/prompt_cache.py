"""The decision whether a session's prompt cache at its provider is still warm, or cold."""

from __future__ import annotations

from ..messages.message_times import instant_of
from ..view.cache_life import cache_lives_s


class PromptCache:
    """The time of a session's last request, by which its prompt cache is known to be warm or cold.

    Args:
        ttl_s: the seconds for which providers keep a prompt cache; None for the table of `cache_lives_s`, 0 if plans
            must not depend on the cache.
    """

    def __init__(self, ttl_s: float | None) -> None:
        self._ttl_s = ttl_s
        self._asked_at = ""

    def is_cold(self, provider: str, model: str, *, now: str, viewed_at: str) -> bool:
        """Return whether the cached prefix of the last request has expired.

        Args:
            provider: the provider of this request.
            model: the model of this request.
            now: ISO 8601.
            viewed_at: the time of an earlier process's last view, from the log; "" if unknown.
        """
        last_request = instant_of(self._asked_at or viewed_at)
        this_request = instant_of(now)
        ttl_s = self._ttl_s
        if ttl_s is None:
            ttl_s = cache_lives_s(provider, model)
        if ttl_s == 0 or last_request is None or this_request is None:
            return False
        return (this_request - last_request).total_seconds() > ttl_s

    def note_request(self, now: str) -> None:
        """Remember a request's time, in ISO 8601, once its view is made."""
        self._asked_at = now
