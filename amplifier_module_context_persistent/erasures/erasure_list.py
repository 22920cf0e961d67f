"""Read and write lists of erasures: a file in a home or in a directory with copies, or a table of a database.

An erasure is the note that a session was deleted or that content was purged. To lift an erasure is to cancel it: it is
no longer in force.

For a session in a database, two lists apply: the database's list, which all machines read, and this user's list. Two
lists also apply to a session in another home, in a backup, or in a directory that is synced, such as a USB stick. An
erasure that is lifted in either list is no longer in force.
"""

from __future__ import annotations

import errno
import json
import os
import stat
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from ..hosts import projects_dirs
from ..log.database_location import shown_location, split_location, stored_name
from ..log.filesystem import FileSystem, make_directories
from ..paths import HOME_PROJECTS, LOG_NAME
from .erasure_record import Erasure, erasure_from

BACKUP_NAME = "context-backup.jsonl"
"""The name of the file that marks a directory as a backup (`backup_sessions.py`) and holds its list of erasures."""
ListPlace = Path | str
"""The place of a list: a file's path, or the location of a database."""
_WITHOUT_END = b'{"torn_before":true}'
"""A line that an append writes if the line before it had no LF. If that line cannot be read, it is a torn one, which a
killed append left, and no damage."""


def erasures_path() -> Path:
    """Return the path of this user's list of erasures."""
    return Path.home() / ".amplifier" / "context-erased.jsonl"


def list_of_directory(root: Path) -> Path:
    """Return the path of the list of erasures for a directory of projects: in a home, a backup, or a synced place."""
    if root.parts[-2:] == HOME_PROJECTS.parts:
        return root.parent / erasures_path().name
    backup = root / BACKUP_NAME
    return backup if backup.exists() else root / erasures_path().name


def lists_of(log: str) -> list[ListPlace]:
    """Return the places of the lists of erasures that apply to a log: this user's list, and the one of its directory.

    Args:
        log: a log's file, a log's location, or the location of a database.
    """
    if stored_name(log) is not None:
        return [erasures_path(), split_location(log)[0]]
    other = _other_list(log)
    return [erasures_path()] if other is None else [erasures_path(), other]


def _other_list(log: str) -> Path | None:
    """Return the list of the directory that a log's file is in.

    Returns None if this is the user's own list, or if the directory is not a directory of projects. The names of
    projects begin with `-`. Other hosts' directories on this machine have no list of their own, unless a sync made one.
    """
    path = Path(os.path.abspath(log))
    if path.name != LOG_NAME or len(path.parents) < 4 or path.parents[1].name != "sessions":
        return None
    project = path.parents[2].name
    root = path.parents[3]
    found = list_of_directory(root)
    if found.exists():
        return None if _is_same(found, erasures_path()) else found
    own = {os.path.realpath(directory) for directory in projects_dirs()}
    if project.startswith("-") and os.path.realpath(root) not in own:
        return found
    return None


def _is_same(one: Path, two: Path) -> bool:
    return os.path.realpath(one) == os.path.realpath(two)


Noted = tuple[dict[str, Erasure], set[str]]
"""The erasures of a list that are in force, by their salts, and the salts of the lifted erasures."""


class ErasureLists:
    """Reads lists of erasures for several operations in a row.

    A file is read again only if it has changed, so that erasures that another process adds meanwhile are honoured. A
    table of a database is read each time.
    """

    def __init__(self) -> None:
        self._read: dict[Path, tuple[tuple[int, ...], Noted]] = {}
        """The content of each file, and the state of the file before it was read."""

    def in_force(self, log: str = "") -> list[Erasure]:
        """Return the erasures that are in force for a log or a place of logs, oldest first.

        By default, return the erasures of this user's list.

        Raises:
            OSError: a list exists and cannot be read.
        """
        force = dict[str, Erasure]()
        lifted = set[str]()
        for place in lists_of(log):
            found, lifts = self._noted_in(place)
            force |= found
            lifted |= lifts
        return [erasure for salt, erasure in force.items() if salt not in lifted]

    def _noted_in(self, place: ListPlace) -> Noted:
        if isinstance(place, str):
            return read_erasures(place)
        try:
            status = place.stat()
        except FileNotFoundError:
            return {}, set()
        state = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
        known = self._read.get(place)
        if known is None or known[0] != state:
            self._read[place] = known = (state, read_erasures(place))
        return known[1]


def erasures(log: str = "") -> list[Erasure]:
    """Return the erasures that are in force for a log or a place of logs, as `ErasureLists.in_force`."""
    return ErasureLists().in_force(log)


def erasures_noted_in(place: ListPlace) -> list[Erasure]:
    """Return the erasures that are in force by one list alone.

    Raises:
        OSError: the list exists and cannot be read.
    """
    found, lifted = read_erasures(place)
    return [erasure for salt, erasure in found.items() if salt not in lifted]


