"""The search index of a project's sessions: one SQLite file (FTS5) that says which blocks of messages may match.

It is disposable: it can be removed at any time, and only ever rules out what need not be read. Rules:

- A block is about `BLOCK_BYTES` of text of neighbouring messages, of one session or of several small ones. The index
  holds the words of its runs (`search/trigrams.py`) and where its messages lie in their logs; no text.
- The file is never changed in place. A new one is written beside it (mode 0600) and renamed over it, so readers need
  no lock, and of two writers the last one wins; what the other one added is added again later.
- A checksum over the whole file stands in its header, in the field that SQLite leaves to applications. A file with
  any damage is no index, and neither is one that is no regular file of this user.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import stat
import time
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from secrets import token_hex
from typing import Protocol

from ..log.search_index import parts_of

_FORMAT = 0x63746601
"""The application id of the file; another one is another format."""
_CHECK_AT = 60  # the header's field `user version`
_READ_BYTES = 1 << 20
_LEFT_OVER_S = 3600
_SCHEMA = """
CREATE TABLE session(id INTEGER PRIMARY KEY, name TEXT UNIQUE, device INT, inode INT, size INT, mtime INT, ctime INT,
                     done INT, tail BLOB);
CREATE TABLE part(block INT, session INT, first INT, last INT, is_dense INT, PRIMARY KEY(block, session))
  WITHOUT ROWID;
CREATE TABLE made(blocks INT);
INSERT INTO made VALUES (0);
CREATE VIRTUAL TABLE words USING fts5(word, content='', columnsize=0, detail=none, tokenize='ascii');
"""


@dataclass(frozen=True, slots=True)
class Stamp:
    """By what it is seen that a file is as it was: nobody can set the time of the last change."""

    device: int
    inode: int
    size: int
    mtime_ns: int
    ctime_ns: int

    @classmethod
    def of(cls, status: os.stat_result) -> Stamp:
        """The stamp of a file."""
        return cls(status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


@dataclass(frozen=True, slots=True)
class Covered:
    """What the index knows of a session: its file's stamp, and the log's bytes before `done`, which end in `tail`."""

    stamp: Stamp
    done: int
    tail: bytes


@dataclass(slots=True)
class Block:
    """A block of messages: their words, and of each session the offsets of the first and the last of them.

    Without words it is *dense*: so many runs differ that the words would take too much room; it is always read.
    """

    words: set[str] = field(default_factory=set)
    parts: dict[str, tuple[int, int]] = field(default_factory=dict)


class FullText:
    """An index that is read; close it, or use it in a `with` statement."""

    def __init__(self, path: Path, database: sqlite3.Connection) -> None:
        self.path = path
        self.database = database
        rows = database.execute("SELECT name, device, inode, size, mtime, ctime, done, tail FROM session")
        self.sessions = {name: Covered(Stamp(*stamp), done, tail) for name, *stamp, done, tail in rows}
        ((self.blocks_made,),) = database.execute("SELECT blocks FROM made")
        ((self.blocks,),) = database.execute("SELECT count(DISTINCT block) FROM part")

    def __enter__(self) -> FullText:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let the file go."""
        self.database.close()

    def find(self, alternatives: Iterable[Iterable[str]]) -> dict[str, list[tuple[int, int]]]:
        """Where messages may hold all words of an alternative: by session, offsets of first and last messages.

        Raises:
            sqlite3.Error: the file cannot be read.
        """
        wanted = " OR ".join(f"({' AND '.join(alternative)})" for alternative in alternatives)
        found: dict[str, list[tuple[int, int]]] = {}
        rows = self.database.execute(
            "SELECT name, first, last FROM part JOIN session ON id = session"
            " WHERE is_dense OR block IN (SELECT rowid FROM words WHERE words MATCH ?)",
            (wanted,),
        )
        for name, first, last in rows:
            found.setdefault(name, []).append((first, last))
        return found


def open_index(path: Path) -> FullText | None:
    """Open an index; None if there is none that can be trusted."""
    try:
        status = os.lstat(path)
        if not stat.S_ISREG(status.st_mode) or (hasattr(os, "geteuid") and status.st_uid != os.geteuid()):
            return None
        if _checksum(path) != _stored_checksum(path):
            return None
        database = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro&immutable=1", uri=True)
    except (OSError, sqlite3.Error):
        return None
    try:
        if database.execute("PRAGMA application_id").fetchone() == (_FORMAT,):
            database.execute("SELECT rowid FROM words WHERE words MATCH '000'").fetchone()
            return FullText(path, database)
    except sqlite3.Error:
        pass  # FTS5 is missing, or another version wrote it
    database.close()
    return None


