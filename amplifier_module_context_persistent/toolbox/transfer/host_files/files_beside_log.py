"""Read and write single files for a host beside a log: their names, and the note of those that are ours.

The host counts a turn for every message of the role `user`, reminders and hooks' messages included; we count only a
person's messages. In the host's files, turns are counted in the host's way.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ....log.atomic_file import NewFile
from ....log.database_location import stored_name
from ....log.record_line import ROLES
from ....paths import LOG_NAME
from ....sessions.session_name import METADATA_NAME
from ....sessions.session_name import read_metadata as metadata_in
from ....sessions.transcript import Transcript
from ...maintenance.leftovers import files_left
from ...maintenance.note_beside_log import WrittenFiles

TRANSCRIPT_NAME = "transcript.jsonl"
HOSTS_NAMES = (TRANSCRIPT_NAME, METADATA_NAME)
"""The names of the files that we may write for the host."""
_USER = ROLES.index("user")


def host_turns(transcript: Transcript) -> int:
    """Return the number of turns in the live history, in the way in which the host counts turns."""
    index = transcript.reader.index
    return sum(index.columns.roles[ordinal] == _USER for ordinal in index.live)


def finish_note(log: str | Path, what: str) -> None:
    """Remove the note beside a log if it says that this operation (`MAKING` or `REWINDING`) has begun."""
    if is_hosts_log(log) and (note := WrittenFiles.beside(log)).begun == what:
        note.finish()


def clear_up(log: str | Path) -> None:
    """Remove files that killed operations left beside a log. A file that cannot be removed stays."""
    with contextlib.suppress(OSError):
        for name in files_left(os.fspath(log), HOSTS_NAMES):
            os.remove(name)


def read_metadata(directory: Path) -> dict[str, Any]:
    """Return the host's metadata of a session; an empty dictionary if the file is missing or cannot be read."""
    return metadata_in(directory / METADATA_NAME)


def write_own(note: WrittenFiles, path: Path, pieces: Iterable[bytes]) -> None:
    """Write a file of ours. Its size and hash are noted before the finished file is renamed into place."""
    digest = hashlib.sha256()
    size = 0
    with NewFile(path, replace=path.exists(), beside_log=True) as file:
        for piece in pieces:
            digest.update(piece)
            size += len(piece)
            file.write(piece)
        content = size, digest.hexdigest()
        note.expect(path.name, content)
        file.finish()
    note.settle(path.name, content)


def replace_content(note: WrittenFiles, path: Path, pieces: Iterable[bytes]) -> None:
    """Replace the content of a file. The new content is noted as ours only if the old content was ours."""
    if note.owns(path.name):
        write_own(note, path, pieces)
        return
    with NewFile(path, replace=True) as file:
        for piece in pieces:
            file.write(piece)
        file.finish()


def metadata_bytes(fields: Mapping[str, Any]) -> bytes:
    """Return the content of a `metadata.json` with these fields."""
    return json.dumps(fields, indent=2).encode() + b"\n"


def is_hosts_log(log: str | Path) -> bool:
    """Return whether a log is a file with the name that hosts use. Then the host's files may be beside the log."""
    return stored_name(os.fspath(log)) is None and Path(log).name == LOG_NAME
