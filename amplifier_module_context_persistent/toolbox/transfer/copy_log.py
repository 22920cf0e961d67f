"""Copy a log: its messages into a new log, as an import and a fork do; or the whole log, byte for byte.

Commands that add records to a log use `append_all`.

A copied message keeps its content, its timestamp and its id, given or derived. It gets a new id only if an earlier
message has the same id. Nothing else is added: a message without a timestamp gets none. Messages that cannot be copied
are reported with the reason.

`copy_log` copies everything: control records, hidden messages, damaged lines, a last line without LF. The only
exception is an append of several messages that a crash interrupted: no writer was told that they were stored, and a
database would show some of them. So the copy has the same views and receipts, and a session can continue there. The
copy is written under a temporary name, read back and then renamed, so it appears whole or not at all. The original is
only read.
"""

from __future__ import annotations

import errno
import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from ...errors import LogUnreadableError, RecordError
from ...log.bundle import HEAD as BUNDLE_HEAD
from ...log.checksum import seal
from ...log.contract import Log, ReadableLog
from ...log.database_location import location_of, shown_location, split_location, stored_name
from ...log.filesystem import FileSystem
from ...log.index import Index
from ...log.not_a_log import check_is_log
from ...log.open_log import check_is_free, new_log
from ...log.open_reader import not_there, open_reader
from ...log.reader import LogReader
from ...log.record_limits import MAX_DEPTH, MAX_RECORD_BYTES, SEAL_BYTES, is_too_deep
from ...log.record_line import Message, decode, encode_message, message_id_of
from ...messages.check_incoming import check_message, json_copy
from ...messages.json_fields import present
from ...messages.message_times import timestamp_of
from ...messages.metadata import given_id
from ...paths import LOG_NAME, log_name, session_id_of
from .damaged_log import check_sound, damage_in
from .importers.account import LostLine

MOST_BODY_BYTES = MAX_RECORD_BYTES - SEAL_BYTES
_BATCH_BYTES = 4 << 20
_LOST = frozenset({"unreadable", "oversized", "glued"})


class CopiedMessage(NamedTuple):
    """A message that is being copied, and the body of its record."""

    ordinal: int
    role: str
    message_id: str
    body: bytes
    has_timestamp: bool = True
    renamed_from: str | None = None
    """The id in the source, if an earlier message has the same id."""
    named: bool = True
    """Whether the message had an id in the source; if not, its id is derived from its bytes and its offset."""


def carry(
    reader: ReadableLog,
    ordinals: Sequence[int],
    *,
    rename: Callable[[str], str],
    refused: dict[int, str],
    why_not: Callable[[Message], str] = lambda _: "",
) -> Iterator[CopiedMessage]:
    """Encode messages of a log for another log, in the order of `ordinals`.

    Args:
        reader: the log.
        ordinals: the ordinals of the messages.
        rename: returns a new id for an id that an earlier message has.
        refused: filled with the ordinals of messages that cannot be copied, and the reason.
        why_not: returns why a message must not be copied, or "" if it may.

    Raises:
        LogUnreadableError: the log's bytes changed while they were read.
    """
    return copied_from(reader, ordinals, MessageCopier(rename, refused, why_not))


def copied_from(reader: ReadableLog, ordinals: Sequence[int], copier: MessageCopier) -> Iterator[CopiedMessage]:
    """Read messages of a log, and yield these encoded for another log, as `carry` does.

    Raises:
        LogUnreadableError: the log's bytes changed while they were read.
    """
    columns = reader.index.columns
    for ordinal, line in reader.lines(ordinals):
        offset = columns.offsets[ordinal]
        try:
            message = decode(line)
        except ValueError as error:
            reason = f"the record at byte {offset} was overwritten ({error})"
            raise LogUnreadableError(errno.EIO, reason, reader.describe().location) from error
        given_message_id = message_id_of(message, line, offset)
        copied = copier.copied(ordinal, message, given_message_id, line, columns.id_hashes[ordinal])
        if copied is not None:
            yield copied


