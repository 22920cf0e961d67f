"""Recognise messages that a host adds again when it resumes a session: they are acknowledged, and not stored twice.

A message with an id is recognised by the id; a message without one by its time and content (`TimestampReplays`).
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Sequence
from hashlib import blake2b

from ..log.contract import Log
from ..log.record_line import Message
from ..messages.host_form import content_key, same_content
from ..messages.message_times import timestamp_of
from ..messages.metadata import given_id


def stored_under(log: Log, message_id: str) -> tuple[int, Message] | None:
    """Return the ordinal and the message that a log has under an id, live or hidden, or None."""
    ordinal = log.index.find(message_id)
    if ordinal is None:
        return None
    (stored,) = log.read([ordinal])
    return (ordinal, stored) if given_id(stored) == message_id else None  # else another id has the same hash


def is_live_as(log: Log, stored: tuple[int, Message], message: Message) -> bool:
    """Return whether a stored message is live and has the content of another message.

    Args:
        log: the open log of the session.
        stored: a message of the log, with its ordinal.
        message: the message to compare with it.
    """
    ordinal, stored_message = stored
    return log.index.is_live(ordinal) and same_content(stored_message, message)


def free_id_for(log: Log, message: Message, given_message_id: str) -> str | None:
    """Return the id under which to store a message that has an id, or None if the log has the message.

    If the id belongs to another message, or to a message that is no longer live, a new id is derived from it and the
    content. So a host may bring the message again at each resume; it is stored once.
    """
    candidate = given_message_id
    while (known := stored_under(log, candidate)) is not None:
        if is_live_as(log, known, message):
            return None
        digest = blake2b(f"{candidate}\0{content_key(message)}".encode("utf-8", "surrogatepass"), digest_size=8)
        candidate = f"m{digest.hexdigest()}"
    return candidate


class TimestampReplays:
    """Recognises replayed messages without an id by time and content. Each record matches one message.

    Only records that the log had when it was opened can match: messages that this process adds are not replays. Records
    are remembered by id, because a purge by another process changes ordinals.
    """

    def __init__(self, opened_with: int) -> None:
        self._opened_with = opened_with
        self._free: dict[bytes, deque[str]] | None = None
        """The ids of the records that have matched no message yet, by time and content; None until the first call."""
        self._answers: dict[str, str] = {}
        """The id of the matched record, by the id that the replayed message would have got."""

    def answer(self, log: Log, message: Message, own_id: str) -> bool:
        """Return whether a message replays a record, live or hidden.

        Repeated calls for a message match the same record.
        """
        if not self._opened_with or not timestamp_of(message):
            return False
        if own_id in self._answers and stored_under(log, self._answers[own_id]) is not None:
            return True
        if self._free is None:
            self._free = self._collected(log)
        free = self._free.get(_time_and_content(message), deque())
        for _ in range(len(free)):
            message_id = free.popleft()
            stored = stored_under(log, message_id)
            if stored is not None and same_content(stored[1], message):
                self._answers[own_id] = message_id
                return True
            free.append(message_id)  # its content differs, as hosts drop parts of some messages
        return False

    def _collected(self, log: Log) -> dict[bytes, deque[str]]:
        ids = defaultdict[bytes, deque[str]](deque)
        for stored in log.read([ordinal for ordinal in log.index.live if ordinal < self._opened_with]):
            if timestamp_of(stored) and (message_id := given_id(stored)):
                ids[_time_and_content(stored)].append(message_id)
        return ids


def _time_and_content(message: Message) -> bytes:
    """Return a digest of time and content that a message and its replay share."""
    text = f"{timestamp_of(message)}\0{content_key(message)}"
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def overlap(first: Sequence[str], last: Sequence[str]) -> int:
    """Return the length of the longest start of `first` that is also the end of `last`.

    This is the prefix function of Knuth, Morris and Pratt, in a time proportional to the lengths of the lists.
    """
    joined: list[str | None] = [*first, None, *last]
    lengths = [0] * len(joined)  # of the longest start of `joined` that ends at each position
    for position in range(1, len(joined)):
        length = lengths[position - 1]
        while length > 0 and joined[position] != joined[length]:
            length = lengths[length - 1]
        if joined[position] == joined[length]:
            length += 1
        lengths[position] = length
    return lengths[-1]
