"""Fork a session: make a new session's log that begins with the history of another session, up to a given message.

The origin, the log that is forked, is only read. The new log is complete by itself: it has its own checksum chain, and
its header names the origin with the keys of the host's session fork (`parent_id`, `forked_from_turn`). It also gets the
plan (which messages the views leave out) that was in force at that message, and the learned corrections of token
counts. So the first request of the fork sends the same bytes as the origin did, and the provider's prompt cache can
still be used. Calls without a result at the end of the copied history stay open; views insert stand-ins for their
results, as for any interrupted turn.

What was purged here is not copied from an old copy of the session (`purged_origin`).

The place to fork at is the number of a turn, as in the host's session fork, or the id of a message. The turn is copied
as a whole; the message is the last one that is copied. A message that a reset hid is found in the history before the
reset, so a fork can bring back history that a rewind hid.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

from ... import clock
from ...config import Config
from ...errors import ConfigError
from ...log.database_location import location_of, shown_location, split_location, stored_name
from ...log.filesystem import FileSystem
from ...log.index import USER
from ...log.open_log import check_is_free
from ...messages.replace_in_message import Replace
from ...paths import LOG_NAME, log_name, log_path
from ...sessions.transcript import Transcript, log_id_in, session_id_in
from .copy_log import refused_messages, write_new_log
from .erasing.purged_origin import without_purged
from .fork_records import ForkRecords
from .history_at import HistoryPrefix, following_plan
from .host_files.write_host_files import is_unfinished, making_session, write_host_files
from .importers.account import LostLine


@dataclass(frozen=True, slots=True)
class Fork:
    """The result of a fork: the new log, its origin, and its contents."""

    path: str
    session_id: str | None
    parent_id: str | None
    """The id of the session that was forked, from its log or else from its directory's name."""
    message_id: str
    """The id of the last copied message."""
    turn: int
    messages: int
    plan: str = ""
    """The id of the plan that was copied with the history; "" if no plan was in force there."""
    not_carried: Sequence[LostLine] = field(default_factory=list)
    host_files: Sequence[str] = ()
    """The paths of the files that were written for the host beside the log."""
    host_turn: int = 0
    """The number of the turn as the host counts: every message of the role user begins a turn."""
    erased: Sequence[str] = ()
    """Sentences for a person about what was deleted or purged here, and is in the origin."""

    def to_json(self) -> dict[str, Any]:
        """Return the report in plain JSON types."""
        report: dict[str, Any] = {
            "path": self.path,
            "session_id": self.session_id,
            "parent_id": self.parent_id,
            "forked_from": self.message_id,
            "forked_from_turn": self.turn,
            "messages": self.messages,
            "plan": self.plan or None,
            "not_carried": [loss.to_json() for loss in self.not_carried],
        }
        if self.host_files:
            report["host_files"] = list(self.host_files)
        if self.host_turn != self.turn:
            report["host_turn"] = self.host_turn
        if self.erased:
            report["erased"] = list(self.erased)
        return report


def fork_session(
    origin: str | Path,
    at: int | str | None = None,
    *,
    session_id: str | None = None,
    path: str | Path | None = None,
    working_dir: str | None = None,
    dry_run: bool = False,
    again: bool = False,
    now: Callable[[], str] = clock.utc_now,
    new_id: Callable[[], str] = clock.new_id,
    files: FileSystem | None = None,
) -> Fork:
    """Make a new session's log with the history of another session, up to a turn or a message.

    Args:
        origin: the log of the other session (a file, or a location in a database); it is only read, and may be in use.
        at: the number of the last turn, from 1, which is copied as a whole; or the id of the last message; None for
            all.
        session_id: the new session's id; one is made if neither it nor a path is given.
        path: the new log's file, or its location in a database. Default: beside the origin, if the origin is in a
            host's directory of sessions or in a database; else with the sessions of `working_dir`.
        working_dir: the directory that the new session works in; by default the current one.
        dry_run: only report what would be done.
        again: copy also what was purged here since the origin was written.
        now: gives ISO 8601 timestamps.
        new_id: gives unique ids.
        files: the system calls that read the origin, to report progress.

    Raises:
        PlaceError: the history has no such place.
        ConfigError: the session id cannot be part of a path, or holds `_`.
        LogUnreadableError: the origin is missing, or cannot be read.
        ErasedError: the origin holds what was purged here, and cannot be copied without that content.
        OSError: the new log cannot be written, or its name is taken; nothing was changed.
    """
    session_id = _new_id(session_id, path)
    with ExitStack() as stack:
        whole = stack.enter_context(Transcript(origin, files=files))
        place = str(path or _place(whole, str(session_id), working_dir))
        purged = stack.enter_context(without_purged(whole, place, again=again))
        past = purged.history_at(at)
        plan = following_plan(purged.transcript.book, past.ordinals)
        records = ForkRecords(
            purged.transcript,
            past,
            plan=plan,
            session_id=session_id,
            parent_id=session_id_in(whole),
            created=now(),
            new_id=new_id,
        )
        is_begun = _is_begun(place, purged.transcript, past)
        target = os.path.abspath(place) if is_begun else _checked(place)
        host_files = list[str]()
        if dry_run:
            deque(records.bodies(), maxlen=0)  # to know what cannot be copied
        else:
            host_files = _write(target, records, whole.path, purged.replace, is_begun=is_begun)
        return _report(target, records, host_files, purged.sentences)


