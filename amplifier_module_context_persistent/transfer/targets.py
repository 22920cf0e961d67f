"""Where the sessions of an import go: their ids and files.

A session keeps the id that it has in the source, so that a second import finds it; without one, the id is derived from
the file's path and its first message. An id with `_` is a sub-session's, so ids of imports have none but for
sub-agents: `{parent}_{name}`.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict, Unpack
from uuid import NAMESPACE_URL, uuid5

from ..config import Config
from ..log.location import location_of, stored_name
from ..log.open import open_reader
from ..log.record import Message, decode
from ..paths import check_session_id, log_name, log_path
from .drafts import Draft, Drafts
from .importers.fields import session_name

_MOST_HEADER_BYTES = 16 << 20


@dataclass(frozen=True, slots=True)
class Target:
    """Where one session of an import goes, and what tells it apart from all others."""

    draft: Draft
    session_id: str | None
    path: str
    key: str
    """The same for the same session of the same source."""
    parent_id: str | None = None


class Destination(TypedDict):
    """Where sessions are to go; see `import_session`."""

    session_id: str | None
    path: str | Path | None
    working_dir: str | None
    storage: str | None


def targets_of(source: str, format_name: str, drafts: Drafts, **destination: Unpack[Destination]) -> list[Target]:
    """Find the logs of all sessions of an import, the main one first; with `storage` they are in that database.

    Raises:
        ConfigError: the session id cannot be part of a path.
    """
    session_id, path = destination["session_id"], destination["path"]
    working_dir, storage = destination["working_dir"], destination["storage"]
    main = drafts.sessions[0]
    first = _first_hash(main)
    given = main.start.source_id or main.start.parent_source_id
    source_key = f"{format_name}:{given or source}:{main.start.name}:{first[:16]}"
    if session_id is None and path is None:
        session_id = _derived(session_name(given), source_key, main)
        if _key_at(place_of(None, session_id, "", working_dir, storage)) not in (None, source_key):
            session_id = f"{session_id}-{first[:8]}"  # ids of trajectories are shared, and others' ids are not ours
    if session_id is not None:
        check_session_id(session_id)
    base = str(path) if path is not None else None
    targets = [
        Target(
            main,
            session_id,
            place_of(base, session_id, "", working_dir, storage),
            source_key,
            main.start.parent_source_id or None,
        )
    ]
    taken = set[str]()
    for number, draft in enumerate(drafts.sessions[1:], 1):
        name = draft.start.name or f"part{number}"
        while name in taken:
            name = f"{name}-{number}"
        taken.add(name)
        mark = "_" if draft.start.kind == "subagent" else "-"
        own = f"{session_id}{mark}{name}" if session_id is not None else None
        place, key = place_of(base, own, f"{mark}{name}", working_dir, storage), f"{source_key}:{name}"
        if mark == "_":  # its file may have been imported before, alone
            alone = f"{format_name}:{given}:{name}:{_first_hash(draft)[:16]}"
            key = alone if _key_at(place) == alone else key
        targets.append(Target(draft, own, place, key, session_id))
    return targets


def _first_hash(draft: Draft) -> str:
    """Of its first message; a session has one."""
    return hashlib.sha256(draft.bodies[draft.at[0]]).hexdigest()


def directory_of(drafts: Drafts) -> str | None:
    """The directory that the source says its session works in."""
    given = drafts.sessions[0].start.facts.get("cwd")
    return given if isinstance(given, str) and os.path.isabs(given) and given.isprintable() else None


def _derived(given: str, source_key: str, main: Draft) -> str:
    if not given:
        return str(uuid5(NAMESPACE_URL, source_key))
    return f"{given}_{main.start.name}" if main.start.kind == "subagent" and main.start.name else given


def _key_at(path: str) -> str | None:
    """The key of the import that made a log; empty for what is something else, None where nothing is."""
    if stored_name(path) is not None:
        reader = open_reader(path)
        reader.follow()
        described, headers = reader.describe(), reader.index.headers
        reader.close()
        return _key_of(headers[0] if headers else {}) if described.exists else None
    try:
        with open(path, "rb") as log:
            header = decode(log.readline(_MOST_HEADER_BYTES))
    except FileNotFoundError:
        return None
    except (OSError, ValueError):
        return ""
    return _key_of(header)


def _key_of(header: Message) -> str:
    source = header.get("source")
    return str(source.get("key")) if isinstance(source, dict) else ""


def place_of(
    base: str | None, session_id: str | None, suffix: str, working_dir: str | None, storage: str | None
) -> str:
    """The file of a session: where the host keeps its sessions, or beside the file that was named; or its location."""
    if base is not None and stored_name(base) is not None:
        return f"{base}{suffix}"
    if base is None and storage is not None and session_id is not None:
        return location_of(storage, log_name(session_id, working_dir or "."))
    if base is None:
        return str(log_path(Config(), session_id=session_id, working_dir=working_dir))
    stem, ending = os.path.splitext(os.path.expanduser(base))
    return os.path.abspath(f"{stem}{suffix}{ending}")
