"""Write and update the host's own files in a session's directory: `metadata.json` and `transcript.jsonl`.

The host is the program that runs the sessions, such as Amplifier. It lists and resumes sessions by these files. A new
session gets both, with the fields of the host's own fork, so that the host shows it with its bundle and resumes it with
that bundle. A running session's files are never written here: older hosts read, change and write them without a lock.
`metadata.json` is changed under the lock of newer hosts.

A note beside the log (`toolbox/maintenance/note_beside_log.py`) lists the files that we wrote, with their contents. So
these files are known as ours after a crash; a file that the host has changed since belongs to the host
(`own_host_files.py`). "In step" means that the files have the same content as the log.

The host counts a turn for every message of the role `user`, reminders and hooks' messages included; we count only a
person's messages. In the host's files, turns are counted in the host's way.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from ....errors import DamagedArchiveError, LockTimeoutError
from ....log.atomic_file import NewFile
from ....log.database_location import stored_name
from ....log.filesystem import FileSystem, make_directories
from ....log.open_mark import keep_closed
from ....log.record_line import ROLES
from ....paths import HOME_PROJECTS, LOG_NAME
from ....sessions.session_is_open import is_held
from ....sessions.session_name import METADATA_NAME, MOST_CHARS
from ....sessions.session_name import read_metadata as metadata_in
from ....sessions.transcript import Transcript
from ...maintenance.leftovers import files_left
from ...maintenance.note_beside_log import (
    MAKING,
    REWINDING,
    WrittenFiles,
)
from .host_transcript_lines import as_hosts_see, transcript_lines
from .metadata_lock import metadata_lock

TRANSCRIPT_NAME = "transcript.jsonl"
FORK_MARK = " (fork)"
HOSTS_NAMES = (TRANSCRIPT_NAME, METADATA_NAME)
"""The names of the files that we may write for the host."""
BACKUP_MARK = ".bak-context-persistent-"
"""Part of the name of each backup copy that a rewind makes of a host's file."""
_TEXT_KEYS = ("name", "description", "working_dir")
"""The fields of `metadata.json` in which a purge replaces a text."""
NAME_KEYS = ("name", "description", "name_source")
"""The fields of `metadata.json` about the session's name."""
_USER = ROLES.index("user")


def host_turns(transcript: Transcript) -> int:
    """Return the number of turns in the live history, in the way in which the host counts turns."""
    index = transcript.reader.index
    return sum(index.columns.roles[ordinal] == _USER for ordinal in index.live)


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
    _finish(path, MAKING)


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
    fields |= _name_fields(known, title, is_fork=is_fork)
    _write_own(note, metadata_file, [_pretty(fields)])
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
                _write_own(note, transcript_file, transcript_lines(reader, as_hosts_see(reader)))
            return host_turns(transcript)
    except DamagedArchiveError:
        if transcript_file is not None:
            raise
        return 0


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
        _finish(log, REWINDING)
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
        log: the log.
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
        _finish(log, REWINDING)
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
    _finish(log, REWINDING)  # the host writes its files itself
    return [], because


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
        _write_own(WrittenFiles.beside(log), target, transcript_lines(reader, as_hosts_see(reader)))
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


def _finish(log: str | Path, what: str) -> None:
    if is_hosts_log(log) and (note := WrittenFiles.beside(log)).begun == what:
        note.finish()


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
            _replace(note, target, transcript_lines(reader, as_hosts_see(reader)))
            changed.append(os.fspath(target))
        fields = read_metadata(target.parent)
        if fields:
            _keep(metadata, time)
            new_fields = {**fields, "turn_count": host_turns(transcript)}
            if change is not None and is_ours:
                new_fields = change(new_fields)
            _replace(note, metadata, [_pretty(new_fields)])
            changed.append(os.fspath(metadata))
    if note.begun == REWINDING:
        note.finish()
    return changed


def with_texts_replaced(fields: Mapping[str, Any], replace: Callable[[str], str]) -> dict[str, Any]:
    """Return metadata with its texts replaced; ids, times, the bundle and the model stay."""
    new = {key: replace(fields[key]) for key in _TEXT_KEYS if isinstance(fields.get(key), str)}
    return {**fields, **new}


