"""The note: a file that says what this package wrote beside a log for the host, and which operation it began.

The note is a small JSON file beside the log (`NOTE_SUFFIX`). It names each file that we wrote, with the file's size and
SHA-256, so that we recognise the file as ours after a crash. If a file has any other content, the host has changed the
file, and the file is the host's. Rules:
- A content is noted before its file is renamed to its final name. While a new content replaces an old one, both are
  noted, so that the file is recognised as ours at every moment.
- A purge, a deletion, a rewind, a sync or the creation of a session notes that it has begun, and removes this entry
  when it has finished. The next operation that finds the entry finishes the interrupted one.
- The note contains no text of a session. The file is removed when nothing is noted.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import stat
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ...log.atomic_file import NewFile
from ...log.filesystem import FileSystem, open_regular

NOTE_SUFFIX = ".written"
"""The suffix of the note's file, appended to the log's path."""

MAKING, PURGING, DELETING, REWINDING, SYNCING = "make", "purge", "delete", "rewind", "sync"
"""The operations that a note can name as begun."""

_VERSION = 1
_MOST_BYTES = 1 << 20
_BLOCK_BYTES = 1 << 20

Content = tuple[int, str]
"""A file's size and the SHA-256 of its bytes, as hexadecimal digits."""


@dataclass(slots=True)
class WrittenFiles:
    """The note beside a log: which files this package wrote there, and which operation has begun.

    A later operation recognises the files by their contents, so that it changes or removes no file of another program.

    Args:
        log: the session's log.
        files: the system calls, for tests to replace.
    """

    log: str
    files: FileSystem | None = None
    contents: dict[str, list[Content]] = field(default_factory=dict)
    """The contents that we wrote, by file name."""
    begun: str = ""
    """The unfinished operation: `MAKING`, `PURGING`, `DELETING`, `REWINDING`, `SYNCING`; or an empty text."""
    time: str = ""
    """The time at which the operation began, in ISO 8601; or an empty text."""

    @classmethod
    def beside(cls, log: str | os.PathLike[str], files: FileSystem | None = None) -> WrittenFiles:
        """Read and return the note beside a log. Return an empty note if the file is missing or cannot be read."""
        note = cls(os.path.abspath(os.fspath(log)), files)
        try:
            if not stat.S_ISREG(os.lstat(note.path).st_mode):  # opening a FIFO would block
                return note
            with open(note.path, "rb") as file:
                value = json.loads(file.read(_MOST_BYTES))
        except (OSError, ValueError, RecursionError):
            return note
        if isinstance(value, dict) and value.get("version") == _VERSION:
            note.begun = str(value.get("begun", ""))
            note.time = str(value.get("time", ""))
            noted_files = value.get("files")
            note.contents = _contents(noted_files) if isinstance(noted_files, dict) else {}
        return note

    @property
    def path(self) -> str:
        """The path of the note's file."""
        return self.log + NOTE_SUFFIX

    def is_noted(self, name: str) -> bool:
        """Return whether the note names a file as written by us, whatever the file contains now."""
        return bool(self.contents.get(name))

    def owns(self, name: str) -> bool:
        """Return whether a file beside the log exists and has a content that this package wrote.

        Raises:
            OSError: the file exists and cannot be read.
        """
        known = self.contents.get(name, ())
        path = os.path.join(os.path.dirname(self.log), name)
        try:
            size = os.lstat(path).st_size
            return any(size == content[0] for content in known) and content_of(path) in known
        except FileNotFoundError:
            return False

    def begin(self, what: str, time: str = "") -> None:
        """Note that an operation has begun, and save the note."""
        self.begun = what
        self.time = time
        self.save()

    def clear(self) -> None:
        """Forget everything that is noted, and remove the note's file."""
        self.contents = {}
        self.begun = ""
        self.time = ""
        self.save()

    def finish(self) -> None:
        """Note that the begun operation has finished."""
        self.begun = self.time = ""
        self.save()

    def expect(self, name: str, content: Content) -> None:
        """Note a content that a file is about to get, in addition to the noted contents that it may have now."""
        self.contents[name] = [
            *(known_content for known_content in self.contents.get(name, ()) if known_content != content),
            content,
        ]
        self.save()

    def settle(self, name: str, content: Content) -> None:
        """Note the present content of a file, and forget its other noted contents."""
        if self.contents.get(name) != [content]:
            self.contents[name] = [content]
            self.save()

    def save(self) -> None:
        """Write the note's file, or remove the file if nothing is noted.

        Raises:
            OSError: the system refuses.
        """
        if not (self.contents or self.begun):
            with contextlib.suppress(FileNotFoundError):
                (self.files or FileSystem()).remove(self.path)
            return
        value: dict[str, Any] = {"version": _VERSION, "files": self.contents}
        if self.begun:
            value |= {"begun": self.begun, "time": self.time}
        has_log = os.path.lexists(self.log)
        with NewFile(self.path, replace=True, beside_log=has_log, files=self.files) as file:
            file.write(json.dumps(value).encode() + b"\n")
            file.finish()


def _contents(noted_files: dict[str, Any]) -> dict[str, list[Content]]:
    """Return the entries of a note that have the right types and name a file in the log's own directory."""
    found: dict[str, list[Content]] = {}
    for name, values in noted_files.items():
        if os.path.basename(name) == name and isinstance(values, list):
            found[name] = [(int(pair[0]), str(pair[1])) for pair in values if _is_content(pair)]
    return found


def _is_content(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2 and isinstance(value[0], int)


def content_of(path: str | Path) -> Content:
    """Return the size and the SHA-256 of a file's bytes.

    Raises:
        OSError: the file cannot be read.
    """
    digest = hashlib.sha256()
    size = 0
    with open_regular(path) as file:
        while block := file.read(_BLOCK_BYTES):
            digest.update(block)
            size += len(block)
    return size, digest.hexdigest()
