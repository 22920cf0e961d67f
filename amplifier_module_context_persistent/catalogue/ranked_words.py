"""The ranked words of a project's messages: the segments of its ranked index (`search/ranked_segment.py`).

The table `ranked` has a row for each session: the sizes of its segments, their end offset, and a random mark. The
columns of a segment are a row of `ranked_messages`. Its buckets are rows of `ranked_terms`, ordered by bucket, so that
a question reads few adjacent pages. Rules:

- Each row has a checksum that covers the mark, so the row is valid for no other session and no earlier time. Only the
  rows that a question reads are verified. If a row is missing or altered, the whole index of the session is made again.
- A segment and the new coverage of its session are written in one transaction.
- If a session is searched while it grows, it gets many small segments. They are replaced by one (`ranked_fill`).
"""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any
from zlib import crc32

from ..search.message_terms import VERSION
from ..search.ranked_segment import LEVELS, MOST_TEXT, MessageColumns, Postings, Segment, bucket_of, postings_in
from .catalogue_file import CatalogueError, DamagedError
from .log_coverage import LogCoverage, cover, covered_by_path, covered_of, session_id

if TYPE_CHECKING:
    import sqlite3

RANKED = "ranked"
"""The name of this part of the catalogue in the table `covered`."""
MOST_SMALL = 16
"""The number of small segments at the end of a session at which one segment replaces all of these."""
SMALL_TEXT = MOST_TEXT // 4
"""Characters below which a segment is small."""
_BUCKET_SHIFT, _SESSION_SHIFT = 48, 16
_FIRST_CODES = tuple(sum(1 << bits for bits in LEVELS[:level]) for level in range(len(LEVELS)))
"""The code of the first bucket of each level. Codes number the buckets of all levels."""
_NOTE = struct.Struct("<BHIQ")
_FEW_SESSIONS = 8


@dataclass(frozen=True, slots=True)
class SegmentNote:
    """Facts about a segment: the number of messages and characters, and the offset in the log at which it ends."""

    level: int
    messages: int
    chars: int
    end_offset: int


@dataclass(frozen=True, slots=True)
class RankedWords:
    """The ranked words of a session: the session's id, the mark, and its segments."""

    session: int
    mark: int
    segments: tuple[SegmentNote, ...]

    @property
    def end_offset(self) -> int:
        """The offset up to which the log is indexed."""
        return self.segments[-1].end_offset if self.segments else 0

    def first_small(self) -> int:
        """Return the number of the first of the small segments at the end, or the number of all if none is small."""
        first = len(self.segments)
        while first and self.segments[first - 1].chars < SMALL_TEXT:
            first -= 1
        return first


def ranked_words(connection: sqlite3.Connection, name: str | None = None) -> dict[str, RankedWords]:
    """Return the unaltered ranked words of each session, or of the session `name`, by its log's name."""
    words_by_name = {}
    query = (
        "SELECT id, path, mark, segments, ranked.crc32 FROM ranked JOIN sessions ON id = session"
        " WHERE path = ifnull(?, path)"
    )
    for session, path, mark, notes, check in connection.execute(query, (name,)):
        if type(notes) is bytes and _check_of_words(path, mark, notes) == check and not len(notes) % _NOTE.size:
            segments = tuple(SegmentNote(*note) for note in _NOTE.iter_unpack(notes))
            words_by_name[path] = RankedWords(session, mark, segments)
    return words_by_name


def take_in_segment(
    connection: sqlite3.Connection,
    name: str,
    segment: Segment,
    *,
    seen: LogCoverage | None,
    first: int,
    now: LogCoverage,
) -> RankedWords | None:
    """Add a segment to a session, and note how far the session is covered.

    Args:
        connection: a connection in a transaction that writes.
        name: the name of the session's log.
        segment: the words of the next messages, packed.
        seen: the coverage of the session when the segment was made; None if nothing valid was known.
        first: the segment's number; segments from it on are replaced.
        now: the coverage after it.

    Returns:
        The words of the session then; None if another process added to them first, and nothing was added.
    """
    known = known_words(connection, name).get(name)
    covered = known.covered if known is not None else None
    if covered != seen:
        return None
    session = session_id(connection, name)
    earlier_segments: tuple[SegmentNote, ...] = ()
    mark = int.from_bytes(os.urandom(6))
    if known is not None and known.words.segments[:first]:
        earlier_segments = known.words.segments[:first]
        mark = known.words.mark
    _forget_segments(connection, session, len(earlier_segments))
    words = RankedWords(session, mark, earlier_segments)
    _insert(connection, words, segment)
    note = SegmentNote(segment.level, segment.messages, min(segment.chars, 0xFFFFFFFF), now.end_offset)
    words = replace(words, segments=(*earlier_segments, note))
    _keep(connection, name, words, now)
    return words