def without_name(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return metadata without the session's name and description, which may be made from messages."""
    return {key: value for key, value in fields.items() if key not in NAME_KEYS}


def rename_imported(log: str | Path, before: str, title: str) -> bool:
    """Give an imported session the present title of its source, unless a host or a person has named the session.

    Args:
        log: the session's log; a session that is open is not changed.
        before: the title that an earlier import gave the session; empty if it gave none.
        title: the title in the source.

    Returns:
        Whether the session was renamed.

    Raises:
        LockTimeoutError: another program is changing the metadata; nothing was changed.
        OSError: the metadata cannot be written.
    """
    metadata = Path(log).with_name(METADATA_NAME)
    if not is_hosts_log(log) or not read_metadata(metadata.parent):
        return False
    with keep_closed(os.fspath(log)) as is_closed:
        if not is_closed or is_held(log):
            return False
        return _renamed(log, metadata, before, title)


def _renamed(log: str | Path, metadata: Path, before: str, title: str) -> bool:
    with metadata_lock(metadata.parent):
        fields = read_metadata(metadata.parent)
        named = _name_fields({}, title, is_fork=False)
        ours = _name_fields({}, before, is_fork=False)
        has_other_name = fields.get("name") not in (None, "", ours.get("name"))
        if not fields or not named or has_other_name:
            return False
        _replace(WrittenFiles.beside(log), metadata, [_pretty(fields | named)])
    return True


def _name_fields(known: Mapping[str, Any], title: str, *, is_fork: bool) -> dict[str, str]:
    """Return the metadata fields for a new session's name: the origin's name, or else the title.

    Hosts allow 200 characters. The origin's `name_source` says whether a program made the name; then a host may choose
    a better one.
    """
    name = known.get("name")
    if not isinstance(name, str) or not name.strip():
        name = title
    name = " ".join(name.split())
    if not name:
        return {}
    mark = FORK_MARK if is_fork else ""
    fields = {"name": f"{name[: MOST_CHARS - len(mark)]}{mark}"}
    for key in ("description", "name_source"):
        text = known.get(key)
        if isinstance(text, str):
            fields[key] = text
    return fields


def clear_up(log: str | Path) -> None:
    """Remove files that killed operations left beside a log. A file that cannot be removed stays."""
    with contextlib.suppress(OSError):
        for name in files_left(os.fspath(log), HOSTS_NAMES):
            os.remove(name)


def read_metadata(directory: Path) -> dict[str, Any]:
    """Return the host's metadata of a session; an empty dictionary if the file is missing or cannot be read."""
    return metadata_in(directory / METADATA_NAME)


def _keep(path: Path, time: str | None) -> None:
    """Make a backup copy of a file before it is changed.

    Do nothing if `time` is None, or if a copy with this time exists.
    """
    if time is None:
        return
    kept = path.with_name(f"{path.name}{BACKUP_MARK}{''.join(filter(str.isdigit, time))}")
    if not kept.exists():
        with NewFile(kept) as file:
            file.write(path.read_bytes())
            file.finish()


def _write_own(note: WrittenFiles, path: Path, pieces: Iterable[bytes]) -> None:
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


def _replace(note: WrittenFiles, path: Path, pieces: Iterable[bytes]) -> None:
    """Replace the content of a file. The new content is noted as ours only if the old content was ours."""
    if note.owns(path.name):
        _write_own(note, path, pieces)
        return
    with NewFile(path, replace=True) as file:
        for piece in pieces:
            file.write(piece)
        file.finish()


def _pretty(fields: Mapping[str, Any]) -> bytes:
    return json.dumps(fields, indent=2).encode() + b"\n"


def is_hosts_log(log: str | Path) -> bool:
    """Return whether a log is a file with the name that hosts use. Then the host's files may be beside the log."""
    return stored_name(os.fspath(log)) is None and Path(log).name == LOG_NAME
