"""Take in records that were written just now, from what is known of them: they are not scanned once more.

What the index then holds is what a scan of the same lines would put into it.
"""

from __future__ import annotations

from typing import NamedTuple

from .bare_line import is_plain_user
from .index import ASSISTANT, ID_MODULUS, LIVE, USER
from .record import ID_KEY, TRUE_BEFORE_ID
from .scanner import ROLE_BY_HEAD, Scanner

_HEAD_BYTES, _ID_KEY_BYTES = len(next(iter(ROLE_BY_HEAD))), len(ID_KEY)
_BACKSLASH = ord("\\")


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
    role, start = ROLE_BY_HEAD.get(body[:_HEAD_BYTES]), body.rfind(ID_KEY)
    message_id = body[start + _ID_KEY_BYTES : -2]
    if (
        role is None
        or start < 0
        or body[-2:] != b'"}'
        or _BACKSLASH in message_id
        or body[start - 5 : start] == TRUE_BEFORE_ID
        or not builder.is_plain
    ):  # any other record than a message that is live as it comes, and not pinned
        scanner.feed(line)
        return
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
