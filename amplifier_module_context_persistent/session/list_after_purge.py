"""A list that is set in a session whose log was purged: what was purged does not come back with the list.

An agent that keeps its own list sets it again after a purge, with the messages and texts that the purge removed. Two
things tell which they are:
- The agent's list usually grows. If it begins with the list that was set before (`OwnList`), the history as the purge
  left it takes the place of that beginning. What follows is new, and stays as the agent gives it.
- Any other list is read as an import is, by the erasures that the log's purges carried out: purged texts are replaced
  again, and messages that were purged, which are known by their ids, are left out.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

from ..erasures.erasure_list import erasures
from ..erasures.erasure_record import TEXT, Erasure
from ..erasures.purges_of_log import purges_of, salts_of_purges
from ..log.contract import Log
from ..log.index import id_hash_of
from ..messages.host_form import content_key
from ..messages.message import Message
from ..messages.metadata import given_id, is_ephemeral
from ..messages.replace_in_message import redact_message

logger = logging.getLogger(__name__)


class OwnList:
    """The list that was last set in a session. After a purge its messages are recognised as known ones."""

    def __init__(self) -> None:
        self._count = 0
        """The number of messages in the list; 0 if none was set, or if it is not known any more."""
        self._ends = (0, 0)
        """The hashes of the first and the last message's content."""
        self._live = 0
        """The number of live messages when it was set. They stand for the list."""
        self._messages = 0
        """The number of messages that the log had then, live or not."""
        self._purges = 0
        """The number of purges that the log had then."""

    def note(self, log: Log, host_list: Sequence[Message]) -> None:
        """Note the list that was set just now. It is the whole live history."""
        self._count = len(host_list)
        self._ends = _ends_of(host_list) if host_list else (0, 0)
        self._live = len(log.index.live)
        self._messages = len(log.index)
        self._purges = log.index.control_counts["purge"]

    def is_history(self, log: Log) -> bool:
        """Return whether the list that was set is still the whole live history, and nothing was added since."""
        return 0 < self._count == self._live == len(log.index.live) and self._messages == len(log.index)

    def known_part(self, log: Log, host_list: Sequence[Message]) -> int:
        """Return the length of the list that was set before, if `host_list` begins with all of it; else 0.

        Args:
            log: the session's log, which may have been purged since the list was set.
            host_list: the list that is set now.
        """
        for purge in purges_of(log)[self._purges :]:
            self._follow_purge(log, purge)
        is_same = 0 < self._count <= len(host_list) and _ends_of(host_list[: self._count]) == self._ends
        return self._count if is_same else 0

    def _follow_purge(self, log: Log, purge: Message) -> None:
        """Find the messages that stand for the list after a purge, the first one since the list was noted.

        If messages were added between, the list is not known any more: they were in the history, and not in the list.
        """
        kept_count = purge.get("messages_kept", 0)
        if purge.get("messages_removed", 0) + kept_count != self._messages:
            self._count = 0
        self._purges += 1
        self._messages = kept_count
        self._live = sum(ordinal < kept_count for ordinal in log.index.live)

    def history(self, log: Log) -> list[Message]:
        """Return the live messages that stand for the list, as the log has them now."""
        return [message for message in log.read(log.index.live[: self._live]) if not is_ephemeral(message)]


def _ends_of(messages: Sequence[Message]) -> tuple[int, int]:
    return hash(content_key(messages[0])), hash(content_key(messages[-1]))


def without_purged(
    log: Log, host_list: Sequence[Message], location: str, *, own: OwnList | None = None
) -> list[Message]:
    """Return a list without the messages and texts that were purged from the log. This reads a purged log whole.

    Args:
        log: the session's log.
        host_list: the list, as it would be stored.
        location: the log's file, or its location in a database.
        own: the list that was set before; None in a resumed session, whose log decides about known messages.

    Raises:
        LogUnreadableError: the log cannot be read.
    """
    log.follow()
    if not log.index.control_counts["purge"]:
        return list(host_list)
    known = own.known_part(log, host_list) if own is not None else 0
    if own is not None and known:
        return [*own.history(log), *host_list[known:]]
    live = {content_key(message) for message in log.read(log.index.live)}
    about = _erasures_of(log, location)
    remaining = list[Message]()
    for message in host_list:
        if content_key(message) in live:
            remaining.append(message)
        elif not _was_purged(message, about):
            remaining.append(_with_texts_replaced(message, about))
    return remaining


def _erasures_of(log: Log, location: str) -> list[Erasure]:
    """Return the erasures that the log's purges carried out; none, with a warning, if the lists cannot be read."""
    salts = salts_of_purges(log)
    try:
        return [erasure for erasure in erasures(location) if erasure.salt in salts]
    except OSError as error:
        logger.warning(
            "set_messages: what was purged here may come back, since the list of it is unreadable: %s", error
        )
        return []


def _was_purged(message: Message, about: Sequence[Erasure]) -> bool:
    """Return whether a message has the id of one that was purged."""
    message_id = given_id(message)
    return message_id is not None and any(erasure.took(id_hash_of(message_id)) for erasure in about)


def _with_texts_replaced(message: Message, about: Sequence[Erasure]) -> Message:
    """Return a message in which the purged texts are replaced."""
    for erasure in about:
        if erasure.what == TEXT:
            message = redact_message(message, erasure.rule.replacement)
    return message
