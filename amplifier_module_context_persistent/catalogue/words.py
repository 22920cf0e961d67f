"""The words of a project's messages: which blocks of them may hold a text.

A block is about `BLOCK_BYTES` of text of neighbouring messages of one session, folded. SQLite's FTS5 keeps which runs
of three characters (trigrams) a block holds, and the table `blocks` where its messages lie in their log. Rules:

- They only rule out: a text that holds another one holds all its trigrams. What is left is matched in the log.
- Case is folded further than any expression ignores it, and here, not by SQLite: folding never depends on neighbours.
- A block whose trigrams would take more room than `MOST_SHARE` of its text, as Chinese or random text, is *dense*: it
  is not put in, and is always read.
- FTS5 cannot take a block out without its text. Blocks of sessions that changed stay as dead ones, until they are half
  of all; then all words are begun anew.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..search.pattern import Pattern
from ..search.words import AllWords
from .catalogue_file import FIGURE_TABLES
from .covered import WORDS, LogCoverage, cover, covered_of, session_id

if TYPE_CHECKING:
    import sqlite3

BLOCK_BYTES = 1 << 16
"""Of text: smaller blocks take more room, larger ones rule out less."""
MOST_SHARE = 0.6
_RUN_CHARS = 3
_ASCII_COST, _OTHER_COST = 1, 8
"""Bytes that a trigram of a block takes: those of ASCII mostly stand in other blocks too, others mostly do not."""
_FEW_BYTES = 1_000
"""A block that takes no more room than this is never dense."""
_MOST_ASKED = 64
"""Trigrams of an alternative: more rule out hardly more."""


@dataclass(frozen=True, slots=True)
class Block:
    """The text of some neighbouring messages, and the offsets of the first and the last of them in their log."""

    text: str
    first_offset: int
    last_offset: int


def asked_of(pattern: Pattern | AllWords) -> list[list[str]]:
    """The trigrams that a matching text has: all of at least one alternative; empty where that is not known."""
    alternatives = [sorted(set().union(*map(_trigrams, texts)))[:_MOST_ASKED] for texts in pattern.literals]
    return alternatives if all(alternatives) else []


def find_blocks(connection: sqlite3.Connection, asked: Iterable[Sequence[str]]) -> dict[str, list[tuple[int, int]]]:
    """Where messages may hold all trigrams of an alternative: the offsets of first and last messages, by path."""
    quoted = ([f'"{run.replace(chr(34), chr(34) * 2)}"' for run in alternative] for alternative in asked)
    found: dict[str, list[tuple[int, int]]] = {}
    rows = connection.execute(
        "SELECT path, first_offset, last_offset FROM blocks JOIN sessions ON sessions.id = session"
        " WHERE is_dense OR blocks.id IN (SELECT rowid FROM words WHERE words MATCH ?) ORDER BY first_offset",
        (" OR ".join(f"({' AND '.join(runs)})" for runs in quoted),),
    )
    for path, first, last in rows:
        found.setdefault(path, []).append((first, last))
    return found


def take_in(
    connection: sqlite3.Connection,
    path: str,
    block: Block | None,
    *,
    seen: LogCoverage | None,
    begins: bool,
    now: LogCoverage,
) -> bool:
    """Add a block, or none where nothing was said, and note how far a session is covered.

    Args:
        connection: in a transaction that writes.
        path: the session's log.
        block: what is added.
        seen: how far the session was covered when the block was made; None if it was not known.
        begins: whether what was known of the session is of no use any more.
        now: how far it is covered then.

    Returns:
        Whether it was added; not if somebody else added to the session meanwhile.
    """
    if covered_of(connection, path, WORDS) != seen:
        return False
    if begins:
        forget_words(connection, path)
    session = session_id(connection, path)
    cover(connection, session, WORDS, now)
    if block is not None:
        text = _folded(block.text)
        dense = _is_dense(text)
        added = connection.execute(
            "INSERT INTO blocks VALUES (NULL, ?, ?, ?, ?)", (session, block.first_offset, block.last_offset, dense)
        )
        if not dense:
            connection.execute("INSERT INTO words(rowid, text) VALUES (?, ?)", (added.lastrowid, text))
    return True


def forget_words(connection: sqlite3.Connection, path: str) -> None:
    """Forget the words of a session that is not what it was; where half of all blocks are dead, those of all."""
    connection.execute(
        "UPDATE blocks SET session = 0 WHERE session = (SELECT id FROM sessions WHERE path = ?)", (path,)
    )
    connection.execute(
        "DELETE FROM covered WHERE part = ? AND session = (SELECT id FROM sessions WHERE path = ?)", (WORDS, path)
    )
    ((dead, blocks),) = connection.execute("SELECT sum(session = 0 AND NOT is_dense), count(*) FROM blocks")
    if (dead or 0) * 2 > blocks:
        connection.execute("INSERT INTO words(words) VALUES ('delete-all')")
        connection.execute("DELETE FROM blocks")
        connection.execute("DELETE FROM covered WHERE part = ?", (WORDS,))


def forget_session(connection: sqlite3.Connection, path: str) -> None:
    """Forget all of a session whose log is gone."""
    forget_words(connection, path)
    for table in (*FIGURE_TABLES, "snapshots", "covered"):
        connection.execute(f"DELETE FROM {table} WHERE session = (SELECT id FROM sessions WHERE path = ?)", (path,))
    connection.execute("DELETE FROM sessions WHERE path = ?", (path,))


def _trigrams(text: str) -> set[str]:
    """The trigrams of a text, line by line: a search may leave out parts of a message, which line breaks join."""
    lines = _folded(text).split("\n")
    return {line[at : at + _RUN_CHARS] for line in lines for at in range(len(line) - _RUN_CHARS + 1)}


def _folded(text: str) -> str:
    """Fold the case of a text: texts that an expression takes for the same are the same then; SQLite can hold it."""
    if text.isascii():
        return text.lower().replace("\0", " ")
    text = text.replace("\u0130", "i").replace("\u0131", "i")  # expressions take the Turkish letters for the others
    return text.casefold().encode("utf-8", "replace").decode().replace("\0", " ")


def _is_dense(text: str) -> bool:
    trigrams = set(zip(text, text[1:], text[2:], strict=False))
    cost = sum(_ASCII_COST if "".join(run).isascii() else _OTHER_COST for run in trigrams)
    return cost > max(_FEW_BYTES, MOST_SHARE * (len(text) if text.isascii() else len(text.encode())))
