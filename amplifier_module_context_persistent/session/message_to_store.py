"""A message that will be stored under an id: appended alone, or as a member of a reset."""

from __future__ import annotations

from dataclasses import dataclass

from ..log.record_line import Member, Message, encode_message


@dataclass(frozen=True, slots=True)
class MessageToStore:
    """A message that will be stored under an id: alone, or as a member of a reset (a `reset_record.NewMessage`).

    The message's own time is kept; `timestamp` is for a message without a time.
    """

    message: Message
    message_id: str
    timestamp: str

    def encode(self) -> bytes:
        """Encode the message, as a member of no reset."""
        return encode_message(self.message, message_id=self.message_id, timestamp=self.timestamp)

    def __call__(self, member: Member) -> bytes:
        """Encode the message as a member of a reset."""
        return encode_message(self.message, message_id=self.message_id, timestamp=self.timestamp, member=member)


def key_of(item: int | MessageToStore) -> int | str:
    """Return the ordinal or the new id of an item of a history."""
    return item if isinstance(item, int) else item.message_id
