"""Read lines of a log in PostgreSQL by their numbers. The first ones may be in frames; the others are rows of `record`.

Rules:
- A frame is a compressed block of archived lines (`archive_frames`). The number of archived lines is read with the
  log's row. If a line is missing where it should be, the row is read again, since the log may have been archived or
  brought back meanwhile. No lock is needed, because each of these changes is one transaction.
- A damaged frame loses only its own lines. They are replaced with an unreadable line that explains the damage, and
  empty lines, as in an archived file. The damage is logged once, with its place.
"""

from __future__ import annotations

import logging
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ...errors import DependencyError, LogUnreadableError
from ..archive_format import FRAME_BYTES, Frame, decompressed, stand_in
from ..contract import FrameDamage
from ..record_line import MARK
from . import archive_frames, rows
from .layout import LogKey
from .migration_steps import ARCHIVE
from .rows import Columns, Head
from .server_connections import read_steps

if TYPE_CHECKING:
    from .connection import Connection

logger = logging.getLogger(__name__)

_MOST_KEPT_BYTES = 8 * FRAME_BYTES


class StoredLines:
    """The lines of a log, which `follow` sets.

    Args:
        schema: the tables' schema.
        shown_location: the log's location, for errors.
    """

    def __init__(self, schema: str, shown_location: str) -> None:
        self._schema = schema
        self._shown = shown_location
        self._of = (LogKey(0, 0), 0)
        """The log, and the number of its archived lines."""
        self.forget()

    def forget(self) -> None:
        """Drop all frames and lines that were read."""
        self.damaged: dict[int, str] = {}
        """The damage of the frames that were read, by the frames' numbers."""
        self.without_columns: set[int] = set()
        """The numbers of frames whose columns are damaged; their lines are read instead."""
        self._frames: list[Frame] = []
        self._kept: OrderedDict[int, list[bytes]] = OrderedDict()
        self._was_replaced = False
        """Whether a known frame was missing at the last reading."""

    def follow(self, head: Head) -> None:
        """Note the log's key and its number of archived lines, as the log's row (`head`) gives these."""
        if self._of != (head.key, head.archived):
            self._of = head.key, head.archived
            self.forget()

    @property
    def archived(self) -> int:
        """The number of lines in frames, counted from the first line."""
        return self._of[1]

    def block(self, connection: Connection, start: int, stop: int) -> list[bytes]:
        """Read a block of lines from number `start` on, before `stop`; an empty list if line `start` is missing."""
        found = self._block_now(connection, start, stop)
        if not found and self._is_moved(connection):
            return self._block_now(connection, start, stop)
        return found

    def _block_now(self, connection: Connection, start: int, stop: int) -> list[bytes]:
        if start >= self.archived:
            return rows.read_block(connection, self._schema, self._of[0], start, stop)
        number = self._number_of(connection, start)
        if number is None:
            return []
        first = self._frames[number].line
        return self._lines_of(connection, number)[start - first : stop - first]

    def lines(self, connection: Connection, start: int, stop: int) -> Iterator[bytes]:
        """Yield the lines from number `start` to before `stop`; end early if a line is missing."""
        while start < stop and (block := self.block(connection, start, stop)):
            yield from block
            start += len(block)

    def chosen(self, connection: Connection, numbers: Sequence[int]) -> dict[int, bytes]:
        """Read the lines with these numbers, and return them by number. Missing lines are left out."""
        found = self._chosen_now(connection, numbers)
        is_complete = len(found) == len(set(numbers))
        if not is_complete and self._is_moved(connection):
            return self._chosen_now(connection, numbers)
        return found

    def _chosen_now(self, connection: Connection, numbers: Sequence[int]) -> dict[int, bytes]:
        found = dict(self._from_frames(connection, numbers))
        in_rows = self._in_rows(numbers)
        if in_rows:
            found |= rows.read_chosen(connection, self._schema, self._of[0], in_rows)
        return found

    def find(self, connection: Connection, numbers: Sequence[int], needle: bytes, *, ignores_case: bool) -> set[int]:
        """Search the lines with these numbers for bytes, as `rows.find_bytes` does."""
        found = self._find_now(connection, numbers, needle, ignores_case=ignores_case)
        if self._is_moved(connection):  # rows that were archived during the search were not searched
            return self._find_now(connection, numbers, needle, ignores_case=ignores_case)
        return found

    def _find_now(
        self, connection: Connection, numbers: Sequence[int], needle: bytes, *, ignores_case: bool
    ) -> set[int]:
        found = set[int]()
        for number, line in self._from_frames(connection, numbers):
            if _may_contain(line, needle, ignores_case=ignores_case):
                found.add(number)
        in_rows = self._in_rows(numbers)
        if in_rows:
            key = self._of[0]
            found |= rows.find_bytes(connection, self._schema, key, in_rows, needle, ignores_case=ignores_case)
        return found

    def _in_rows(self, numbers: Sequence[int]) -> list[int]:
        """Return the numbers of the lines that are not archived, among the given ones."""
        return [number for number in numbers if number >= self.archived]

    def columns(self, connection: Connection, start: int, stop: int) -> list[Columns]:
        """Read the columns of the lines from number `start` to before `stop`; fewer if some are missing or damaged."""
        found = self._columns_now(connection, start, stop)
        is_complete = len(found) == stop - start
        if not is_complete and self._is_moved(connection):
            return self._columns_now(connection, start, stop)
        return found

    def _columns_now(self, connection: Connection, start: int, stop: int) -> list[Columns]:
        found = self._columns_in_frames(connection, start, min(stop, self.archived))
        next_line = start + len(found)
        if self.archived <= next_line < stop:
            found += rows.read_columns(connection, self._schema, self._of[0], next_line, stop)
        return found

    def content_of(self, connection: Connection, number: int) -> list[bytes]:
        """Return all lines of the frame with this number.

        If the frame is damaged, return lines that describe the damage, and note the damage in `self.damaged`.
        """
        return self._lines_of(connection, number)

    def described(self, connection: Connection) -> list[Frame]:
        """Return the frames of the log, in order."""
        self._number_of(connection, 0)
        return self._frames

    def damage(self) -> list[FrameDamage]:
        """Return the damage in the frames that were read."""
        found = []
        for number in sorted(self.damaged.keys() | self.without_columns):
            why = self.damaged.get(number, "its columns were changed; its lines are read")
            frame = self._frames[number]
            found.append(FrameDamage(f"{self.place_of(number)}: {why}", frame.line + 1, frame.offset))
        return found

    def place_of(self, number: int) -> str:
        """Describe the place of a frame, for a person."""
        frame = self._frames[number]
        lines = f"lines {frame.line + 1:,} to {frame.line + frame.lines:,} of the log"
        return f"frame {number + 1:,} of {len(self._frames):,}, with {lines}"

    def _is_moved(self, connection: Connection) -> bool:
        """Read the number of archived lines again, and return whether the log was archived or brought back."""
        was_replaced = self._was_replaced
        self._was_replaced = False
        if not connection.has(ARCHIVE):
            connection.steps = read_steps(connection, self._schema)
        key = self._of[0]
        archived = rows.read_archived(connection, self._schema, key.log_id)
        if archived is None or (archived == self.archived and not was_replaced):
            return False
        self._of = key, archived
        self.forget()
        return True

    def _number_of(self, connection: Connection, line: int) -> int | None:
        """Return the number of the frame that contains an archived line; None if there are no frames."""
        if not self._frames:
            key, archived = self._of
            self._frames = archive_frames.read_frames(connection, self._schema, key, archived)
        frames_up_to_line = bisect_right(self._frames, line, key=lambda frame: frame.line)
        return frames_up_to_line - 1 if frames_up_to_line > 0 else None

    def _from_frames(self, connection: Connection, numbers: Sequence[int]) -> Iterator[tuple[int, bytes]]:
        """Yield the number and the content of each wanted line that is in a frame, and thus archived."""
        by_frame: dict[int, list[int]] = {}
        for line in sorted({number for number in numbers if number < self.archived}):
            frame_number = self._number_of(connection, line)
            if frame_number is None:
                return
            by_frame.setdefault(frame_number, []).append(line)
        for frame_number, lines in by_frame.items():
            first = self._frames[frame_number].line
            content = self._lines_of(connection, frame_number)
            for line in lines:
                if line - first < len(content):
                    yield line, content[line - first]

    def _lines_of(self, connection: Connection, number: int) -> list[bytes]:
        """Return the lines of a frame.

        Return an empty list if the frame is gone: its lines were made rows again after the list of frames was read.
        """
        known_lines = self._kept.get(number)
        if known_lines is not None:
            self._kept.move_to_end(number)
            return known_lines
        frame = self._frames[number]
        packed: bytes | None = b""
        if not frame.is_lost:
            packed = archive_frames.read_packed(connection, self._schema, self._of[0], frame.line)
        if packed is None:  # the row with the frame and its description was deleted
            self._was_replaced = True
            return []
        lines = self._unpacked(number, frame, packed)
        self._kept[number] = lines
        while (
            len(self._kept) > 1
            and sum(self._frames[known_number].size for known_number in self._kept) > _MOST_KEPT_BYTES
        ):
            self._kept.popitem(last=False)
        return lines

    def _unpacked(self, number: int, frame: Frame, packed: bytes) -> list[bytes]:
        try:
            return decompressed(frame, packed).removesuffix(b"\n").split(b"\n")
        except DependencyError as error:
            raise LogUnreadableError(0, str(error), self._shown) from error
        except ValueError as error:
            why = str(error)
        if number not in self.damaged:
            self.damaged[number] = why
            logger.error("%s: the archive is damaged: %s: %s", self._shown, self.place_of(number), why)
        explanation = b"(damaged frame %d of the archived log)" % (number + 1)
        return stand_in(frame, explanation).removesuffix(b"\n").split(b"\n")

    def _columns_in_frames(self, connection: Connection, start: int, stop: int) -> list[Columns]:
        """Return the columns of the archived lines from `start` to before `stop`; fewer if some are damaged."""
        first = self._number_of(connection, start) if start < stop else None
        if first is None:
            return []
        packed = archive_frames.read_packed_columns(
            connection, self._schema, self._of[0], self._frames[first].line, stop
        )
        found = list[Columns]()
        for number, frame in enumerate(self._frames[first:], first):
            if frame.line >= stop or frame.line not in packed:
                break
            try:
                columns = archive_frames.unpack_columns(packed[frame.line], frame.lines)
            except ValueError:
                self.without_columns.add(number)
                break
            found += columns[max(0, start - frame.line) : stop - frame.line]
        return found


def _may_contain(line: bytes, needle: bytes, *, ignores_case: bool) -> bool:
    """Return whether a line contains the bytes, or may contain the bytes as escapes (`MARK`)."""
    if not needle.isascii() and MARK in line:
        return True
    return needle in (line.lower() if ignores_case else line)
