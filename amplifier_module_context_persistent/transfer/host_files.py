"""The host's own files in a session's directory: `metadata.json` and `transcript.jsonl`.

The host lists and resumes sessions by them. A new session gets both, with the fields that the host's own fork writes,
so that it is shown with its bundle and resumed under it. A running session's files are never written here: older hosts
read, change and write them without a lock. `metadata.json` is changed under the lock that newer hosts take.

The host counts a turn for every message of the role `user`, reminders and hooks' messages included; we count those of a
person. What is written for the host is counted as the host does.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from ..errors import LockTimeoutError
from ..log.atomic_file import NewFile
from ..log.database_location import stored_name
from ..maintenance.open_files import held_for_writing, identity_of
from ..maintenance.raw_records import strings_of
from ..messages.host_form import as_hosts_write
from ..messages.host_order import host_order
from ..messages.message import Message
from ..messages.metadata import PLACE_KEY, is_ephemeral, metadata_of, timestamp_of
from ..paths import LOG_NAME, session_id_of
from ..transcript.session_name import METADATA_NAME, MOST_CHARS
from ..transcript.session_name import read_metadata as metadata_in
from ..transcript.shared_checkpoint import shared_checkpoints, texts_of
from ..transcript.transcript import Transcript, session_id_in
from ..view.entry import INSTRUCTING
from .metadata_lock import metadata_lock

TRANSCRIPT_NAME = "transcript.jsonl"
FORK_MARK = " (fork)"
_COPIES = (f"{TRANSCRIPT_NAME}*", "events.jsonl*", "context-intelligence/events.jsonl*")
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
"""What an import or a fork writes into `metadata.json`; the host adds others."""


def host_turns(messages: Iterator[Message]) -> int:
    """How many turns the host counts."""
    return sum(message.get("role") == "user" for message in messages)


def write_host_files(
    log: str | Path,
    *,
    created: str,
    parent_id: str | None = None,
    is_fork: bool = False,
    origin: str | Path | None = None,
    title: str = "",
) -> list[str]:
    """Write the host's files of a new session beside its log, if that lies in a directory of the host's kind.

    Args:
        log: the new log.
        created: ISO 8601.
        parent_id: the session that it comes from or belongs to.
        is_fork: whether it begins with that session's history.
        origin: that session's log; the bundle, the model and the name of its metadata are taken over.
        title: the session's name, if that session has none.

    Returns:
        The files that were written; none if one of them is there already.

    Raises:
        OSError: one cannot be written.
    """
    directory = Path(log).parent
    targets = [directory / TRANSCRIPT_NAME, directory / METADATA_NAME]
    if not is_hosts_log(log) or any(target.exists() for target in targets):
        return []
    known = read_metadata(Path(origin).parent) if origin is not None else {}
    with Transcript(log) as transcript:
        turns = host_turns(transcript.messages())
        lineage = {"parent_id": parent_id} if parent_id else {}
        fields = {
            "session_id": directory.name,
            **lineage,
            **({"forked_from_turn": turns, "forked_at": created} if is_fork else {}),
            "created": created,
            "turn_count": turns,
            **{key: known.get(key) for key in ("bundle", "model")},
            **{key: known[key] for key in ("working_dir",) if key in known},
            **_name_fields(known, title, is_fork=is_fork),
        }
        _write(targets[0], transcript_lines(_as_hosts_see(transcript)))
    _write(targets[1], [_pretty(fields)])
    return [os.fspath(target) for target in targets]


def update_host_files(log: str | Path, *, time: str | None) -> tuple[list[str], str]:
    """Bring the host's files in step with a log whose history was cut or purged.

    Args:
        log: the log.
        time: keep the old files beside them, under names with this time; None to keep none.

    Returns:
        The files that were changed, and why none was, if there are any.

    Raises:
        OSError: one cannot be written.
    """
    directory = Path(log).parent
    target, metadata = directory / TRANSCRIPT_NAME, directory / METADATA_NAME
    if not is_hosts_log(log) or not target.is_file() or target.is_symlink():
        return [], ""
    is_open = is_held(log)
    if is_open or (is_open is None and time is not None):
        return [], "the session is open" if is_open else "this system does not tell whether the session is open"
    try:
        with metadata_lock(directory):
            return _rewritten(log, target, metadata, time), ""
    except LockTimeoutError as error:
        return [], str(error.strerror)


def _rewritten(log: str | Path, target: Path, metadata: Path, time: str | None) -> list[str]:
    """Write the host's files anew, while nobody else changes the metadata."""
    changed = [os.fspath(target)]
    with Transcript(log) as transcript:
        _keep(target, time)
        _write(target, transcript_lines(_as_hosts_see(transcript)), replace=True)
        if fields := read_metadata(target.parent):
            _keep(metadata, time)
            changed_fields = {**fields, "turn_count": host_turns(transcript.messages())}
            _write(metadata, [_pretty(changed_fields)], replace=True)
            changed.append(os.fspath(metadata))
    return changed


