"""Where the search index of a project's sessions lies, and how it is removed.

The index can be made again from the logs at any time. Whatever removes history for good removes it too.
"""

from __future__ import annotations

import contextlib
import glob
import os
from pathlib import Path

INDEX_NAME = "context-search.sqlite3"
_SESSIONS = "sessions"


def search_index_of(log: str | os.PathLike[str]) -> Path | None:
    """The index of the project to which a log belongs; None where it does not lie as the host's sessions do."""
    directory = Path(os.path.abspath(log)).parent.parent
    return directory.parent / INDEX_NAME if directory.name == _SESSIONS else None


def remove_search_index(log: str | os.PathLike[str]) -> None:
    """Remove the index of a log's project, and what was left of writing one.

    Raises:
        OSError: the system refuses.
    """
    index = search_index_of(log)
    if index is None:
        return
    for path in (str(index), *parts_of(index)):
        with contextlib.suppress(FileNotFoundError):
            os.remove(path)


def parts_of(index: Path) -> list[str]:
    """Files that a killed process left while it wrote an index, or that one is writing."""
    return glob.glob(f"{glob.escape(str(index))}.*.part")
