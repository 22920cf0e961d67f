"""Count the disk use of a session in bytes: its log, by kind of record, and the files beside the log.

Each byte of a log is counted once. For an archived log, the size of the compressed file is divided among the kinds. For
a session in a database, the bytes of its records are counted, without the server's compression and pages.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from ...errors import ArchiveError
from ...log.database_location import stored_name
from ...log.filesystem import FileSystem
from ...log.index import TOOL, Index
from ...log.read_back import NumberedLine
from ...log.record_kinds import kind_of
from ...log.record_line import CONTROL_HEAD, ROLES, decode
from ...log.save_torn_tail import saved_tails
from ...messages.media_blocks import media_of
from ...sessions.raw_records import StoredLog
from ...sessions.session_files import SessionFile
from ...sessions.transcript import Transcript
from ..maintenance.leftovers import files_left
from .archive_session import estimate_session
from .host_files.files_beside_log import HOSTS_NAMES
from .host_files.find_host_copies import backups, hosts_files

KINDS = ("messages", "results", "images", "receipts", "plans", "cleared", "other")
"""The kinds of a log's bytes, in order: live messages; live results of tools; images and other media in messages or
results; receipts of requests; plans; messages that a clear, a reset or a rewind hid; and the rest (headers, resets,
damage, a torn tail)."""

_RECEIPTS = frozenset({"view", "sent", "asked", "usage", "system", "learned"})
_PLANS = frozenset({"plan", "side_plan", "pin", "hide"})
_RESULTS = frozenset({TOOL, ROLES.index("function")})
_MEDIA_MARKS = (b'"image', b'"input_', b'"document"', b'"file"', b'"audio"', b'"video"')
_LEAST_MEDIUM_BYTES = 1 << 10  # a shorter line has no medium worth counting


@dataclass(slots=True)
class DiskUse:
    """The bytes that sessions take on the disk, by kind, and the bytes that could be freed."""

    kinds: dict[str, int] = field(default_factory=lambda: dict.fromkeys(KINDS, 0))
    """The bytes of the logs, by kind (`KINDS`)."""
    saved: int = 0
    """The bytes of saved torn tails, of copies that a rewind kept, and of files that killed operations left."""
    host: int = 0
    """The bytes of the host's files in the sessions' directories."""
    purge_frees: int = 0
    """An estimate of the bytes that a purge of cleared messages would free (`purge --cleared`)."""
    archive_frees: int = 0
    """An estimate of the bytes that archiving would free."""
    unpacked: int = 0
    """The size of the logs in bytes if none were archived."""

    @property
    def log_bytes(self) -> int:
        """The size of the logs in bytes."""
        return sum(self.kinds.values())

    @property
    def total(self) -> int:
        """The bytes of the logs, the saved files and the host's files together."""
        return self.log_bytes + self.saved + self.host

    def add(self, other: DiskUse) -> None:
        """Add the disk use of other sessions to these sums."""
        for kind, size in other.kinds.items():
            self.kinds[kind] += size
        self.saved += other.saved
        self.host += other.host
        self.purge_frees += other.purge_frees
        self.archive_frees += other.archive_frees
        self.unpacked += other.unpacked

    def scale(self, file_bytes: int) -> None:
        """Divide the size of an archived log's file among the kinds, in proportion to their bytes in the log."""
        for kind, size in self.kinds.items():
            self.kinds[kind] = size * file_bytes // max(1, self.unpacked)
        self.purge_frees = self.purge_frees * file_bytes // max(1, self.unpacked)
        self.kinds["other"] += file_bytes - self.log_bytes

    def to_json(self) -> dict[str, Any]:
        """Return the disk use in plain JSON types."""
        return {
            "bytes": self.total,
            "log_bytes": self.log_bytes,
            "kinds": self.kinds,
            "saved_bytes": self.saved,
            "host_bytes": self.host,
            "purge_frees_bytes": self.purge_frees,
            "archive_frees_bytes": self.archive_frees,
            "unpacked_bytes": self.unpacked,
        }


