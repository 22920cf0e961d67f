"""Recognise messages that the log already holds: hosts replay a stored transcript to resume a session.

One that brings an id is known by it; one without (`TimestampReplays`), by when it was written and what it says.
"""

from __future__ import annotations

from array import array
from hashlib import blake2b

from ..log.base import Log
from ..log.id_table import FEW, IdTable
from ..log.index import id_hash_of
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
    remembered by the hashes of their ids, since a purge by another process gives records other ordinals. About 25 bytes
    a record; whatever a hash finds is read before it counts.
    """

    def __init__(self, opened_with: int) -> None:
        self._opened_with = opened_with
        self._is_collected = False
        self._stamps, self._ids = array("q"), array("q")
        """The hashes of the timestamps and of the ids of those records that have a timestamp."""
        self._table = IdTable()
        """Finds hashes in `_stamps`."""
        self._last = ("", list[int]())
        """The timestamp that was asked for last, and the hashes of the ids of its records."""
        self._claimed: set[int] = set()

    def find(self, log: Log, message: Message) -> str | None:
        """The id of a record that a message replays; `claim` it."""
        if not self._opened_with or not (timestamp := timestamp_of(message)):
            return None
        if not self._is_collected:
            self._collect(log)
        if self._last[0] != timestamp:
            positions = sorted(self._table.positions(_hash_of(timestamp), self._stamps))
            self._last = timestamp, [self._ids[position] for position in positions]
        for hashed in self._last[1]:
            if hashed not in self._claimed and (message_id := _replayed(log, hashed, message, timestamp)):
                return message_id
        return None

    def claim(self, message_id: str) -> None:
        """Mark a record as replayed, so that it answers for no other message."""
        self._claimed.add(_hash_of(message_id))

    def release(self, message_id: str) -> None:
        """Let a record answer again: the message for which it was claimed is prepared anew."""
        self._claimed.discard(_hash_of(message_id))

    def _collect(self, log: Log) -> None:
        ordinals = array("I", filter(self._opened_with.__gt__, log.index.live))
        for stored in log.read(ordinals):
            if (timestamp := timestamp_of(stored)) and (message_id := given_id(stored)):
                self._stamps.append(_hash_of(timestamp))
                self._ids.append(_hash_of(message_id))
        while self._table.count < len(self._stamps) - FEW:
            self._table.catch_up(self._stamps)
        self._is_collected = True


def _replayed(log: Log, hashed: int, message: Message, timestamp: str) -> str | None:
    """The id of the record whose id has a hash, if it has this timestamp and this content; it may be hidden by now."""
    ordinal = log.index.find_hashed(hashed)
    if ordinal is None:
        return None
    (stored,) = log.read([ordinal])
    return given_id(stored) if timestamp_of(stored) == timestamp and same_content(stored, message) else None


def _hash_of(text: str) -> int:
    return id_hash_of(text.encode("utf-8", "surrogatepass"))
