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

import os
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass
from typing import Protocol

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


class Searched(Protocol):
    """What a search looks for."""

    @property
    def literals(self) -> tuple[tuple[str, ...], ...]:
        """Alternatives: every text that matches holds all texts of at least one of them, whatever their case."""
        ...


@dataclass(frozen=True, slots=True)
class Stamp:
    """By what it is seen that a file is as it was: nobody can set the time of the last change."""

    device: int
    inode: int
    size_bytes: int
    mtime_ns: int
    ctime_ns: int

    @classmethod
    def of(cls, status: os.stat_result) -> Stamp:
        """The stamp of a file."""
        return cls(status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


@dataclass(frozen=True, slots=True)
class Covered:
    """What is known of a session: its log's stamp, and that the log's bytes before `offset` are taken in.

    They end in `tail`, which in a chained log holds a checksum that stands for all before it.
    """

    stamp: Stamp
    offset: int
    tail: bytes


@dataclass(frozen=True, slots=True)
class Block:
    """The text of some neighbouring messages, and the offsets of the first and the last of them in their log."""

    text: str
    first_offset: int
    last_offset: int


def asked_of(pattern: Searched) -> list[list[str]]:
    """The trigrams that a matching text has: all of at least one alternative; empty where that is not known."""
    alternatives = [sorted(set().union(*map(_trigrams, texts)))[:_MOST_ASKED] for texts in pattern.literals]
    return alternatives if all(alternatives) else []


def covered_sessions(connection: sqlite3.Connection) -> dict[str, Covered]:
    """What is known of each session, by its log's path."""
    rows = connection.execute(
        "SELECT path, device, inode, size_bytes, mtime_ns, ctime_ns, words_bytes, words_tail FROM sessions"
    )
    return {path: Covered(Stamp(*stamp), offset, tail) for path, *stamp, offset, tail in rows}


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
    seen_offset: int | None,
    begins: bool,
    covered: Covered,
) -> bool:
    """Add a block, or none where nothing was said, and note how far a session is covered.

    Args:
        connection: in a transaction that writes.
        path: the session's log.
        block: what is added.
        seen_offset: how far the session was covered when the block was made; None if it was not known.
        begins: whether what was known of the session is of no use any more.
        covered: how far it is covered then.

    Returns:
        Whether it was added; not if somebody else added to the session meanwhile.
    """
    known = connection.execute("SELECT words_bytes FROM sessions WHERE path = ?", (path,)).fetchone()
    if known != (None if seen_offset is None else (seen_offset,)):
        return False
    if begins:
        forget(connection, path)
        connection.execute("INSERT INTO sessions VALUES (NULL, ?, 0, 0, 0, 0, 0, 0, x'')", (path,))
    stamp = covered.stamp
    connection.execute(
        "UPDATE sessions SET (device, inode, size_bytes, mtime_ns, ctime_ns, words_bytes, words_tail)"
        " = (?, ?, ?, ?, ?, ?, ?) WHERE path = ?",
        (*astuple(stamp), covered.offset, covered.tail, path),
    )
    if block is not None:
        text = _folded(block.text)
        dense = _is_dense(text)
        added = connection.execute(
            "INSERT INTO blocks SELECT NULL, id, ?, ?, ? FROM sessions WHERE path = ?",
            (block.first_offset, block.last_offset, dense, path),
        )
        if not dense:
            connection.execute("INSERT INTO words(rowid, text) VALUES (?, ?)", (added.lastrowid, text))
    return True


def forget(connection: sqlite3.Connection, path: str) -> None:
    """Forget a session that is gone or is no longer what it was; where half of all blocks are dead, forget all."""
    connection.execute(
        "UPDATE blocks SET session = 0 WHERE session = (SELECT id FROM sessions WHERE path = ?)", (path,)
    )
    connection.execute("DELETE FROM sessions WHERE path = ?", (path,))
    ((dead, blocks),) = connection.execute("SELECT sum(session = 0 AND NOT is_dense), count(*) FROM blocks")
    if (dead or 0) * 2 > blocks:
        connection.execute("INSERT INTO words(words) VALUES ('delete-all')")
        connection.execute("DELETE FROM blocks")
        connection.execute("DELETE FROM sessions")


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