def note_covered(connection: sqlite3.Connection, name: str, *, seen: LogCoverage, now: LogCoverage) -> None:
    """Note a new stamp of a log's file for the same covered part, unless another process changed the coverage.

    Args:
        connection: a connection in a transaction that writes.
        name: the name of the session's log.
        seen: the coverage that this process knows.
        now: the same coverage with the new stamp.
    """
    if covered_of(connection, name, RANKED) == seen:
        cover(connection, session_id(connection, name), RANKED, now)


def _insert(connection: sqlite3.Connection, words: RankedWords, segment: Segment) -> None:
    number = len(words.segments)
    check = crc32(segment.columns, _seed(words.mark, -1, number))
    row = (words.session << _SESSION_SHIFT | number, segment.columns, check)
    connection.execute("INSERT INTO ranked_messages VALUES (?, ?, ?)", row)
    rows = []
    for code, content in enumerate(segment.buckets, _FIRST_CODES[segment.level]):
        row_id = code << _BUCKET_SHIFT | words.session << _SESSION_SHIFT | number
        rows.append((row_id, content, crc32(content, _seed(words.mark, code, number))))
    connection.executemany("INSERT INTO ranked_terms VALUES (?, ?, ?)", rows)


def _keep(connection: sqlite3.Connection, name: str, words: RankedWords, now: LogCoverage) -> None:
    notes = b"".join(_NOTE.pack(note.level, note.messages, note.chars, note.end_offset) for note in words.segments)
    row = (words.session, words.mark, notes, _check_of_words(name, words.mark, notes))
    connection.execute("INSERT OR REPLACE INTO ranked VALUES (?, ?, ?, ?)", row)
    cover(connection, words.session, RANKED, now)


def forget_ranked(connection: sqlite3.Connection, session: int) -> None:
    """Remove the ranked words of a session."""
    _forget_segments(connection, session, 0)
    connection.execute("DELETE FROM ranked WHERE session = ?", (session,))
    connection.execute("DELETE FROM covered WHERE session = ? AND part = ?", (session, RANKED))


def _forget_segments(connection: sqlite3.Connection, session: int, first: int) -> None:
    """Remove the segments of a session from the number `first` on."""
    begin = session << _SESSION_SHIFT | first
    end = (session + 1) << _SESSION_SHIFT
    removed = connection.execute("DELETE FROM ranked_messages WHERE id >= ? AND id < ?", (begin, end)).rowcount
    if removed:
        for code in range(_FIRST_CODES[-1] + (1 << LEVELS[-1])):
            ids = (code << _BUCKET_SHIFT | begin, (code << _BUCKET_SHIFT) + end)
            connection.execute("DELETE FROM ranked_terms WHERE id >= ? AND id < ?", ids)


