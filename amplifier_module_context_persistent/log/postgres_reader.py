"""Reading a log in PostgreSQL: read all, follow, read back. Nothing here writes, but for making the log's row.

The lines are scanned as those of a file are, with the offsets that they have in a file. So damage, resets and ids that
are derived from a place mean the same on both sides.
"""

from __future__ import annotations

import errno
import logging
import os
import time
from array import array
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar
from zlib import crc32

from ..errors import LogError, LogUnreadableError
from . import postgres_rows as rows
from .index import Index
from .location import Location
from .postgres_rows import Head
from .postgres_server import DeadlineError, Server, first_line, give_back, is_servers, take_server
from .record import CRC_TAIL_BYTES
from .scanner import Scanner

if TYPE_CHECKING:
    import psycopg

logger = logging.getLogger(__name__)

T = TypeVar("T")


class PostgresReader:
    """What is known of a log in PostgreSQL.

    Args:
        location: the server, the schema and the name of the log.
        timeout_s: the deadline of every operation.
        max_record_bytes: longer lines are reported and skipped.
    """

    def __init__(self, location: Location, *, timeout_s: float, max_record_bytes: int) -> None:
        self.location, self.shown = location, location.shown
        self.timeout_s, self.max_record_bytes = timeout_s, max_record_bytes
        self.lost_messages = 0
        """Messages that this object saw in the log and that it no longer holds; those of a purge do not count."""
        self._server: Server | None = None
        self._forget()

    def _forget(self) -> None:
        self.head: Head | None = None
        """The log's row when last looked at; None before, and where there is no such log."""
        self.scanner = Scanner(self.max_record_bytes)
        self._starts: array[int] = array("Q")
        """Where each line begins: the offset that it has in a file."""
        self._last_line = b""

    @property
    def index(self) -> Index:
        """The index of what is known; another object after the log was read anew."""
        return self.scanner.index

    @property
    def lines_known(self) -> int:
        """How many lines were taken in."""
        return len(self._starts)

    @property
    def server(self) -> Server:
        """The shared connection; another one after a fork of the process."""
        if self._server is None or self._server.pid != os.getpid():
            self._server = take_server(self.location)
        return self._server

    def known(self) -> Head:
        """The log's row.

        Raises:
            LogUnreadableError: there is no such log.
        """
        if self.head is None:
            raise LogUnreadableError(errno.ENOENT, "there is no such log", self.shown)
        return self.head

    def close(self) -> None:
        """Let the connection go and forget what was read."""
        server, self._server = self._server, None
        if server is not None:
            give_back(server)
        self._forget()

    def ask(self, function: Callable[[psycopg.Connection[Any]], T]) -> T:
        """Call a function that only reads; a broken connection is made anew until the deadline.

        Raises:
            LogUnreadableError: the server cannot be asked, or refuses.
        """
        deadline = time.monotonic() + self.timeout_s
        while True:
            server = self.server
            try:
                with server.connected(deadline) as connection:
                    return function(connection)
            except LogError:
                raise
            except Exception as error:
                if not is_servers(error):
                    raise
                answered = server.is_open() and not isinstance(error, DeadlineError)
                if not answered:
                    server.drop()
                if answered or time.monotonic() >= deadline:
                    reason = f"the log cannot be read from the server: {first_line(error)}"
                    raise LogUnreadableError(errno.EIO, reason, self.shown) from error

    def follow(self, connection: psycopg.Connection[Any], *, create: bool = False, lock: bool = False) -> None:
        """Take in what is new.

        Args:
            connection: asked; inside a transaction if `lock` is set.
            create: make the log if there is none.
            lock: hold the log's row until the transaction ends.

        Raises:
            LogUnreadableError: the log was removed while it was open.
        """
        schema = self.location.schema
        head = rows.read_head(connection, schema, self.location.name, lock=lock)
        if head is None and self.head is not None:
            self._forget()
            raise LogUnreadableError(errno.ENOENT, "the log was removed while it was open", self.shown)
        if head is None and create:
            rows.create(connection, schema, self.location.name)
            head = rows.read_head(connection, schema, self.location.name, lock=lock)
        if head is None:
            return
        known, purged = self.index, self._was_replaced(head)
        goes_on = not purged and self._continues(connection, head)
        if not goes_on:
            self._forget()
        while self.lines_known < head.head:
            self.take(self._block(connection, log_id=head.log_id, start=self.lines_known, stop=head.head))
        self.head = head
        if not (goes_on or purged):
            self._count_lost(known)

    def take(self, lines: Sequence[bytes]) -> None:
        """Scan lines, without LF, that stand in the log after what is known."""
        scanner = self.scanner
        for line in lines:
            self._starts.append(scanner.offset)
            if len(line) > self.max_record_bytes:
                scanner.skip(len(line) + 1, crc32(line, scanner.seed), line[-CRC_TAIL_BYTES:])
            else:
                scanner.feed(line + b"\n")
        self._last_line = lines[-1]

    def read_bytes(self, offset: int, length: int) -> bytes:
        """Read bytes of the log as it would be in a file."""
        first = bisect_right(self._starts, offset) - 1
        stop = bisect_right(self._starts, offset + length - 1)
        log_id = self.known().log_id

        def fetch(connection: psycopg.Connection[Any]) -> bytes:
            found = rows.read_lines(connection, self.location.schema, log_id, first, stop)
            return b"\n".join(found) + b"\n"

        start = offset - self._starts[first]
        return self.ask(fetch)[start : start + length]

    def records(self) -> Iterator[bytes]:
        """Give every line that was taken in, each with its LF."""
        number, stop = 0, self.lines_known
        while number < stop:
            block = self.ask(partial(self._block, log_id=self.known().log_id, start=number, stop=stop))
            number += len(block)
            yield from (line + b"\n" for line in block)

    def _block(self, connection: psycopg.Connection[Any], *, log_id: int, start: int, stop: int) -> list[bytes]:
        """Some lines from number `start` on, at least one.

        Raises:
            LogUnreadableError: a line is missing.
        """
        lines = rows.read_block(connection, self.location.schema, log_id, start, stop)
        if not lines:
            raise LogUnreadableError(errno.EIO, f"line {start + 1} of {stop} is missing in the database", self.shown)
        return lines

    def _was_replaced(self, head: Head) -> bool:
        """Whether another log stands in the place of the known one, as after a purge."""
        known = self.head
        replaced = known is not None and (head.log_id, head.generation) != (known.log_id, known.generation)
        if replaced:
            logger.warning("%s was replaced, as a purge does; reading it anew", self.shown)
        return replaced

    def _continues(self, connection: psycopg.Connection[Any], head: Head) -> bool:
        """Whether a log still holds what is known of it."""
        known = self.head
        if known is None:
            return self.lines_known == 0
        if head.head < known.head or not known.head:
            return not known.head
        last = rows.read_block(connection, self.location.schema, head.log_id, known.head - 1, known.head)
        return last == [self._last_line]

    def _count_lost(self, known: Index) -> None:
        """Count and report messages that were known and are gone, as after a failover to a server that lagged."""
        lost = sum((Counter(known.id_hashes) - Counter(self.index.id_hashes)).values())
        self.lost_messages += lost
        logger.error("%s: %d messages that it held are gone; restore them from a backup", self.shown, lost)
