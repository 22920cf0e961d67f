"""The name and the description that Amplifier's hosts give a session, in `metadata.json` beside its log. Reads only.

The command line's `/rename`, foundation's `SessionMetadataStore.set_name` and the hook that names sessions write them.
Nobody vouches for the file: it may be damaged, hold anything but an object, be a link or a FIFO. Then it names nothing.
"""

from __future__ import annotations

import json
import os
import stat
import unicodedata
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..config.checks import is_name
from ..log.database_location import stored_name
from ..paths import LOG_NAME

METADATA_NAME = "metadata.json"
MOST_CHARS = 200
"""The longest name that hosts take."""
_MOST_BYTES = 1 << 20
_FLAGS = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)


@dataclass(frozen=True, slots=True)
class SessionName:
    """A session's name and what describes it; empty where a host gave none."""

    name: str = ""
    description: str = ""

    @property
    def key(self) -> str:
        """The name as it is compared: in any case, however its characters are composed."""
        return key_of(self.name)


def key_of(name: str) -> str:
    """A name, or the beginning of one, as it is compared."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold()).strip()


def name_of(log: str | Path) -> SessionName:
    """Read the name of a session by its log.

    Args:
        log: the log's file; or its location in a database, whose session has its host's files on this machine.
    """
    path = metadata_path(log)
    fields = read_metadata(path) if path is not None else {}
    return SessionName(_text(fields.get("name")), _text(fields.get("description")))


def metadata_path(log: str | Path) -> Path | None:
    """Find the host's `metadata.json` of a session; None if the log's place says nothing of a host's directory."""
    stored = stored_name(os.fspath(log))
    if stored is None:
        return Path(log).with_name(METADATA_NAME) if Path(log).name == LOG_NAME else None
    project, _, session_id = stored.rpartition("/")
    if not (is_name(project) and is_name(session_id)):
        return None
    return Path.home() / ".amplifier" / "projects" / project / "sessions" / session_id / METADATA_NAME


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