def read_erasures(place: ListPlace | None = None) -> Noted:
    """Return the erasures of a list that are in force, by their salts, and the salts of the lifted erasures.

    Raises:
        OSError: the list exists and cannot be read, or one of its lines is damaged.
    """
    found: dict[str, Erasure] = {}
    lifted = set[str]()
    place = erasures_path() if place is None else place
    lines = _lines_and_rest(place)
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except (ValueError, RecursionError) as error:
            if _is_without_end(lines, number):
                continue
            raise _damaged(place, number) from error
        try:
            for salt in value.get("lifts", ()):
                found.pop(str(salt), None)
                lifted.add(str(salt))
            if "erased" in value:
                found[str(value["salt"])] = erasure_from(value)
        except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError) as error:
            raise _damaged(place, number) from error
    return found, lifted


def _lines_and_rest(place: ListPlace) -> Sequence[str | bytes]:
    """Return the lines of a list, and last what follows them without an end of line; usually nothing does.

    A killed append leaves a torn last line. Nothing was removed yet when it was killed, so a torn line says nothing. A
    last line that can be read is whole: an editor saved the file without the end of the line.
    """
    if isinstance(place, str):
        from ..log.postgres.erasure_rows import erasure_lines  # its driver is an extra

        return [*erasure_lines(place), ""]
    try:
        check_regular(place.stat(), place)
        return place.read_bytes().split(b"\n")
    except FileNotFoundError:
        return []


def _is_without_end(lines: Sequence[str | bytes], number: int) -> bool:
    """Tell whether a line was written without its end: it is the last one, or `_WITHOUT_END` follows.

    A part of the mark counts too: the append that wrote it may also have been killed. Every line begins like the mark,
    so only a line that cannot be read is torn.
    """
    if number == len(lines):
        return True
    following = lines[number]
    return isinstance(following, bytes) and bool(following) and _WITHOUT_END.startswith(following)


def _damaged(place: ListPlace, number: int) -> OSError:
    name = shown_location(place) if isinstance(place, str) else os.fspath(place)
    what = (
        f"line {number:,} of this list of erasures is damaged, so it is not known what was erased; put a sound copy of "
        "the line there (places that were synced have the same lines), or remove the line: what it named may come back"
    )
    return OSError(errno.EINVAL, what, name)


def check_regular(status: os.stat_result, place: Path) -> None:
    """Check that a list is a file, as nothing else can be read and added to.

    Raises:
        OSError: it is a directory, a pipe or a device.
    """
    if not stat.S_ISREG(status.st_mode):
        what = f"this is no regular file, and the list {place.name} has to be one: move it away, then try again"
        raise OSError(errno.EINVAL, what, os.fspath(place))


def note_erasure(erasure: Erasure, log: str = "") -> None:
    """Add an erasure durably to all lists of a log; by default to this user's list only.

    If the log is in another directory with its own list, the line in this user's list gets a mark, so that the next
    sync carries out the erasure in the home.

    Raises:
        OSError: a list cannot be written.
    """
    own, *others = lists_of(log)
    for place in others:
        note_erasures([erasure], place)
    is_elsewhere = any(isinstance(place, Path) for place in others)
    note_erasures([replace(erasure, is_elsewhere=is_elsewhere)], own)


def note_erasures(found: Iterable[Erasure], place: ListPlace | None = None) -> None:
    """Add erasures to one list, by default to this user's list. Errors are those of `note_erasure`."""
    lines = [erasure.to_line() for erasure in found if erasure.is_named]
    if lines:
        _append(lines, place)


def lift(found: Iterable[Erasure], log: str = "") -> None:
    """Lift erasures in all lists of a log. Takes the same log and raises the same errors as `note_erasure`."""
    found = list(found)
    for place in lists_of(log):
        lift_in(found, place)


def lift_in(found: Iterable[Erasure], place: ListPlace | None) -> None:
    """Lift erasures in one list; None is this user's list. Errors are those of `note_erasure`."""
    salts = [erasure.salt for erasure in found if erasure.is_named]
    if salts:
        _append([json.dumps({"lifts": salts}).encode() + b"\n"], place)


def _append(lines: list[bytes], place: ListPlace | None) -> None:
    if isinstance(place, str):
        from ..log.postgres.erasure_rows import add_erasure_lines  # its driver is an extra

        add_erasure_lines(place, [line.decode().removesuffix("\n") for line in lines])
    else:
        append_to_list(b"".join(lines), place or erasures_path())


def append_to_list(line: bytes, file: Path) -> None:
    """Append a line durably to the file of a list; make the file, with mode 0600, if it is missing.

    Raises:
        OSError: the file is no regular one, or cannot be written.
    """
    path = os.fspath(file)
    files = FileSystem()
    make_directories(files, os.path.dirname(path))
    fd = files.open_log(path, create=True)
    try:
        check_regular(files.fstat(fd), file)
        size = files.fstat(fd).st_size
        has_no_end = bool(size) and files.read(fd, 1, size - 1) != b"\n"
        content = b"\n" + _WITHOUT_END + b"\n" + line if has_no_end else line
        if files.write(fd, content) != len(content):
            raise OSError(errno.ENOSPC, "there is no room for a line in the list", path)
        files.sync(fd)
        files.sync_directory(os.path.dirname(path))
    finally:
        files.close(fd)
