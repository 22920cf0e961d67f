"""The files that a notice names: each file once, and a directory that they share only once.

A notice is the text in which a view says what it leaves out. Sessions name files by long absolute paths, so the
directory of the project would take most of the room.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from .failed_commands import each_once

MOST_FILES = 12  # of each kind
_BELOW = " Relative paths are below {}."


def files_text(changed: Sequence[str], read: Sequence[str]) -> str:
    """Return sentences that name the newest changed and the newest read files; "" if there are no files.

    If a file has been named by its absolute path and by the end of that path, the file is named only once: by the
    absolute path if it was changed.

    Args:
        changed: paths of files that were changed, the newest last.
        read: paths of files that were read and not changed, the newest last.
    """
    absolute = _ends(changed)
    told_changed = each_once([absolute.get(path, path) for path in changed])
    told_read = _not_told(read, told_changed)
    directory = _shared_directory([*told_changed[-MOST_FILES:], *told_read[-MOST_FILES:]])
    text = _sentence("changed", told_changed, directory) + _sentence("read", told_read, directory)
    return text + _BELOW.format(directory) if directory else text


def _not_told(read: Sequence[str], told_changed: Sequence[str]) -> list[str]:
    """Return the read files that are not among the changed ones, each by its longest name."""
    other_names = {*told_changed, *_ends(told_changed), *_ends(read)}
    found = list[str]()
    for path in dict.fromkeys(read):
        is_told_by_its_end = any(end in told_changed for end in _ends([path]))
        if path not in other_names and not is_told_by_its_end:
            found.append(path)
    return found


def _ends(paths: Sequence[str]) -> dict[str, str]:
    """Return the absolute paths by their shorter names.

    A shorter name is an end of the path with at least one directory: a file's name alone may be that of another file.
    """
    found = dict[str, str]()
    for path in filter(_is_absolute, paths):
        for at in _slashes(path, 0):
            end = path[at + 1 :]
            if "/" in end:
                found[end] = path
    return found


def _shared_directory(paths: Sequence[str]) -> str:
    """Return the directory that saves the most characters if a text names it only once.

    Return "" if no directory saves characters, or if a path is relative, because it may be below another directory.
    """
    if not all(_is_absolute(path) for path in paths):
        return ""
    times = Counter(path[:at] for path in paths for at in _slashes(path))
    saved = {name: (count - 1) * len(name) - len(_BELOW.format(name)) for name, count in times.items()}
    best = max(saved, key=lambda name: (saved[name], name), default="")
    return best if saved.get(best, 0) > 0 else ""


def _sentence(what: str, paths: Sequence[str], directory: str) -> str:
    if not paths:
        return ""
    names = paths[-MOST_FILES:]
    if directory:
        names = [path.removeprefix(f"{directory}/") for path in names]
    more = f" and {len(paths) - MOST_FILES} more" if len(paths) > MOST_FILES else ""
    return f" Files {what} in them: {', '.join(names)}{more}."


def _slashes(path: str, start: int = 1) -> list[int]:
    """Return the positions of the slashes in a path, from index `start` on."""
    return [at for at, letter in enumerate(path[start:], start) if letter == "/"]


def _is_absolute(path: str) -> bool:
    return path.startswith("/") or path[1:3] == ":/"
