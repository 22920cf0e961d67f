"""Verify a log: its records, its damage, its torn tail, and what to do about each finding.

A torn tail is an incomplete record at the log's end, which a crash leaves. Nothing is written. A report has counts,
places and kinds, and no content of a message.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ...errors import DamagedArchiveError, LogError
from ...log.append_lock import AppendLock
from ...log.archive_format import Frame
from ...log.archived_bytes import ArchivedBytes
from ...log.contract import ReadableLog, damaged_frames, leftover_lines
from ...log.filesystem import FileSystem
from ...log.index import ASSISTANT, TOOL
from ...log.open_reader import file_reader, open_reader
from ...log.reader import LogReader
from ...log.record_line import ROLES
from ...log.save_torn_tail import saved_tails
from ...messages.message import calls_of, result_id_of
from ...sessions.delete_log import unfinished_purges
from ...sessions.raw_records import read_log

_CHAIN_KINDS = frozenset({"checksum", "unchained"})
_KIND_NAME = re.compile(r"[a-z][a-z_]{0,31}")
_WAIT_S = 2.0

ADVICE = {
    "checksum": "it is read all the same; if nobody edited it, compare it with a backup",
    "unchained": "it is read all the same; another program wrote it without a checksum",
    "repeated": "it counts once; nothing is lost",
    "glued": "the whole records in it are read; nothing to do",
    "unreadable": "everything after it is read; get the record from a backup if it matters",
    "oversized": "it is passed over; raise max_record_bytes to read it",
    "reset": "check with a backup what should be live; no byte is lost",
    "torn_tail": "run repair, or let the next append do the same: it is saved aside, then cut",
    "no_newline": "run repair, or let the next append do the same: the record is whole",
    "open_call": "an interrupted turn; views put a stand-in for the result; nothing to do",
    "orphan_result": "views leave it out; nothing to do",
    "saved_tail": "what a crash left of an append that nobody was told was stored; purge --torn removes it",
    "purging": "a purge was interrupted and the log is whole; if none is running, delete this file",
    "archive_frame": "all other lines are read; put a backup in its place, or go on with a fork of what can be read",
    "archive_lost": "no line of the log can be read; put a backup in its place, or delete the session",
    "archive_bit": "nothing is lost: it is put right at each reading; archive --undo, then archive it again",
    "archive_index": "nothing is lost: frames are read without it; archive --undo, then archive it again",
    "columns": "somebody changed the table: copy the log to a file, and that file to another name or database",
    "leftover": "nothing of this log is lost; whatever left them, each purge of the session, and delete, removes them",
    "mode": "others may read it; make it private with chmod 600",
}
"""The remedy for each kind of finding."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A fault or a fact in a log, with `line` and `offset` if the finding has a place in the log."""

    kind: str
    detail: str
    line: int | None = None
    offset: int | None = None
    advice_of: str = ""
    """The key of the advice in `ADVICE`; by default the kind."""

    @property
    def advice(self) -> str:
        """Advice for a person on this kind of finding."""
        return ADVICE[self.advice_of or self.kind]


@dataclass(slots=True)
class Report:
    """The contents of a log, and the faults in it."""

    path: str
    size_bytes: int = 0
    messages: dict[str, int] = field(default_factory=dict)
    """The number of messages by role."""
    live: int = 0
    controls: dict[str, int] = field(default_factory=dict)
    """The number of records by kind; a kind that is not a plain name counts as `unknown`."""
    damage: list[Finding] = field(default_factory=list)
    notes: list[Finding] = field(default_factory=list)
    """Facts worth knowing that are not damage."""

    @property
    def is_sound(self) -> bool:
        """Whether the log has no damage; notes do not count as damage."""
        return not self.damage

    @property
    def chain_breaks(self) -> int:
        """The number of lines that do not continue the chain of checksums."""
        return sum(found.kind in _CHAIN_KINDS for found in self.damage)

    def to_json(self) -> dict[str, Any]:
        """Return the report in plain JSON types."""
        total = sum(self.messages.values())
        messages = {"total": total, "live": self.live, "hidden": total - self.live, "by_role": self.messages}
        return {
            "path": self.path,
            "status": "sound" if self.is_sound else "damaged",
            "bytes": self.size_bytes,
            "messages": messages,
            "controls": self.controls,
            "chain_breaks": self.chain_breaks,
            "damage": [_finding_json(found) for found in self.damage],
            "notes": [_finding_json(found) for found in self.notes],
        }


