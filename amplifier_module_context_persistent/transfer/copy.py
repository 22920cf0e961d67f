"""Copying messages from one log into a new one: what an import and a fork have in common.

A message keeps its content, its timestamp and its id, given or derived. Only where an earlier message has the same id
does it get a new one. Nothing else is added: a message without a timestamp stays without. What cannot be copied is
reported with the reason.
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from ..errors import LogUnreadableError, RecordError
from ..log.atomic_file import NewFile
from ..log.batch import SEAL_BYTES
from ..log.reader import LogReader
from ..log.record import ROLES, decode, encode_plain, seal, to_plain
from ..log.scanner import message_id_of
from ..messages.metadata import given_id, timestamp_of
from .importers.account import Loss

_LOST = frozenset({"unreadable", "oversized", "glued"})
_BLOCK_BYTES = 1 << 20


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


def carry(reader: LogReader, ordinals: Sequence[int], *, rename: Callable[[str], str]) -> Iterator[Carried]:
    """Encode messages of a log for another one, in the order asked for.

    Args:
        reader: the log.
        ordinals: which messages.
        rename: gives a new id for an id that an earlier message has.

    Raises:
        LogUnreadableError: the log's bytes changed while they were read.
    """
    index, taken, most_bytes = reader.index, set[int](), reader.max_record_bytes - SEAL_BYTES
    for ordinal, line in reader.lines(ordinals):
        offset, role, hashed = index.offsets[ordinal], ROLES[index.roles[ordinal]], index.id_hashes[ordinal]
        try:
            message = decode(line)
        except ValueError as error:
            reason = f"the record at byte {offset} was overwritten ({error})"
            raise LogUnreadableError(errno.EIO, reason, reader.path) from error
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


def refused_messages(reader: LogReader, refused: Iterable[Carried]) -> list[Loss]:
    """The messages that cannot be copied, with their lines and offsets."""
    reasons = {reader.index.offsets[one.ordinal]: one.reason for one in refused}
    lines = _line_numbers(reader, sorted(reasons))
    return [Loss(lines[offset], offset, reason) for offset, reason in sorted(reasons.items())]


def unread_lines(reader: LogReader) -> list[Loss]:
    """The lines of a file that hold bytes which are no record."""
    return [Loss(bad.line, bad.offset, bad.detail) for bad in reader.index.damage if bad.kind in _LOST]


def torn_tail(reader: LogReader) -> list[Loss]:
    """What an interrupted write left at a file's end."""
    if (torn := reader.torn) is None:
        return []
    (line,) = _line_numbers(reader, [torn.offset]).values()
    return [Loss(line, torn.offset, f"{torn.torn_bytes:,} bytes at the end that are no whole record")]


def _line_numbers(reader: LogReader, offsets: Sequence[int]) -> dict[int, int]:
    """The numbers of the lines that begin at some offsets, which are given in order."""
    numbers, line, at = {}, 1, 0
    for offset in offsets:
        while at < offset and (block := reader.file.read(at, min(_BLOCK_BYTES, offset - at))):
            line += block.count(b"\n")
            at += len(block)
        numbers[offset] = line
    return numbers


class NewLog:
    """A new log that is being written, chained from its first record on; it appears whole or not at all.

    Use it in a `with` statement, `append` the bodies of its records, and `finish` it.

    Args:
        path: the new log's file; None writes nothing, for a dry run.

    Raises:
        OSError: it cannot be written, or something has its name already.
    """

    def __init__(self, path: str | None) -> None:
        self._file = NewFile(path, with_directories=True) if path is not None else None
        self._seed = 0

    def __enter__(self) -> NewLog:
        if self._file is not None:
            self._file.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.__exit__(*_)

    def append(self, body: bytes) -> None:
        """Write one record."""
        line, self._seed = seal(body, self._seed)
        if self._file is not None:
            self._file.write(line)

    def finish(self) -> None:
        """Give the log its name."""
        if self._file is not None:
            self._file.finish()
