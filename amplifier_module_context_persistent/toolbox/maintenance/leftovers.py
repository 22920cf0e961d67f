"""Leftovers: files that killed operations of this package left beside a log and that nothing needs.

Leftovers are `.part` files, which were never renamed to their final name, and files of interrupted purges. The writer
of such a file holds a lock on the file, so an unlocked file is a leftover. If there is no log beside the leftover, the
creation of a session was interrupted before the log got its name.

Other programs use similar names: a browser that downloads a log writes `LOG.XXXXXXXX.part`. So a `.part` file is
ours only if its name has our mark and, for a log, if it begins with a header whose checksum verifies. Other files are
reported and not removed.
"""

from __future__ import annotations

import os
import re

from ...log.archive_format import HEAD
from ...log.atomic_file import PART_MARK
from ...log.checksum import CRC_TAIL_BYTES, has_crc, seal
from ...log.file_trust import is_own
from ...log.open_mark import OPEN_SUFFIX, is_marked
from ...log.os_file_lock import try_lock
from ...log.record_line import CONTROL_HEAD
from ...log.save_torn_tail import saved_tails
from ...sessions.delete_log import unfinished_purges
from .note_beside_log import NOTE_SUFFIX

_FLAGS = os.O_RDWR | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0)
_PART = rf"\.{PART_MARK}[0-9a-f]{{8}}\.part"
_PERHAPS = rf"\.(?:{PART_MARK})?[0-9a-f]{{8}}\.part"
_BACKUP = r"(?:\.bak-context-persistent-\d+)?"
_MOST_HEADER_BYTES = 8 << 20


def files_left(log: str, others: tuple[str, ...] = ()) -> list[str]:
    """Return the paths of files beside a log that killed operations of this user left there.

    Args:
        log: the log's file, which may be missing.
        others: the names of the host's files beside the log, which may have leftovers too.

    Raises:
        OSError: the directory cannot be read.
    """
    log = os.path.abspath(log)
    found = list[str]()
    for path in _parts(log, others, _PART):
        may_be_anothers = _is_of(path, log) and not _begins_with_header(path)
        if not may_be_anothers:
            found.append(path)
    found += unfinished_purges(log)
    return [path for path in found if _is_left(path)]


def doubtful_parts(log: str, others: tuple[str, ...] = ()) -> list[str]:
    """Return the paths of files that are a killed operation's or another program's, and are not removed.

    Raises:
        OSError: the directory cannot be read.
    """
    log = os.path.abspath(log)
    ours = {*files_left(log, others)}
    return [path for path in _parts(log, others, _PERHAPS) if path not in ours and _is_left(path)]


def parts_of(path: str) -> list[str]:
    """Return the paths of the `.part` files with our mark that killed operations left beside any file."""
    path = os.path.abspath(path)
    try:
        return [part for part in _parts(path, (), _PART) if _is_left(part)]
    except OSError:
        return []


def _parts(log: str, others: tuple[str, ...], ending: str) -> list[str]:
    directory, name = os.path.split(log)
    bases = "|".join(map(re.escape, (name, name + NOTE_SUFFIX, *others)))
    part = re.compile(rf"(?:{bases}){_BACKUP}{ending}")
    return sorted(
        os.path.join(directory, file_name) for file_name in os.listdir(directory) if part.fullmatch(file_name)
    )


def _is_of(path: str, log: str) -> bool:
    """Return whether a `.part` file was to become the log."""
    return re.fullmatch(re.escape(log) + _PART, path) is not None


def _begins_with_header(path: str) -> bool:
    """Return whether a file begins with a log's header and the header's checksum verifies."""
    try:
        with open(path, "rb", opener=lambda name, _: os.open(name, (_FLAGS & ~os.O_RDWR) | os.O_RDONLY)) as file:
            line = file.readline(_MOST_HEADER_BYTES)
            if line.startswith(HEAD[: len(line)]) and (line + file.read(len(HEAD))).startswith(HEAD):
                return True
    except OSError:
        return False
    if not line.startswith(CONTROL_HEAD + b':"header"') or not has_crc(line.removesuffix(b"\n")):
        return False
    return seal(line.removesuffix(b"\n")[:-CRC_TAIL_BYTES], 0)[0] == line


def place_left(log: str, others: tuple[str, ...] = (), *, tails: bool = True) -> list[str]:
    """Return the paths of the leftovers at a place without a log.

    These are the leftovers of `files_left`, and also saved torn tails, the note and the open mark, which are
    useless without a log. The list is empty if the log exists or is marked as open.

    Args:
        log: the log's file, which is missing.
        others: as in `files_left`.
        tails: include saved torn tails.

    Raises:
        OSError: the directory cannot be read.
    """
    if os.path.lexists(log) or is_marked(log):
        return []
    left = files_left(log, others)
    if tails:
        left += saved_tails(log)
    return left + [log + suffix for suffix in (NOTE_SUFFIX, OPEN_SUFFIX) if os.path.lexists(log + suffix)]


def _is_left(path: str) -> bool:
    """Return whether a file belongs to this user and no running operation holds a lock on the file."""
    try:
        status = os.stat(path, follow_symlinks=False)
        if not is_own(status):
            return False
        fd = os.open(path, _FLAGS)
    except OSError:
        return False
    try:
        return try_lock(fd, exclusive=True)
    except OSError:  # the file system has no locks, so a writer cannot be ruled out
        return False
    finally:
        os.close(fd)
