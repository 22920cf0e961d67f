"""One step of a sync: the planned action for one session, and its result."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from ....erasures.erasure_record import SESSION, ErasedError, Erasure
from ....log.database_location import shown_location, stored_name
from ....log.file_handle import size_of_log
from ....sessions.session_files import SessionFile
from .relation_of_copies import Parting
from .room_for_copies import Room
from .sync_sides import Side


class What(Enum):
    """The action that a sync takes for one session."""

    SAME = "same"
    COPY = "copy"
    APPEND = "append"
    REPLACE = "replace"
    """The purged log replaces the other copy."""
    IMPORTED = "imported"
    """Both sides imported the session from one source. The import with all messages replaces the other import."""
    LABELED = "labeled"
    """Both sides gave names or tags, and one of them did nothing else. The other side's log gets these too, and takes
    its place."""
    FORK = "fork"
    """The session has parted. The other side's history becomes a new session, and this side's log replaces it under its
    id."""
    KEPT = "kept"
    """The session has parted, and one history is a session of its own already. The other history replaces its log."""
    FINISH = "finish"
    """The logs are equal, but an earlier sync was killed before it updated the files beside one of the logs."""
    PARTED = "parted"
    LEFT = "left"
    """The session is not changed; `Step.why` gives the reason."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A session, with its log on each side; None for a side without the session."""

    session_id: str
    here: SessionFile | None
    there: SessionFile | None
    first: SessionFile | None = None
    """The other side's first copy, if `there` is a further copy of the same session; else None."""


@dataclass(frozen=True, slots=True)
class HeldErased:
    """A copy of a session that holds erased content."""

    session: SessionFile
    side: Side
    erasures: list[Erasure]

    def __str__(self) -> str:
        """Return a sentence for a person: what was erased, when, and where the copy is."""
        last = self.erasures[-1]
        if last.what == SESSION:
            return f"it was deleted on {last.day}, and is still {self.side.where}"
        where = self.side.where
        return (
            f"it was purged on {last.day}, and the copy {where} may still hold what was removed; purge it {where} too"
        )


class HoldsErasedError(ErasedError):
    """Copies of a session hold erased content, so the session is not synced."""

    def __init__(self, erased_content: list[HeldErased]) -> None:
        super().__init__("; ".join(map(str, erased_content)))
        self.held = erased_content


@dataclass(frozen=True, slots=True)
class Step:
    """The action for one session, with the logs on both sides: as planned, or the result (`Sync.carry_out`)."""

    session_id: str
    what: What
    source: str = ""
    """The log to copy from; the target lacks some of its records."""
    target: str = ""
    to: Side | None = None
    """The side that is written to; None if neither is."""
    new_bytes: int = 0
    unpacked_bytes: int = 0
    """The size of the target's log, if the target is archived and has to be brought back; else 0."""
    rooms: Sequence[tuple[Side, Room]] = ()
    """The room that the step needs, on each side that is a directory."""
    parting: Parting | None = None
    fork: str = ""
    """The id of the fork that keeps one of the two histories of a parted session; else ""."""
    why: str = ""
    erased_content: Sequence[HeldErased] = ()
    """The copies with erased content, because of which the session is not changed."""

    @property
    def is_left(self) -> bool:
        """Whether the session remains different on the two sides."""
        return self.what in (What.PARTED, What.LEFT)

    def to_json(self) -> dict[str, Any]:
        """Return the step in plain JSON types."""
        entry: dict[str, Any] = {"session": self.session_id, "what": self.what.value}
        if self.target:
            entry |= {"from": shown_location(self.source), "to": shown_location(self.target), "bytes": self.new_bytes}
        if self.parting is not None:
            parting = self.parting
            entry["parted"] = {"record": parting.line, "turn": parting.turn, "after": parting.time or None}
        return entry | ({"fork": self.fork} if self.fork else {}) | ({"why": self.why} if self.why else {})


def pairs_of(here: Sequence[SessionFile], there: Sequence[SessionFile]) -> list[Pair]:
    """Pair the sessions of two sides by their ids, if possible within the same project.

    If the other side has more copies of a session than this one, a copy in the same project is paired first, whatever
    its size, and then the largest. Each further copy is paired with the same session (`Pair.first`).
    """
    ours_by_id, theirs_by_id = _by_id(here), _by_id(there)
    pairs = []
    for session_id in sorted(ours_by_id.keys() | theirs_by_id.keys()):
        pairs += _pairs_of_id(session_id, ours_by_id.get(session_id, []), theirs_by_id.get(session_id, []))
    return pairs


def _by_id(sessions: Sequence[SessionFile]) -> dict[str, list[SessionFile]]:
    found: dict[str, list[SessionFile]] = {}
    for session in sessions:
        found.setdefault(session.id, []).append(session)
    return found


def _pairs_of_id(session_id: str, ours: list[SessionFile], theirs: list[SessionFile]) -> list[Pair]:
    if len(theirs) > 1:
        theirs = sorted(theirs, key=_largest_first)
    unpaired = list(ours)
    pairs = []
    elsewhere = []
    for other in theirs:
        in_project = [session for session in unpaired if session.project == other.project]
        if in_project:
            unpaired.remove(in_project[0])
            pairs.append(Pair(session_id, in_project[0], other))
        else:
            elsewhere.append(other)
    for other in elsewhere:
        if unpaired:
            pairs.append(Pair(session_id, unpaired.pop(0), other))
        elif pairs:
            pairs.append(Pair(session_id, pairs[0].here, other, first=pairs[0].there))
        else:
            pairs.append(Pair(session_id, None, other))
    return pairs + [Pair(session_id, session, None) for session in unpaired]


def _largest_first(session: SessionFile) -> tuple[int, list[str]]:
    """Return what the copies of a session are ordered by: their size, then their place."""
    path = str(session.path)
    try:
        size = size_of_log(path) if stored_name(path) is None else 0
    except OSError:
        size = 0
    return -size, path.split(os.sep)
