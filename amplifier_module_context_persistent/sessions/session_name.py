"""Read the name of a session, given by a user in its log, or by a host in `metadata.json` beside the log.

`rename` and `tag` write a record into the log, which has priority over the host's file. The host's file is written by
`/rename` of its command line, by foundation's `SessionMetadataStore.set_name` and by the hook that names sessions. The
file is not trusted: if it is damaged, a link, a FIFO, or contains no JSON object, it gives the session no name.
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
from ..paths import LOG_NAME, home_projects

if TYPE_CHECKING:
    from ..log.session_records import SessionRecords

METADATA_NAME = "metadata.json"
MOST_CHARS = 200
"""The maximum length of a name that hosts accept."""
_MOST_BYTES = 1 << 20
_FLAGS = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)


@dataclass(frozen=True, slots=True)
class SessionName:
    """A session's name, description and tags. Name and description are "" if nobody gave them."""

    name: str = ""
    description: str = ""
    tags: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """The name in a form for comparison: case folded and in Unicode's composed form (NFC)."""
        return key_of(self.name)


def key_of(name: str) -> str:
    """Return a name, or a part of a name, in the form for comparison."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold()).strip()


class SessionNames:
    """The names of sessions.

    Most logs need not be read, because their catalogue or their database keeps the name. `keep` stores what was read
    from the other logs.

    Args:
        glances: the kept glances of logs, if the caller shares them; by default new ones.
    """

    def __init__(self, glances: Glances | None = None) -> None:
        self._glances = glances or Glances()
        self._known: dict[str, SessionName] = {}

    def expect(self, logs: Iterable[str | Path]) -> None:
        """Announce the logs whose names will be read, in order. So a database is asked for many names at once."""
        self._glances.expect(log for log in logs if isinstance(log, str) and stored_name(log) is not None)

    def of(self, log: str | Path) -> SessionName:
        """Return the name of a log's session; if the log cannot be read, only the host's file gives a name.

        Args:
            log: the log's file, or its location in a database. For a database, the host's file is looked for on this
                machine.
        """
        location = os.fspath(log)
        if location not in self._known:
            self._known[location] = name_from_glance(log, self._glance(location))
        return self._known[location]

    def keep(self) -> None:
        """Store the names that were read from logs, for the next time."""
        self._glances.keep()

    def _glance(self, location: str) -> Glance:
        try:
            glance = self._glances.of(location)
            if glance is not None:
                return glance
            from .transcript import Transcript  # most names are in the catalogue

            with Transcript(location) as transcript:
                where = location if stored_name(location) is not None else ""
                return self._glances.look_at(transcript.reader, where)
        except (OSError, ValueError, LogError):
            return Glance()


def read_name(log: str | Path) -> SessionName:
    """Return the name of one log's session; for many logs, use `SessionNames`."""
    return SessionNames().of(log)


def read_names(logs: Iterable[str | Path]) -> list[SessionName]:
    """Return the names of these logs' sessions, in order."""
    paths = list(logs)
    names = SessionNames()
    names.expect(paths)
    names_of_logs = [names.of(path) for path in paths]
    names.keep()
    return names_of_logs


def name_from_glance(log: str | Path, seen: Glance) -> SessionName:
    """Return the name of a session, from the glance of its log and from its host's file.

    Args:
        log: the log's file, or its location in a database.
        seen: the glance of the log.
    """
    return _with_metadata(log, seen.label, tuple(seen.tags.split()))


def name_from_records(log: str | Path, records: SessionRecords) -> SessionName:
    """Return the name of an open log's session, from the log's records and from the host's file.

    The log is not opened again.

    Args:
        log: the log's file, or its location in a database.
        records: the records of its index.
    """
    return _with_metadata(log, records.name, tuple(records.tags))


def _with_metadata(log: str | Path, label: str, tags: tuple[str, ...]) -> SessionName:
    path = metadata_path(log)
    fields = read_metadata(path) if path is not None else {}
    return SessionName(label or _text(fields.get("name")), _text(fields.get("description")), tags)


def metadata_path(log: str | Path) -> Path | None:
    """Return the path of the host's `metadata.json` of a session; None if the log is not in a host's directory."""
    stored = stored_name(os.fspath(log))
    if stored is None:
        return Path(log).with_name(METADATA_NAME) if Path(log).name == LOG_NAME else None
    project, _, session_id = stored.rpartition("/")
    if not (is_name(project) and is_name(session_id)):
        return None
    return home_projects() / project / "sessions" / session_id / METADATA_NAME


def metadata_files(project: str | None = None) -> list[Path]:
    """Return the paths of the host's `metadata.json` files on this machine, of one project or of all projects."""
    below = f"{glob.escape(project) if project is not None else '*'}/sessions/*/{METADATA_NAME}"
    return list(home_projects().glob(below))


def read_metadata(path: Path) -> dict[str, Any]:
    """Read a `metadata.json`; return {} if the path is not a regular file, too large, damaged, or not a JSON object."""
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
    """Return the content of a regular file, at most `_MOST_BYTES + 1` bytes.

    B"" if the descriptor is not of a regular file. The last byte shows that the file is too large.
    """
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        return b""
    content = bytearray()
    while len(content) <= _MOST_BYTES and (piece := os.read(descriptor, _MOST_BYTES + 1 - len(content))):
        content += piece
    return bytes(content)


def _text(value: Any) -> str:
    return value.strip() if isinstance(value, str) else ""
