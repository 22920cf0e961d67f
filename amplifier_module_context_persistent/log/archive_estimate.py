"""Estimate the archived size of a log from a sample of its parts."""

from __future__ import annotations

import errno
from contextlib import closing
from dataclasses import dataclass

from ..errors import DamagedArchiveError
from .archive_format import FRAME_BYTES, HEAD, compressed, is_cut_in_head
from .file_handle import FileHandle
from .filesystem import FileSystem

_SAMPLES = 4
_ENTRY_BYTES = 400  # the size of a frame's two descriptions


@dataclass(frozen=True, slots=True)
class ArchiveEstimate:
    """The present size of a log on the disk, and its approximate size when archived."""

    file_bytes: int
    archived_bytes: int
    is_archived: bool
    is_exact: bool
    """Whether the size is exact: the whole log was compressed, or it is archived."""
    is_partly_archived: bool = False
    """Whether lines were appended after the archived lines; only a log in a database may have such lines."""
    log_bytes: int = 0
    """The size of the log in an archived file: the bytes that bringing it back writes. 0 in a database."""

    @property
    def frees(self) -> int:
        """The approximate number of bytes that archiving would free."""
        return max(0, self.file_bytes - self.archived_bytes)


def estimate(path: str, *, files: FileSystem | None = None) -> ArchiveEstimate:
    """Estimate the archived size of a log by compressing up to four parts of the log, evenly spread.

    Raises:
        LogUnreadableError: the log cannot be read.
        DamagedArchiveError: it is an archive that is cut off in its first bytes.
        DependencyError: the library that compresses is not installed.
    """
    with closing(FileHandle(path, files)) as log:
        if not log.open(create=False):
            return ArchiveEstimate(0, 0, is_archived=False, is_exact=True)
        size = log.size()
        if log.archive is not None:
            packed = log.archive.file_bytes
            return ArchiveEstimate(packed, packed, is_archived=True, is_exact=True, log_bytes=log.archive.size)
        if is_cut_in_head(log.read(0, len(HEAD))):
            why = "the archive is damaged: its end is cut off; put a backup in its place, or delete the session"
            raise DamagedArchiveError(errno.EIO, why, path)
        step = max(FRAME_BYTES, size // _SAMPLES)
        parts = [log.read(offset, FRAME_BYTES) for offset in range(0, size, step)][: _SAMPLES + 1]
    sampled_bytes = sum(map(len, parts))
    packed_sample_bytes = sum(len(compressed(part)) for part in parts)
    packed_bytes = packed_sample_bytes * size // sampled_bytes if sampled_bytes else 0
    descriptions_bytes = _ENTRY_BYTES * (1 + size // FRAME_BYTES)
    archived_bytes = len(HEAD) + descriptions_bytes + packed_bytes
    return ArchiveEstimate(size, archived_bytes, is_archived=False, is_exact=sampled_bytes >= size)