class MessageCopier:
    """Encodes messages of one log for another log, one after the other.

    Args:
        rename: returns a new id for an id that an earlier message has.
        refused: filled with the ordinals of messages that cannot be copied, and the reason.
        why_not: returns why a message must not be copied, or "" if it may.
    """

    def __init__(
        self, rename: Callable[[str], str], refused: dict[int, str], why_not: Callable[[Message], str] = lambda _: ""
    ) -> None:
        self._rename = rename
        self._why_not = why_not
        self.refused = refused
        self._taken = set[int]()
        """Hashes of the ids of earlier messages."""

    def copied(
        self,
        ordinal: int,
        message: Message,
        given_message_id: str,
        line: bytes,
        hashed: int,
        *,
        is_checked: bool = False,
    ) -> CopiedMessage | None:
        """Encode a message. If the message cannot be copied, add it to the refused messages and return None.

        Args:
            ordinal: the number of the message in its log.
            message: the message, as parsed from the line.
            given_message_id: its id.
            line: its line.
            hashed: the hash of its id.
            is_checked: whether the message is known to follow the rules of records (`check_message`), and not to be
                nested too deeply.
        """
        reason = self._why_not(message)
        if reason:
            self.refused[ordinal] = reason
            return None
        own = self._rename(given_message_id) if hashed in self._taken else given_message_id
        self._taken.add(hashed)
        try:
            if not is_checked:
                if is_too_deep(line, message, MAX_DEPTH):
                    message = json_copy(message, is_stored=True)
                check_message(message, is_stored=True)
            body = encode_message(message, message_id=own, timestamp=None)
            check_size(len(body))
        except RecordError as reason_given:
            self.refused[ordinal] = str(reason_given)
            return None
        timed = bool(timestamp_of(message))
        has_own_id = given_id(message) is not None
        renamed = given_message_id if own != given_message_id else None
        return CopiedMessage(ordinal, str(message["role"]), own, body, timed, renamed, has_own_id)


def check_size(body_bytes: int) -> None:
    """Check that the body of a record is not too long to be read back.

    Raises:
        RecordError: the body is too long.
    """
    if body_bytes > MOST_BODY_BYTES:
        raise RecordError(f"it has {body_bytes:,} bytes; at most {MOST_BODY_BYTES:,} are stored")


def refused_messages(reader: ReadableLog, refused: Mapping[int, str]) -> list[LostLine]:
    """Return the messages that cannot be copied, with line and offset; `refused` was filled by `carry`."""
    reasons = {reader.index.columns.offsets[ordinal]: reason for ordinal, reason in refused.items()}
    lines = dict[int, int]()
    offset = 0
    left = len(reasons)
    for number, line in enumerate(reader.records() if reasons else (), start=1):
        if offset in reasons:
            lines[offset] = number
            left = left - 1
        if not left:
            break
        offset += len(line)
    return [LostLine(lines.get(offset, 0), offset, reason) for offset, reason in sorted(reasons.items())]


def unread_lines(reader: ReadableLog) -> list[LostLine]:
    """Return the lines of a log that contain bytes which are not a record."""
    return [LostLine(bad.line, bad.offset, bad.detail) for bad in reader.index.damage if bad.kind in _LOST]


def torn_tail(reader: LogReader) -> list[LostLine]:
    """Return the torn tail of a file, left by an interrupted write, as a list of one or no item."""
    torn = reader.torn
    if torn is None:
        return []
    line = 1 + sum(1 for _ in reader.file.lines(torn.offset))
    return [LostLine(line, torn.offset, f"{torn.torn_bytes:,} bytes at the end that are no whole record")]


Prepare = Callable[[Index], list[bytes]]


def append_all(log: Log, prepare: Prepare, bodies: Iterable[bytes] = ()) -> None:
    """Append the records that `prepare` returns under the lock, then the bodies, about 4 MB at a time. Closes the log.

    Each body becomes a record of its own, without a frame around several: so a copy has the same bytes as its original.

    Raises:
        LogError: the log refused some of the records; earlier ones are appended.
    """
    with closing(log):
        _append(log, [prepare])
        batch = list[bytes]()
        size = 0
        for body in bodies:
            batch.append(body)
            size += len(body)
            if size > _BATCH_BYTES:
                _append(log, _each(batch))
                batch = []
                size = 0
        if batch:
            _append(log, _each(batch))


def _append(log: Log, prepared: Sequence[Prepare]) -> None:
    for outcome in log.append(prepared):
        if isinstance(outcome, Exception):
            raise outcome


def _each(bodies: Iterable[bytes]) -> list[Prepare]:
    return [lambda _, body=body: [body] for body in bodies]  # type: ignore[misc]  # `body` is bound, not given


def write_new_log(path: str, bodies: Iterable[bytes]) -> None:
    """Write a new log with a chain of checksums. The log appears whole or not at all.

    Args:
        path: the new log's file, or its location in a database.
        bodies: the bodies of its records.

    Raises:
        OSError: the log cannot be written, or its name is taken.
    """
    seed = 0
    with new_log(path) as new:
        for body in bodies:
            line, seed = seal(body, seed)
            new.write(line)
        new.finish()


