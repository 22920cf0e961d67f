"""Lines without a checksum: the ids of their messages, and a quick way to read the plain ones of the older module.

`Scanner` reads any line; this is for those that hold no surprise, which is nearly every one in such a log. What it
gives is what the scanner would find.
"""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256
from itertools import chain
from zlib import crc32

import orjson

from .index import ID_MODULUS, LIVE, ROLE_CODES, UNCHAINED, UNKNOWN_ID, USER, Index
from .record import CRC_TAIL_BYTES, RESERVED_KEYS, Message, is_too_deep

_NOT_PLAIN = (b'"source"', b'"ephemeral"', b"system-reminder", b"\\u00")
_FLAT = frozenset({str, int, float, bool, type(None)})
_OF_ITS_OWN = frozenset({"message_id", "pinned", "critical"})


class BareLines:
    """Neighbouring plain lines, put into an index as they come.

    Args:
        index: takes them; with `late_ids` it derives their ids when they are asked for.
        offset: where the first one begins.
        seed: the checksum before it.
        max_record_bytes: longer lines are none, with their LF.
    """

    def __init__(self, index: Index, offset: int, seed: int, max_record_bytes: int) -> None:
        self._index, self._max_record_bytes = index, max_record_bytes
        self.count = 0
        self.offset = offset
        """Where the line after them begins."""
        self.last_offset = offset
        """Where the last one begins."""
        self.crc = self.computed = seed
        """The checksum up to their end, and the one as if the last one had carried one."""

    def take(self, line: bytes, rest: Iterator[bytes]) -> bytes | None:
        """Take a line (without LF) and those that follow; the first one that is no plain line, or None."""
        index, crc, limit, late = self._index, crc32, self._max_record_bytes, self._index.late_ids is not None
        live, offsets, lengths, role_codes = index.live, index.offsets, index.lengths, index.roles
        id_hashes, seeds, checks, plain_users = index.id_hashes, index.seeds, index.checks, index.plain_users
        first, offset, seed = len(offsets), self.offset, self.crc
        last, left = line, None
        for left in chain((line,), rest):
            role = role_of_plain(left) if len(left) < limit else -1
            if role < 0:
                break
            offsets.append(offset)
            lengths.append(len(left) + 1)
            role_codes.append(role)
            id_hashes.append(UNKNOWN_ID if late else id_hash_of_bare(left, offset))
            seeds.append(seed)
            seed = crc(left, seed)
            checks.append(seed)
            plain_users.append(role == USER and is_plain_user(left))
            offset += len(left) + 1
            last = left
        else:
            left = None
        self.count = count = len(offsets) - first
        index.flags.extend(bytes((LIVE | UNCHAINED,)) * count)
        index.makers.extend(bytes(count))
        live.extend(range(first, first + count))
        if count:
            index.unknown_end = first + count if late else 0
            self.offset, self.last_offset, self.crc = offset, offsets[-1], seed
            self.computed = crc(b"}", crc(last[:-CRC_TAIL_BYTES], seeds[-1]))
        return left


def role_of_plain(line: bytes) -> int:
    """The code of the role of a plain message; -1 for a line (without LF) that has to be looked at closely."""
    if line[-CRC_TAIL_BYTES:-15] == b',"_c' or line[-15:-10] == b'rc":"':  # a checksum, perhaps with a flipped bit
        return -1
    try:
        value = orjson.loads(line)
    except ValueError:
        return -1
    if type(value) is not dict or not RESERVED_KEYS.isdisjoint(value):
        return -1
    if not _FLAT.issuperset(map(type, value.values())) and is_too_deep(line, value):
        return -1
    role, metadata = value.get("role"), value.get("metadata")
    if type(metadata) is dict and not _OF_ITS_OWN.isdisjoint(metadata):
        return -1
    return ROLE_CODES.get(role, -1) if type(role) is str else -1


def message_id_of(message: Message, line: bytes, offset: int) -> str:
    """The id that a record carries, or for a bare line one derived from its bytes and its offset."""
    metadata = message.get("metadata")
    given = metadata.get("message_id") if isinstance(metadata, dict) else None
    return given if isinstance(given, str) and given else _derived_id(line.rstrip(b"\n"), offset)


def _derived_id(line: bytes, offset: int) -> str:
    return "m" + sha256(b"%d:" % offset + line).hexdigest()[:16]


def id_hash_of_bare(line: bytes, offset: int) -> int:
    """The hash by which the id is found that a line (without LF) has by its offset and its bytes."""
    return int.from_bytes(_derived_id(line, offset).encode("ascii"), "little") % ID_MODULUS


def is_plain_user(line: bytes) -> bool:
    """Whether a user's line names no source, nothing ephemeral and no reminder, not even in an escaped form."""
    find = line.rfind  # the quickest way to look for bytes that are nearly never there
    return find(_NOT_PLAIN[0]) < 0 and find(_NOT_PLAIN[1]) < 0 and find(_NOT_PLAIN[2]) < 0 and find(_NOT_PLAIN[3]) < 0