class StoredSegments:
    """The segments of the given sessions of a catalogue.

    Args:
        connection: a connection that stays in a transaction as long as this object is used.
        sessions: the ranked words of each session, with the number of its first segment in answers.
    """

    def __init__(self, connection: sqlite3.Connection, sessions: Sequence[tuple[RankedWords, int]]) -> None:
        self._connection = connection
        self._sessions = [words.session for words, _ in sessions]
        self._by_bits: dict[int, tuple[int, int, int]] = {}
        """The segment's number in answers, the session's mark and the segment's number in the session, by the lower
        bits of the ids of the segment's rows."""
        self._bits: dict[int, int] = {}
        """The lower bits of the ids of a segment's rows, by the segment's number in answers."""
        self._counts = [0 for _ in LEVELS]
        """The number of segments of each level."""
        for words, first in sessions:
            for at, note in enumerate(words.segments):
                bits = words.session << _SESSION_SHIFT | at
                self._by_bits[bits] = (first + at, words.mark, at)
                self._bits[first + at] = bits
                self._counts[note.level] += 1

    def postings(self, key: int) -> Iterator[tuple[int, Postings]]:
        """Yield the postings of a term, each with the number of its segment.

        Raises:
            DamagedError: a row is missing or was altered.
        """
        wanted = key.to_bytes(4, "little")
        for level, expected in enumerate(self._counts):
            if not expected:
                continue
            code = _FIRST_CODES[level] + bucket_of(key, level)
            met = 0
            for number, content in self._rows(code):
                met += 1
                if wanted not in content:  # most segments do not have the term
                    continue
                found = _unpacked(content, key)
                if found.weights:
                    yield number, found
            if met != expected:
                raise DamagedError("rows of the ranked words are missing")

    def _rows(self, code: int) -> Iterator[tuple[int, bytes]]:
        """Yield the verified contents of a bucket in each segment, with the segment's number."""
        first = code << _BUCKET_SHIFT
        mask = (1 << _BUCKET_SHIFT) - 1
        ranges = [(first, first | mask)]
        if len(self._sessions) <= _FEW_SESSIONS:
            begins = [first | session << _SESSION_SHIFT for session in self._sessions]
            ranges = [(begin, begin | (1 << _SESSION_SHIFT) - 1) for begin in begins]
        query = "SELECT id & ?, content, crc32 FROM ranked_terms WHERE id BETWEEN ? AND ? ORDER BY id"
        by_bits = self._by_bits
        for ids in ranges:
            for bits, content, check in self._connection.execute(query, (mask, *ids)):
                if bits in by_bits:
                    number, mark, at = by_bits[bits]
                    _verify(content, check, mark, code, at)
                    yield number, content

    def __contains__(self, number: int) -> bool:
        return number in self._bits

    def columns(self, number: int) -> MessageColumns:
        """Return where and when the messages of a segment were written.

        Raises:
            DamagedError: a row is missing or was altered.
        """
        bits = self._bits[number]
        _, mark, at = self._by_bits[bits]
        row = self._connection.execute("SELECT content, crc32 FROM ranked_messages WHERE id = ?", (bits,)).fetchone()
        if row is None:
            raise DamagedError("columns of the ranked words are missing")
        content, check = row
        _verify(content, check, mark, -1, at)
        try:
            return MessageColumns.unpacked(content)
        except (zlib.error, ValueError, IndexError) as error:
            raise DamagedError("columns of the ranked words were altered") from error


def _verify(content: Any, check: Any, mark: int, code: int, number: int) -> None:
    if type(content) is not bytes or crc32(content, _seed(mark, code, number)) != check:
        raise DamagedError("a row of the ranked words was altered")


def _unpacked(content: bytes, key: int) -> Postings:
    try:
        return postings_in(content, key)
    except (zlib.error, ValueError, IndexError) as error:
        raise DamagedError("a row of the ranked words was altered") from error


@dataclass(frozen=True, slots=True)
class KnownWords:
    """The ranked words of a session, and the coverage of its log."""

    words: RankedWords
    covered: LogCoverage


def check_unchanged(connection: sqlite3.Connection, expected: Mapping[str, RankedWords]) -> None:
    """Check that the ranked words of sessions are unchanged since they were read.

    Raises:
        CatalogueError: another process changed the words.
    """
    present_words = ranked_words(connection)
    for name, words in expected.items():
        present = present_words.get(name)
        if present is None or present.mark != words.mark or present.segments[: len(words.segments)] != words.segments:
            raise CatalogueError(f"{name}: another process changed its ranked words")


def known_words(connection: sqlite3.Connection, name: str | None = None) -> dict[str, KnownWords]:
    """Return the ranked words and coverage of each session, or of the session `name`, by its log's name.

    Words that were altered are left out.
    """
    covered = covered_by_path(connection, RANKED, name)
    known: dict[str, KnownWords] = {}
    for log_name, words in ranked_words(connection, name).items():
        if log_name not in covered or not words.segments:
            continue
        if covered[log_name].end_offset == words.end_offset:
            known[log_name] = KnownWords(words, covered[log_name])
    return known


def _seed(mark: int, code: int, number: int) -> int:
    return crc32(b"%d %d %d" % (mark, code, number))


def _check_of_words(name: str, mark: int, notes: bytes) -> int:
    return crc32(notes, crc32(repr((VERSION, name, mark)).encode("utf-8", "backslashreplace")))
