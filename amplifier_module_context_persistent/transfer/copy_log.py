"""Copying a whole log, byte for byte: from a file to a database, back, or from one to another of them.

Unlike an import it takes over everything: control records, hidden messages, damaged lines, a last line without LF. So
the copy has the same views and receipts, and a session goes on there. The copy is read back before it gets its name; it
appears whole or not at all. The original is only read, and stays.
"""

from __future__ import annotations

import errno
import hashlib
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import LogUnreadableError
from ..log.atomic_file import NewFile, check_free
from ..log.base import ReadableLog
from ..log.filesystem import FileSystem
from ..log.location import is_postgres, location_of, parse_location
from ..log.not_a_log import check_is_log
from ..log.open import not_there, open_reader
from ..log.reader import LogReader
from ..paths import LOG_NAME, log_name, session_id_of


@dataclass(frozen=True, slots=True)
class LogCopy:
    """What was copied, and to where."""

    source: str
    path: str
    """The copy: a file's path, or a location without its password."""
    size_bytes: int
    messages: int
    sha256: str
    """Of the log's bytes, the same of both."""

    def to_json(self) -> dict[str, Any]:
        """The report in plain JSON types."""
        return {
            "source": self.source,
            "path": self.path,
            "bytes": self.size_bytes,
            "messages": self.messages,
            "sha256": self.sha256,
        }


def copy_log(source: str, target: str, *, files: FileSystem | None = None) -> LogCopy:
    """Copy a log; what the original gets meanwhile may be missing.

    Args:
        source: a log's file, or its location in a database.
        target: the copy's file or location; `copy_target` completes one.
        files: the system calls that read a file, to watch them.

    Raises:
        LogUnreadableError: the original cannot be read, or is no log.
        FileExistsError: something has the copy's name already.
        OSError: the copy cannot be written, or is not the same; nothing is left of it.
    """
    reader = open_reader(source, files=files, trusting=False)
    try:
        reader.follow()
        described = reader.describe()
        if not described.exists:
            raise not_there(described.location)
        check_is_log(reader)
        digest = _Digest()
        lines = digest.watch(stored_lines(reader))
        shown = _to_database(target, lines) if is_postgres(target) else _to_file(target, lines, digest)
        return LogCopy(described.location, shown, digest.size, len(reader.index), digest.sha256.hexdigest())
    finally:
        reader.close()


def copy_target(source: str, target: str) -> str:
    """Complete the place of a copy: in a directory or a database without a log's name it is named as its session.

    Args:
        source: the original's file or location.
        target: a file, a directory, or a location with or without a log's name.

    Raises:
        ValueError: nothing tells how the session is called.
    """
    if is_postgres(target) and not parse_location(target).name:
        return location_of(target.partition("#")[0].rstrip(), _name_of(source))
    if not is_postgres(target) and (os.path.isdir(target) or target.endswith(os.sep)):
        return os.path.join(target, _name_of(source).rpartition("/")[2], LOG_NAME)
    return target


def _name_of(source: str) -> str:
    """The name of a log in a database: what it has there, or project and id as its directories say."""
    if is_postgres(source):
        return parse_location(source).name
    session_id, path = session_id_of(source), Path(source).absolute()
    if session_id is None:
        raise ValueError("the file's name says no session; name the copy: postgresql://…#PROJECT/ID, or a file")
    if path.parents[1].name == "sessions" and path.parents[2].name.startswith("-"):
        return f"{path.parents[2].name}/{session_id}"
    return log_name(session_id, ".")


class _Digest:
    """The size and the digest of bytes that pass."""

    def __init__(self) -> None:
        self.size, self.sha256 = 0, hashlib.sha256()

    def watch(self, lines: Iterable[bytes]) -> Iterator[bytes]:
        for line in lines:
            self.size += len(line)
            self.sha256.update(line)
            yield line


def stored_lines(reader: ReadableLog) -> Iterator[bytes]:
    """The bytes of a log line by line, as they stand in its file, or would."""
    if not isinstance(reader, LogReader):
        from ..log.postgres.log import PostgresLog  # its driver is an extra

        assert isinstance(reader, PostgresLog)  # noqa: S101 - there are no others
        yield from reader.stored_bytes()
        return
    left = reader.size
    for line in reader.file.lines(reader.size):
        yield line[:left]  # the last one has an LF added
        left -= len(line)


def _to_database(target: str, lines: Iterator[bytes]) -> str:
    from ..log.postgres.new_log import NewStoredLog  # its driver is an extra

    with NewStoredLog(target) as new:
        lacks_newline = False
        for line in lines:
            lacks_newline = not line.endswith(b"\n")
            new.write(line if lacks_newline else line[:-1])
        new.finish(lacks_newline=lacks_newline)
        return new.location.shown


def _to_file(target: str, lines: Iterator[bytes], digest: _Digest) -> str:
    check_free(os.path.abspath(os.path.expanduser(target)))
    with NewFile(target, with_directories=True) as file:
        for line in lines:
            file.write(line)
        file.finish()
    with open(file.path, "rb") as copy:
        found = hashlib.file_digest(copy, "sha256").hexdigest()
    if found != digest.sha256.hexdigest():
        os.remove(file.path)
        raise LogUnreadableError(errno.EIO, "the copy is not what was written; it was removed", file.path)
    return file.path
