"""Copying messages from one log into a new one: what an import and a fork have in common (`copy_log` copies all bytes).

Whoever adds records to a log from outside uses `append_all`.

A message keeps its content, its timestamp and its id, given or derived. Only where an earlier message has the same id
does it get a new one. Nothing else is added: a message without a timestamp stays without. What cannot be copied is
reported with the reason.
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass

from ..errors import LogUnreadableError, RecordError
from ..log.base import Log, ReadableLog
from ..log.batch import SEAL_BYTES
from ..log.index import Index
from ..log.open import new_log
from ..log.reader import LogReader
from ..log.record import MAX_RECORD_BYTES, ROLES, decode, encode_plain, message_id_of, seal, to_plain
from ..messages.metadata import given_id, timestamp_of
from .importers.account import Loss

_BATCH_BYTES = 4 << 20
_LOST = frozenset({"unreadable", "oversized", "glued"})


@dataclass(frozen=True, slots=True)
class Carried:
    """A message that is being copied: the body of its record, or None and the reason why it cannot be copied."""

    ordinal: int
    role: str
    message_id: str
    body: bytes | None
    reason: str = ""
    has_timestamp: bool = True
    renamed_from: str | None = None
    """The id that it had in the source, where an earlier message has the same."""
    named: bool = True
    """Whether it had an id in the source; else its id is derived from its bytes and its offset."""


def carry(
    reader: ReadableLog,
    ordinals: Sequence[int],
    *,
    rename: Callable[[str], str],
    max_record_bytes: int = MAX_RECORD_BYTES,
) -> Iterator[Carried]:
    """Encode messages of a log for another one, in the order asked for.

    Args:
        reader: the log.
        ordinals: which messages.
        rename: gives a new id for an id that an earlier message has.
        max_record_bytes: larger ones are refused.

    Raises:
        LogUnreadableError: the log's bytes changed while they were read.
    """
    index, taken, most_bytes = reader.index, set[int](), max_record_bytes - SEAL_BYTES
    for ordinal, line in reader.lines(ordinals):
        offset, role, hashed = index.offsets[ordinal], ROLES[index.roles[ordinal]], index.id_hashes[ordinal]
        try:
            message = decode(line)
        except ValueError as error:
            reason = f"the record at byte {offset} was overwritten ({error})"
            raise LogUnreadableError(errno.EIO, reason, reader.describe().location) from error
        given = message_id_of(message, line, offset)
        own = rename(given) if hashed in taken else given
        taken.add(hashed)
        timed, named = bool(timestamp_of(message)), given_id(message) is not None
        body, reason = None, ""
        try:
            body = encode_plain(to_plain(message), message_id=own, timestamp=None)
        except RecordError as refused:
            reason = str(refused)
        if body is not None and len(body) > most_bytes:
            reason = f"it has {len(body):,} bytes; at most {most_bytes:,} are stored"
            body = None
        renamed = given if own != given else None
        yield Carried(ordinal, role, own, body, reason, timed, renamed, named)


def refused_messages(reader: ReadableLog, refused: Iterable[Carried]) -> list[Loss]:
    """The messages that cannot be copied, with their lines and offsets."""
    reasons = {reader.index.offsets[one.ordinal]: one.reason for one in refused}
    lines, offset, left = dict[int, int](), 0, len(reasons)
    for number, line in enumerate(reader.records() if reasons else (), start=1):
        if offset in reasons:
            lines[offset], left = number, left - 1
        if not left:
            break
        offset += len(line)
    return [Loss(lines.get(offset, 0), offset, reason) for offset, reason in sorted(reasons.items())]


def unread_lines(reader: ReadableLog) -> list[Loss]:
    """The lines of a file that hold bytes which are no record."""
    return [Loss(bad.line, bad.offset, bad.detail) for bad in reader.index.damage if bad.kind in _LOST]


def torn_tail(reader: LogReader) -> list[Loss]:
    """What an interrupted write left at a file's end."""
    if (torn := reader.torn) is None:
        return []
    line = 1 + sum(1 for _ in reader.file.lines(torn.offset))
    return [Loss(line, torn.offset, f"{torn.torn_bytes:,} bytes at the end that are no whole record")]


Prepare = Callable[[Index], list[bytes]]


def append_all(log: Log, prepare: Prepare, bodies: Iterable[bytes] = ()) -> None:
    """Append what `prepare` gives under the lock, then the bodies, a few MB at a time; the log is closed.

    Raises:
        LogError: the log took not all of them.
    """
    with closing(log):
        _append(log, prepare)
        batch, size = list[bytes](), 0
        for body in bodies:
            batch.append(body)
            size += len(body)
            if size > _BATCH_BYTES:
                _append(log, batch)
                batch, size = [], 0
        if batch:
            _append(log, batch)


def _append(log: Log, bodies: list[bytes] | Prepare) -> None:
    (outcome,) = log.append([bodies if callable(bodies) else lambda _: bodies])
    if isinstance(outcome, Exception):
        raise outcome


class NewLog:
    """A new log that is being written, chained from its first record on; it appears whole or not at all.

    Use it in a `with` statement, `append` the bodies of its records, and `finish` it.

    Args:
        path: the new log's file, or its location in a database; None writes nothing, for a dry run.

    Raises:
        OSError: it cannot be written, or something has its name already.
    """

    def __init__(self, path: str | None) -> None:
        self._new = new_log(path) if path is not None else None
        self._seed = 0

    def __enter__(self) -> NewLog:
        if self._new is not None:
            self._new.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        if self._new is not None:
            self._new.__exit__(*_)

    def append(self, body: bytes) -> None:
        """Write one record."""
        line, self._seed = seal(body, self._seed)
        if self._new is not None:
            self._new.write(line)

    def finish(self) -> None:
        """Give the log its name."""
        if self._new is not None:
            self._new.finish()
