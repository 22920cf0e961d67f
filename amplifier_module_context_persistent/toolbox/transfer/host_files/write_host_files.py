"""Write the host's own files in a new session's directory: `metadata.json` and `transcript.jsonl`.

The host is the program that runs the sessions, such as Amplifier. It lists and resumes sessions by these files. A new
session gets both, with the fields of the host's own fork, so that the host shows it with its bundle and resumes it with
that bundle. A running session's files are never written here: older hosts read, change and write them without a lock.

A note beside the log (`toolbox/maintenance/note_beside_log.py`) lists the files that we wrote, with their contents. So
these files are known as ours after a crash; a file that the host has changed since belongs to the host
(`own_host_files.py`).
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from ....errors import DamagedArchiveError
from ....log.filesystem import FileSystem, make_directories
from ....paths import HOME_PROJECTS
from ....sessions.session_name import METADATA_NAME
from ....sessions.transcript import Transcript
from ...maintenance.note_beside_log import (
    MAKING,
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
    write_own,
)
from .host_transcript_lines import as_hosts_see, transcript_lines
from .metadata_fields import name_fields, with_texts_replaced


@contextlib.contextmanager
def making_session(log: str | Path) -> Iterator[None]:
    """Note beside a new log that its session is being made, while a `with` block writes the log and the host's files.

    If the process is killed in the block, `is_unfinished` returns True afterwards, and `write_host_files` finishes the
    session. If the block raises an exception before the log exists, the note is removed.
    """
    if not is_hosts_log(log) or os.path.lexists(log):
        yield
        return
    path = os.path.abspath(os.fspath(log))
    make_directories(FileSystem(), os.path.dirname(path))
    clear_up(path)
    WrittenFiles.beside(path).begin(MAKING)
    try:
        yield
    except BaseException:
        if not os.path.lexists(path):  # else the next call finishes it
            WrittenFiles.beside(path).finish()
            with contextlib.suppress(OSError):  # the directory contains something else
                os.rmdir(os.path.dirname(path))
        raise
    finish_note(path, MAKING)


def is_unfinished(log: str | Path) -> bool:
    """Return whether the making of a session was interrupted after its log was written."""
    return is_hosts_log(log) and os.path.isfile(log) and WrittenFiles.beside(log).begun == MAKING


def write_host_files(
    log: str | Path,
    *,
    created: str,
    parent_id: str | None = None,
    is_fork: bool = False,
    origin: str | Path | None = None,
    title: str = "",
    named_only: bool = False,
    replace: Callable[[str], str] = str,
) -> list[str]:
    """Write the host's files of a new session beside its log, if the log is in a session's directory of the host.

    Args:
        log: the new log.
        created: the time of creation, in ISO 8601.
        parent_id: the id of the session that was forked, or of which this is a sub-agent.
        is_fork: whether the session is a fork of the parent.
        origin: the log of another session; the bundle, the model and the name in its metadata are copied.
        title: the session's name, if the origin has none.
        named_only: write only `metadata.json`, so no second copy of the messages.
        replace: replaces texts of the origin's metadata that were purged here.

    Returns:
        The paths of the written files; empty if a file existed already and was not from an interrupted call.

    Raises:
        OSError: a file cannot be written.
    """
    directory = Path(log).parent
    if not is_hosts_log(log):
        return []
    clear_up(log)
    note = WrittenFiles.beside(log)
    transcript_file, metadata_file = directory / TRANSCRIPT_NAME, directory / METADATA_NAME
    existing = [file for file in (transcript_file, metadata_file) if file.exists()]
    if existing and not note.begun:
        return []
    if not all(note.owns(file.name) for file in existing):
        return []
    known = with_texts_replaced(read_metadata(Path(origin).parent), replace) if origin is not None else {}
    turns = _host_turns_of(log, note, None if named_only else transcript_file)
    fields: dict[str, Any] = {"session_id": directory.name}
    if parent_id:
        fields["parent_id"] = parent_id
    if is_fork:
        fields |= {"forked_from_turn": turns, "forked_at": created}
    fields |= {"created": created, "turn_count": turns, "bundle": known.get("bundle"), "model": known.get("model")}
    if "working_dir" in known:
        fields["working_dir"] = known["working_dir"]
    fields |= name_fields(known, title, is_fork=is_fork)
    write_own(note, metadata_file, [metadata_bytes(fields)])
    note.finish()
    written = [metadata_file] if named_only else [transcript_file, metadata_file]
    return [os.fspath(file) for file in written]


def _host_turns_of(log: str | Path, note: WrittenFiles, transcript_file: Path | None) -> int:
    """Return the number of turns of a new log, and write the host's transcript if a file for it is given.

    A backup also copies a damaged archive from which no record can be read. Then the number is 0.
    """
    try:
        with Transcript(log) as transcript:
            if transcript_file is not None:
                reader = transcript.reader
                write_own(note, transcript_file, transcript_lines(reader, as_hosts_see(reader)))
            return host_turns(transcript)
    except DamagedArchiveError:
        if transcript_file is not None:
            raise
        return 0


def complete_host_files(log: str | Path) -> list[str]:
    """Write the `transcript.jsonl` of a session of a home that came archived, after its log was brought back.

    Returns:
        The path of the new file; nothing if the host's files are not ours, are complete, or belong to no home.

    Raises:
        OSError: the file cannot be written.
    """
    if not lacks_transcript(log):
        return []
    clear_up(log)
    target = Path(os.path.abspath(log)).with_name(TRANSCRIPT_NAME)
    with Transcript(log) as transcript:
        reader = transcript.reader
        write_own(WrittenFiles.beside(log), target, transcript_lines(reader, as_hosts_see(reader)))
    return [os.fspath(target)]


def lacks_transcript(log: str | Path) -> bool:
    """Return whether a session of a home came without a `transcript.jsonl`, and no host has written one since."""
    place = Path(os.path.abspath(log)).parent
    return is_hosts_log(log) and place.parts[-5:-3] == HOME_PROJECTS.parts and has_own_metadata_only(log)


def has_own_metadata_only(log: str | Path) -> bool:
    """Return whether the only file for the host beside a log is a `metadata.json` that we wrote."""
    metadata = Path(log).with_name(METADATA_NAME)
    if os.path.lexists(metadata.with_name(TRANSCRIPT_NAME)) or metadata.is_symlink():
        return False
    return WrittenFiles.beside(log).owns(METADATA_NAME)
