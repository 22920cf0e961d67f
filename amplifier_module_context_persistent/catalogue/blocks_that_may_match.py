"""Find the blocks of messages that may contain a text; all other blocks are ruled out by filters.

A block is about `BLOCK_BYTES` of text of neighbouring messages of one session, folded. It has a row in each of the
tables `filters_0` to `filters_7`: where its messages lie in their log, and one part of the filter of the runs of three
characters in its text (`bloom_filter`). A row's id is the session's id times 2^32 plus the block's number. Rules:

- Filters can only rule a block out: a text that contains another text has all its runs. Other blocks are matched in the
  log.
- A session is ruled out only by unaltered rows. Each row of a block has a checksum. The table `words` has for each
  session the log's name, the number of its blocks, their end offset and a random mark, with a checksum too. A row's
  checksum covers the mark, so the row is valid for no other session and no earlier time. Only the rows that a search
  reads are verified.
- Case is folded more than any expression ignores it, and here, not by SQLite: the folding of a character never depends
  on its neighbours.
- If the filters of a block would need more than `MOST_SHARE` of its text (random text, for example), they are left
  empty, and the block is always read.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from typing import TYPE_CHECKING, Any
from zlib import crc32

from ..search.pattern import Pattern
from ..search.word_search import AllWords
from .bloom_filter import PARTS, RUN_CHARS, Places, asked_parts, make_filters, may_hold
from .catalogue_file import DamagedError
from .log_coverage import WORDS, LogCoverage, cover, covered_of, session_id
from .ranked_words import forget_ranked
from .schema import FIGURE_TABLES, FILTER_TABLES

if TYPE_CHECKING:
    import sqlite3

BLOCK_BYTES = 1 << 16
"""The bytes of text in a block. With smaller blocks the filters take more room, with larger ones they exclude less."""
MOST_SHARE = 0.6
_FEW_BYTES = 1_000
"""Filters up to this size are always kept."""
_BLOCKS_OF_SESSION = 1 << 32
_ROW = "id, first_offset, last_offset, filter, crc32"
_MOST_ASKED = 64
"""The most runs that are looked up for one alternative. More runs would hardly exclude more blocks."""


@dataclass(frozen=True, slots=True)
class Block:
    """The text of adjacent messages, and the offsets of the first and the last one in their log."""

    text: str
    first_offset: int
    last_offset: int


@dataclass(frozen=True, slots=True)
class FoundBlocks:
    """The blocks of a project that may contain a text."""

    ranges: dict[str, list[tuple[int, int]]]
    """For each log, by name: the offsets of the first and the last message of each block that may match."""
    damaged: set[str]
    """Names of logs whose words were altered: none of their blocks is ruled out."""


def asked_of(pattern: Pattern | AllWords) -> list[list[str]]:
    """Return alternatives of runs of characters: a matching text has all runs of at least one alternative.

    Return [] if the pattern has an alternative without runs, because then any text may match.
    """
    alternatives = []
    for texts in pattern.literals:
        runs: set[str] = set()
        for text in texts:
            runs.update(_runs(text))
        if not runs:
            return []
        alternatives.append(sorted(runs)[:_MOST_ASKED])
    return alternatives


def find_blocks(
    connection: sqlite3.Connection, alternatives: Iterable[Sequence[str]], covered: Mapping[str, LogCoverage]
) -> FoundBlocks:
    """Find the blocks that may contain all runs of any alternative.

    Args:
        connection: a connection in a transaction.
        alternatives: the alternatives.
        covered: the coverage of each session's words, by its log's name.
    """
    reader = _FilterReader(connection, covered)
    rows_by_block = dict[tuple[str, int], Row]()
    for runs in alternatives:
        rows_by_block.update(_blocks_with(runs, reader))
    ranges = dict[str, list[tuple[int, int]]]()
    for (name, _), row in sorted(rows_by_block.items()):
        ranges.setdefault(name, []).append((row.first_offset, row.last_offset))
    return FoundBlocks(ranges, reader.damaged)


def _blocks_with(runs: Sequence[str], reader: _FilterReader) -> dict[tuple[str, int], Row]:
    """Return the blocks whose filters may have all runs. The filters with the most runs are read first, and whole."""
    (first_part, places), *other_parts = asked_parts(runs)
    rows = {key: row for key, row in reader.all_rows(first_part).items() if _may_match(row, places)}
    for part, places in other_parts:
        rows = {key: row for key, row in rows.items() if _may_match(reader.row(part, key), places)}
    return rows


@dataclass(frozen=True, slots=True)
class Row:
    """The row of a block in the table of one part."""

    first_offset: int
    last_offset: int
    filter: bytes


def _may_match(row: Row | None, places: Sequence[Places]) -> bool:
    """Return whether a block of messages may contain all of these runs of characters.

    Args:
        row: the row of the block; None if it is missing or was altered. Then the block may contain anything.
        places: the two numbers of each run. They name the run's bits in the filter of the row.
    """
    return row is None or not row.filter or may_hold(row.filter, places)


class _FilterReader:
    """Reads and verifies the rows of blocks.

    The first part that a search needs is read as a whole, to make sure that no block is missing. From the other parts
    only the blocks that are not ruled out yet are read.

    Args:
        connection: a connection in a transaction.
        covered: the coverage of each session's words, by its log's name.
    """

    def __init__(self, connection: sqlite3.Connection, covered: Mapping[str, LogCoverage]) -> None:
        self._connection = connection
        self._words = dict[str, _Words]()
        self._sessions = dict[str, int]()
        """The ids of the sessions whose stored words are sound and up to date, by the log's name."""
        self._names = dict[int, str]()
        """The names of the logs of these sessions, by the id of the session."""
        for session, name, words in _sound_words(connection):
            if name in covered and words.end_offset == covered[name].end_offset:
                self._words[name] = words
                self._sessions[name] = session
                self._names[session] = name
        self.damaged = set(covered) - set(self._words)
        """Names of logs whose words were found to be altered."""
        self._read = dict[int, dict[tuple[str, int], Row]]()

    def all_rows(self, part: int) -> dict[tuple[str, int], Row]:
        """Return the rows of all blocks in one table, by the log's name and the block's number."""
        if part not in self._read:
            self._read[part] = self._all_rows(part)
        return self._read[part]

    def _all_rows(self, part: int) -> dict[tuple[str, int], Row]:
        """Return all unaltered rows of a table of filters, by the log's name and the block's number.

        Logs that lack some of their rows are added to `damaged`.
        """
        rows = dict[tuple[str, int], Row]()
        counts = dict.fromkeys(self._words, 0)
        for row_id, *columns in self._connection.execute(f"SELECT {_ROW} FROM {FILTER_TABLES[part]} ORDER BY id"):
            session, number = divmod(row_id, _BLOCKS_OF_SESSION)
            name = self._names.get(session)
            if name is None:
                continue
            row = self._checked(name, part, number, columns)
            if row is not None:
                rows[name, number] = row
                counts[name] += 1
        self.damaged |= {name for name, words in self._words.items() if counts[name] != words.blocks}
        return rows

    def row(self, part: int, key: tuple[str, int]) -> Row | None:
        """Return the row of a block, or None if the row is missing or was altered."""
        name, number = key
        row_id = self._sessions[name] * _BLOCKS_OF_SESSION + number
        query = f"SELECT {_ROW} FROM {FILTER_TABLES[part]} WHERE id = ?"
        found = self._connection.execute(query, (row_id,)).fetchone()
        row = self._checked(name, part, number, found[1:]) if found is not None else None
        if row is None:
            self.damaged.add(name)
        return row

    def _checked(self, name: str, part: int, number: int, columns: Sequence[Any]) -> Row | None:
        """Check the columns of a row that was read. Return the row, or None for an altered row."""
        first_offset, last_offset, block_filter, check = columns
        if type(block_filter) is not bytes or type(first_offset) is not int or type(last_offset) is not int:
            return None
        words = self._words[name]
        if number >= words.blocks:
            return None
        row = Row(first_offset, last_offset, block_filter)
        if _check_of_row(words.mark, part, number, row) != check:
            return None
        return row


