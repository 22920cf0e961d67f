"""Copying a whole log, byte for byte: from a file to a database, back, or from one to another of them.

Unlike an import it takes over everything: control records, hidden messages, damaged lines, a last line without LF. So
the copy has the same views and receipts, and a session goes on there. The copy is read back before it gets its name; it
appears whole or not at all. The original is only read, and stays.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..log.filesystem import FileSystem
from ..log.location import location_of, split_location, stored_name
from ..log.not_a_log import check_is_log
from ..log.open import new_log, not_there, open_reader
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
        size, digest = 0, hashlib.sha256()
        with new_log(target, reads_back=True) as new:
            for line in reader.stored_bytes():
                size += len(line)
                digest.update(line)
                new.write(line)
            new.finish()
        return LogCopy(described.location, new.path, size, len(reader.index), digest.hexdigest())
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
    name = stored_name(target)
    if name == "":
        return location_of(split_location(target)[0], _name_of(source))
    if name is None and (os.path.isdir(target) or target.endswith(os.sep)):
        return os.path.join(target, _name_of(source).rpartition("/")[2], LOG_NAME)
    return target


def _name_of(source: str) -> str:
    """The name of a log in a database: what it has there, or project and id as its directories say."""
    if (name := stored_name(source)) is not None:
        return name
    session_id, path = session_id_of(source), Path(source).absolute()
    if session_id is None:
        raise ValueError("the file's name says no session; name the copy: postgresql://…#PROJECT/ID, or a file")
    if path.parents[1].name == "sessions" and path.parents[2].name.startswith("-"):
        return f"{path.parents[2].name}/{session_id}"
    return log_name(session_id, ".")
