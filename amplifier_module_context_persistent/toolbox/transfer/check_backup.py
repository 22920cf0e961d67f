"""Read the copies in a backup again, some in each run, so that a copy that decayed is found while the log is there.

The file `context-backup-checked.json` in the backup notes when each copy was last found whole. Each run reads the
copies that were not read for the longest time. The file can be removed at any time; then all copies count as never
read.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from ...errors import LogError, reason_of
from ...log.atomic_file import NewFile
from ...log.filesystem import FileSystem, open_regular
from ...log.open_reader import open_reader
from ..maintenance.verify import verify_log
from .damaged_log import damage_in

NAME = "context-backup-checked.json"
READ_BYTES = 256 << 20
"""The approximate number of bytes that a run reads again."""
_VERSION = 1
_MOST_BYTES = 64 << 20


@dataclass(slots=True)
class CheckedCopies:
    """The times at which the copies in a backup were last found whole.

    Args:
        root: the directory of the backup.
        times: ISO 8601 timestamps, by the copy's path below the directory.
    """

    root: Path
    times: dict[str, str]

    def due(self, copies: Sequence[str]) -> list[str]:
        """Return the copies to read in this run: those that were not read for the longest time, and at least one."""
        chosen = list[str]()
        size = 0
        for copy in sorted(copies, key=lambda path: (self.times.get(self._name(path), ""), path)):
            size += _size(copy)
            if chosen and size > READ_BYTES:
                break
            chosen.append(copy)
        return chosen

    def note(self, copy: str, time: str) -> None:
        """Note that a copy was found whole."""
        self.times[self._name(copy)] = time

    def forget(self, copy: str) -> None:
        """Note that a copy was found damaged, so that the next run reads it first."""
        self.times.pop(self._name(copy), None)

    def since(self, copies: Sequence[str]) -> str:
        """Return the time since which all these copies were found whole; "" if one of them never was."""
        return min((self.times.get(self._name(copy), "") for copy in copies), default="")

    def save(self, copies: Sequence[str]) -> None:
        """Write the times of the copies that are still there.

        Raises:
            OSError: the file cannot be written.
        """
        known = {name: self.times[name] for name in sorted(map(self._name, copies)) if name in self.times}
        with NewFile(self.root / NAME, replace=True) as new:
            new.write(json.dumps({"version": _VERSION, "whole": known}).encode())
            new.finish()

    def _name(self, copy: str) -> str:
        return Path(copy).relative_to(self.root).as_posix()


def checked_copies(root: Path) -> CheckedCopies:
    """Return what is noted in a backup. A note that cannot be read counts as empty."""
    try:
        with open_regular(root / NAME) as file:
            value = json.loads(file.read(_MOST_BYTES))
        whole = value["whole"] if value["version"] == _VERSION else {}
        times = {name: time for name, time in whole.items() if isinstance(time, str)}
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        times = {}
    return CheckedCopies(root, times)


def why_not_whole(copy: str, log: str = "", *, strict: bool = False, files: FileSystem | None = None) -> str:
    """Return the reason why a copy is not sound; "" if it is sound.

    Args:
        copy: the copy.
        log: the log in the home; "" if the home has none.
        strict: whether a copy with the damage of its log counts as damaged, too.
        files: the system calls, to report progress.
    """
    try:
        if verify_log(copy, files=files).is_sound:
            return ""
        if log and _first_damage(copy) == _first_damage(log):
            return "the log in the home has the same damage; `context-persistent verify` says where" if strict else ""
    except LogError as error:
        return reason_of(error)
    advice = "remove this file, and back up again" if log else "this home has no such session"
    return f"`context-persistent verify` says where; {advice}"


def _first_damage(path: str) -> str:
    with closing(open_reader(path)) as reader:
        reader.follow()
        return damage_in(reader)


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0
