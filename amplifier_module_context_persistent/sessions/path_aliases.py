"""Find paths of logs that are only other paths of the same files, by symbolic links."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path


def aliases_among(statuses: Mapping[Path, os.stat_result]) -> set[Path]:
    """Return the paths that lead to a log that has another path among these, with fewer symbolic links.

    A hard link is not an alias, because it is a file of its own directory.

    Args:
        statuses: for each log's path its status, not that of the file behind a link.
    """
    paths_of_file = dict[tuple[int, int], list[Path]]()
    for path, status in statuses.items():
        with suppress(OSError):  # the link leads nowhere
            followed = path.stat() if stat.S_ISLNK(status.st_mode) else status
            if followed.st_ino:  # some systems have no such numbers
                paths_of_file.setdefault((followed.st_dev, followed.st_ino), []).append(path)
    aliases = set[Path]()
    for paths in paths_of_file.values():
        if len(paths) > 1:
            aliases |= _aliases_of_one(paths)
    return aliases


def _aliases_of_one(paths: list[Path]) -> set[Path]:
    """Return the paths of one file that are aliases: all but one for each of the file's real paths."""
    known, aliases = set[str](), set[Path]()
    for path in sorted(paths, key=_count_links):
        real = os.path.realpath(path)
        if real in known:
            aliases.add(path)
        known.add(real)
    return aliases


def _count_links(path: Path) -> int:
    """Return how many of a log, its session's directory and its project's directory are symbolic links."""
    return sum(os.path.islink(parent) for parent in (path, *path.parents[:3]))


def are_one_log(one: Path | str, other: Path | str) -> bool:
    """Return whether two paths lead to one log by symbolic links."""
    return os.path.realpath(one) == os.path.realpath(other)