def _finding_json(found: Finding) -> dict[str, Any]:
    return {
        "kind": found.kind,
        "line": found.line,
        "offset": found.offset,
        "detail": found.detail,
        "advice": found.advice,
    }


def verify_log(path: str, *, files: FileSystem | None = None) -> Report:
    """Read a whole log, and return a report on its content and its faults.

    Args:
        path: a file's path, or `postgresql://…#NAME`.
        files: the system calls; they report the progress of reading a file.

    Raises:
        LogUnreadableError: there is no log, it cannot be read, or no line of it is a record.
    """
    reader = open_reader(path, files=files, trusting=False)
    try:
        file = file_reader(reader)
        try:
            read_log(reader)
        except DamagedArchiveError:
            if file is None or file.file.archive is None:  # it is cut in its head; else its damage is in the report
                raise
        if file is not None and file.torn:  # perhaps an append is still writing: wait for its lock, which reads again
            with contextlib.suppress(LogError), AppendLock(file, timeout_s=_WAIT_S):
                pass  # no writer has the lock now
        report = _report(reader)
        if file is not None:
            _add_file(report, file)
        else:
            lost = damaged_frames(reader)
            of_frames = [Finding("archive_frame", damage.detail, damage.line, damage.offset) for damage in lost]
            report.damage = [*of_frames, *report.damage]
            if not lost:
                report.damage += _columns(reader, path, files)
            report.damage += _leftover(reader)
        return report
    finally:
        reader.close()


def _report(reader: ReadableLog) -> Report:
    described = reader.describe()
    index = reader.index
    messages = dict(Counter(ROLES[role] for role in index.columns.roles))
    report = Report(described.location, described.size_bytes, messages, len(index.live))
    for kind, count in index.control_counts.items():
        name = kind if _KIND_NAME.fullmatch(kind) else "unknown"
        report.controls[name] = report.controls.get(name, 0) + count
    report.damage = [Finding(found.kind, found.detail, found.line, found.offset) for found in index.damage]
    report.notes = [*_unmatched(reader)]
    return report


def _add_file(report: Report, reader: LogReader) -> None:
    """Add the findings that only a file can have: a torn tail, files beside the log, the file's mode."""
    torn = reader.torn
    if torn:
        detail = f"{torn.torn_bytes:,} bytes at the end are no whole record"
        report.damage.append(Finding("torn_tail", detail, offset=torn.offset))
    if reader.lacks_newline:
        report.damage.append(Finding("no_newline", "the last line has no newline", offset=reader.size))
    if reader.file.archive is not None:
        report.damage = [*_of_archive(reader.file.archive), *_outside_frames(reader.file.archive, report.damage)]
        if not report.messages and not report.controls and reader.file.archive.damaged:
            report.damage = [replace(found, advice_of="archive_lost") for found in report.damage]
    report.notes += _beside(reader)


def _outside_frames(archive: ArchivedBytes, damage: Sequence[Finding]) -> list[Finding]:
    """Return the damage of an archived log, without the lines of damaged frames, because each frame is one finding."""
    lost_frames = [archive.lost_part(number) for number in archive.damaged]

    def is_lost(found: Finding) -> bool:
        return any(_is_in(frame, found) for frame in lost_frames)

    return [found for found in damage if not is_lost(found)]


def _is_in(frame: Frame, found: Finding) -> bool:
    return found.line is not None and frame.line < found.line <= frame.line + frame.lines


