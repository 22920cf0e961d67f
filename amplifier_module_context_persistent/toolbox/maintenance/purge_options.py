"""The request of a purge, and its result."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass

from ...messages.replace_in_message import Replace


@dataclass(frozen=True, slots=True)
class Purge:
    """The content to remove: at most one of the first five fields; `torn` with it or alone."""

    before: str | None = None
    """All messages before the message with this id."""
    cleared: bool = False
    """All messages that are not live."""
    everything: bool = False
    redact: Replace | None = None
    """The replacement in the strings of messages."""
    took: Callable[[int], bool] | None = None
    """Whether another purge took a message, by the hash of its id."""
    torn: bool = False
    """The torn tails that were saved beside the log, and the one at its end."""

    @property
    def is_torn_only(self) -> bool:
        """Whether nothing of the log itself goes."""
        takes_messages = self.before is not None or self.cleared or self.everything or self.took
        return self.torn and not (takes_messages or self.redact)

    @property
    def mode(self) -> str:
        """Its name in the `purge` record."""
        if self.redact is not None:
            return "redact"
        if self.took is not None:
            return "messages"
        if self.before is not None:
            return "before"
        return "all" if self.everything else "cleared"


@dataclass(slots=True)
class PurgeCounts:
    """The counts of what a purge removes or would remove."""

    messages_removed: int = 0
    messages_redacted: int = 0
    messages_kept: int = 0
    controls_removed: int = 0
    controls_redacted: int = 0
    altered_kept: int = 0
    """Messages among the kept ones whose checksum is wrong; after the purge they are still reported."""
    unreadable_kept: int = 0
    """Pieces that are no record; after the purge they are still there."""
    unreadable_removed: int = 0
    torn_bytes: int = 0
    saved_tails: int = 0
    tails_matching: int = 0
    """Torn tails, saved or at the log's end, that hold what is to be redacted, and stay."""
    names_matching: int = 0
    """Messages that hold what is to be redacted in an id, a name or a key, which stay."""
    bytes_before: int = 0

    @property
    def is_nothing(self) -> bool:
        """Whether there is nothing to remove."""
        gone = self.messages_removed + self.messages_redacted + self.unreadable_removed + self.torn_bytes
        return not (gone + self.saved_tails + self.controls_removed + self.controls_redacted)

    def to_record(self) -> dict[str, int]:
        """The counts by name."""
        return dataclasses.asdict(self)
