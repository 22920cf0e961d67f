"""The state of a session from the control records of its log: the plan in force, pins, hidden turns, usage, last view.

It is a part of the index (`Index.session`), filled by `session_reader`. The rest of the index does not depend on it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True)
class SessionRecords:
    """The state of a session at the end of its log."""

    plan: dict[str, Any] | None = None
    side_plan: dict[str, Any] | None = None
    """The last plan for a budget below the session's own."""
    pins: set[int] = field(default_factory=set)
    """Ordinals of live messages pinned by `pin` records. Messages pinned by metadata have the flag `PINNED`."""
    hidden: set[int] = field(default_factory=set)
    """Ordinals of live messages whose turns are hidden by `hide` records."""
    usage: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    """The last usage record of each provider and model."""
    learned: set[tuple[str, str, str]] = field(default_factory=set)
    """Facts learned from providers' refusals: the fact, the provider and the model."""
    heads: set[str] = field(default_factory=set)
    """Hashes of the head texts (system prompts) in the log's `system` records."""
    line_shown: tuple[int, str] = (0, "")
    """The number of messages before the last receipt, and the last line of the receipt's view ("" if there is no such
    line)."""
    name: str = ""
    """The person's name for the session; "" if there is none."""
    tags: tuple[str, ...] = ()
    viewed_at: str = ""
    """The time of the last view, from its receipt."""

    def take_reset(self, live: Iterable[int]) -> None:
        """Drop the plans, and the pins and hidden turns of messages that a reset does not keep live."""
        self.plan = self.side_plan = None
        self.pins.intersection_update(live)
        self.hidden.intersection_update(live)

    def forget(self, ordinal: int) -> None:
        """Drop the pin and the hidden mark of a message that is no longer live."""
        self.pins.discard(ordinal)
        self.hidden.discard(ordinal)
