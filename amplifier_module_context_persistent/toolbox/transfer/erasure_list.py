"""The list of what was erased: a file of this user, of another home, or beside copies; read and added to."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import stat
from collections.abc import Iterable
from pathlib import Path

from ...log.filesystem import FileSystem, make_directories
from .erasures import Erasure, erasure_from


def erasures_path() -> Path:
    """The file of erasures of this user."""
    return Path.home() / ".amplifier" / "context-erased.jsonl"


def erasures(path: Path | None = None) -> list[Erasure]:
    """The erasures that are in force, oldest first; of this user, or of another file of them.

    Raises:
        OSError: the file is there and cannot be read.
    """
    return list(read_erasures(path)[0].values())


def read_erasures(path: Path | None = None) -> tuple[dict[str, Erasure], set[str]]:
    """The erasures that are in force by their salts, and the salts of those that were lifted; errors as `erasures`."""
    path = path or erasures_path()
    try:
        mode = path.stat().st_mode
        if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):  # reading a directory is an error that names it
            raise OSError(errno.EINVAL, "this is no regular file, so nobody knows what was erased", os.fspath(path))
        content = path.read_bytes()
    except FileNotFoundError:
        return {}, set()
    found: dict[str, Erasure] = {}
    lifted = set[str]()
    for line in content.splitlines():
        with contextlib.suppress(ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError):
            value = json.loads(line)
            for salt in value.get("lifts", ()):
                found.pop(str(salt), None)
                lifted.add(str(salt))
            if "erased" in value:
                found[str(value["salt"])] = erasure_from(value)
    return found, lifted


def note_erasure(erasure: Erasure) -> None:
    """Add the line of an erasure, durably.

    Raises:
        OSError: it cannot be written.
    """
    note_erasures([erasure])


def note_erasures(found: Iterable[Erasure], file: Path | None = None) -> None:
    """Add the lines of erasures to this user's file, or to another one; errors as `note_erasure`."""
    if lines := [one.to_line() for one in found if one.names or one.content or one.answers]:
        _append(b"".join(lines), file)


def lift(found: Iterable[Erasure], file: Path | None = None) -> None:
    """Take erasures out of force; arguments and errors as `note_erasure`."""
    salts = [one.salt for one in found if one.names or one.content or one.answers]
    if salts:
        _append(json.dumps({"lifts": salts}).encode() + b"\n", file)


def _append(line: bytes, file: Path | None) -> None:
    path, files = os.fspath(file or erasures_path()), FileSystem()
    make_directories(files, os.path.dirname(path))
    fd = files.open_log(path, create=True)
    try:
        size = files.fstat(fd).st_size
        is_torn = bool(size) and files.read(fd, 1, size - 1) != b"\n"
        content = b"\n" + line if is_torn else line
        if files.write(fd, content) != len(content):
            raise OSError(errno.ENOSPC, "there is no room for the note of what is erased", path)
        files.sync(fd)
        files.sync_directory(os.path.dirname(path))
    finally:
        files.close(fd)