def take_in(
    connection: sqlite3.Connection,
    name: str,
    block: Block | None,
    *,
    seen: LogCoverage | None,
    begins: bool,
    now: LogCoverage,
) -> bool:
    """Add a block, or none if the messages have no text, and note how far a session is covered.

    Args:
        connection: a connection in a transaction that writes.
        name: the name of the session's log.
        block: the words of the next messages; None if they have no text.
        seen: the coverage of the session when the block was made; None if there was none.
        begins: whether the session's words so far are no longer valid.
        now: the coverage of the session with the block.

    Returns:
        Whether the block was added. It is not added if another process has added one to the session before.

    Raises:
        DamagedError: the session's words were altered.
    """
    if covered_of(connection, name, WORDS) != seen:
        return False
    if begins:
        forget_words(connection, name)
    session = session_id(connection, name)
    words_by_session = {number: words for number, _, words in _sound_words(connection, session)}
    words = words_by_session.get(session)
    if words is None and begins:
        words = _Words(int.from_bytes(os.urandom(6)), 0, 0)
    elif words is None or seen is None or words.end_offset != seen.end_offset:
        raise DamagedError("the words of a session were altered")
    if block is not None:
        for part, bits in enumerate(filters_of(block.text)):
            row = Row(block.first_offset, block.last_offset, bits)
            row_id = session * _BLOCKS_OF_SESSION + words.blocks
            check = _check_of_row(words.mark, part, words.blocks, row)
            query = f"INSERT INTO {FILTER_TABLES[part]} ({_ROW}) VALUES (?, ?, ?, ?, ?)"
            connection.execute(query, (row_id, *astuple(row), check))
        words = replace(words, blocks=words.blocks + 1)
    words = replace(words, end_offset=now.end_offset)
    word_row = (session, words.mark, words.blocks, words.end_offset, _check_of_words(name, words))
    connection.execute("INSERT OR REPLACE INTO words VALUES (?, ?, ?, ?, ?)", word_row)
    cover(connection, session, WORDS, now)
    return True


