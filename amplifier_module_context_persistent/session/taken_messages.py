"""What is taken from a list that a host or an agent sets: new messages, or a new order of the history."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..messages.message import Message


@dataclass(frozen=True, slots=True)
class TakenMessages:
    """The messages to append from a list, and the new order of the history if a late result is moved."""

    new: list[Message] = field(default_factory=list)
    """The new messages in the order of the list. A message in the middle names the message that it follows."""
    order: list[int | Message] = field(default_factory=list)
    """The whole new history, as ordinals and new messages, if a result is moved or an agent changed what it added
    itself. Otherwise the list is empty."""
    repairs: bool = False
    """Whether the list has more changes than a tail."""
    reason: str = "repair"
    """The reason of the reset, if there is a new order."""

    def __bool__(self) -> bool:
        return bool(self.new or self.order)