class NewBlocks(Protocol):
    """What is added to an index."""

    @property
    def covered(self) -> Mapping[str, Covered]:
        """What the index then knows of the sessions; asked for after the last block."""
        ...

    def __iter__(self) -> Iterator[Block]:
        """Give the blocks."""
        ...


def write_index(path: Path, base: FullText | None, blocks: NewBlocks, forget: Iterable[str]) -> bool:
    """Write an index: what `base` holds, without the sessions to forget, and with some blocks; whether it was written.

    Args:
        path: its place.
        base: the index before it; it must still be open.
        blocks: what is new.
        forget: sessions that are gone, or are no longer what they were.
    """
    aside = Path(f"{path}.{token_hex(4)}.part")
    try:
        _remove_left_over(path)
        os.close(os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        try:
            _fill(aside, base, blocks, forget)
            check = _checksum(aside)
            with aside.open("r+b") as file:
                file.seek(_CHECK_AT)
                file.write(check.to_bytes(4, "big"))
            if base is not None and not path.exists():
                return False  # a purge removed it meanwhile, and what it removed is in this one
            os.replace(aside, path)
        finally:
            aside.unlink(missing_ok=True)
    except (OSError, sqlite3.Error):
        return False
    return True


def _fill(aside: Path, base: FullText | None, blocks: NewBlocks, forget: Iterable[str]) -> None:
    if base is not None:
        base.database.execute("VACUUM INTO ?", (str(aside),))
    with contextlib.closing(sqlite3.connect(aside)) as database:
        database.execute("PRAGMA journal_mode = OFF")  # a file that is not finished is never read
        database.execute("PRAGMA synchronous = OFF")
        if base is None:
            database.execute("PRAGMA page_size = 1024")
            database.execute(f"PRAGMA application_id = {_FORMAT}")
            database.executescript(_SCHEMA)
        database.execute("PRAGMA user_version = 0")
        for name in forget:
            database.execute("DELETE FROM part WHERE session = (SELECT id FROM session WHERE name = ?)", (name,))
            database.execute("DELETE FROM session WHERE name = ?", (name,))
        for block in blocks:
            _put(database, block)
        for name, one in blocks.covered.items():
            stamp = one.stamp
            row = stamp.device, stamp.inode, stamp.size, stamp.mtime_ns, stamp.ctime_ns, one.done, one.tail, name
            database.execute("INSERT OR IGNORE INTO session(name) VALUES (?)", (name,))
            database.execute(
                "UPDATE session SET (device, inode, size, mtime, ctime, done, tail) = (?, ?, ?, ?, ?, ?, ?)"
                " WHERE name = ?",
                row,
            )
        database.commit()


def _put(database: sqlite3.Connection, block: Block) -> None:
    database.execute("UPDATE made SET blocks = blocks + 1")
    ((number,),) = database.execute("SELECT blocks FROM made")
    if block.words:
        database.execute("INSERT INTO words(rowid, word) VALUES (?, ?)", (number, " ".join(sorted(block.words))))
    for name, (first, last) in block.parts.items():
        database.execute("INSERT OR IGNORE INTO session(name, done) VALUES (?, 0)", (name,))
        database.execute(
            "INSERT INTO part SELECT ?, id, ?, ?, ? FROM session WHERE name = ?",
            (number, first, last, not block.words, name),
        )


def _remove_left_over(path: Path) -> None:
    for name in parts_of(path):
        with contextlib.suppress(OSError):
            if time.time() - os.lstat(name).st_mtime > _LEFT_OVER_S:
                os.remove(name)


def _stored_checksum(path: Path) -> int:
    with path.open("rb") as file:
        file.seek(_CHECK_AT)
        return int.from_bytes(file.read(4), "big")


def _checksum(path: Path) -> int:
    """Of the whole file, with zeros in place of the checksum itself; never 0."""
    with path.open("rb") as file:
        head = bytearray(file.read(_READ_BYTES))
        head[_CHECK_AT : _CHECK_AT + 4] = bytes(4)
        check = zlib.crc32(head)
        while piece := file.read(_READ_BYTES):
            check = zlib.crc32(piece, check)
    return check or 1