def forget_words(connection: sqlite3.Connection, name: str) -> None:
    """Remove the words of a session whose log changed."""
    row = connection.execute("SELECT id FROM sessions WHERE path = ?", (name,)).fetchone()
    if row is None:
        return
    session = int(row[0])
    ids = range(session * _BLOCKS_OF_SESSION, (session + 1) * _BLOCKS_OF_SESSION)
    for table in FILTER_TABLES:
        connection.execute(f"DELETE FROM {table} WHERE id >= ? AND id < ?", (ids.start, ids.stop))
    connection.execute("DELETE FROM words WHERE session = ?", (session,))
    connection.execute("DELETE FROM covered WHERE session = ? AND part = ?", (session, WORDS))


def forget_session(connection: sqlite3.Connection, name: str) -> None:
    """Remove all data of a session whose log is gone."""
    forget_words(connection, name)
    row = connection.execute("SELECT id FROM sessions WHERE path = ?", (name,)).fetchone()
    if row is not None:
        forget_ranked(connection, int(row[0]))
    for table in (*FIGURE_TABLES, "snapshots", "covered"):
        connection.execute(f"DELETE FROM {table} WHERE session = (SELECT id FROM sessions WHERE path = ?)", (name,))
    connection.execute("DELETE FROM sessions WHERE path = ?", (name,))


@dataclass(frozen=True, slots=True)
class _Words:
    """The row of a session in the table `words`."""

    mark: int
    blocks: int
    end_offset: int


def _sound_words(connection: sqlite3.Connection, session: int | None = None) -> Iterator[tuple[int, str, _Words]]:
    """Yield the words of each session (or of one session), with the session's id and the log's name.

    Altered words are skipped.
    """
    rows = connection.execute(
        "SELECT id, path, mark, blocks, end_offset, crc32 FROM words JOIN sessions ON id = session"
        " WHERE id = ifnull(?, id)",
        (session,),
    )
    for found, name, mark, blocks, end_offset, check in rows:
        words = _Words(mark, blocks, end_offset)
        if _check_of_words(name, words) == check:
            yield found, name, words


def _check_of_words(name: str, words: _Words) -> int:
    """Return the checksum of a session's words."""
    return crc32(repr((name, words.mark, words.blocks, words.end_offset)).encode("utf-8", "backslashreplace"))


def _check_of_row(mark: int, part: int, number: int, row: Row) -> int:
    """Return the checksum of a block's row."""
    place = b"%d %d %d %d %d" % (mark, part, number, row.first_offset, row.last_offset)
    return crc32(row.filter, crc32(place))


def filters_of(text: str) -> list[bytes]:
    """Return the filters of a block's text; an empty list if the filters would be too large."""
    folded = _folded(text)
    runs = {folded[at : at + RUN_CHARS] for at in range(len(folded) - RUN_CHARS + 1)}
    text_bytes = len(folded) if folded.isascii() else len(folded.encode())
    if len(runs) > max(_FEW_BYTES, MOST_SHARE * text_bytes):
        return [b""] * PARTS
    return make_filters(runs)


def _runs(text: str) -> set[str]:
    """Return the runs of a text, line by line, because a search may leave out lines of a message."""
    lines = _folded(text).split("\n")
    return {line[at : at + RUN_CHARS] for line in lines for at in range(len(line) - RUN_CHARS + 1)}


def _folded(text: str) -> str:
    """Return a text with its case folded, in a form for SQLite.

    Texts that an expression without case regards as equal become equal.
    """
    if text.isascii():
        return text.lower().replace("\0", " ")
    text = text.replace("\u0130", "i").replace(
        "\u0131", "i"
    )  # expressions regard the Turkish letters as equal to the others
    return text.casefold().encode("utf-8", "replace").decode().replace("\0", " ")
