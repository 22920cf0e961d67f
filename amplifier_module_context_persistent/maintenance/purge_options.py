"""What a purge is to remove, and what it removed."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from .redact import Replace


@dataclass(frozen=True, slots=True)
class Purge:
    """What is to go; exactly one of these is set."""

    before: str | None = None
    """What stands before the message with this id."""
    cleared: bool = False
    """What is not live."""
    everything: bool = False
    redact: Replace | None = None
    """What it replaces in the strings of messages."""

    @property
    def mode(self) -> str:
        """What the `purge` record calls it."""
        if self.redact is not None:
            return "redact"
        return "before" if self.before is not None else "all" if self.everything else "cleared"


@dataclass(slots=True)
class PurgeCounts:
    """What a purge removes or would remove."""

    messages_removed: int = 0
    messages_redacted: int = 0
    messages_kept: int = 0
    controls_removed: int = 0
    controls_redacted: int = 0
    altered_kept: int = 0
    """Messages among the kept ones whose checksum was wrong; behind the purge it is right."""
    unreadable_kept: int = 0
    """Pieces that are no record; behind the purge they are still there."""
    unreadable_removed: int = 0
    torn_bytes: int = 0
    saved_tails: int = 0
    bytes_before: int = 0

    @property
    def is_nothing(self) -> bool:
        """Whether there is nothing to remove."""
        gone = self.messages_removed + self.messages_redacted + self.unreadable_removed + self.torn_bytes
        return not (gone + self.saved_tails + self.controls_removed + self.controls_redacted)

    def to_record(self) -> dict[str, int]:
        """The counts by name."""
        return dataclasses.asdict(self)
