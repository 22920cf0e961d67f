"""Find the copies of a session's text that a host keeps. They are never changed here.

The host is the program that runs the sessions, such as Amplifier.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

from ....sessions.raw_records import strings_of
from ....sessions.session_name import METADATA_NAME
from ....sessions.shared_checkpoint import shared_checkpoints, texts_of
from ...maintenance.redact_raw_bytes import holds_match
from .after_rewind_or_purge import BACKUP_MARK
from .files_beside_log import TRANSCRIPT_NAME, is_hosts_log

_COPIES = (f"{TRANSCRIPT_NAME}*", "events.jsonl*", "context-intelligence/events.jsonl*")


def backups(log: str | Path) -> list[Path]:
    """Return the paths of the backup copies that rewinds made of the host's files beside a log."""
    if not is_hosts_log(log):
        return []
    return sorted(path for path in Path(log).parent.glob(f"*{BACKUP_MARK}*") if path.is_file())


def hosts_files(log: str | Path) -> list[Path]:
    """Return the paths of the host's files in a session's directory: its copies of the messages, and its metadata."""
    files = list(_copies_beside(log))
    metadata = Path(log).with_name(METADATA_NAME)
    if is_hosts_log(log) and metadata.is_file():
        files.append(metadata)
    return files


def host_copies(log: str | Path, session_id: str | None = None) -> list[str]:
    """Return the paths of the host's copies of a session's messages, which a purge of the log does not change.

    The copies are beside the log. A session that several hosts share has one more copy
    (`sessions/shared_checkpoint.py`).

    Args:
        log: the session's log.
        session_id: the session's id, if its log's place does not give it.

    Raises:
        OSError: a directory cannot be read.
    """
    return [*map(os.fspath, _copies_beside(log)), *map(os.fspath, shared_checkpoints(log, session_id))]


def named_in(log: str | Path) -> list[str]:
    """Return the paths of the host's files that hold a session's name.

    A name is made from messages, so the name may contain a secret.
    """
    if not is_hosts_log(log):
        return []
    found = Path(log).parent.glob(f"{METADATA_NAME}*")
    return sorted(os.fspath(path) for path in found if path.is_file())


def _copies_beside(log: str | Path) -> list[Path]:
    if not is_hosts_log(log):
        return []
    matches = [path for pattern in _COPIES for path in Path(log).parent.glob(pattern)]
    return sorted(path for path in matches if path.is_file())


def told_matches(copy: str | Path, replace: Callable[[str], str]) -> str:
    """Return how many lines or texts of a host's copy a redaction would change, such as `2 lines`, or "" for none.

    Raises:
        OSError: the copy cannot be read.
    """
    path = Path(copy)
    if ".jsonl" in path.name:
        return told_lines(path, replace)
    return _told(sum(replace(text) != text for text in texts_of(path)), "text")


def told_lines(file: str | Path, replace: Callable[[str], str]) -> str:
    """Return how many lines of a file a redaction would change, as `told_matches` does.

    Raises:
        OSError: the file cannot be read.
    """
    with Path(file).open("rb") as lines:
        return _told(sum(_holds_match(line, replace) for line in lines), "line")


def _told(found: int, unit: str) -> str:
    if found == 0:
        return ""
    return f"1 {unit}" if found == 1 else f"{found:,} {unit}s"


def _holds_match(line: bytes, replace: Callable[[str], str]) -> bool:
    """Return whether a redaction would change a line: a string in it if the line is JSON, else any part of the line."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return holds_match(line, replace)
    return any(replace(text) != text for text in strings_of(value))