def rename_imported(log: str | Path, before: str, title: str) -> bool:
    """Give a session the title that its source has now, unless a host or a person named it otherwise.

    Args:
        log: the session's log; a session that is open stays as it is.
        before: the title that an earlier import gave it; empty if it gave none.
        title: the title in the source.

    Returns:
        Whether the session was renamed.

    Raises:
        LockTimeoutError: another program is changing the metadata; nothing was changed.
        OSError: the metadata cannot be written.
    """
    metadata = Path(log).with_name(METADATA_NAME)
    if not is_hosts_log(log) or not read_metadata(metadata.parent) or is_held(log) is not False:
        return False
    with metadata_lock(metadata.parent):
        fields = read_metadata(metadata.parent)
        named, ours = (_name_fields({}, given, is_fork=False) for given in (title, before))
        if not (fields and named) or fields.get("name") not in (None, "", ours.get("name")):
            return False
        _write(metadata, [_pretty(fields | named)], replace=True)
    return True


def _name_fields(known: Mapping[str, Any], title: str, *, is_fork: bool) -> dict[str, str]:
    """What the metadata of a new session says of its name: that of its origin, or a title; hosts take 200 characters.

    Whether a program made the name up goes with it: then a host may find a better one.
    """
    given = known.get("name")
    name = " ".join((given if isinstance(given, str) and given.strip() else title).split())
    if not name:
        return {}
    mark = FORK_MARK if is_fork else ""
    fields = {"name": f"{name[: MOST_CHARS - len(mark)]}{mark}"}
    return fields | {key: text for key in ("description", "name_source") if isinstance(text := known.get(key), str)}


def is_held(log: str | Path) -> bool | None:
    """Whether a process of this user holds a log open for writing; None where the system does not tell.

    Raises:
        OSError: the log cannot be looked at.
    """
    held = held_for_writing({Path(log).name})
    return None if held is None else identity_of(log) in held


def own_transcript(log: str | Path) -> Path | None:
    """The `transcript.jsonl` that an import or a fork wrote beside its log, while it still holds nothing else.

    Once the host has written to it, it is the host's.

    Raises:
        LogUnreadableError: the log cannot be read.
        OSError: the file cannot be read.
    """
    target = Path(log).parent / TRANSCRIPT_NAME
    if not is_hosts_log(log) or not target.is_file() or target.is_symlink():
        return None
    with Transcript(log) as transcript:
        if not transcript.header.keys() & {"imported_from", "forked_from"}:
            return None
        every = transcript.reader.read(range(len(transcript.reader.index)))
        known = {hash(line) for line in transcript_lines(every)}
    with target.open("rb") as lines:
        return target if all(hash(line) in known for line in lines) else None


def own_files(log: str | Path) -> list[Path]:
    """The host's files that an import or a fork wrote beside its log, as long as the host has not changed them.

    Raises:
        LogUnreadableError: the log cannot be read.
        OSError: a file cannot be read.
    """
    if (transcript := own_transcript(log)) is None:
        return []
    metadata = transcript.with_name(METADATA_NAME)
    return [transcript, metadata] if read_metadata(transcript.parent).keys() <= _OWN_KEYS else [transcript]


def hosts_files(log: str | Path) -> list[Path]:
    """All files of the host that lie in a session's directory: its copies of the messages, and its metadata."""
    metadata = Path(log).with_name(METADATA_NAME)
    return [*_copies_beside(log), *([metadata] if is_hosts_log(log) and metadata.is_file() else [])]


