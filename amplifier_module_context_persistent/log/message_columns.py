"""The columns of an index: what is known of each message record, at its ordinal, in about 45 bytes."""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field

Row = tuple[int, int, int, int, int, int, int, int, int]
"""What the columns hold of one message record: offset, length, role, flags, hash of its id, seed, check, a position in
`Index.models`, and 1 for a plain user's message."""


@dataclass(slots=True)
class MessageColumns:
    """Columns of one length; `Index.add` alone fills them."""

    offsets: array[int] = field(default_factory=lambda: array("Q"))
    lengths: array[int] = field(default_factory=lambda: array("I"))
    roles: bytearray = field(default_factory=bytearray)
    flags: bytearray = field(default_factory=bytearray)
    id_hashes: array[int] = field(default_factory=lambda: array("q"))
    seeds: array[int] = field(default_factory=lambda: array("I"))
    checks: array[int] = field(default_factory=lambda: array("I"))
    """What a later reading is checked against: of a record that verified, its checksum (with its seed); of any other
    one, the CRC of all its bytes."""
    answered_by: bytearray = field(default_factory=bytearray)
    """Of an answer, who gave it: a position in `models`; 0 where nobody knows."""
    plain_users: bytearray = field(default_factory=bytearray)
    """1 for a user's message whose line names no source, nothing ephemeral and no reminder; of a 0 nothing is known."""
