"""Choose the ids and the places of imported sessions.

A session keeps the id that it has in the source, so that a second import finds it; without one, the id is derived from
the file's path and its first message. An id with `_` belongs to a sub-session, so only ids of sub-agents contain it:
`{parent}_{name}`.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence, Set
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from uuid import NAMESPACE_URL, uuid5

from ....config import Config
from ....log.database_location import location_of, split_location, stored_name
from ....paths import LOG_NAME, check_session_id, log_name, log_path
from ....sessions.session_files import sessions_of_id
from ..importers.fields import session_name
from ..importers.refused_import import ImportRefusedError
from .drafts import SessionDraft
from .earlier_import import key_at
from .import_own_export import exported_here


@dataclass(frozen=True, slots=True)
class Destination:
    """The place that imported sessions are written to; see `import_session` for the fields."""

    session_id: str | None
    path: str | Path | None
    working_dir: str | None
    storage: str | None
    beside: str = ""
    """The log of a session in whose project the imported sessions are placed; empty if there is none."""

    @property
    def logs(self) -> str:
        """The database or the path that the logs go to; empty for the host's default place."""
        return str(self.beside or self.path or self.storage or "")

    def place(self, session_id: str | None, suffix: str = "") -> str:
        """Return the place of a session's log.

        The first of these rules that applies:
        - `beside` is given: in the project of that log.
        - `path` is given: there, with `suffix` in the file's name.
        - `storage` is given: in that database.
        - Otherwise it is in the host's directory of sessions.
        """
        if self.beside and session_id is not None:
            return _in_project_of(self.beside, session_id)
        if self.path is not None and stored_name(str(self.path)) is not None:
            return f"{self.path}{suffix}"
        if self.path is not None:
            stem, ending = os.path.splitext(os.path.expanduser(self.path))
            return os.path.abspath(f"{stem}{suffix}{ending}")
        if self.storage is not None and session_id is not None:
            return location_of(self.storage, log_name(session_id, self.working_dir or "."))
        return str(log_path(Config(), session_id=session_id, working_dir=self.working_dir))

    def found_before(self, session_id: str, key: str) -> str:
        """Return the log with this id that an earlier import of the same source made, in any project.

        Return "" if there is none.
        """
        wanted = self.place(session_id)
        if self.path is not None or key_at(wanted) == key:
            return wanted if self.path is None else ""
        others = (str(session.path) for session in sessions_of_id(session_id, storage=self.storage))
        return next((path for path in others if path != wanted and key_at(path) == key), "")

    def key_with_parent(self, session_id: str, begins: str, ends: str) -> str:
        """Return the import key of a sub-agent's log that was imported together with its parent, in any project.

        Return "" if no log with this id has such a key.

        Args:
            session_id: the id of the sub-agent's session.
            begins: the beginning of the key: the format and the parent's id in the source.
            ends: the end of the key: the sub-agent's name.
        """
        others = (str(session.path) for session in sessions_of_id(session_id, storage=self.storage))
        keys = (key_at(path) or "" for path in (self.place(session_id), *others))
        return next((key for key in keys if key.startswith(begins) and key.endswith(ends)), "")


def _in_project_of(log: str, session_id: str) -> str:
    """Return the place of a session's log in the same project as another log."""
    name = stored_name(log)
    if name is not None:
        return location_of(split_location(log)[0], f"{name.rpartition('/')[0]}/{session_id}")
    return str(Path(log).parents[1] / session_id / LOG_NAME)


def place_sessions(sessions: Sequence[SessionDraft], source: str, format_name: str, to: Destination) -> None:
    """Set the ids, keys and paths of all sessions of an import.

    Args:
        sessions: the drafts, each session before its branches and sub-agents.
        source: the path of the source's file.
        format_name: the format of the source.
        to: the destination.

    Raises:
        ConfigError: the session id cannot be part of a path.
        ImportRefusedError: one id is given for several sessions.
    """
    for draft, before in zip(sessions[1:], sessions, strict=False):
        draft.family = before.family + (draft.start.kind == "session")
    families = [list(family) for _, family in groupby(sessions, lambda draft: draft.family)]
    if to.session_id is not None and len(families) > 1:
        raise ImportRefusedError(f"the file holds {len(families):,} sessions, which cannot all be {to.session_id!r}")
    taken = set[str]()
    for family in families:
        _place_family(family, source, format_name, to, taken)
        taken.add(family[0].target.path)


