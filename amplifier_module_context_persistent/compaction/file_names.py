"""The files that a notice names: each once, and a directory that they share only once.

Sessions name files by long absolute paths, so the directory of the project would take most of the room.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

MOST_FILES = 12  # of each kind


def files_text(changed: Sequence[str], read: Sequence[str]) -> str:
    """Sentences that name files, the newest of them.

    Args:
        changed: paths of files that were changed, the newest last.
        read: paths of files that were read and not changed, the newest last.
    """
    by_end = _ends(changed)
    told = list(dict.fromkeys(by_end.get(path, path) for path in reversed(changed)))[::-1]
    named = {*_ends([*read, *told]), *told}
    also = [path for path in dict.fromkeys(read) if path not in named and _ends([path]).keys().isdisjoint(told)]
    directory = _shared_directory([*told[-MOST_FILES:], *also[-MOST_FILES:]])
    text = _sentence("changed", told, directory) + _sentence("read", also, directory)
    return text + _below(directory) if directory else text


def _ends(paths: Sequence[str]) -> dict[str, str]:
    """By what they may also be named by, absolute paths: by an end, but no name alone, which may be another file's."""
    ends = ((path[at + 1 :], path) for path in paths if _is_absolute(path) for at in _slashes(path, 0))
    return {end: path for end, path in ends if "/" in end}


def _shared_directory(paths: Sequence[str]) -> str:
    """The directory that saves most if it is named once; none where relative paths may be below another one."""
    if not all(_is_absolute(path) for path in paths):
        return ""
    counts = Counter(path[:at] for path in paths for at in _slashes(path))
    saved = {name: (times - 1) * len(name) - len(_below(name)) for name, times in counts.items()}
    best = max(saved, key=lambda name: (saved[name], name), default="")
    return best if best and saved[best] > 0 else ""


def _below(directory: str) -> str:
    return f" Relative paths are below {directory}."


def _sentence(what: str, paths: Sequence[str], directory: str) -> str:
    if not paths:
        return ""
    below = f"{directory}/"
    named = ", ".join([path.removeprefix(below) if directory else path for path in paths[-MOST_FILES:]])
    more = f" and {len(paths) - MOST_FILES} more" if len(paths) > MOST_FILES else ""
    return f" Files {what} in them: {named}{more}."


def _slashes(path: str, start: int = 1) -> list[int]:
    """Where the slashes of a path are from a letter on."""
    return [at for at, letter in enumerate(path[start:], start) if letter == "/"]


def _is_absolute(path: str) -> bool:
    return path.startswith("/") or path[1:3] == ":/"