def host_copies(log: str | Path) -> list[str]:
    """Find the host's copies of a session's messages, which a purge of the log does not reach.

    They lie beside the log; a session that several hosts share has another one (`transcript/shared_checkpoint.py`).

    Raises:
        LogUnreadableError: the log cannot be read.
        OSError: a directory cannot be read.
    """
    session_id = session_id_of(os.fspath(log))
    if session_id is None and os.path.exists(log):
        with Transcript(log) as transcript:
            session_id = session_id_in(transcript)
    return [*map(os.fspath, _copies_beside(log)), *map(os.fspath, shared_checkpoints(log, session_id))]


def named_in(log: str | Path) -> list[str]:
    """Find the host's files that name a session: a name is made of what was said, so it may hold a secret."""
    if not is_hosts_log(log):
        return []
    found = Path(log).parent.glob(f"{METADATA_NAME}*")
    return sorted(os.fspath(path) for path in found if path.is_file())


def _copies_beside(log: str | Path) -> list[Path]:
    if not is_hosts_log(log):
        return []
    return sorted(path for pattern in _COPIES for path in Path(log).parent.glob(pattern) if path.is_file())


def told_matches(copy: str | Path, replace: Callable[[str], str]) -> str:
    """Say how much of a host's copy holds what a redaction would replace, such as `2 lines`; empty if nothing does.

    Raises:
        OSError: the copy cannot be read.
    """
    path = Path(copy)
    if ".jsonl" in path.name:
        with path.open("rb") as lines:
            found, unit = sum(any(replace(text) != text for text in _texts(line)) for line in lines), "line"
    else:
        found, unit = sum(replace(text) != text for text in texts_of(path)), "text"
    return f"{found:,} {unit}{'' if found == 1 else 's'}" if found else ""


def _texts(line: bytes) -> Iterator[str]:
    """The strings of a line of JSON; of any other line, the line."""
    try:
        value = json.loads(line)
    except ValueError:
        return iter((line.decode("utf-8", "replace"),))
    return strings_of(value)


def read_metadata(directory: Path) -> dict[str, Any]:
    """The host's metadata of a session; empty if there is none that can be read."""
    return metadata_in(directory / METADATA_NAME)


def _as_hosts_see(transcript: Transcript) -> Iterator[Message]:
    """Read the live messages in the order in which hosts see them."""
    marks = [{"metadata": _marks_of(message)} for message in transcript.messages()]
    live = transcript.reader.index.live
    return transcript.reader.read([live[position] for position in host_order(marks)])


def _marks_of(message: Message) -> Message:
    """What of a message's metadata says where hosts see it."""
    metadata = metadata_of(message)
    return {key: metadata[key] for key in ("message_id", PLACE_KEY) if key in metadata}


def transcript_lines(messages: Iterator[Message]) -> Iterator[bytes]:
    """The lines of a `transcript.jsonl`: no instructions, thinking or ephemeral messages, and a time in each."""
    for message in messages:
        if message.get("role") in INSTRUCTING or is_ephemeral(message):
            continue
        written = as_hosts_write(message)
        if "timestamp" not in written and (time := timestamp_of(message)):
            written["timestamp"] = time
        yield json.dumps(written).encode() + b"\n"


def _keep(path: Path, time: str | None) -> None:
    if time is not None:
        stamp = "".join(filter(str.isdigit, time))
        _write(path.with_name(f"{path.name}.bak-context-persistent-{stamp}"), [path.read_bytes()])


def _write(path: Path, pieces: Iterable[bytes], *, replace: bool = False) -> None:
    with NewFile(path, replace=replace) as file:
        for piece in pieces:
            file.write(piece)
        file.finish()


def _pretty(fields: Mapping[str, Any]) -> bytes:
    return json.dumps(fields, indent=2).encode() + b"\n"


def is_hosts_log(log: str | Path) -> bool:
    """Whether a log is a file in a directory of its session, as the host makes them."""
    return stored_name(os.fspath(log)) is None and Path(log).name == LOG_NAME
