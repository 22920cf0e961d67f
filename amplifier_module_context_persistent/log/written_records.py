"""Take in records that were written just now, from what is known of them: they are not scanned once more.

What the index then holds is what a scan of the same lines would put into it.
"""

from __future__ import annotations

from typing import NamedTuple

from .bare_line import is_plain_user
from .index import ASSISTANT, ID_MODULUS, LIVE, ROLE_CODES, USER
from .record import ID_KEY, TRUE_BEFORE_ID
from .salvage import ROLE_HEAD
from .scanner import Scanner

_ID_KEY_BYTES = len(ID_KEY)
_ROLE_AT = len(ROLE_HEAD)
_ROLE_BY_LETTERS = {role[:4].encode(): code for role, code in ROLE_CODES.items()}


class Written(NamedTuple):
    """A record that was sealed and written."""

    body: bytes
    line: bytes
    """With its LF."""
    crc: int
    """Its checksum, which is the seed of the next record."""


def take_written(scanner: Scanner, body: bytes, line: bytes, crc: int) -> None:
    """Take in a record that stands where the scanner stands, sealed with its seed: the fields of a `Written`."""
    builder = scanner.builder
    plain = _role_and_id(body) if builder.is_plain else None
    if plain is None:
        scanner.feed(line)
        return
    role, message_id = plain
    index, offset, length = builder.index, scanner.offset, len(line)
    index.live.append(len(index.offsets))  # as `Index.add` and `make_live` do, without their calls
    index.offsets.append(offset)
    index.lengths.append(length)
    index.roles.append(role)
    index.flags.append(LIVE)
    index.id_hashes.append(int.from_bytes(message_id, "little") % ID_MODULUS)
    index.seeds.append(scanner.seed)
    index.checks.append(crc)
    index.makers.append(builder.take_asked() if role == ASSISTANT else 0)
    index.plain_users.append(role == USER and is_plain_user(line))
    scanner.pass_sound(1, offset + length, crc)


def _role_and_id(body: bytes) -> tuple[int, bytes] | None:
    """The role's code and the id of a message that is live as it comes and not pinned; None for any other record."""
    start = body.rfind(ID_KEY)
    if start < 0 or body[:_ROLE_AT] != ROLE_HEAD or body[-2:] != b'"}' or body[start - 5 : start] == TRUE_BEFORE_ID:
        return None
    role, message_id = _ROLE_BY_LETTERS.get(body[_ROLE_AT : _ROLE_AT + 4]), body[start + _ID_KEY_BYTES : -2]
    return (role, message_id) if role is not None and b"\\" not in message_id else None
