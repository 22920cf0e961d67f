"""Lines without a checksum: the ids of their messages, and a quick way to read the plain ones of the older module.

`Scanner` reads any line; this is for those that hold no surprise, which is nearly every one in such a log. What it
gives is what the scanner would find.
"""

from __future__ import annotations

from hashlib import sha256

import orjson

from .index import ROLE_CODES
from .record import CRC_TAIL_BYTES, RESERVED_KEYS, Message, is_too_deep

HEADS = (b'{"role":', b'{"role": ')
_NOT_PLAIN = (b'"source"', b'"ephemeral"', b"system-reminder", b"\\u00")
_FLAT = frozenset({str, int, float, bool, type(None)})
_OF_ITS_OWN = frozenset({"message_id", "pinned", "critical"})


def read_bare(line: bytes, offset: int) -> tuple[int, int] | None:
    """The role's code of a plain message and its id as a number; None for a line that has to be looked at closely.

    Args:
        line: without LF.
        offset: where it begins; an id is derived from it and the bytes.
    """
    if line[-CRC_TAIL_BYTES:-15] == b',"_c' or line[-15:-10] == b'rc":"':  # a checksum, perhaps with a flipped bit
        return None
    try:
        value = orjson.loads(line)
    except ValueError:
        return None
    if not RESERVED_KEYS.isdisjoint(value):
        return None
    if not _FLAT.issuperset(map(type, value.values())) and is_too_deep(line, value):
        return None
    role, metadata = value.get("role"), value.get("metadata")
    if not isinstance(role, str) or (isinstance(metadata, dict) and not _OF_ITS_OWN.isdisjoint(metadata)):
        return None
    code = ROLE_CODES.get(role)
    if code is None:
        return None
    return code, int.from_bytes(_derived_id(line, offset).encode("ascii"), "little")


def message_id_of(message: Message, line: bytes, offset: int) -> str:
    """The id that a record carries, or for a bare line one derived from its bytes and its offset."""
    metadata = message.get("metadata")
    given = metadata.get("message_id") if isinstance(metadata, dict) else None
    return given if isinstance(given, str) and given else _derived_id(line.rstrip(b"\n"), offset)


def _derived_id(line: bytes, offset: int) -> str:
    return "m" + sha256(b"%d:" % offset + line).hexdigest()[:16]


def is_plain_user(line: bytes) -> bool:
    """Whether a user's line names no source, nothing ephemeral and no reminder, not even in an escaped form."""
    return not any(word in line for word in _NOT_PLAIN)
