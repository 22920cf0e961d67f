"""Format versions: find logs of a later version, and refuse unreadable ones.

A header names the version of the records after it. A later version may compute checksums differently. So a header of a
later version has an effect even if its checksum fails, if it begins the chain or follows another line that fails. Then
the known parts of the log are read, and it is never appended to (`check_may_append`). In any other place a header with
a wrong checksum is damage and has no effect.
"""

from __future__ import annotations

import errno
import json
import re
from collections.abc import Iterable

from ..errors import LogUnreadableError, LogVersionError
from .checksum import CRC_TAIL_BYTES, continues, stored_crc
from .index import Index
from .record_line import FORMAT_VERSION, Message

_OWN_HEAD = b'{"_record":"header","version":%d' % FORMAT_VERSION
_ANY_HEAD = re.compile(rb'\{"_record":"header",".{7}":[^,}]*', re.DOTALL)
_NEVER_RELEASED = "1"


def unknown_version(header: Message) -> str:
    """Return the version in a header as text if this package does not know the version; else ""."""
    version = header.get("version")
    if type(version) is int and version == FORMAT_VERSION:
        return ""
    return json.dumps(version)[:20] if "version" in header else "none"


def is_own_header(line: bytes, seeds: Iterable[int]) -> bool:
    """Return whether a header's checksum is right for the known version, so that damage changed only its version.

    Args:
        line: the header's line, without LF.
        seeds: the checksums that may come before it.
    """
    stored = stored_crc(line)
    found = _ANY_HEAD.match(line)
    if stored is None or found is None:
        return False
    body = _OWN_HEAD + line[found.end() : -CRC_TAIL_BYTES]
    return any(continues(body, stored, seed) for seed in seeds)


def as_known_version(header: Message) -> Message:
    """Return a header with its version set to the known one, before the header is written again.

    Call this only for a log that may be appended to: there, another version in a header is damage. If it were written
    again unchanged, it would get a correct checksum, and the damage could no longer be found.
    """
    if not unknown_version(header):
        return header
    rest = {key: value for key, value in header.items() if key not in ("_record", "version")}
    return {"_record": "header", "version": FORMAT_VERSION, **rest}


def check_readable(index: Index, location: str) -> None:
    """Raise an error if a log has a version that is no longer read.

    Raises:
        LogUnreadableError: the log has a version that is no longer read.
    """
    if index.unknown_version == _NEVER_RELEASED:
        reason = "the log has format version 1, which was never released and is not read; begin a new log"
        raise LogUnreadableError(errno.EINVAL, reason, location)


def check_may_append(index: Index, location: str) -> None:
    """Raise an error if the log has a later format version, which must not be appended to.

    Raises:
        LogVersionError: the log has a later format version.
    """
    if index.unknown_version:
        reason = f"the log has format version {index.unknown_version}, which this version of the package only reads"
        raise LogVersionError(errno.EPERM, f"{reason}; update it", location)
