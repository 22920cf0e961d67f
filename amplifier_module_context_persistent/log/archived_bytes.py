"""Read an archived log at any offset, for `FileHandle`.

The last read frames are kept, because adjacent lines are read one after the other. A damaged frame is read as far as
possible (`mend_frame`). In place of the rest there is an unreadable line of the same length as that part of the log.
The damage is logged once, with its place.
"""

from __future__ import annotations

import logging
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Iterator

from ..errors import DependencyError, LogUnreadableError
from .archive_format import (
    FRAME_BYTES,
    HEAD,
    HEAD_BYTES,
    Frame,
    ReadAt,
    decompressed,
    is_archive,
    read_index,
    skippable,
    skippable_head,
    stand_in,
)
from .mend_frame import beginning_of, with_bit_put_right

logger = logging.getLogger(__name__)

_MOST_KEPT_BYTES = 8 * FRAME_BYTES


class ArchivedBytes:
    """A reader of the bytes of an archived log.

    Args:
        read: reads bytes of the archive.
        file_bytes: the length of the archive.
        path: the path of the archive, for errors.

    Raises:
        LogUnreadableError: no part of the archive can be read.
        OSError: the system refuses.
    """

    def __init__(self, read: ReadAt, file_bytes: int, path: str) -> None:
        self._read = read
        self._path = path
        self.file_bytes = file_bytes
        index = read_index(read, file_bytes, path)
        self.frames = index.frames
        self.size = index.size
        self.sha256 = index.sha256
        """The frames, the length of the log, and its SHA-256 (empty if the index is damaged)."""
        self.damaged: dict[int, str] = {}
        """The damage of frames that could not be read so far, by their numbers."""
        self.put_right = set[int]()
        """The numbers of the frames read so far in which one flipped bit was put right."""
        self._lost = dict[int, Frame]()
        """The parts of damaged frames that cannot be read, by their numbers."""
        self.index_damage = index.damage
        """The damage of the archive's index; "" if the index is sound."""
        self._starts = [frame.offset for frame in self.frames]
        self._kept: OrderedDict[int, bytes] = OrderedDict()
        self._kept_bytes = 0
        if index.damage:
            logger.warning("%s: the log is archived, and %s; its frames are read without it", path, index.damage)

    def read(self, offset: int, size: int) -> bytes:
        """Read `size` bytes of the log from `offset`; fewer only at its end.

        Raises:
            LogUnreadableError: the library that decompresses is not installed.
            OSError: the system refuses.
        """
        end = min(self.size, offset + size)
        if offset >= end:
            return b""
        number = bisect_right(self._starts, offset) - 1
        parts = []
        while offset < end:
            frame = self.frames[number]
            content = self._content(number)
            parts.append(content[offset - frame.offset : end - frame.offset])
            offset = frame.end
            number = number + 1
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def contents(self) -> Iterator[bytes]:
        """Yield the parts of the log, one for each frame. The errors are those of `read`."""
        return map(self._content, range(len(self.frames)))

    def damaged_descriptions(self) -> list[int]:
        """Return the numbers of the frames whose description, right before the frame, was changed.

        The log can be read without these descriptions, unless the index is damaged too.

        Raises:
            OSError: the system refuses.
        """
        found = []
        for number, frame in enumerate(self.frames):
            description = skippable(frame.entry())
            if self._whole(len(description), frame.at - len(description)) != description:
                found.append(number)
        return found

    def is_head_damaged(self) -> bool:
        """Return whether the beginning of the file was changed, so that other programs do not know it.

        Raises:
            OSError: the system refuses.
        """
        return self._whole(len(HEAD), 0) != HEAD

    def is_index_head_damaged(self) -> bool:
        """Return whether the head of the index's frame was changed.

        This package does not need the head, but the program `zstd` does.

        Raises:
            OSError: the system refuses.
        """
        end = len(HEAD)
        if self.frames:
            end = self.frames[-1].at + self.frames[-1].packed_bytes
        return self._whole(HEAD_BYTES, end) != skippable_head(self.file_bytes - end - HEAD_BYTES)

    def lost_part(self, number: int) -> Frame:
        """Return the part of a damaged frame that cannot be read; the whole frame if all of it was lost."""
        return self._lost.get(number, self.frames[number])

    def place_of(self, number: int) -> str:
        """Describe the place of a frame, and its lines of the log that are lost if it is damaged, for a person."""
        frame = self.frames[number]
        end = frame.at + frame.packed_bytes
        where = f"frame {number + 1:,} of {len(self.frames):,}, bytes {frame.at:,} to {end:,} of the file"
        lost = self.lost_part(number)
        return f"{where}, with lines {lost.line + 1:,} to {lost.line + lost.lines:,} of the log"

    def is_all_lost(self) -> bool:
        """Return whether no line can be read; all frames have to be read before."""
        if not self.frames or len(self.damaged) < len(self.frames):
            return False
        return all(self.lost_part(number).lines == self.frames[number].lines for number in self.damaged)

    def first_damage(self) -> str:
        """Return the place of the first damaged frame found so far, and what is wrong there; "" if none was found."""
        for number, why in self.damaged.items():
            return f"{self.place_of(number)}: {why}"
        return ""

    def _content(self, number: int) -> bytes:
        content = self._kept.get(number)
        if content is not None:
            self._kept.move_to_end(number)
            return content
        frame = self.frames[number]
        content = self._unpacked(number, frame)
        self._kept[number] = content
        self._kept_bytes += len(content)
        while self._kept_bytes > _MOST_KEPT_BYTES and len(self._kept) > 1:
            self._kept_bytes -= len(self._kept.popitem(last=False)[1])
        return content

    def _unpacked(self, number: int, frame: Frame) -> bytes:
        if frame.size == 0:
            return b""
        packed = self._whole(frame.packed_bytes, frame.at)
        try:
            try:
                return decompressed(frame, packed)
            except ValueError as error:
                return self._of_damaged(number, packed, str(error))
        except DependencyError as error:
            raise LogUnreadableError(0, str(error), self._path) from error

    def _of_damaged(self, number: int, packed: bytes, why: str) -> bytes:
        """Return what a damaged frame still gives, with an unreadable line in place of the rest."""
        frame = self.frames[number]
        if number not in self.damaged:
            content = with_bit_put_right(frame, packed)
            if content is not None:
                if number not in self.put_right:
                    logger.warning("%s: a flipped bit of frame %d of the archive is put right", self._path, number + 1)
                self.put_right.add(number)
                return content
        begun, lost = beginning_of(frame, packed)
        if number not in self.damaged:
            self.damaged[number] = why
            self._lost[number] = lost
            logger.error("%s: the archive is damaged: %s: %s", self._path, self.place_of(number), why)
        end = frame.at + frame.packed_bytes
        explanation = b"(damaged frame %d of the archive: bytes %d to %d of the file)" % (number + 1, frame.at, end)
        return begun + stand_in(lost, explanation)

    def _whole(self, size: int, offset: int) -> bytes:
        block = self._read(size, offset)
        while len(block) < size:
            more = self._read(size - len(block), offset + len(block))
            if not more:
                break
            block += more
        return block


def archived_bytes(read: ReadAt, file_bytes: int, path: str) -> ArchivedBytes | None:
    """Open the log in an archive; return None if the file is not an archive.

    Args:
        read: reads bytes of the file.
        file_bytes: the length of the file.
        path: the path of the file, for errors.

    Raises:
        LogUnreadableError: the archive has a later version, or no part of it can be read.
        OSError: the system refuses.
    """
    if not is_archive(read, file_bytes, path):
        return None
    return ArchivedBytes(read, file_bytes, path)
