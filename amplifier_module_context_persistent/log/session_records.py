"""What a log's control records say to a session: the plan in force, pins, hidden turns, usage, the last view.

An index has one (`Index.session`), which `session_reader` fills beside it. What a log is, the index says without it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True)
class SessionRecords:
    """What is in force at the end of a log."""

    plan: dict[str, Any] | None = None
    side_plan: dict[str, Any] | None = None
    """The last plan for a budget below the session's own."""
    pins: set[int] = field(default_factory=set)
    """The ordinals of live messages that `pin` records hold; those pinned by their metadata are flagged `PINNED`."""
    hidden: set[int] = field(default_factory=set)
    """The ordinals of live messages whose turns `hide` records keep out of views."""
    usage: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    """By provider and model, the last record of what a view came to."""
    learned: set[tuple[str, str, str]] = field(default_factory=set)
    """What a provider's refusals taught: what, the provider and the model."""
    heads: set[str] = field(default_factory=set)
    """The hashes of the head texts that the log keeps for its receipts."""
    line_shown: tuple[int, str] = (0, "")
    """The line that the last view ended with, as its receipt says, or "", and how many messages there were then."""
    name: str = ""
    """What a person called the session; empty if nobody did."""
    tags: tuple[str, ...] = ()
    viewed_at: str = ""
    """When the last view was handed out, as its receipt says."""

    def take_reset(self, live: Iterable[int]) -> None:
        """Void the plans, and the pins and hidden turns of messages that a reset does not keep live."""
        self.plan = self.side_plan = None
        self.pins.intersection_update(live)
        self.hidden.intersection_update(live)

    def forget(self, ordinal: int) -> None:
        """Hold nothing more of a message that is live no more."""
        self.pins.discard(ordinal)
        self.hidden.discard(ordinal)
