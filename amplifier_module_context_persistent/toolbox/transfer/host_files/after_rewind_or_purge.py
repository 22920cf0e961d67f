"""Update the host's files after the history of their log was cut by a rewind, or purged.

A rewind keeps copies of the old files (`BACKUP_MARK`); a purge keeps none. A note beside the log tells the next command
that a rewind was interrupted before the host's files were updated. "In step" means that the files have the same content
as the log. A running session's files are left to the host.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from ....errors import LockTimeoutError
from ....log.atomic_file import NewFile
from ....log.open_mark import keep_closed
from ....sessions.session_is_open import is_held
from ....sessions.session_name import METADATA_NAME
from ....sessions.transcript import Transcript
from ...maintenance.note_beside_log import (
    REWINDING,
    WrittenFiles,
)
from .files_beside_log import (
    TRANSCRIPT_NAME,
    clear_up,
    finish_note,
    host_turns,
    is_hosts_log,
    metadata_bytes,
    read_metadata,
    replace_content,
)
from .host_transcript_lines import as_hosts_see, transcript_lines
from .metadata_lock import metadata_lock
from .write_host_files import has_own_metadata_only

BACKUP_MARK = ".bak-context-persistent-"
"""Part of the name of each backup copy that a rewind makes of a host's file."""


@contextlib.contextmanager
def rewinding(log: str | Path, time: str) -> Iterator[None]:
    """Note beside a log that a rewind is in progress, before a `with` block cuts the history.

    The note stays after the block; `update_host_files` removes it when the host's files are in step. If the block
    raises an exception, the note is removed.
    """
    if is_hosts_log(log) and Path(log).with_name(TRANSCRIPT_NAME).is_file():
        clear_up(log)
        note = WrittenFiles.beside(log)
        if not note.begun:
            note.begin(REWINDING, time)
    try:
        yield
    except BaseException:
        finish_note(log, REWINDING)
        raise


def finish_rewind(log: str | Path) -> tuple[list[str], str]:
    """Update the host's files if a rewind was interrupted, and return the result of `update_host_files`.

    If no rewind was interrupted, do nothing and return `([], "")`.
    """
    if not was_rewinding(log):
        return [], ""
    return update_host_files(log, time=WrittenFiles.beside(log).time)


def was_rewinding(log: str | Path) -> bool:
    """Return whether a rewind was interrupted before the host's files were updated."""
    return is_hosts_log(log) and WrittenFiles.beside(log).begun == REWINDING


def update_host_files(
    log: str | Path, *, time: str | None, change: Callable[[dict[str, Any]], dict[str, Any]] | None = None
) -> tuple[list[str], str]:
    """Update the host's files after the history of their log was cut or purged.

    A `metadata.json` of ours is updated even if there is no `transcript.jsonl`, as on a stick.

    Args:
        log: the path of the log beside which the files are.
        time: keep copies of the old files, with this time in their names; None to keep no copies.
        change: returns the new fields of a `metadata.json` of ours; `with_texts_replaced` or `without_name`.

    Returns:
        The paths of the changed files, and the reason if files exist but none was changed, else "".

    Raises:
        OSError: a file cannot be written.
    """
    target = Path(log).with_name(TRANSCRIPT_NAME)
    has_transcript = target.is_file() and not target.is_symlink()
    if not is_hosts_log(log) or not (has_transcript or has_own_metadata_only(log)):
        finish_note(log, REWINDING)
        return [], ""
    with keep_closed(os.fspath(log)) as is_closed:
        if is_closed is False or is_held(log):
            because = "the session is open"
        elif is_closed is None and time is not None:
            because = "this system does not tell whether the session is open"
        else:
            try:
                with metadata_lock(target.parent):
                    return _rewritten(log, target, time, change), ""
            except LockTimeoutError as error:
                return [], str(error.strerror)
    finish_note(log, REWINDING)  # the host writes its files itself
    return [], because


def _rewritten(
    log: str | Path, target: Path, time: str | None, change: Callable[[dict[str, Any]], dict[str, Any]] | None
) -> list[str]:
    """Rewrite the host's files of a session, and return their paths.

    The caller keeps other programs from changing them. A file of the host stays the host's: no note says that this
    package wrote it.
    """
    clear_up(log)
    note, metadata = WrittenFiles.beside(log), target.with_name(METADATA_NAME)
    is_ours = note.owns(METADATA_NAME)
    changed = list[str]()
    with Transcript(log) as transcript:
        reader = transcript.reader
        if target.is_file():
            _keep(target, time)
            replace_content(note, target, transcript_lines(reader, as_hosts_see(reader)))
            changed.append(os.fspath(target))
        fields = read_metadata(target.parent)
        if fields:
            _keep(metadata, time)
            new_fields = {**fields, "turn_count": host_turns(transcript)}
            if change is not None and is_ours:
                new_fields = change(new_fields)
            replace_content(note, metadata, [metadata_bytes(new_fields)])
            changed.append(os.fspath(metadata))
    if note.begun == REWINDING:
        note.finish()
    return changed


def _keep(path: Path, time: str | None) -> None:
    """Make a backup copy of a file before it is changed.

    Do nothing if `time` is None, or if a copy with this time exists.
    """
    if time is None:
        return
    backup = path.with_name(f"{path.name}{BACKUP_MARK}{''.join(filter(str.isdigit, time))}")
    if not backup.exists():
        with NewFile(backup) as file:
            file.write(path.read_bytes())
            file.finish()
