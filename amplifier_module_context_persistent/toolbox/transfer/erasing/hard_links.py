"""Find files whose content stays on the disk after they are removed or replaced: they have other names (hard links)."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress

from ....catalogue.catalogue_file import catalogue_of, old_files
from ....log.database_location import stored_name


def with_other_names(going: Iterable[str]) -> list[str]:
    """Return the paths of files that have another name (a hard link) that is not among the given paths.

    Args:
        going: the paths of all files that are removed or replaced together. Files that do not exist are skipped.
    """
    names_of_file = dict[tuple[int, int], list[str]]()
    link_counts = dict[tuple[int, int], int]()
    for name in dict.fromkeys(going):
        with suppress(OSError):
            status = os.lstat(name)
            file = status.st_dev, status.st_ino
            names_of_file.setdefault(file, []).append(name)
            link_counts[file] = status.st_nlink
    found = list[str]()
    for file, names in names_of_file.items():
        if link_counts[file] > len(names):
            found += names
    return found


def catalogue_files(log: str) -> list[str]:
    """Return the catalogue files of a log's project.

    These files contain texts, so every deletion and purge removes them.
    """
    if stored_name(log) is not None:
        return []
    return [os.fspath(catalogue_of(log)), *old_files(log)]
