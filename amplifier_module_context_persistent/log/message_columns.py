"""The columns of an index: facts about each message record, in about 45 bytes."""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field

Row = tuple[int, int, int, int, int, int, int, int, int]
"""The values of the columns for one message record: offset, length, role, flags, hash of the id, seed, check, the
model's position in `Index.models`, and 1 for a plain user's message."""


@dataclass(slots=True)
class MessageColumns:
    """Columns of equal length; only `Index` fills them."""

    offsets: array[int] = field(default_factory=lambda: array("Q"))
    lengths: array[int] = field(default_factory=lambda: array("I"))
    roles: bytearray = field(default_factory=bytearray)
    flags: bytearray = field(default_factory=bytearray)
    id_hashes: array[int] = field(default_factory=lambda: array("q"))
    seeds: array[int] = field(default_factory=lambda: array("I"))
    checks: array[int] = field(default_factory=lambda: array("I"))
    """Checksums for later reads. For a record that verified, its checksum (with its seed); for any other record, the
    CRC of all its bytes."""
    answered_by: bytearray = field(default_factory=bytearray)
    """For an answer, its model as a position in `Index.models`; 0 if unknown."""
    plain_users: bytearray = field(default_factory=bytearray)
    """1 for a user message whose line has no source, no ephemeral mark and no reminder; 0 means unknown."""
