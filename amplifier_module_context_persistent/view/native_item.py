"""What a provider compacted by itself: an opaque item in place of the older part of a view, as a plan keeps it.

The item is the message that the provider's module made (`compact_context`), carried unchanged: only that provider, with
that model, reads it. Everything that it stands for is in the log, so a plan without it can be made at any time.

An item stands for what was sent before it. Where the provider's documentation says that reasoning in the turns which
follow stays valid (`readers.ACCEPT_OWN_ITEMS`), the chain of a view (`bound`) may also go on from what it stands for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..messages.message import Message

_NAME_CHARS = 64  # as receipts keep them


@dataclass(frozen=True, slots=True)
class NativeItem:
    """An item, and for whom it is."""

    provider: str
    model: str
    message: Message
    """The message that carries it."""
    tokens: int
    covers: int = 0
    """How many messages of the view it took the place of."""
    seed: str = ""
    """The hash of tools and system text that it was made with."""
    stands_for: tuple[str, ...] = ()
    """The chains of what it took the place of; several where an earlier item is in it."""
    usage: Mapping[str, int] = field(default_factory=dict)
    """What the provider reported of the request that made it."""

    def is_for(self, provider: str, model: str) -> bool:
        """Whether a reader is the one who made it."""
        return (self.provider, self.model) == (provider[:_NAME_CHARS], model[:_NAME_CHARS])

    def to_record(self) -> dict[str, Any]:
        """The item as a plan's record has it."""
        return {
            "provider": self.provider[:_NAME_CHARS],
            "model": self.model[:_NAME_CHARS],
            "message": self.message,
            "tokens": self.tokens,
            "covers": self.covers,
            "seed": self.seed,
            "stands_for": list(self.stands_for),
            **({"usage": dict(self.usage)} if self.usage else {}),
        }

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> NativeItem:
        """Read an item back.

        Raises:
            KeyError, TypeError, ValueError: the record is not of this shape.
        """
        message = record["message"]
        if not isinstance(message, dict) or not isinstance(message.get("role"), str):
            raise TypeError("its item is no message")
        return cls(
            provider=str(record["provider"]),
            model=str(record["model"]),
            message=message,
            tokens=int(record["tokens"]),
            covers=int(record["covers"]),
            seed=str(record["seed"]),
            stands_for=tuple(map(str, record["stands_for"])),
            usage=counts_in(record.get("usage")),
        )


def counts_in(usage: Any) -> dict[str, int]:
    """The numbers of tokens in what a provider reported."""
    given = usage.items() if isinstance(usage, Mapping) else ()
    return {
        key: n for key, n in given if isinstance(key, str) and key.endswith("_tokens") and type(n) is int and n >= 0
    }
