"""Recognise messages that the log already holds: hosts replay a stored transcript to resume a session."""

from __future__ import annotations

from hashlib import blake2b

from ..log.base import Log
from ..log.record import Message
from ..messages.host_form import content_key, same_content
from ..messages.metadata import given_id


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
