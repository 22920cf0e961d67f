"""Find out what the disk of a place refuses, so that a dry run and the real run say the same.

Nothing stays on the disk. To find out whether a name is refused, an empty directory of such a name is made for a
moment.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path

from ....errors import reason_of
from ....log.file_trust import check_trust, distrust

_REFUSED_SIGNS = '<>:"|?*\\'
"""The signs that FAT, exFAT and NTFS have in no name."""


def why_read_only(root: Path | None) -> str:
    """Return the reason why a place cannot be written to, with what to do; "" if it can, or is a database."""
    if root is None:
        return ""
    existing = _nearest_existing(root)
    if os.access(existing, os.W_OK):
        return ""
    if sys.platform != "win32":
        with suppress(OSError):
            if os.statvfs(existing).f_flag & os.ST_RDONLY:
                return f"{root} is on a disk that is read-only; unlock or mount it for writing, and say the same again"
    return f"you may not write to {root}; change its permissions, and say the same again"


def why_name_refused(root: Path | None, *names: str) -> str:
    """Return the reason why a disk takes no directory of one of the names, with what to do; "" if it takes all."""
    if root is None:
        return ""
    for name in names:
        signs = "".join(sorted(set(name) & set(_REFUSED_SIGNS)))
        if signs and not _takes(root, signs):
            return (
                f"the disk takes no {' '.join(signs)} in a name, as in {name}; `copy` writes the log to a file of a "
                "plain name there, which `import` reads, or take a disk with another file system"
            )
    return ""


def _nearest_existing(root: Path) -> Path:
    """Return a directory, or the nearest one above it that exists: a new home has no directory of projects yet."""
    return next(path for path in (root, *root.parents) if path.exists())


@cache
def _takes(root: Path, signs: str) -> bool:
    existing = _nearest_existing(root)
    probe = existing / f".context-probe-{os.getpid()}{signs}"
    try:
        probe.mkdir()
    except OSError as error:
        return bool(why_read_only(root)) or isinstance(error, FileExistsError)
    probe.rmdir()
    return True


def why_copy_distrusted(copy: str) -> str:
    """Return the reason why a copy in a file in another place is not appended to: its owner or its permissions.

    The result is "" if it can be appended to.
    """
    try:
        status = os.lstat(copy)
        if distrust(status):
            check_trust(status, copy, is_carried_copy=True)
    except OSError as error:
        return f"{copy}: {reason_of(error)}"
    return ""