@dataclass(frozen=True, slots=True)
class LogCopy:
    """The result of a copy."""

    source: str
    path: str
    """The copy's place: a file's path, or a location in a database without its password."""
    size_bytes: int
    messages: int
    sha256: str
    """The SHA-256 of the copied bytes, in hexadecimal."""
    damage: str = ""
    """The first damage of the log, which its copy has too; "" if the log is sound."""

    def to_json(self) -> dict[str, Any]:
        """Return the report in plain JSON types."""
        return {
            "source": self.source,
            "path": self.path,
            "bytes": self.size_bytes,
            "messages": self.messages,
            "sha256": self.sha256,
            **present(damage=self.damage),
        }


def copy_log(
    source: str, target: str, *, dry_run: bool = False, only_sound: bool = False, files: FileSystem | None = None
) -> LogCopy:
    """Copy a log. Records that are appended to the original during the copy may be missing.

    Args:
        source: a log's file, or its location in a database.
        target: the copy's file or location; see `copy_target`.
        dry_run: only read the original, and check that the copy's name is free.
        only_sound: refuse a damaged log.
        files: the system calls that read the original, to report progress.

    Raises:
        LogUnreadableError: the original cannot be read, or is not a log.
        DamagedLogError: the original is damaged, and `only_sound` is set.
        FileExistsError: the copy's name is taken.
        OSError: the copy cannot be written, or differs from the original when read back; nothing is left of it.
    """
    reader = open_reader(source, files=files, trusting=False)
    try:
        reader.follow()
        described = reader.describe()
        if not described.exists:
            raise not_there(described.location)
        check_is_log(reader)
        if only_sound:
            check_sound(reader)
        size = 0
        digest = hashlib.sha256()
        lines = complete_lines(reader, described.size_bytes - described.torn_bytes)
        if dry_run:
            _check_can_get(target)
            for line in lines:
                size += len(line)
                digest.update(line)
            shown_target = shown_location(target)
            sha256 = digest.hexdigest()
            return LogCopy(described.location, shown_target, size, len(reader.index), sha256, damage_in(reader))
        with new_log(target, reads_back=True, needed_bytes=described.size_bytes) as new:
            for line in lines:
                size += len(line)
                digest.update(line)
                new.write(line)
            new.finish()
        damage = damage_in(reader)
        return LogCopy(described.location, new.path, size, len(reader.index), digest.hexdigest(), damage)
    finally:
        reader.close()


def complete_lines(reader: ReadableLog, end: int) -> Iterator[bytes]:
    """Yield the lines of a log, up to an append of several messages that a crash interrupted at the offset `end`."""
    size = 0
    for line in reader.stored_bytes():
        if size == end and line.startswith(BUNDLE_HEAD):
            return
        size += len(line)
        yield line


def _check_can_get(target: str) -> None:
    """Check that a new log can be made with this name.

    Raises:
        OSError: the name is taken, or the directory is not writable.
        LogUnreadableError: the database cannot be reached.
    """
    check_is_free(target)
    if stored_name(target) is not None:
        return
    directory = Path(target).absolute().parent
    while not os.path.lexists(directory) and directory != directory.parent:
        directory = directory.parent
    if not directory.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), target)
    if not os.access(directory, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), target)


def copy_target(source: str, target: str) -> str:
    """Return the full path or location of a copy. If `target` has no log's name, the copy is named after its session.

    Args:
        source: the original's file or location.
        target: a file, a directory, or a location with or without a log's name.

    Raises:
        ValueError: the session's id cannot be found, or the directory is missing.
    """
    name = stored_name(target)
    if name is not None:
        return target if name else location_of(split_location(target)[0], _name_of(source))
    directory = os.path.dirname(target)
    if directory and not os.path.lexists(directory):
        raise ValueError(f"there is no directory {directory}; make it first")
    if os.path.isdir(target) or target.endswith(os.sep):
        return os.path.join(target, _name_of(source).rpartition("/")[2], LOG_NAME)
    return target


def _name_of(source: str) -> str:
    """Return the name of a log's copy in a database.

    This is the log's own name if the log is in a database, else `PROJECT/ID` from its path.

    Raises:
        ValueError: the path does not contain the session's id.
    """
    name = stored_name(source)
    if name is not None:
        return name
    session_id = session_id_of(source)
    path = Path(source).absolute()
    if session_id is None:
        raise ValueError("the file's name says no session; name the copy: postgresql://…#PROJECT/ID, or a file")
    if path.parents[1].name == "sessions" and path.parents[2].name.startswith("-"):
        return f"{path.parents[2].name}/{session_id}"
    return log_name(session_id, ".")
