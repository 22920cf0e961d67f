"""The name of a session: a person's, in its log; or a host's, in `metadata.json` beside the log. Reads only.

`rename` and `tag` write a record into the log, which wins over the host's file. The host's file is written by its
command line's `/rename`, by foundation's `SessionMetadataStore.set_name` and by the hook that names sessions. The file
is not trusted: if it is damaged, not an object, a link or a FIFO, the session has no name from it.
"""

from __future__ import annotations

import glob
import json
import os
import stat
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..catalogue.glance import Glance
from ..catalogue.session_list_cache import Glances
from ..errors import LogError
from ..log.database_location import stored_name
from ..log.filesystem import is_name
from ..paths import LOG_NAME

if TYPE_CHECKING:
    from ..log.session_records import SessionRecords

METADATA_NAME = "metadata.json"
MOST_CHARS = 200
"""The longest name that hosts take."""
_MOST_BYTES = 1 << 20
_FLAGS = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)


@dataclass(frozen=True, slots=True)
class SessionName:
    """A session's name and description, empty if nobody gave one; and a person's tags."""

    name: str = ""
    description: str = ""
    tags: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """The name in the form for comparison: case folded, characters composed."""
        return key_of(self.name)


def key_of(name: str) -> str:
    """A name, or the beginning of one, in the form for comparison."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold()).strip()


class SessionNames:
    """Tells what sessions are called.

    The logs of most sessions are not read for it: their catalogue, or their database, keeps what they say. What is read
    is kept for the next time by `keep`.

    Args:
        glances: keeps what is read, together with what others read; by default nobody else does.
    """

    def __init__(self, glances: Glances | None = None) -> None:
        self._glances = glances or Glances()
        self._known: dict[str, SessionName] = {}

    def expect(self, logs: Iterable[str | Path]) -> None:
        """Say which logs are asked for next, in their order: in a database, many are one question."""
        self._glances.expect(log for log in logs if isinstance(log, str) and stored_name(log) is not None)

    def of(self, log: str | Path) -> SessionName:
        """The name of a log's session; empty if the log cannot be read.

        Args:
            log: the log's file; or its location in a database, whose session has its host's files on this machine.
        """
        location = os.fspath(log)
        if location not in self._known:
            self._known[location] = named_by(log, self._glance(location))
        return self._known[location]

    def keep(self) -> None:
        """Keep what was read for the next time."""
        self._glances.keep()

    def _glance(self, location: str) -> Glance:
        try:
            if (kept := self._glances.of(location)) is not None:
                return kept
            from .transcript import Transcript  # most names are kept

            with Transcript(location) as transcript:
                where = location if stored_name(location) is not None else ""
                return self._glances.look_at(transcript.reader, where)
        except (OSError, ValueError, LogError):
            return Glance()


def name_of(log: str | Path) -> SessionName:
    """The name of one log's session; for many, use `SessionNames`."""
    return SessionNames().of(log)


def names_of(logs: Iterable[str | Path]) -> list[SessionName]:
    """The names of these logs' sessions, in order."""
    asked, names = list(logs), SessionNames()
    names.expect(asked)
    found = [names.of(log) for log in asked]
    names.keep()
    return found


def named_by(log: str | Path, seen: Glance) -> SessionName:
    """The name of a session, from its log and from its host's file.

    Args:
        log: the log's file, or its location in a database.
        seen: the log at a glance.
    """
    return _named(log, seen.label, tuple(seen.tags.split()))


def named_in(log: str | Path, records: SessionRecords) -> SessionName:
    """The name of an open log's session, from its records; the log is not opened again.

    Args:
        log: the log's file, or its location in a database.
        records: the records of its index.
    """
    return _named(log, records.name, tuple(records.tags))


def _named(log: str | Path, label: str, tags: tuple[str, ...]) -> SessionName:
    path = metadata_path(log)
    fields = read_metadata(path) if path is not None else {}
    return SessionName(label or _text(fields.get("name")), _text(fields.get("description")), tags)


def metadata_path(log: str | Path) -> Path | None:
    """Find the host's `metadata.json` of a session; None if the log's place says nothing of a host's directory."""
    stored = stored_name(os.fspath(log))
    if stored is None:
        return Path(log).with_name(METADATA_NAME) if Path(log).name == LOG_NAME else None
    project, _, session_id = stored.rpartition("/")
    if not (is_name(project) and is_name(session_id)):
        return None
    return _projects() / project / "sessions" / session_id / METADATA_NAME


def metadata_files(project: str | None = None) -> list[Path]:
    """The host's `metadata.json` files of one project on this machine, or of all."""
    below = f"{glob.escape(project) if project is not None else '*'}/sessions/*/{METADATA_NAME}"
    return list(_projects().glob(below))


def _projects() -> Path:
    return Path.home() / ".amplifier" / "projects"


def read_metadata(path: Path) -> dict[str, Any]:
    """Read a `metadata.json`; empty if it is no regular file, too large, damaged, or holds no object."""
    try:
        descriptor = os.open(path, _FLAGS)
    except OSError:
        return {}
    try:
        content = _content(descriptor)
        value = json.loads(content) if len(content) <= _MOST_BYTES else None
    except (OSError, ValueError, RecursionError):
        return {}
    finally:
        os.close(descriptor)
    return value if isinstance(value, dict) else {}


def _content(descriptor: int) -> bytes:
    """Read a regular file, at most one byte more than it may have; of anything else nothing."""
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        return b""
    content = bytearray()
    while len(content) <= _MOST_BYTES and (piece := os.read(descriptor, _MOST_BYTES + 1 - len(content))):
        content += piece
    return bytes(content)


def _text(value: Any) -> str:
    return value.strip() if isinstance(value, str) else ""
