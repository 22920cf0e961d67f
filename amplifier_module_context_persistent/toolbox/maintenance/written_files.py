"""The note of what this package wrote beside a session's log for the host, and of what it has begun there.

It is a small file of JSON beside the log (`NOTE_SUFFIX`). It names each file that we wrote with its size and its
SHA-256, so that the file is known as ours after a crash. A file whose content is another one was changed by the host
since, and is the host's. Rules:
- A content is noted before its file gets its name. While one content replaces another, both are noted; so at every
  instant the file is known as ours.
- A purge, a deletion, a rewind, a sync or the making of a session notes what it has begun, and removes that when it has
  finished. Whoever finds it finishes it.
- The note holds no text of a session. It goes when nothing is noted.
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
from ...log.filesystem import FileSystem

NOTE_SUFFIX = ".written"
"""The note has the log's name and this."""

MAKING, PURGING, DELETING, REWINDING, SYNCING = "make", "purge", "delete", "rewind", "sync"
"""The operations that may have been begun."""

_VERSION = 1
_MOST_BYTES = 1 << 20
_BLOCK_BYTES = 1 << 20

Content = tuple[int, str]
"""A file's size and the SHA-256 of its bytes, as hexadecimal digits."""


@dataclass(slots=True)
class WrittenFiles:
    """The contents of a note.

    Args:
        log: the session's log.
        files: the system calls, for tests to replace.
    """

    log: str
    files: FileSystem | None = None
    contents: dict[str, list[Content]] = field(default_factory=dict)
    """The contents that we wrote, by the names of the files."""
    begun: str = ""
    """The unfinished operation: `MAKING`, `PURGING`, `DELETING`, `REWINDING`, `SYNCING`; or an empty text."""
    time: str = ""
    """When, in ISO 8601."""

    @classmethod
    def beside(cls, log: str | os.PathLike[str], files: FileSystem | None = None) -> WrittenFiles:
        """Read the note beside a log; an empty one if there is none, or none that can be read."""
        note = cls(os.path.abspath(os.fspath(log)), files)
        try:
            if not stat.S_ISREG(os.lstat(note.path).st_mode):  # a FIFO would be waited for
                return note
            with open(note.path, "rb") as file:
                value = json.loads(file.read(_MOST_BYTES))
        except (OSError, ValueError, RecursionError):
            return note
        if isinstance(value, dict) and value.get("version") == _VERSION:
            note.begun, note.time = str(value.get("begun", "")), str(value.get("time", ""))
            named = value.get("files")
            note.contents = _contents(named) if isinstance(named, dict) else {}
        return note

    @property
    def path(self) -> str:
        """The note's file."""
        return self.log + NOTE_SUFFIX

    def is_noted(self, name: str) -> bool:
        """Whether a file was written by us at any time, whatever it holds now."""
        return bool(self.contents.get(name))

    def owns(self, name: str) -> bool:
        """Whether a file beside the log holds what we wrote.

        Raises:
            OSError: it is there and cannot be read.
        """
        known = self.contents.get(name, ())
        path = os.path.join(os.path.dirname(self.log), name)
        try:
            size = os.lstat(path).st_size
            return any(size == one[0] for one in known) and content_of(path) in known
        except FileNotFoundError:
            return False

    def begin(self, what: str, time: str = "") -> None:
        """Note what is begun."""
        self.begun, self.time = what, time
        self.save()

    def clear(self) -> None:
        """Remove the note."""
        self.contents, self.begun, self.time = {}, "", ""
        self.save()

    def finish(self) -> None:
        """Note that nothing is begun any more."""
        self.begun = self.time = ""
        self.save()

    def expect(self, name: str, content: Content) -> None:
        """Note a content that a file is about to get, beside those that it may have now."""
        self.contents[name] = [*(one for one in self.contents.get(name, ()) if one != content), content]
        self.save()

    def settle(self, name: str, content: Content) -> None:
        """Note the one content that a file has now."""
        if self.contents.get(name) != [content]:
            self.contents[name] = [content]
            self.save()

    def save(self) -> None:
        """Write the note; without anything in it, remove it.

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


def _contents(named: dict[str, Any]) -> dict[str, list[Content]]:
    """Take from a note what has the right types and names a file in the log's own directory."""
    found: dict[str, list[Content]] = {}
    for name, values in named.items():
        if os.path.basename(name) == name and isinstance(values, list):
            found[name] = [(int(one[0]), str(one[1])) for one in values if _is_content(one)]
    return found


def _is_content(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2 and isinstance(value[0], int)


def content_of(path: str | Path) -> Content:
    """The size and the hash of a file's bytes.

    Raises:
        OSError: it cannot be read.
    """
    digest, size = hashlib.sha256(), 0
    with open(path, "rb") as file:
        while block := file.read(_BLOCK_BYTES):
            digest.update(block)
            size += len(block)
    return size, digest.hexdigest()
