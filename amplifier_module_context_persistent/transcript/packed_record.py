"""A record that is kept small: of a log's many plans only one is looked at, and an object takes ten times its JSON."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import Self

from ..log.record import Message, decode, encode_object, name_of

_LEVEL = 1


@dataclass(frozen=True, slots=True)
class PackedRecord:
    """The JSON of a record, compressed."""

    packed: bytes
    upto: str = ""
    """Of a plan, the id of the last message that it was made for."""

    @classmethod
    def of(cls, record: Message) -> Self:
        """Pack a record that was read."""
        return cls(zlib.compress(encode_object(record) + b"}", _LEVEL), name_of(record.get("upto")))

    def record(self) -> Message:
        """Parse it afresh."""
        return decode(zlib.decompress(self.packed))
