"""Read the copies in a backup again, some in each run, so that a copy that decayed is found while the log is there.

The file `context-backup-checked.json` in the backup notes when each copy was last found whole or damaged. Each run
reads first copies that are known to be damaged, up to half of what a run reads, until they are replaced. Then it reads
the copies that were not read for the longest time. The file can be removed at any time; then all copies count as never
read.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ....errors import LogError, reason_of
from ....log.atomic_file import NewFile
from ....log.filesystem import FileSystem, open_regular
from ...maintenance.verify import Finding, verify_log
from .backup_sessions import BackupStep, Done
from .sync_sides import Side
from .sync_step import pairs_of

NAME = "context-backup-checked.json"
READ_BYTES = 256 << 20
"""The approximate number of bytes that a run reads again."""
_VERSION = 1
_MOST_BYTES = 64 << 20
_AT_END = frozenset({"torn_tail", "no_newline"})
"""Kinds of damage that a copy has if its end was cut off."""

Watch = Callable[[Sequence[str]], AbstractContextManager[FileSystem]]
"""Returns the system calls with which some copies are read, to report progress."""


@dataclass(slots=True)
class CheckedCopies:
    """The times at which the copies in a backup were last read.

    Args:
        root: the directory of the backup.
        whole: the times at which copies were last found whole, as ISO 8601 timestamps by the copy's path below the
            directory.
        damaged: the times at which the other copies were last found damaged.
    """

    root: Path
    whole: dict[str, str] = field(default_factory=dict)
    damaged: dict[str, str] = field(default_factory=dict)

    def due(self, copies: Sequence[str]) -> list[str]:
        """Return the copies to read in this run, up to about `READ_BYTES` together.

        Copies that are known to be damaged come first, up to half of these bytes. Then come the copies that were not
        read for the longest time, damaged or not. Of both there is at least one, however large, if there are any.
        """
        by_time = sorted(copies, key=lambda copy: (self._last_read(copy), copy))
        chosen = _within(READ_BYTES // 2, [copy for copy in by_time if self._name(copy) in self.damaged])
        left_bytes = READ_BYTES - sum(map(_size, chosen))
        known = set(chosen)
        return [*chosen, *_within(left_bytes, [copy for copy in by_time if copy not in known])]

    def note_whole(self, copy: str, time: str) -> None:
        """Note that a copy was found whole."""
        self.damaged.pop(self._name(copy), None)
        self.whole[self._name(copy)] = time

    def note_damaged(self, copy: str, time: str) -> None:
        """Note that a copy was found damaged."""
        self.whole.pop(self._name(copy), None)
        self.damaged[self._name(copy)] = time

    def since(self, copies: Sequence[str]) -> str:
        """Return the time since which all these copies were found whole; "" if one of them never was."""
        return min((self.whole.get(self._name(copy), "") for copy in copies), default="")

    def save(self, copies: Sequence[str]) -> None:
        """Write the times of the copies that are still there.

        Raises:
            OSError: the file cannot be written.
        """
        names = set(map(self._name, copies))
        whole = {name: time for name, time in self.whole.items() if name in names}
        damaged = {name: time for name, time in self.damaged.items() if name in names}
        with NewFile(self.root / NAME, replace=True) as new:
            new.write(json.dumps({"version": _VERSION, "whole": whole, "damaged": damaged}).encode())
            new.finish()

    def _last_read(self, copy: str) -> str:
        name = self._name(copy)
        return self.whole.get(name) or self.damaged.get(name, "")

    def _name(self, copy: str) -> str:
        return Path(copy).relative_to(self.root).as_posix()


@dataclass(frozen=True, slots=True)
class BackupCheck:
    """The copies in a backup that were read again."""

    read: int
    damaged: dict[str, str]
    """The reasons why copies are damaged, by their paths."""
    since: str
    """The time since which all copies were found whole; "" if one of them never was."""

    def to_json(self) -> dict[str, Any]:
        """Return the check in plain JSON types."""
        damaged = [{"path": path, "error": why} for path, why in self.damaged.items()]
        return {"read_again": self.read, "damaged": damaged, "all_whole_since": self.since or None}


def check_backup(
    home: Side,
    there: Side,
    watch: Watch,
    *,
    made: Iterable[BackupStep] = (),
    all_copies: bool = False,
    now: Callable[[], str],
) -> BackupCheck:
    """Read copies of a backup again: those that are due, or all; and note which are whole.

    Args:
        home: the home that is backed up.
        there: the backup.
        watch: returns the system calls with which the copies are read.
        made: what the backup did before; copies that it made are whole, since they were read back.
        all_copies: read all copies. Then a copy with the damage of its log counts as damaged, too.
        now: gives ISO 8601 timestamps.
    """
    assert there.root is not None  # noqa: S101 - a backup is a directory
    checked = checked_copies(there.root)
    sessions = there.sessions()
    copies = [str(session.path) for session in sessions]
    for step in made:
        if step.what in (Done.NEW, Done.ANEW) and not step.damage:
            checked.note_whole(step.target, now())
    pairs = pairs_of(home.sessions(), sessions)
    logs = {str(pair.there.path): str(pair.here.path) for pair in pairs if pair.here and pair.there}
    chosen = copies if all_copies else checked.due(copies)
    damaged = dict[str, str]()
    with watch(chosen) as files:
        for copy in chosen:
            why = why_not_whole(copy, logs.get(copy, ""), strict=all_copies, files=files)
            if why:
                damaged[copy] = why
                checked.note_damaged(copy, now())
            else:
                checked.note_whole(copy, now())
    with suppress(OSError):  # a backup on a full or a read-only disk is checked all the same
        checked.save(copies)
    return BackupCheck(len(chosen), damaged, checked.since(copies))


def checked_copies(root: Path) -> CheckedCopies:
    """Return what is noted in a backup. A note that cannot be read counts as empty."""
    try:
        with open_regular(root / NAME) as file:
            value = json.loads(file.read(_MOST_BYTES))
        if value["version"] != _VERSION:
            return CheckedCopies(root)
        return CheckedCopies(root, _times(value["whole"]), _times(value.get("damaged", {})))
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return CheckedCopies(root)


def why_not_whole(copy: str, log: str = "", *, strict: bool = False, files: FileSystem | None = None) -> str:
    """Return the reason why a copy is not sound; "" if it is sound.

    Args:
        copy: the path of the copy in the backup.
        log: the log in the home; "" if the home has none.
        strict: whether a copy with the damage of its log counts as damaged, too.
        files: the system calls, to report progress.
    """
    try:
        found = verify_log(copy, files=files).damage
        is_log_empty = bool(log) and not _size(log)
        if not found and not _size(copy) and not is_log_empty:
            found = [Finding("torn_tail", "it is empty")]
        if not found:
            return ""
        if log and _is_damaged_so(log, found):
            return "the log in the home has the same damage; `context-persistent verify` says where" if strict else ""
    except LogError as error:
        return reason_of(error)
    is_cut = all(finding.kind in _AT_END for finding in found)
    if not log:
        advice = "this home has no such session"
    elif is_cut:
        advice = "it was cut; back up again, which completes it"
    else:
        advice = "remove this file, and back up again"
    return f"{_described(found[0])}; {advice}; `context-persistent verify` tells all"


def _is_damaged_so(log: str, found: Sequence[Finding]) -> bool:
    """Return whether a log has all these damages. A log that cannot be read has others."""
    try:
        return set(found) <= set(verify_log(log).damage)
    except LogError:
        return False


def _described(found: Finding) -> str:
    if found.kind == "archive_frame":  # the detail has the place in the file
        return found.detail
    place = [f"line {found.line:,}"] if found.line is not None else []
    if found.offset is not None:
        place.append(f"byte {found.offset:,}")
    return f"{', '.join(place)}: {found.detail}" if place else found.detail


def _within(most_bytes: int, copies: Sequence[str]) -> list[str]:
    """Return the first copies that have at most so many bytes together, and at least one if there is one."""
    chosen = list[str]()
    size = 0
    for copy in copies:
        size += _size(copy)
        if chosen and size > most_bytes:
            break
        chosen.append(copy)
    return chosen


def _times(value: Any) -> dict[str, str]:
    return {name: time for name, time in value.items() if isinstance(time, str)}


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0
