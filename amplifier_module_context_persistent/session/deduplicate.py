"""Recognise messages that the log already holds: hosts replay a stored transcript to resume a session."""

from __future__ import annotations

from hashlib import blake2b

from ..log.base import Log
from ..log.index import Index
from ..log.record import Message
from ..messages.host_form import content_key, same_content
from ..messages.metadata import given_id, timestamp_of


def find_by_id(log: Log, message: Message, message_id: str) -> tuple[int | None, bool]:
    """Find a live record by the id that a message brings along: its ordinal, and whether the contents are the same.

    The ordinal is None if no live record has the id; the flag then says whether another record has it.
    """
    ordinal = log.index.find(message_id)
    if ordinal is None:
        return None, False
    (stored,) = log.read([ordinal])
    if given_id(stored) != message_id:  # another id with the same hash
        return None, False
    if not log.index.is_live(ordinal):
        return None, True
    return ordinal, same_content(stored, message)


def free_id_for(log: Log, message: Message, brought: str) -> str | None:
    """The id under which to store a message that has one already; None if the log holds the message.

    If the id belongs to another message, or to one that is no longer live, another id is derived from it and the
    content. So a host that brings the message again at each resume finds it, and it is stored once.
    """
    candidate = brought
    while True:
        ordinal, known = find_by_id(log, message, candidate)
        if ordinal is None and not known:
            return candidate
        if ordinal is not None and known:
            return None
        digest = blake2b(f"{candidate}\0{content_key(message)}".encode("utf-8", "surrogatepass"), digest_size=8)
        candidate = f"m{digest.hexdigest()}"


class TimestampReplays:
    """Messages without an id, recognised by timestamp and content; each record answers for one of them.

    Only records that the log held when it was opened are looked at: what this process adds is no replay. They are
    remembered by their ids, since a purge by another process gives records other ordinals.
    """

    def __init__(self, opened_with: int) -> None:
        self._opened_with = opened_with
        self._by_timestamp: dict[str, list[str]] | None = None
        self._claimed: set[str] = set()

    def find(self, log: Log, message: Message) -> str | None:
        """The id of a record that a message replays; `claim` it."""
        if not self._opened_with or not (timestamp := timestamp_of(message)):
            return None
        if self._by_timestamp is None:
            self._by_timestamp = self._collect(log, log.index)
        for message_id in self._by_timestamp.get(timestamp, ()):
            if message_id not in self._claimed and find_by_id(log, message, message_id)[1]:
                return message_id
        return None

    def claim(self, message_id: str) -> None:
        """Mark a record as replayed, so that it answers for no other message."""
        self._claimed.add(message_id)

    def release(self, message_id: str) -> None:
        """Let a record answer again: the message for which it was claimed is prepared anew."""
        self._claimed.discard(message_id)

    def _collect(self, log: Log, index: Index) -> dict[str, list[str]]:
        known: dict[str, list[str]] = {}
        ordinals = [ordinal for ordinal in index.live if ordinal < self._opened_with]
        for stored in log.read(ordinals):
            if timestamp := timestamp_of(stored):
                known.setdefault(timestamp, []).append(str(given_id(stored)))
        return known
