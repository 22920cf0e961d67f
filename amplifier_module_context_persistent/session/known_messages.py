"""Tell whether a log has, or once had, a message of a list: live, hidden by a reset, or removed by a purge.

So it tells which messages at the end of a list are newer than the log (`KnownMessages.newer_part`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime
from functools import cached_property

from ..log.contract import Log
from ..log.control_records import control_records
from ..log.record_line import REMOVALS
from ..messages.host_form import content_key
from ..messages.message import Message
from ..messages.message_times import instant_of, timestamp_of
from ..messages.metadata import given_id, is_repair
from .replayed_messages import stored_under

_LEAST_SAME = 2
"""The least number of messages by which an older hidden run is recognised. One word may be said twice by chance."""


class KnownMessages:
    """The live messages of a log, and the messages that were removed from its history."""

    def __init__(self, log: Log, live: Sequence[Message]) -> None:
        self._log = log
        self._live = {content_key(message): timestamp_of(message) for message in live}
        self._removed = ""
        """The time of the last reset or purge."""
        self._purged = ""
        """The time of the last purge, or "". A message that is not newer may be one of the erased messages, which are
        unknown."""
        self.ends_removed = log.index.has_removals
        """Whether no message was added to the log after its last reset or purge."""
        self.last_reset = ""
        """The id of the last reset, if no purge followed it."""
        self.ends_purged = False
        """Whether messages were purged since the last live message was added. They are unknown now."""
        if self.ends_removed:
            self._find_removals()

    def _find_removals(self) -> None:
        """Find the last reset or purge of the log. This reads the whole log."""
        last_live = b""
        for _, line in self._log.lines(self._log.index.live[-1:]):
            last_live = line
        for line, record in control_records(self._log, REMOVALS):
            if record is not None:
                self.ends_removed = True
                self._removed = str(record.get("time", ""))
                self.last_reset = str(record.get("id", ""))
                if record["_record"] == "purge":
                    self._purged = self._removed
                    self.ends_purged = self.ends_purged or record.get("messages_removed", 1) != 0
            elif line == last_live:
                self.ends_removed = False
                self.ends_purged = False

    def is_new(self, message: Message) -> bool:
        """Return whether the log never had a message: neither its id nor its content and time, also before a purge."""
        if self._is_stored(message) or self._was_removed(message):
            return False
        time = timestamp_of(message)
        if time and self._live.get(content_key(message)) == time:
            return False
        if self._purged and time and not is_newer(time, self._purged):
            return False
        return not self.ends_removed or is_newer(time, self._removed)

    def _is_stored(self, message: Message) -> bool:
        """Return whether the log has a message with this message's id, live or not."""
        message_id = given_id(message)
        return message_id is not None and stored_under(self._log, message_id) is not None

    def _was_removed(self, message: Message) -> bool:
        """Return whether a reset hid a message with the same content, so that this message is not new.

        If the message is newer than the last reset, it must also have the time of the hidden message. Otherwise it is a
        new message with the same words.
        """
        times = self._hidden_times.get(content_key(message))
        if times is None:
            return False
        time = timestamp_of(message)
        if is_newer(time, self._removed):
            return _second_of(time) in times
        return True

    def is_stale(self, message: Message) -> bool:
        """Return whether a result or closing message of a list is already known, or was removed from the history.

        A host's repair uses the same text each time, with neither an id nor a time. So text of an earlier repair that
        was removed since does not make the message stale.
        """
        if given_id(message) is not None or timestamp_of(message):
            return not self.is_new(message)
        return content_key(message) in self._hidden_words

    def newer_part(self, tail: Sequence[Message]) -> list[Message]:
        """Return the messages of a tail that may be appended: all, the last ones, or none.

        A tail that follows a live message is newer than every reset before that message, so times are not compared. If
        the last event was a reset or a purge, the tail may begin with removed messages, and only messages with a later
        time are new.

        Args:
            tail: the messages after the live history.
        """
        times = [timestamp_of(message) for message in tail]
        if self._repeats(tail) or (any(times) and not all(times)):
            return []
        are_new = [self.is_new(message) for message in tail]
        first_new = are_new.index(True) if True in are_new else len(tail)
        if first_new > 0 and not self.ends_removed:
            return []
        return list(tail[first_new:]) if all(are_new[first_new:]) else []

    def without_hidden(self, tail: Sequence[Message]) -> list[Message]:
        """Return the messages of an agent's own list after the live history, without those that a reset has hidden.

        An agent that does not know of the reset sets its old list again, perhaps with more after it. So a message is a
        hidden one if the messages up to the end of the tail, or up to the last hidden one, are the same in both. A tail
        that continues otherwise was said after the reset, also if it begins with the same words.
        """
        hidden = self._hidden_after_live
        words = [content_key(message) for message in tail]
        for start in range(len(hidden)):
            same = _same_at_start(hidden[start:], words)
            is_end = same == len(words) == len(hidden) - start
            if start > 0 and same < _LEAST_SAME and not is_end:
                continue
            if same == len(words):
                return []
            if same == len(hidden) - start:
                return list(tail[same:])
        return list(tail)

    @property
    def _hidden_after_live(self) -> list[str]:
        """The content keys of the hidden messages that were added after the last live message."""
        index = self._log.index
        first = max(index.live, default=-1) + 1
        return [content_key(message) for message in self._log.read(range(first, len(index)))]

    def _repeats(self, tail: Sequence[Message]) -> bool:
        """Return whether messages at the end of a list have no times and are all in the live history already."""
        return all(not timestamp_of(message) and content_key(message) in self._live for message in tail)

    @cached_property
    def _hidden_times(self) -> dict[str, set[datetime | None]]:
        """The times of the messages that are not live, by the key of their content."""
        times = defaultdict[str, set[datetime | None]](set)
        for message in self._hidden:
            times[content_key(message)].add(_second_of(timestamp_of(message)))
        return times

    @cached_property
    def _hidden_words(self) -> set[str]:
        """The content keys of the messages that are not live, except messages of repairs."""
        return {content_key(message) for message in self._hidden if not is_repair(message)}

    @cached_property
    def _hidden(self) -> list[Message]:
        index = self._log.index
        hidden = [ordinal for ordinal in range(len(index)) if not index.is_live(ordinal) and index.is_held(ordinal)]
        return list(self._log.read(hidden))


def _same_at_start(one: Sequence[str], other: Sequence[str]) -> int:
    """Return the number of equal items at the start of two lists."""
    same = 0
    while same < min(len(one), len(other)) and one[same] == other[same]:
        same += 1
    return same


def is_newer(time: str, than: str) -> bool:
    """Return whether one ISO 8601 time is in a later second than another.

    Return False if one of the texts is no time.
    """
    second = _second_of(time)
    other = _second_of(than)
    return second is not None and other is not None and second > other


def _second_of(time: str) -> datetime | None:
    instant = instant_of(time)
    return instant.replace(microsecond=0) if instant is not None else None
