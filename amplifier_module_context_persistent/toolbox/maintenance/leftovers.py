"""The files that killed operations of this package leave beside a log, and which nothing needs any more.

They are the files that end in `.part` (written beside their place, and never given their name) and those of purges
that did not end. Whoever writes one has it locked, so one that nobody has locked was left. A log may be missing beside
them: then the making of a session was interrupted before its log got a name.
"""

from __future__ import annotations

import os
import re

from ...log.filesystem import WINDOWS
from ...log.open_mark import OPEN_SUFFIX, is_marked
from ...log.torn_tail import saved_tails
from ...log.whole_file_lock import try_lock
from .purge_file import unfinished_purges
from .written_files import NOTE_SUFFIX

_FLAGS = os.O_RDWR | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0)
_PART = r"\.[0-9a-f]{8}\.part"


def files_left(log: str, others: tuple[str, ...] = ()) -> list[str]:
    """The files that killed operations left beside a log, of this user, that nobody writes any more.

    Args:
        log: the log's file, which may be missing.
        others: the names of the host's files, of which parts may be left too.

    Raises:
        OSError: the directory cannot be read.
    """
    log = os.path.abspath(log)
    directory, name = os.path.split(log)
    bases = "|".join(map(re.escape, (name, name + NOTE_SUFFIX, *others)))
    part = re.compile(rf"(?:{bases})(?:\.bak-context-persistent-\d+)?{_PART}")
    parts = sorted(os.path.join(directory, one) for one in os.listdir(directory) if part.fullmatch(one))
    return [path for path in (*parts, *unfinished_purges(log)) if _is_left(path)]


def place_left(log: str, others: tuple[str, ...] = (), *, tails: bool = True) -> list[str]:
    """The same for a place without a log, with what else of ours makes no sense there without one.

    Args:
        log: the log's file, which is missing.
        others: as in `files_left`.
        tails: saved torn tails too.

    Raises:
        OSError: the directory cannot be read.
    """
    if os.path.lexists(log) or is_marked(log):
        return []
    bare = [log + suffix for suffix in (NOTE_SUFFIX, OPEN_SUFFIX) if os.path.lexists(log + suffix)]
    return [*files_left(log, others), *(saved_tails(log) if tails else []), *bare]


def _is_left(path: str) -> bool:
    """Whether a file belongs to this user and to nobody's running operation."""
    try:
        status = os.stat(path, follow_symlinks=False)
        if not WINDOWS and status.st_uid != os.geteuid():
            return False
        fd = os.open(path, _FLAGS)
    except OSError:
        return False
    try:
        return try_lock(fd, exclusive=True)
    except OSError:  # no locks here: nobody knows
        return False
    finally:
        os.close(fd)