def _report(target: str, records: ForkRecords, host_files: Sequence[str], erased: Sequence[str]) -> Fork:
    """Return what was done, or would be done; all records were read already."""
    past = records.past
    return Fork(
        path=target,
        session_id=records.session_id,
        parent_id=records.parent_id,
        message_id=past.message_id,
        turn=past.turn,
        messages=len(past) - len(records.refused),
        plan=str(records.plan.get("id")) if records.plan is not None else "",
        not_carried=refused_messages(records.transcript.reader, records.refused),
        host_files=host_files,
        host_turn=_host_turns(records.transcript, past),
        erased=erased,
    )


def _write(target: str, records: ForkRecords, origin: str, replace: Replace, *, is_begun: bool) -> list[str]:
    """Write the log of a fork, unless an earlier call wrote it, and the files for the host.

    Args:
        target: the log's place.
        records: its records.
        origin: the log that is forked, with the host's files beside it.
        replace: replaces purged texts in the origin's name.
        is_begun: whether an earlier call wrote the log.

    Returns:
        The paths of the host's files.
    """
    with making_session(target):
        if not is_begun:
            write_new_log(target, records.bodies())
        if Path(target).parent.name != records.session_id:
            return []
        return write_host_files(
            target, created=records.created, parent_id=records.parent_id, is_fork=True, origin=origin, replace=replace
        )


def _host_turns(transcript: Transcript, past: HistoryPrefix) -> int:
    """Return the number of turns as the host counts them: the messages of the role `user`."""
    roles = transcript.reader.index.columns.roles
    return sum(roles[ordinal] == USER for ordinal in past.ordinals)


def _is_begun(target: str, transcript: Transcript, past: HistoryPrefix) -> bool:
    """Return whether an earlier call for the same fork was interrupted after it wrote the log."""
    if not is_unfinished(target):
        return False
    with Transcript(target) as fork:
        header = fork.header
        origin = log_id_in(transcript.reader.index.headers) or None
    return (header.get("parent_log_id"), header.get("forked_from")) == (origin, past.message_id)


def _checked(target: str) -> str:
    """Return the new log's absolute path, or its location without a password.

    Raises:
        FileExistsError: the name is taken.
    """
    target = target if stored_name(target) is not None else os.path.abspath(target)
    check_is_free(target)
    return shown_location(target)


def _new_id(session_id: str | None, path: str | Path | None) -> str | None:
    if session_id is None and path is None:
        return str(uuid4())
    if session_id is not None and "_" in session_id:
        raise ConfigError(f"session_id: {session_id!r} is not allowed: the host hides ids with '_' as sub-sessions")
    return session_id


def _place(transcript: Transcript, session_id: str, working_dir: str | None) -> Path | str:
    """Return the new log's default place: in the origin's database, beside the origin, or with the host's sessions."""
    name = stored_name(transcript.path)
    if name is not None:
        project = name.rpartition("/")[0]
        own = f"{project}/{session_id}" if project else log_name(session_id, working_dir or ".")
        return location_of(split_location(transcript.path)[0], own)
    usual = log_path(Config(), session_id=session_id, working_dir=working_dir)
    assert usual is not None  # noqa: S101 - the session has an id
    origin = Path(transcript.path)
    if origin.name == LOG_NAME and origin.parent.name == session_id_in(transcript):
        return origin.parents[1] / session_id / LOG_NAME
    return usual