def _of_archive(archive: ArchivedBytes) -> Iterator[Finding]:
    """Yield the damaged frames of an archived log's file and the faults of its index."""
    for number, why in archive.damaged.items():
        lost = archive.lost_part(number)
        detail = f"{archive.place_of(number)}: {why}"
        yield Finding("archive_frame", detail, line=lost.line + 1, offset=lost.offset)
    for number in sorted(archive.put_right):
        frame = archive.frames[number]
        end = frame.at + frame.packed_bytes
        detail = f"one bit of frame {number + 1:,} was flipped, bytes {frame.at:,} to {end:,} of the file"
        yield Finding("archive_bit", detail)
    if archive.is_head_damaged():
        yield Finding("archive_index", "the beginning of the file was changed, so other programs do not know it")
    if archive.index_damage:
        yield Finding("archive_index", archive.index_damage)
        return
    if archive.is_index_head_damaged():
        yield Finding("archive_index", "the head of the index's frame was changed, so `zstd` refuses the file there")
    for number in archive.damaged_descriptions():
        yield Finding("archive_index", f"the description before frame {number + 1:,} was changed")


def _columns(reader: ReadableLog, path: str, files: FileSystem | None) -> Iterator[Finding]:
    """Yield a finding if the columns in the database differ from the lines. Opening sessions read only the columns."""
    by_columns = open_reader(path, files=files)
    try:
        by_columns.follow()
        found = by_columns.index
        index = reader.index
        if by_columns.describe() != reader.describe():
            return  # the log was written to between the two readings
        for damage in damaged_frames(by_columns):
            yield Finding("columns", damage.detail, damage.line, damage.offset)
        if len(found) != len(index) or found.live != index.live:
            yield Finding("columns", "the columns give another history than the lines")
            return
        names = ("offsets", "lengths", "roles", "flags", "id_hashes", "seeds", "checks", "answered_by")
        both = [(name, getattr(found.columns, name), getattr(index.columns, name)) for name in names]
        for ordinal, offset in enumerate(index.columns.offsets):
            wrong = [name for name, one, other in both if one[ordinal] != other[ordinal]]
            if wrong:
                yield Finding("columns", f"its columns are not what its line says: {', '.join(wrong)}", offset=offset)
                return
    finally:
        by_columns.close()


def _leftover(reader: ReadableLog) -> Iterator[Finding]:
    """Yield a finding if a database has rows under the log's id that are not lines of the log."""
    count = leftover_lines(reader)
    if count:
        yield Finding("leftover", f"the table has {count:,} more rows under its id, which are no lines of this log")


def _unmatched(reader: ReadableLog) -> Iterator[Finding]:
    """Yield the tool calls of the live history without results, and the results without calls."""
    index = reader.index
    ordinals = [ordinal for ordinal in index.live if index.columns.roles[ordinal] in (ASSISTANT, TOOL)]
    waiting: dict[str, int] = {}
    lost: list[int] = []
    for ordinal, message in zip(ordinals, reader.read(ordinals), strict=True):
        result = result_id_of(message)
        if result is None:
            for call in calls_of(message):
                if call.id in waiting:
                    lost.append(waiting[call.id])
                waiting[call.id] = ordinal
        elif waiting.pop(result, None) is None:
            yield Finding(
                "orphan_result", "a tool result answers no call before it", offset=index.columns.offsets[ordinal]
            )
    for ordinal in sorted([*lost, *waiting.values()]):
        yield Finding("open_call", "a tool call has no result", offset=index.columns.offsets[ordinal])


def _beside(reader: LogReader) -> Iterator[Finding]:
    """Yield findings on the files beside the log, and on the log's mode if other users may read the log."""
    for name in saved_tails(reader.path):
        with contextlib.suppress(OSError):
            size = os.stat(name, follow_symlinks=False).st_size
            yield Finding("saved_tail", f"{os.path.basename(name)}: {size:,} bytes of a torn tail")
    for leftover in unfinished_purges(reader.path):
        yield Finding("purging", f"{os.path.basename(leftover)} is left over")
    mode = stat.S_IMODE(reader.file.files.fstat(reader.file.descriptor).st_mode)
    if os.name == "posix" and mode & 0o077:
        yield Finding("mode", f"its mode is {mode:04o}")
