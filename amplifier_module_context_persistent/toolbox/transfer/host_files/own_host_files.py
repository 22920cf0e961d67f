"""Find the files beside a log that we wrote for the host and that the host has not changed since."""

from __future__ import annotations

import json
import os
from pathlib import Path

from ....sessions.session_name import METADATA_NAME
from ....sessions.transcript import Transcript
from ...maintenance.note_beside_log import WrittenFiles
from .files_beside_log import HOSTS_NAMES, TRANSCRIPT_NAME, is_hosts_log, read_metadata
from .host_transcript_lines import transcript_lines

_OWN_KEYS = frozenset(
    [
        "session_id",
        "parent_id",
        "forked_from_turn",
        "forked_at",
        "created",
        "turn_count",
        "bundle",
        "model",
        "working_dir",
        "name",
        "description",
        "name_source",
    ]
)
"""The fields that an import or a fork writes to `metadata.json`; the host adds other fields."""


def own_transcript(log: str | Path) -> Path | None:
    """Return the `transcript.jsonl` that an import or a fork wrote beside a log, or None if the host has changed it.

    None is also returned if there is no such file. An earlier version of this package left no note of its files. Then
    the file is ours if the log of an import or a fork contains each of its lines.

    Raises:
        LogUnreadableError: the log cannot be read.
        OSError: the file cannot be read.
    """
    target = Path(log).parent / TRANSCRIPT_NAME
    if not is_hosts_log(log) or not target.is_file() or target.is_symlink():
        return None
    note = WrittenFiles.beside(log)
    if note.is_noted(TRANSCRIPT_NAME):
        return target if note.owns(TRANSCRIPT_NAME) else None
    with Transcript(log) as transcript:
        if not transcript.header.keys() & {"imported_from", "forked_from"}:
            return None
        reader = transcript.reader
        known = {_hash_of(line) for line in transcript_lines(reader, range(len(reader.index)))}
    with target.open("rb") as lines:
        return target if all(_hash_of(line) in known for line in lines) else None


def _hash_of(line: bytes) -> int:
    """Return a hash of a line's JSON value, independent of the spelling; for other lines a hash of the bytes."""
    try:
        return hash(json.dumps(json.loads(line)))
    except ValueError:
        return hash(line)


def own_files(log: str | Path) -> list[Path]:
    """Return the files that an import or a fork wrote for the host beside a log and that the host has not changed.

    Raises:
        LogUnreadableError: the log cannot be read.
        OSError: a file cannot be read.
    """
    if not is_hosts_log(log):
        return []
    note = WrittenFiles.beside(log)
    directory = Path(log).parent
    if note.contents:
        if os.path.lexists(directory / TRANSCRIPT_NAME) and not note.owns(TRANSCRIPT_NAME):
            return []  # the host continued the session, and finds it by its metadata
        return [directory / name for name in HOSTS_NAMES if note.owns(name)]
    transcript = own_transcript(log)
    if transcript is None:
        return []
    metadata = directory / METADATA_NAME
    return [transcript, metadata] if read_metadata(directory).keys() <= _OWN_KEYS else [transcript]


def changed_since(log: str | Path) -> list[Path]:
    """Return the files that we wrote for the host beside a log and that the host has changed since.

    Raises:
        OSError: a file cannot be read.
    """
    if not is_hosts_log(log):
        return []
    note = WrittenFiles.beside(log)
    directory = Path(log).parent
    names = [name for name in note.contents if (directory / name).is_file() and not note.owns(name)]
    return [directory / name for name in names]
