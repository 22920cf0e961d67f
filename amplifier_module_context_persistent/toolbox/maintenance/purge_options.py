"""The options of a purge, and the counts of its result."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass

from ...messages.replace_in_message import Replace


@dataclass(frozen=True, slots=True)
class Purge:
    """The content that a purge removes: at most one of the first five fields, and `torn` with that field or alone."""

    before: str | None = None
    """The id of a message: all messages before this message are removed."""
    cleared: bool = False
    """Remove all messages that are not live, that is, not in the current history."""
    everything: bool = False
    redact: Replace | None = None
    """A function that replaces text in the strings of messages."""
    took: Callable[[int], bool] | None = None
    """A function that tells, by the hash of a message's id, whether another purge removed the message. Such messages
    are removed here too."""
    took_all: bool = False
    """With `took`: whether the other purge removed everything. If so, and a log has only messages that the other purge
    removed, everything is removed from the log, also names, tags, pins and hidden turns."""
    torn: bool = False
    """Remove the torn tails that were saved beside the log, and the torn tail at the log's end."""

    @property
    def is_torn_only(self) -> bool:
        """Whether only torn tails are removed."""
        takes_messages = self.before is not None or self.cleared or self.everything or self.took
        return self.torn and not (takes_messages or self.redact)

    @property
    def mode(self) -> str:
        """The name of this kind of purge in the `purge` record."""
        if self.redact is not None:
            return "redact"
        if self.took is not None:
            return "messages"
        if self.before is not None:
            return "before"
        return "all" if self.everything else "cleared"


@dataclass(slots=True)
class PurgeCounts:
    """The counts of the content that a purge removes, or would remove."""

    messages_removed: int = 0
    messages_redacted: int = 0
    messages_kept: int = 0
    controls_removed: int = 0
    controls_redacted: int = 0
    altered_kept: int = 0
    """The number of kept messages whose checksum is wrong; readers still report these messages after the purge."""
    unreadable_kept: int = 0
    """The number of pieces of bytes that are not a record and stay."""
    unreadable_removed: int = 0
    torn_bytes: int = 0
    saved_tails: int = 0
    tails_matching: int = 0
    """The number of torn tails, saved or at the log's end, that contain text to be redacted and stay unchanged."""
    names_matching: int = 0
    """The number of messages and of imports' headers with text to be redacted in an id, a name or a key, which stay."""
    bytes_before: int = 0
    leftover_lines: int = 0
    """The number of rows in a database that an earlier log of this name left; each purge of messages removes these
    rows."""

    @property
    def is_nothing(self) -> bool:
        """Whether there is nothing to remove."""
        removed_count = self.messages_removed + self.messages_redacted + self.unreadable_removed + self.torn_bytes
        removed_count += self.saved_tails + self.controls_removed + self.controls_redacted
        return not (removed_count + self.leftover_lines)

    def to_record(self) -> dict[str, int]:
        """Return the counts by name; `leftover_lines` only if there are some."""
        counts = dataclasses.asdict(self)
        if not self.leftover_lines:
            del counts["leftover_lines"]
        return counts
