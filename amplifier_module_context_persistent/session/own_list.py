"""The list that an agent set last, by which the beginning of its next list is recognised, also after a purge."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..erasures.purges_of_log import purges_of
from ..log.contract import Log
from ..log.index import SYSTEM
from ..messages.message import Message, texts_of
from ..messages.metadata import is_ephemeral
from .growing_list import SYSTEM_ROLES


class OwnList:
    """The list that was last set in a session. Its messages are recognised in the next list as known ones."""

    def __init__(self) -> None:
        self._count = 0
        """The number of messages in the list; 0 if none was set, or if it is not known any more."""
        self._hash = 0
        """The hash of what its messages say and call."""
        self._spoken = 0
        """The number of messages in the list other than system messages."""
        self._last_reset = ""
        """The id of the last reset that this process had made."""
        self._state = (0, 0, 0, 0)
        """The state of the log when the list was set (`_state_of`)."""

    def note(self, log: Log, host_list: Sequence[Message], last_reset: str) -> None:
        """Note the list that was set just now, after what is new in it was stored.

        Args:
            log: the session's log.
            host_list: the list.
            last_reset: the id of the last reset that this process made, or "".
        """
        self._count = len(host_list)
        self._hash = _hash_of(host_list)
        self._spoken = sum(message.get("role") not in SYSTEM_ROLES for message in host_list)
        self._last_reset = last_reset
        self._state = _state_of(log)

    def is_history(self, log: Log) -> bool:
        """Return whether the list that was set is still the whole live history, and nothing was added since."""
        roles = log.index.columns.roles
        spoken = sum(roles[ordinal] != SYSTEM for ordinal in log.index.live)
        return self._count > 0 and self._spoken == spoken and self._state == _state_of(log)

    def added(self, log: Log, host_list: Sequence[Message]) -> list[Message]:
        """Return what follows the list that was set before; nothing if the log has changed since, or the list."""
        known = self._known_beginning(host_list) if self._state == _state_of(log) else 0
        return list(host_list[known:]) if known else []

    def known_part(self, log: Log, host_list: Sequence[Message], last_reset: str) -> int:
        """Return how many messages at the beginning of a list were set before; 0 if it does not begin with that list.

        Args:
            log: the session's log, which may have been purged since the list was set.
            host_list: the list that is set now.
            last_reset: the id of the last reset that this process made, or "".
        """
        _, _, purges_then, resets_then = self._state
        purges = purges_of(log)[purges_then:]
        has_other_reset = not purges and log.index.control_counts["reset_begin"] != resets_then
        if last_reset != self._last_reset or has_other_reset:
            self._count = 0
        for purge in purges:
            self._follow_purge(log, purge)
        return self._known_beginning(host_list)

    def _follow_purge(self, log: Log, purge: Message) -> None:
        """Find the messages that stand for the list after a purge, the first one since the list was noted.

        If messages were added between, the list is not known any more: they were in the history, and not in the list.
        """
        messages_then, _, purges_then, _ = self._state
        kept_count = purge.get("messages_kept", 0)
        if purge.get("messages_removed", 0) + kept_count != messages_then:
            self._count = 0
        live = sum(ordinal < kept_count for ordinal in log.index.live)
        self._state = kept_count, live, purges_then + 1, log.index.control_counts["reset_begin"]

    def _known_beginning(self, host_list: Sequence[Message]) -> int:
        is_known = 0 < self._count <= len(host_list) and _hash_of(host_list[: self._count]) == self._hash
        return self._count if is_known else 0

    def history(self, log: Log) -> list[Message]:
        """Return the live messages that stand for the list, as the log has them now."""
        _, live_then, _, _ = self._state
        return [message for message in log.read(log.index.live[:live_then]) if not is_ephemeral(message)]


def _state_of(log: Log) -> tuple[int, int, int, int]:
    """Return the numbers of a log's messages, live messages, purges and resets."""
    counts = log.index.control_counts
    return len(log.index), len(log.index.live), counts["purge"], counts["reset_begin"]


def _hash_of(messages: Sequence[Message]) -> int:
    """Return a hash of what messages say and call. `content_key` of each takes six times the time."""
    return hash(tuple([_said_in(message) for message in messages]))


def _said_in(message: Message) -> tuple[Any, str]:
    content = message.get("content")
    calls = message.get("tool_calls")
    return content if isinstance(content, str) else tuple(texts_of(message)), repr(calls) if calls else ""