def _place_family(
    family: Sequence[SessionDraft], source: str, format_name: str, to: Destination, taken_paths: Set[str]
) -> None:
    """Set the ids, keys and paths of a session, its branches and its sub-agents.

    `taken_paths` are the paths of other sessions in the file.
    """
    main, *others = family
    suffix = f"-{main.family + 1}" if main.family else ""
    source_id = main.start.source_id or main.start.parent_source_id
    main.target.key = f"{format_name}:{source_id or source}:{main.start.name}:{_first_hash(main)[:16]}"
    main.target.session_id = to.session_id
    is_free_to_choose = to.path is None and to.session_id is None
    if is_free_to_choose:
        to = _choose_place(main, f"{format_name}:{source_id}:", to, taken_paths)
    if main.target.session_id is not None:
        check_session_id(main.target.session_id)
    main.target.path = to.place(main.target.session_id, suffix)
    main.target.parent_id = main.start.parent_source_id or None
    _place_others(others, main, suffix, f"{format_name}:{source_id}:", to)


def _choose_place(main: SessionDraft, key_begin: str, to: Destination, taken_paths: Set[str]) -> Destination:
    """Choose the id of a session for which the user gave neither an id nor a path, and return its destination.

    A session that was exported from here goes to its origin.

    Args:
        main: the session; its key may be replaced by the key of an earlier import.
        key_begin: the beginning of keys: the format and the id in the source.
        to: the destination of the import.
        taken_paths: the paths of other sessions in the file.
    """
    origin = exported_here(main, to.storage)
    if origin:
        main.target.is_origin = True
        main.target.session_id = main.start.exported_from
        return replace(to, beside=origin)
    derived = _derived(session_name(main.start.source_id or main.start.parent_source_id), main)
    if main.start.kind == "subagent" and main.start.name:
        with_parent = to.key_with_parent(derived, key_begin, f":{main.start.name}")
        main.target.key = with_parent or main.target.key
    return _with_id(main, derived, _first_hash(main)[:8], to, taken_paths)


def _place_others(
    others: Sequence[SessionDraft], main: SessionDraft, suffix: str, key_begin: str, to: Destination
) -> None:
    """Set the ids, keys and paths of the branches and sub-agents of a session.

    Args:
        others: the branches and sub-agents.
        main: the session, which has its id, key and path.
        suffix: the end of the session's file name, if the file holds several sessions.
        key_begin: the beginning of keys: the format and the id in the source.
        to: the destination of the session.
    """
    taken_names = set[str]()
    for number, draft in enumerate(others, 1):
        name = draft.start.name or f"part{number}"
        while name in taken_names:
            name = f"{name}-{number}"
        taken_names.add(name)
        is_sub_agent = draft.start.kind == "subagent"
        ending = f"_{name}" if is_sub_agent else f"-{name}"
        draft.target.parent_id = main.target.session_id
        draft.target.session_id = None
        if main.target.session_id is not None:
            draft.target.session_id = f"{main.target.session_id}{ending}"
        draft.target.path = to.place(draft.target.session_id, f"{suffix}{ending}")
        draft.target.key = f"{main.target.key}:{name}"
        key_alone = f"{key_begin}{name}:{_first_hash(draft)[:16]}"
        if is_sub_agent and key_at(draft.target.path) == key_alone:  # its file was imported without the session before
            draft.target.key = key_alone


def _with_id(main: SessionDraft, derived: str, mark: str, to: Destination, taken_paths: Set[str]) -> Destination:
    """Choose the id of a session (`main.target.session_id`), and return the destination of the session.

    The id is `derived`. If another session has this id, `mark` is added to it: trajectories share ids, and other agents
    choose their own ids. A session that was imported before keeps its id, and stays in its project.
    """
    check_session_id(derived)
    marked = f"{derived}-{mark}"
    for session_id in (derived, marked):
        imported_before = to.found_before(session_id, main.target.key)
        if imported_before:
            main.target.session_id = session_id
            return replace(to, beside=imported_before)
    wanted = to.place(derived)
    # A log with another key is another session's; None means that there is no log.
    is_taken = wanted in taken_paths or key_at(wanted) not in (None, main.target.key)
    main.target.session_id = marked if is_taken else derived
    return to


def _first_hash(draft: SessionDraft) -> str:
    """Return the SHA-256 of a session's first message, in hexadecimal. Every draft has a message."""
    return hashlib.sha256(draft.bodies[draft.at[0]]).hexdigest()


def _derived(source_name: str, main: SessionDraft) -> str:
    if not source_name:
        return str(uuid5(NAMESPACE_URL, main.target.key))
    is_named_sub_agent = main.start.kind == "subagent" and main.start.name != ""
    return f"{source_name}_{main.start.name}" if is_named_sub_agent else source_name
