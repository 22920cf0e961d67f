"""A log over rows of SQLite: a second kind of storage, which proves that the contract needs no file and no offsets.

A row is one record: its number, its kind or role, and its line. The index is made from the rows, by the same
`IndexBuilder` that a scan of a file feeds. There is no lock between reading and writing: an append is prepared, and
stored only if the head of the log is still the one that it was prepared for.
"""

import sqlite3
from collections.abc import Iterator, Sequence

from amplifier_module_context_persistent.log.base import LogDescription, Outcome, Prepare
from amplifier_module_context_persistent.log.batch import prepare_part
from amplifier_module_context_persistent.log.index import Index
from amplifier_module_context_persistent.log.index_builder import IndexBuilder, Place, Standing
from amplifier_module_context_persistent.log.read_back import checked, parsed
from amplifier_module_context_persistent.log.record import (
    MAX_RECORD_BYTES,
    Message,
    decode,
    member_of,
    seal,
    stored_crc,
)
from amplifier_module_context_persistent.log.reset_record import is_intact


class SQLiteLog:
    """A log in a table.

    Args:
        path: the database.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._connection: sqlite3.Connection | None = None
        self._forget()

    def _forget(self) -> None:
        self._builder = IndexBuilder()
        self._rows, self._seed = 0, 0

    @property
    def _database(self) -> sqlite3.Connection:
        if self._connection is None:
            self._connection = sqlite3.connect(self._path, isolation_level=None, check_same_thread=False)
            self._connection.execute("CREATE TABLE IF NOT EXISTS record (number INTEGER PRIMARY KEY, line BLOB)")
        return self._connection

    @property
    def waits_for_storage(self) -> bool:
        return True

    @property
    def index(self) -> Index:
        return self._builder.index

    def follow(self) -> None:
        rows = self._database.execute("SELECT number, line FROM record WHERE number > ? ORDER BY number", (self._rows,))
        for number, line in rows:
            self._take(number, line)

    def _take(self, number: int, line: bytes) -> None:
        value, body = decode(line), line.rstrip(b"\n")
        stored = stored_crc(body)
        assert stored is not None
        self._builder.place = Place(number, number, len(line), self._seed, stored)
        if "_record" in value:
            self._builder.control(value, Standing(intact=is_intact(body)))
        else:
            self._builder.message(value, value["metadata"]["message_id"], 0, member_of(body))
        self._rows, self._seed = number, stored

    def append(self, batch: Sequence[Prepare], *, wait: bool = True) -> list[Outcome]:
        outcomes: list[Outcome] = []
        while len(outcomes) < len(batch):
            self.follow()
            first = len(self.index)
            part = prepare_part(batch[len(outcomes) :], self.index, MAX_RECORD_BYTES)
            lines, seed = [], self._seed
            for body in part.bodies:
                line, seed = seal(body, seed)
                lines.append(line)
            rows = list(enumerate(lines, self._rows + 1))
            try:
                with self._database:
                    self._database.execute("BEGIN")
                    self._database.executemany("INSERT INTO record VALUES (?, ?)", rows)
                    self._database.execute("COMMIT")
            except sqlite3.IntegrityError:  # another writer has these numbers: prepare anew
                continue
            for number, line in rows:
                self._take(number, line)
            outcomes += part.outcomes(first)
        return outcomes

    def read(self, ordinals: Sequence[int]) -> Iterator[Message]:
        return parsed(self.index, self.lines(ordinals), self._path)

    def lines(self, ordinals: Sequence[int]) -> Iterator[tuple[int, bytes]]:
        return checked(self.index, self._lines(ordinals), self._path)

    def _lines(self, ordinals: Sequence[int]) -> Iterator[tuple[int, bytes]]:
        for ordinal in ordinals:
            number = self.index.offsets[ordinal]
            ((line,),) = self._database.execute("SELECT line FROM record WHERE number = ?", (number,))
            yield ordinal, line.rstrip(b"\n")

    def records(self) -> Iterator[bytes]:
        for (line,) in self._database.execute(
            "SELECT line FROM record WHERE number <= ? ORDER BY number", (self._rows,)
        ):
            yield line

    def stored_bytes(self) -> Iterator[bytes]:
        return self.records()

    def describe(self) -> LogDescription:
        ((size,),) = self._database.execute("SELECT coalesce(sum(length(line)), 0) FROM record")
        return LogDescription(self._path, size_bytes=size)

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._connection = None
        self._forget()
