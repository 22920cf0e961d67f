"""Prices of input tokens, and what a session's requests come to by them."""

from __future__ import annotations

from dataclasses import dataclass

from .measures import ANSWER_PRICE, CACHED_PRICE, UNCACHED_PRICE, Measures

_MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class Prices:
    """Prices of a million input tokens, in any currency: those read from the provider's cache, and all others.

    Providers that cache write what they have not read, so the others cost what writing costs.
    """

    cached: float
    write: float

    @classmethod
    def of(cls, *, base: float | None, cached: float | None = None, write: float | None = None) -> Prices | None:
        """Fill in what is not given from the plain input price; None where nothing is given.

        Raises:
            ValueError: there is no plain price from which to fill in.
        """
        if base is None and cached is None and write is None:
            return None
        if base is None and (cached is None or write is None):
            raise ValueError("give the plain input price, or both that of cached tokens and that of written ones")
        plain = base or 0.0
        return cls(
            CACHED_PRICE * plain if cached is None else cached, UNCACHED_PRICE * plain if write is None else write
        )

    def cost(self, measures: Measures) -> float:
        """What a policy's requests cost, summaries and their answers too.

        What the model answers otherwise costs the same under every policy and is left out.
        """
        return measures.bill(self.write, self.cached, ANSWER_PRICE / UNCACHED_PRICE * self.write) / _MILLION