def disk_use(session: SessionFile, *, files: FileSystem | None = None) -> DiskUse:
    """Count the disk use of a session. Reads the whole log.

    Args:
        session: a session on disk.
        files: the system calls that read the log, to report progress.

    Raises:
        LogError: the log cannot be read.
        OSError: the session's directory cannot be read.
    """
    use = DiskUse()
    path = str(session.path)
    with Transcript(path, files=files) as transcript:
        reader = cast("StoredLog", transcript.reader)  # every log in a file or a database is one
        _count_lines(use, reader.index, reader.whole_lines())
        use.unpacked = reader.describe().size_bytes
        use.kinds["other"] += use.unpacked - use.log_bytes
    with contextlib.suppress(ArchiveError):  # a database whose tables cannot hold archived logs
        archive = estimate_session(path)
        use.archive_frees = archive.frees
        if archive.is_archived or archive.is_partly_archived:
            use.scale(archive.file_bytes)
    if stored_name(path) is None:
        use.saved = _size_of({*saved_tails(path), *files_left(path, HOSTS_NAMES), *map(str, backups(path))})
        use.host = _size_of(map(str, hosts_files(path)))
    return use


def catalogue_bytes(projects: Iterable[str | os.PathLike[str]]) -> int:
    """Return the total size of catalogue files in bytes. Catalogues can be removed at any time.

    Args:
        projects: the paths of the projects' catalogues.
    """
    return _size_of(os.fspath(path) for path in projects)


def _count_lines(use: DiskUse, index: Index, lines: Iterator[NumberedLine]) -> None:
    """Add the bytes of a log's lines to their kinds, and set the bytes that a purge of hidden messages would free."""
    offsets = index.columns.offsets
    kinds = use.kinds
    ordinal = 0  # of the first message that begins at the line or after it
    control_bytes = 0  # of control records that a purge of hidden messages would remove too
    for line in lines:
        while ordinal < len(offsets) and offsets[ordinal] < line.offset:  # several times if a damaged line has several
            ordinal += 1
        is_message = ordinal < len(offsets) and offsets[ordinal] == line.offset
        if is_message:
            _count_message(kinds, index, ordinal, line.content)
            continue
        size = len(line.content) + 1
        name = _control_name(line.content)
        kinds[_kind_of_use(name)] += size
        if _goes_with_hidden(name, is_after_hidden=kinds["cleared"] > 0):
            control_bytes += size
    if kinds["cleared"]:
        use.purge_frees = kinds["cleared"] + control_bytes


def _kind_of_use(name: str) -> str:
    """Return the kind of bytes (one of `KINDS`) to which a control record counts. `name` is the kind of the record."""
    if name in _RECEIPTS:
        return "receipts"
    if name in _PLANS:
        return "plans"
    return "other"


def _goes_with_hidden(name: str, *, is_after_hidden: bool) -> bool:
    """Return whether a purge of hidden messages probably removes a control record.

    Args:
        name: the name of the record's kind.
        is_after_hidden: whether a hidden message is before the record.
    """
    kind = kind_of(name)
    if name in _RECEIPTS:
        return is_after_hidden and kind.depends_on_history
    if name in _PLANS:
        return False
    return kind.frames or kind.bundles


def _count_message(kinds: dict[str, int], index: Index, ordinal: int, content: bytes) -> None:
    """Add the bytes of a message's line to its kind, and the bytes of its images to `images`."""
    size = len(content) + 1
    if not index.is_live(ordinal):
        kinds["cleared"] += size
        return
    images = _media_bytes(content)
    kinds["images"] += images
    is_result = index.columns.roles[ordinal] in _RESULTS
    kinds["results" if is_result else "messages"] += size - images


def _control_name(line: bytes) -> str:
    """Return the kind of a control record, or "" if the line is no control record."""
    if not line.startswith(CONTROL_HEAD):
        return ""
    start = len(CONTROL_HEAD) + 2
    return line[start : line.find(b'"', start)].decode("utf-8", "replace")


def _media_bytes(line: bytes) -> int:
    """Return the number of bytes that images, documents and recordings take in a message's line."""
    if len(line) < _LEAST_MEDIUM_BYTES or not any(mark in line for mark in _MEDIA_MARKS):
        return 0
    try:
        message = decode(line)
    except ValueError:
        return 0
    return min(len(line), sum(medium.chars for medium in media_of(message)))


def _size_of(paths: Iterable[str]) -> int:
    """Return the total size of files in bytes. Missing files count as 0."""
    return sum(Path(path).lstat().st_size for path in paths if os.path.isfile(path))
